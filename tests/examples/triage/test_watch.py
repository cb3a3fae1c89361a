"""How a run ends when its thread is too long to be read within a second."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from boyd.actors.cli.session import open_session
from boyd.runtime import Ledger, open_system
from examples.triage import watch as watching
from examples.triage.gather import gather
from examples.triage.report import Report
from examples.triage.sources import expand
from examples.triage.swarm import Options
from examples.triage.watch import LAST_SECONDS, watch


async def slowly(ledger: Ledger, thread: str) -> Report:
    """As from a thread of thousands of cycles."""
    await trio.sleep(5 * LAST_SECONDS)
    return await gather(ledger, thread)


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    log = tmp_path / "a.log"
    log.write_text(
        "".join(f"Dec  1 00:{n // 60:02}:{n % 60:02} h svc: ok {n}\n" for n in range(900))
    )
    monkeypatch.setattr(watching, "gather", slowly)
    return Options(
        sources=expand([str(log)]).sources,
        ledger="memory:",
        thread="t",
        out=tmp_path,
        batch=100,
    )


async def test_a_finished_run_is_summed_up_however_long_that_takes(
    options: Options, capsys: pytest.CaptureFixture[str], autojump_clock: trio.abc.Clock
) -> None:
    with open_session():
        async with open_system() as system:
            report, failed = await watch(system, options)
            again, _ = await watch(system, options)
    assert not failed
    assert report.lines == again.lines == 900
    out = capsys.readouterr().out
    assert out.count("900 lines of 1 source: nothing stands out") == 2
    assert out.count("triage-report.md and .html") == 2


async def test_a_run_that_is_stopped_says_in_time_what_it_saw(
    options: Options, capsys: pytest.CaptureFixture[str], autojump_clock: trio.abc.Clock
) -> None:
    ended = began = 0.0
    with open_session():
        async with open_system() as system:
            with trio.CancelScope() as scope:

                async def stop(*_: object) -> None:
                    nonlocal began
                    began = trio.current_time()
                    scope.cancel()
                    await trio.sleep_forever()

                await watch(system, options, stop)
            ended = trio.current_time()
    assert scope.cancelled_caught
    assert began + LAST_SECONDS <= ended < began + 2 * LAST_SECONDS
    out = capsys.readouterr().out
    assert "stopped early, after " in out
    assert "there was no time to sum up" in out
    assert "triage-report.md" not in out
