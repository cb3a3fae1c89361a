"""Who may drive a thread: leases, take-over, fencing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from boyd.runtime.errors import LeaseHeld, LeaseLost, LedgerUnavailable
from boyd.runtime.ledger import (
    Entry,
    Lease,
    open_lease,
    open_memory_ledger,
    open_sqlite_ledger,
)
from boyd.runtime.ledger.holder import Holder, Machine
from boyd.runtime.ledger.lease import LeaseRecord, next_lease
from boyd.runtime.ledger.sqlite import open_sqlite
from boyd.runtime.seams import Seams, SystemClock
from boyd.runtime.testing import fail_kth

T = "run"
ONE = Entry(kind="test.fact", body=b"", id="one")


class OtherMachine(Machine):
    """A machine whose clock and processes a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.dead = False

    def monotonic(self) -> float:
        return self.now

    def is_dead(self, holder: Holder) -> bool:
        return self.dead


class JumpingClock(SystemClock):
    """A wall clock that is wrong by as much as a test says."""

    def __init__(self) -> None:
        self.offset = 0.0

    def wall(self) -> float:
        return super().wall() + self.offset


# --------------------------------------------------------------- the decision
@given(
    now=st.floats(0, 1e9),
    age=st.floats(0, 1e6),
    ttl=st.floats(0.001, 1e6),
    dead=st.booleans(),
    held=st.booleans(),
)
def test_a_lease_is_taken_when_free_dead_or_run_out_and_never_else(
    now: float, age: float, ttl: float, dead: bool, held: bool
) -> None:
    record = LeaseRecord(owner="first", token=7, ttl=ttl, beat=now - age, held=held)
    free = dead or not held or now - record.beat >= ttl
    if free:
        new = next_lease(T, record, owner="second", ttl=1.0, now=now, dead=dead)
        assert (new.token, new.owner, new.beat, new.held) == (8, "second", now, True)
    else:
        with pytest.raises(LeaseHeld) as caught:
            next_lease(T, record, owner="second", ttl=1.0, now=now, dead=dead)
        assert 0 < caught.value.left <= ttl


def test_a_clock_that_has_begun_anew_means_a_reboot() -> None:
    record = LeaseRecord(owner="first", token=1, ttl=10.0, beat=500.0, held=True)
    assert next_lease(T, record, owner="second", ttl=1.0, now=3.0, dead=False).token == 2


# ------------------------------------------------------------ time in a ledger
async def test_in_memory_a_lease_runs_out_by_the_trio_clock(autojump_clock: MockClock) -> None:
    async with open_memory_ledger() as ledger:
        first = await ledger.acquire(T, owner="first", ttl=10.0)
        await trio.sleep(9)
        await ledger.renew(first)
        await trio.sleep(9.9)
        with pytest.raises(LeaseHeld):
            await ledger.acquire(T, owner="second")
        await trio.sleep(0.2)
        second = await ledger.acquire(T, owner="second")
        assert second.token == first.token + 1
        with pytest.raises(LeaseLost):
            await ledger.append(T, [ONE], after=0, lease=first)


async def test_one_that_ran_out_but_was_not_taken_still_counts(autojump_clock: MockClock) -> None:
    async with open_memory_ledger() as ledger:
        lease = await ledger.acquire(T, owner="me", ttl=10.0)
        await trio.sleep(60)
        assert await ledger.append(T, [ONE], after=0, lease=lease) == 1
        await ledger.renew(lease)


async def test_in_a_file_it_runs_out_by_the_machines_clock(tmp_path: Path) -> None:
    machine = OtherMachine()
    async with open_sqlite(tmp_path / "ledger.db", machine=machine) as ledger:
        first = await ledger.acquire(T, owner="first", ttl=10.0)
        machine.now += 6
        await ledger.renew(first)
        machine.now += 6
        with pytest.raises(LeaseHeld) as caught:
            await ledger.acquire(T, owner="second")
        assert (caught.value.owner, caught.value.left) == ("first", 4.0)
        machine.now += 4
        await ledger.acquire(T, owner="second")
        with pytest.raises(LeaseLost):
            await ledger.renew(first)


async def test_a_holder_known_to_be_dead_is_succeeded_at_once(tmp_path: Path) -> None:
    machine = OtherMachine()
    async with open_sqlite(tmp_path / "ledger.db", machine=machine) as ledger:
        first = await ledger.acquire(T, owner="first", ttl=1e6)
        machine.dead = True
        second = await ledger.acquire(T, owner="second")
        assert second.token > first.token


@pytest.mark.parametrize("jump", [-3600.0, 3600.0, 1e9])
async def test_a_jump_of_the_wall_clock_lets_nobody_in(tmp_path: Path, jump: float) -> None:
    clock = JumpingClock()
    async with open_sqlite_ledger(tmp_path / "ledger.db", seams=Seams(clock=clock)) as ledger:
        first = await ledger.acquire(T, owner="first", ttl=60.0)
        clock.offset = jump
        with pytest.raises(LeaseHeld):
            await ledger.acquire(T, owner="second")
        await ledger.append(T, [ONE], after=0, lease=first)


# ------------------------------------------------------------------- processes
def test_this_process_is_alive() -> None:
    machine = Machine()
    assert not machine.is_dead(machine.me())


def test_a_process_with_the_number_of_a_dead_one_is_not_it() -> None:
    machine = Machine()
    assert machine.is_dead(attrs.evolve(machine.me(), start="1"))


