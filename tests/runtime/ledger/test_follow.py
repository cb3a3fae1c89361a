"""Following: no wake-up is lost, whenever it comes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime.errors import LedgerCorrupt, LedgerUnavailable
from boyd.runtime.ledger import ANY, Entry, open_memory_ledger
from boyd.runtime.ledger.follow import Changes, open_followed
from boyd.runtime.testing.ledger_conformance import entry

T = "a thread"


async def test_what_is_appended_during_a_look_is_not_missed() -> None:
    changes = Changes()
    stored: list[Entry] = []

    async def read(after: int, limit: int) -> Sequence[Entry]:
        page = stored[after : after + limit]
        if len(stored) < 3:  # somebody appends between the look and its answer
            stored.append(Entry(kind="test.fact", body=b"", id="x", seq=len(stored) + 1))
            changes.notify([T])
        await trio.lowlevel.checkpoint()
        return page

    with trio.fail_after(5):
        async with open_followed(read, changes, T, after=0, size=1) as entries:
            assert [(await entries.receive()).seq for _ in range(3)] == [1, 2, 3]


async def test_only_those_who_follow_a_thread_are_woken_for_it() -> None:
    changes = Changes()
    looks: list[int] = []

    async def read(after: int, limit: int) -> Sequence[Entry]:
        await trio.lowlevel.checkpoint()
        looks.append(after)
        return ()

    async with open_followed(read, changes, T, after=0, size=1):
        await wait_all_tasks_blocked()
        changes.notify(["another"])
        await wait_all_tasks_blocked()
        assert len(looks) == 1
        changes.notify(["another", T])
        await wait_all_tasks_blocked()
        assert len(looks) == 2
    assert not changes


async def test_what_is_wrong_with_the_ledger_reaches_the_follower() -> None:
    async def read(after: int, limit: int) -> Sequence[Entry]:
        await trio.lowlevel.checkpoint()
        raise LedgerCorrupt("an entry is missing")

    with pytest.raises(LedgerCorrupt, match="an entry is missing"):
        async with open_followed(read, Changes(), T, after=0, size=1):
            await trio.sleep_forever()


async def test_a_slow_follower_misses_nothing_and_holds_nobody_up() -> None:
    async with open_memory_ledger() as ledger, ledger.open_follow(T, size=2) as entries:
        for n in range(1000):
            await ledger.append(T, [entry(str(n))], after=n)
        assert entries.statistics().current_buffer_used == 2
        assert [(await entries.receive()).seq for _ in range(1000)] == list(range(1, 1001))


async def test_a_follower_may_leave_or_close_its_end_at_any_time() -> None:
    async with open_memory_ledger() as ledger:
        async with ledger.open_follow(T) as entries:
            entries.close()
            await ledger.append(T, [entry("one")], after=0)
            await wait_all_tasks_blocked()
            with pytest.raises(trio.ClosedResourceError):
                await entries.receive()
        async with ledger.open_follow(T, size=0):
            await wait_all_tasks_blocked()
        assert await ledger.append(T, [entry("two")], after=ANY) == 2


async def test_closing_the_ledger_tells_who_still_follows() -> None:
    async with trio.open_nursery() as nursery:

        async def follower() -> None:
            with pytest.raises(LedgerUnavailable, match="closed"):
                async with ledger.open_follow(T) as entries:
                    await entries.receive()

        async with open_memory_ledger() as ledger:
            nursery.start_soon(follower)
            await wait_all_tasks_blocked()
