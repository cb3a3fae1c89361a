"""kill -9 in the middle, and again: what is resumed ends as if nothing had been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
import trio

from boyd.runtime import LeaseHeld, open_sqlite_ledger, open_system

from .kill9_program import CYCLES
from .ooda_story import make_ooda
from .stories import told
from .test_kill_each import Told, facts, unknown_outcomes, without_results

ROOT = Path(__file__).parents[2]
KILLS = 20


class Program:
    """`kill9_program.py`, ready to run its agent in one child after the other."""

    def __init__(self) -> None:
        ways = [str(ROOT), str(ROOT / "runtime"), str(ROOT / "actors"), *sys.path]
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("kill9_program.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(ways)},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def begin(self, folder: Path, seconds: float = 0.004) -> int:
        """Start a child that runs the agent of `folder`; its pid."""
        folder.mkdir(exist_ok=True)
        print(folder, seconds, file=self._stdin, flush=True)
        return int(self._stdout.readline())

    def end(self, folder: Path) -> list[object] | None:
        """Wait for the child; what its run came to, None if it did not."""
        assert self._stdout.readline() == "ended\n"
        output = folder / "output"
        return cast("list[object]", json.loads(output.read_text())) if output.exists() else None

    def close(self) -> None:
        self._stdin.close()
        self._process.wait(timeout=60)
        self._stdout.close()


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    try:
        yield made
    finally:
        made.close()


def written(folder: Path) -> tuple[Told, Counter[str]]:
    """What stands in the ledger, and what was really done."""

    async def read() -> Told:
        async with open_sqlite_ledger(folder / "t.db") as ledger:
            return await told(ledger)

    effects = Counter((folder / "effects").read_text().splitlines())
    return trio.run(read), effects


@pytest.mark.slow
def test_g9_m9_an_ooda_killed_at_random_moments_goes_on_to_an_equal_end(
    tmp_path: Path, program: Program
) -> None:
    """P12 too: calls of ONCE tools are made at most once, and what became of them is told."""
    begun = time.monotonic()
    program.begin(tmp_path)
    plain = program.end(tmp_path)
    seconds = time.monotonic() - begun
    plain_told, plain_effects = written(tmp_path)
    assert plain == [CYCLES, CYCLES * (CYCLES + 1) // 2, "a"]
    assert set(plain_effects.values()) == {1}

    chance = random.Random()
    killed = number = 0
    while killed < KILLS:
        number += 1
        folder = tmp_path / str(number)
        output = None
        for _ in range(8):
            child = program.begin(folder)
            time.sleep(chance.random() * seconds / 3)
            with suppress(ProcessLookupError):  # it was quicker
                os.kill(child, signal.SIGKILL)
            output = program.end(folder)
            if output is not None:
                break
            killed += 1
        if output is None:
            program.begin(folder)
            output = program.end(folder)
        assert output == plain
        entries, effects = written(folder)
        assert without_results(entries) == without_results(plain_told)
        unknown = unknown_outcomes(entries)
        if not unknown:
            assert facts(entries) == facts(plain_told)
        for effect in plain_effects:
            if not effect.startswith("pay"):
                assert effects[effect] >= 1
            else:
                assert effects[effect] == 1 or (effects[effect] == 0 and unknown)


async def test_d12_a_thread_that_another_process_runs_is_refused_at_once(
    tmp_path: Path, program: Program
) -> None:
    """O32: in words, also for a resume; when the process is gone, the thread is free."""
    child = program.begin(tmp_path, 10.0)
    try:
        async with open_system(ledger=f"sqlite:{tmp_path}/t.db") as system:
            with trio.fail_after(10):
                while await system.ledger.tip("t") == 0:  # noqa: ASYNC110  # of another process
                    await trio.sleep(0.01)
            ooda = make_ooda(cycles=1, seconds=0.0).ooda
            with pytest.raises(LeaseHeld, match=f"^t is being run by pid {child} "):
                await ooda.run("a", system=system, thread="t")
            with pytest.raises(LeaseHeld):
                await ooda.resume("t", system=system)
            os.kill(child, signal.SIGKILL)
            program.end(tmp_path)
            assert (await ooda.resume("t", system=system)).output.n == 1
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