def test_a_holder_of_an_earlier_boot_is_dead() -> None:
    machine = Machine()
    assert machine.is_dead(attrs.evolve(machine.me(), boot="another boot"))


DOUBTS: Final[Sequence[Callable[[Holder], Holder]]] = (
    lambda me: attrs.evolve(me, space="pid:[1]", pid=1 << 30),
    lambda me: attrs.evolve(me, boot=""),
    lambda me: attrs.evolve(me, pid=0),
    lambda me: attrs.evolve(me, pid=-1),
    lambda me: attrs.evolve(me, start=""),
)


@pytest.mark.parametrize("doubt", DOUBTS)
def test_in_doubt_nobody_is_dead(doubt: Callable[[Holder], Holder]) -> None:
    machine = Machine()
    assert not machine.is_dead(doubt(machine.me()))


def test_a_killed_process_is_dead_before_and_after_it_is_reaped() -> None:
    machine = Machine()
    script = "import boyd.runtime.ledger.holder as h; print(h.Machine().me(), flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    assert child.stdin
    start = child.stdout.readline().partition("start='")[2].partition("'")[0]
    holder = attrs.evolve(machine.me(), pid=child.pid, start=start)
    assert not machine.is_dead(holder)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert machine.is_dead(holder), "a zombie"
    child.wait()
    assert machine.is_dead(holder)
    child.stdin.close()
    child.stdout.close()


HOLDER = """
import sys, trio
from boyd.runtime.ledger import open_sqlite_ledger

async def main() -> None:
    async with open_sqlite_ledger(sys.argv[1]) as ledger:
        lease = await ledger.acquire("run", owner="the child", ttl=3600)
        print(lease.token, flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


def start_holder(path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)


async def test_the_lease_of_a_killed_process_is_taken_over_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    child = start_holder(path)
    assert child.stdout
    try:
        token = int(child.stdout.readline())
        async with open_sqlite_ledger(path) as ledger:
            with pytest.raises(LeaseHeld) as caught:
                await ledger.acquire(T, owner="me")
            assert caught.value.owner == "the child"
            child.send_signal(signal.SIGKILL)
            child.wait()
            assert (await ledger.acquire(T, owner="me")).token == token + 1
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


# ------------------------------------------------------------------ open_lease
async def test_it_is_renewed_for_as_long_as_the_block_runs(autojump_clock: MockClock) -> None:
    async with open_memory_ledger() as ledger:
        async with open_lease(ledger, T, owner="me", ttl=10.0) as lease:
            await trio.sleep(1000)
            with pytest.raises(LeaseHeld):
                await ledger.acquire(T, owner="another")
            await ledger.append(T, [ONE], after=0, lease=lease)
        await ledger.acquire(T, owner="another")


async def test_a_second_runner_is_refused_and_told_by_whom() -> None:
    async with open_memory_ledger() as ledger, open_lease(ledger, T, owner="the first"):
        with pytest.raises(LeaseHeld, match="being run by the first"):
            async with open_lease(ledger, T, owner="the second"):
                pytest.fail("two runners")


async def test_losing_it_cancels_the_block(autojump_clock: MockClock) -> None:
    async with open_memory_ledger() as ledger:

        async def run() -> None:
            async with open_lease(ledger, T, owner="me", ttl=10.0) as lease:
                await ledger.release(lease)
                await ledger.acquire(T, owner="another", ttl=60.0)
                await trio.sleep_forever()

        with pytest.raises(LeaseLost):
            await run()
        with pytest.raises(LeaseHeld, match="another"):
            await ledger.acquire(T, owner="me")


async def test_what_the_block_raises_leaves_unchanged() -> None:
    async with open_memory_ledger() as ledger:
        with pytest.raises(ZeroDivisionError):
            async with open_lease(ledger, T, owner="me"):
                raise ZeroDivisionError
        assert (await ledger.acquire(T, owner="another")).owner == "another"


async def test_a_cancelled_block_gives_it_back() -> None:
    async with open_memory_ledger() as ledger:
        with trio.CancelScope() as scope:
            async with open_lease(ledger, T, owner="me"):
                scope.cancel()
                await trio.sleep_forever()
        assert scope.cancelled_caught
        assert (await ledger.acquire(T, owner="another")).owner == "another"


async def test_a_ledger_out_of_reach_is_forgiven_for_the_length_of_a_lease(
    autojump_clock: MockClock,
) -> None:
    async with open_memory_ledger() as inner:
        # The first operation is acquire; of the renewals the second fails.
        ledger = fail_kth(inner, 3, LedgerUnavailable("out of reach"))
        async with open_lease(ledger, T, owner="me", ttl=9.0):
            await trio.sleep(100)
        assert ledger.reached


class Unreachable:
    """A ledger whose renewals fail."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease

    async def acquire(self, thread: str, /, *, owner: str, ttl: float) -> Lease:
        return self.lease

    async def renew(self, lease: Lease, /) -> Lease:
        raise LedgerUnavailable("out of reach")

    async def release(self, lease: Lease, /) -> None:
        raise LedgerUnavailable("out of reach")


async def test_and_no_longer(autojump_clock: MockClock) -> None:
    lease = Lease(thread=T, owner="me", token=1, ttl=9.0)
    begun = trio.current_time()
    with pytest.raises(LedgerUnavailable):
        async with open_lease(Unreachable(lease), T, owner="me", ttl=9.0):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            await trio.sleep_forever()
    assert trio.current_time() - begun == pytest.approx(9.0)
