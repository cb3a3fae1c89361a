"""Several processes on one file, and processes that are killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

import pytest
import trio

from boyd.runtime.ledger import open_sqlite_ledger
from boyd.runtime.testing.ledger_conformance import entry, ids_of
from tests.runtime.ledger.files import names_in

pytestmark = pytest.mark.slow

T = "a thread"

COMMON = """
import sys, trio
from boyd.runtime.errors import SequenceConflict
from boyd.runtime.ledger import ANY, Entry, open_sqlite_ledger

def entry(id):
    return Entry(kind="test.fact", body=id.encode() * 20, id=id)
"""

# For each path it is given, starts a process that appends batches of five for ever, kills it
# at a random moment, and prints the last tip that was acknowledged. Forked, so that a round
# costs no start of Python.
VICTIMS = """
import os, random, signal, time

async def append_for_ever(path):
    async with open_sqlite_ledger(path) as ledger:
        tip = await ledger.tip("a thread")
        while True:
            batch = [entry(f"{tip + n}") for n in range(1, 6)]
            tip = await ledger.append("a thread", batch, after=tip)
            os.write(1, b"%d\\n" % tip)

for line in sys.stdin:
    acks, end = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(end, 1)
        trio.run(append_for_ever, line.strip())
    os.close(end)
    time.sleep(random.uniform(0, float(sys.argv[1])))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(acks) as file:
        tips = [int(line) for line in file if line.endswith("\\n")]
    print(tips[-1] if tips else 0, flush=True)
"""

# Appends 100 entries behind the tip, trying again after each conflict.
RIVAL = """
async def main():
    async with open_sqlite_ledger(sys.argv[1]) as ledger:
        for n in range(100):
            while True:
                try:
                    tip = await ledger.tip("a thread")
                    await ledger.append("a thread", [entry(f"{sys.argv[2]}.{n}")], after=tip)
                except SequenceConflict:
                    continue
                break
trio.run(main)
"""

# Ten writers, each with a thread of its own, and one thread for all.
WRITERS = """
async def main():
    async with open_sqlite_ledger(sys.argv[1]) as ledger:
        async def writer(name):
            for n in range(20):
                await ledger.append(name, [entry(f"{n}")], after=n)
                await ledger.append("a thread", [entry(f"{name}.{n}")], after=ANY)
        async with trio.open_nursery() as nursery:
            for n in range(10):
                nursery.start_soon(writer, f"{sys.argv[2]}-{n}")
trio.run(main)
"""


def start(program: str, *args: object, talk: bool = False) -> subprocess.Popen[bytes]:
    """Another process that runs a program of this file."""
    command = [sys.executable, "-c", COMMON + program, *map(str, args)]
    pipe = subprocess.PIPE if talk else None
    return subprocess.Popen(command, stdin=pipe, stdout=pipe)


async def finish(*children: subprocess.Popen[bytes]) -> None:
    """Wait for them; none may have failed."""
    for child in children:
        await trio.to_thread.run_sync(child.wait)
        assert child.returncode == 0


async def kill_in_the_middle(
    paths: Iterable[Path], within: float
) -> AsyncGenerator[tuple[Path, int]]:
    """Each path, and what was acknowledged to a process that appended to it until it was killed."""
    victims = start(VICTIMS, within, talk=True)
    assert victims.stdin
    assert victims.stdout
    for path in paths:
        victims.stdin.write(f"{path}\n".encode())
        victims.stdin.flush()
        yield path, int(await trio.to_thread.run_sync(victims.stdout.readline))
    victims.stdin.close()
    await finish(victims)
    victims.stdout.close()


async def test_killed_thirty_times_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    before = 0
    async for path, acked in kill_in_the_middle([tmp_path / "ledger.db"] * 30, within=0.15):
        async with open_sqlite_ledger(path) as ledger:
            ids = await ids_of(ledger)
        assert len(ids) >= max(acked, before)
        assert len(ids) % 5 == 0
        assert ids == [str(n) for n in range(1, len(ids) + 1)]
        before = len(ids)
    assert before > 100


async def test_killed_while_the_file_is_made_it_can_be_made_again(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.db" for n in range(30)]
    async for path, _acked in kill_in_the_middle(paths, within=0.03):
        async with open_sqlite_ledger(path) as ledger:
            tip = await ledger.tip(T)
            assert tip % 5 == 0
            assert await ledger.append(T, [entry("one more")], after=tip) == tip + 1


async def test_two_processes_contend_for_one_thread_and_neither_loses(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await finish(start(RIVAL, path, "a"), start(RIVAL, path, "b"))
    async with open_sqlite_ledger(path) as ledger:
        ids = await ids_of(ledger)
    assert len(ids) == 200
    for name in "ab":
        assert [i for i in ids if i.startswith(name)] == [f"{name}.{n}" for n in range(100)]


async def test_many_writers_of_three_processes_that_start_together(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await finish(*(start(WRITERS, path, name) for name in "abc"))
    async with open_sqlite_ledger(path) as ledger:
        assert len(await ids_of(ledger)) == 600
        threads = await ledger.threads()
        assert len(threads) == 31
        for info in threads:
            if info.thread != T:
                assert await ids_of(ledger, info.thread) == [str(n) for n in range(20)]
    assert names_in(tmp_path) == ["ledger.db"]


async def test_a_follower_hears_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with trio.fail_after(30):
        async with open_sqlite_ledger(path) as ledger:
            await ledger.append(T, [entry("mine")], after=0)
            async with ledger.open_follow(T, size=1) as entries:
                child = start(RIVAL, path, "other")
                seen = [await entries.receive() for _ in range(101)]
                await finish(child)
            assert [e.seq for e in seen] == list(range(1, 102))
            assert [e.id for e in seen] == ["mine", *(f"other.{n}" for n in range(100))]


async def test_a_follower_hears_of_a_thread_that_another_process_forks(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with trio.fail_after(30):
        async with open_sqlite_ledger(path) as here, open_sqlite_ledger(path) as there:
            await here.append(T, [entry("one")], after=0)
            async with here.open_follow("fork") as entries, here.open_follow("other") as others:
                await trio.sleep(0.12)  # past the first look-out, which wakes everybody
                await there.fork(T, at=1, to="fork")
                assert (await entries.receive()).id == "one"
                await there.append("other", [entry("two")], after=0)
                assert (await others.receive()).id == "two"
