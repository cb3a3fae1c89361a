"""Deadlines live in one heap; one sleeper waits for the earliest."""

from __future__ import annotations

import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from boyd.runtime.deadlines import Deadlines
from tests.runtime.conftest import run_in_virtual_time


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=40))
def test_d7_what_is_not_cancelled_happens_at_its_time_in_order(
    plan: list[tuple[int, bool]],
) -> None:
    happened: list[tuple[float, int]] = []

    async def main() -> None:
        deadlines = Deadlines()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(deadlines.run)
            await wait_all_tasks_blocked()
            dues = [
                deadlines.at(at, lambda n=n: happened.append((trio.current_time(), n)))  # type: ignore[misc]
                for n, (at, _) in enumerate(plan)
            ]
            for due, (_, cancelled) in zip(dues, plan, strict=True):
                if cancelled:
                    due.cancel()
                    due.cancel()
            assert len(deadlines) == sum(not cancelled for _, cancelled in plan)
            await trio.sleep(21)
            assert len(deadlines) == 0
            nursery.cancel_scope.cancel()

    run_in_virtual_time(main)
    kept = [(at, n) for n, (at, cancelled) in enumerate(plan) if not cancelled]
    assert happened == sorted(kept)


async def test_an_earlier_one_is_not_missed_behind_a_later_one() -> None:
    deadlines, happened = Deadlines(), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(deadlines.run)
        deadlines.at(10, lambda: happened.append("late"))
        await trio.sleep(1)
        deadlines.at(2, lambda: happened.append("early"))
        await trio.sleep(2)
        assert happened == ["early"]
        nursery.cancel_scope.cancel()


async def test_what_happens_may_plan_more() -> None:
    deadlines, happened = Deadlines(), list[float]()

    def again() -> None:
        happened.append(trio.current_time())
        if len(happened) < 3:
            deadlines.at(trio.current_time() + 1, again)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(deadlines.run)
        deadlines.at(0, again)
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    assert happened == [0, 1, 2]


async def test_cancelled_ones_do_not_pile_up() -> None:
    deadlines = Deadlines()
    kept = [deadlines.at(1e9, lambda: None) for _ in range(10)]
    for _ in range(20_000):
        deadlines.at(1e6, lambda: None).cancel()
    assert len(deadlines) == 10
    assert len(deadlines._heap) < 2_000
    assert all(not due.settled for due in kept)
