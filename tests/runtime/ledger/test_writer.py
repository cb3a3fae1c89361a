"""The writer task: what a caller learns, whatever is cancelled or fails when."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock, wait_all_tasks_blocked

from boyd.runtime.errors import LedgerError, LedgerUnavailable, OutcomeUnknown, SequenceConflict
from boyd.runtime.ledger.background import open_background
from boyd.runtime.ledger.writer import Job, Writer

Store = list[int]


class SlowStore:
    """Commits numbers into a list when it is let."""

    def __init__(self) -> None:
        self.stored: Store = []
        self.groups: list[int] = []
        self.gate = trio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.writer = Writer[Store](self.commit, where="the store")

    async def commit(self, group: Sequence[Job[Store]]) -> Sequence[object]:
        self.groups.append(len(group))
        with trio.CancelScope(shield=True):
            await self.gate.wait()
        if self.error:
            raise self.error
        return [job.work(self.stored) for job in group]

    async def add(self, number: int) -> int:
        return await self.writer.submit(adding(number), thread="t", ids=(str(number),))


def adding(number: int) -> Callable[[Store], int]:
    def work(store: Store) -> int:
        store.append(number)
        return len(store)

    return work


async def test_callers_that_wait_together_are_committed_together() -> None:
    store = SlowStore()
    async with open_background(store.writer.run), trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(store.add, number)
    assert sorted(store.stored) == list(range(10))
    assert store.groups == [10]


async def test_a_caller_cancelled_in_the_queue_has_changed_nothing() -> None:
    store = SlowStore()
    store.gate = trio.Event()
    async with open_background(store.writer.run), trio.open_nursery() as nursery:
        nursery.start_soon(store.add, 1)
        await wait_all_tasks_blocked()
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as inner:
                inner.start_soon(store.add, 2)
                await wait_all_tasks_blocked()
                scope.cancel()
        assert scope.cancelled_caught
        store.gate.set()
    assert store.stored == [1]


async def test_a_cancelled_caller_still_learns_what_a_commit_under_way_became(
    autojump_clock: MockClock,
) -> None:
    store = SlowStore()
    store.gate = trio.Event()
    answers: list[int] = []

    async def caller() -> None:
        with trio.move_on_after(1.0):
            answers.append(await store.add(1))

    async with open_background(store.writer.run), trio.open_nursery() as nursery:
        nursery.start_soon(caller)
        await trio.sleep(1.9)
        assert not answers
        store.gate.set()
    assert answers == [1]


async def test_after_a_second_more_it_goes_without_an_answer(autojump_clock: MockClock) -> None:
    store = SlowStore()
    store.gate = trio.Event()
    async with open_background(store.writer.run):
        begun = trio.current_time()
        with pytest.raises(OutcomeUnknown) as caught, trio.move_on_after(3.0):
            await store.add(1)
        assert trio.current_time() - begun == pytest.approx(4.0)
        assert (caught.value.thread, caught.value.ids) == ("t", ("1",))
        store.gate.set()
        assert await store.add(2) == 2
    assert store.stored == [1, 2]


async def test_a_declined_job_fails_alone() -> None:
    store = SlowStore()

    async def commit(group: Sequence[Job[Store]]) -> Sequence[object]:
        error = SequenceConflict(thread="t", expected=0, actual=1)
        return [error if job.ids == ("2",) else job.work(store.stored) for job in group]

    store.writer = Writer[Store](commit, where="the store")
    failed: list[LedgerError] = []

    async def caller(number: int) -> None:
        try:
            await store.add(number)
        except SequenceConflict as error:
            failed.append(error)

    async with open_background(store.writer.run), trio.open_nursery() as nursery:
        for number in (1, 2, 3):
            nursery.start_soon(caller, number)
    assert sorted(store.stored) == [1, 3]
    assert len(failed) == 1


async def test_a_failed_group_fails_each_caller_with_an_error_of_its_own() -> None:
    store = SlowStore()
    store.error = LedgerUnavailable("the disk is full")
    failed: list[LedgerError] = []

    async def caller(number: int) -> None:
        with pytest.raises(LedgerUnavailable, match="the disk is full") as caught:
            await store.add(number)
        failed.append(caught.value)

    async with open_background(store.writer.run):
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(caller, number)
        assert len({id(error) for error in failed}) == 3
        store.error = None
        assert await store.add(9) == 1


async def test_when_the_writer_ends_nobody_is_left_waiting() -> None:
    store = SlowStore()
    store.gate = trio.Event()
    ends: list[type[LedgerError]] = []

    async def caller(number: int) -> None:
        try:
            await store.add(number)
        except LedgerError as error:
            ends.append(type(error))

    async with trio.open_nursery() as outer, open_background(store.writer.run):
        outer.start_soon(caller, 1)
        await wait_all_tasks_blocked()
        outer.start_soon(caller, 2)
        await wait_all_tasks_blocked()
        store.gate.set()
    assert ends == [LedgerUnavailable]
    assert store.stored == [1]
    with pytest.raises(LedgerUnavailable, match="closed"):
        await store.add(3)


async def test_a_bug_in_a_commit_ends_the_block_and_leaves_nobody_waiting() -> None:
    store = SlowStore()
    store.error = ZeroDivisionError("a bug")
    ends: list[type[LedgerError]] = []

    async def caller() -> None:
        try:
            await store.add(1)
        except LedgerError as error:
            ends.append(type(error))

    async with trio.open_nursery() as outer:
        with pytest.RaisesGroup(ZeroDivisionError):
            async with open_background(store.writer.run):
                outer.start_soon(caller)
                await trio.sleep_forever()
    assert ends == [OutcomeUnknown]


# ------------------------------------------------------------ open_background
async def test_what_a_block_raises_is_not_wrapped() -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_background(trio.sleep_forever):
            raise ZeroDivisionError


async def test_a_ledger_error_of_the_task_takes_the_place_of_the_block() -> None:
    async def task() -> None:
        raise LedgerUnavailable("gone")

    with pytest.raises(LedgerUnavailable, match="gone"):
        async with open_background(task):
            await trio.sleep_forever()


async def test_a_block_that_ended_by_itself_is_not_failed_by_the_task() -> None:
    failed = False

    async def task() -> None:
        nonlocal failed
        try:
            await trio.sleep_forever()
        finally:
            failed = True
            raise LedgerUnavailable("gone")

    async with open_background(task):
        await wait_all_tasks_blocked()
    assert failed


async def test_an_outer_cancel_wins() -> None:
    async def task() -> None:
        raise LedgerUnavailable("gone")

    with trio.CancelScope() as scope:
        async with open_background(task):
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_a_block_that_a_cancel_unwinds_still_has_its_task() -> None:
    store = SlowStore()
    with trio.CancelScope() as scope:
        async with open_background(store.writer.run):
            scope.cancel()
            try:
                await trio.sleep_forever()
            finally:
                with trio.move_on_after(1, shield=True):
                    await trio.lowlevel.checkpoint()
                    await store.add(1)
    assert store.stored == [1]
