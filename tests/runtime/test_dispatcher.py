"""The seam through which every actor is woken."""

from __future__ import annotations

from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import Gate, TaskDispatcher, Waiter
from boyd.runtime.dispatcher import Beginnings
from boyd.runtime.testing import SeededDispatcher


class Holding(TaskDispatcher):
    """Lets nobody go on before the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Waiter] = []

    def ready(self, waiter: Waiter, /) -> None:
        self.held.append(waiter)


async def test_a_woken_task_goes_on_when_the_dispatcher_says_so() -> None:
    dispatcher, went = Holding(), False
    waiter = Waiter(dispatcher)

    async def wait() -> None:
        nonlocal went
        await waiter.wait()
        went = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        waiter.wake()
        waiter.wake()  # once is enough
        await wait_all_tasks_blocked()
        assert not went
        assert dispatcher.held == [waiter]
        waiter.resume()
    assert went


async def test_a_wake_that_nobody_waits_for_is_not_remembered() -> None:
    waiter = Waiter(TaskDispatcher())
    waiter.wake()
    with trio.move_on_after(1) as scope:
        await waiter.wait()
    assert scope.cancelled_caught


async def test_once_woken_it_is_too_late_to_cancel() -> None:
    waiter, went = Waiter(dispatcher := Holding()), False

    async def wait() -> None:
        nonlocal went
        await waiter.wait()
        went = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        waiter.wake()
        nursery.cancel_scope.cancel()
        await trio.lowlevel.cancel_shielded_checkpoint()
        assert not went
        dispatcher.held[0].resume()
    assert went


async def test_a_cancelled_wait_can_be_waited_again() -> None:
    waiter = Waiter(TaskDispatcher())
    for _ in range(2):
        with trio.move_on_after(1) as scope:
            await waiter.wait()
        assert scope.cancelled_caught
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waiter.wait)
        await wait_all_tasks_blocked()
        waiter.wake()


async def test_d8_a_dispatcher_may_order_cancels_too() -> None:
    dispatcher, seen = Holding(), list[str]()
    dispatcher.orders_cancels = True

    async def wait(name: str) -> None:
        try:
            await Waiter(dispatcher).wait()
        finally:
            seen.append(name)

    async with trio.open_nursery() as nursery:
        for name in "abc":
            nursery.start_soon(wait, name)
            await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await wait_all_tasks_blocked()
            assert seen == []
            for waiter in reversed(dispatcher.held):
                waiter.resume()
                await wait_all_tasks_blocked()
    assert sorted(seen) == ["a", "b", "c"]


async def test_a_gate_lets_all_go_and_stays_open() -> None:
    gate, went = Gate(TaskDispatcher()), list[int]()

    async def wait(n: int) -> None:
        await gate.wait()
        went.append(n)

    async with trio.open_nursery() as nursery:
        for n in range(3):
            nursery.start_soon(wait, n)
        await wait_all_tasks_blocked()
        gate.open()
        gate.open()
    await gate.wait()
    assert sorted(went) == [0, 1, 2]


async def test_a_cancelled_waiter_leaves_the_gate() -> None:
    gate = Gate(TaskDispatcher())
    with trio.move_on_after(1) as scope:
        await gate.wait()
    assert scope.cancelled_caught
    gate.open()
    with trio.move_on_after(1) as scope:
        await gate.wait()
    assert not scope.cancelled_caught


async def test_new_tasks_begin_in_the_order_of_their_start() -> None:
    """Trio would begin them in an order by chance."""
    dispatcher = Beginnings(TaskDispatcher())
    for cancelled in (False, True):
        for _ in range(20):
            order: list[int] = []

            async def note(n: int, order: list[int] = order) -> None:
                order.append(n)
                await trio.lowlevel.checkpoint()

            async with trio.open_nursery() as one, trio.open_nursery() as two:
                for n in range(7):
                    dispatcher.start_soon(one if n % 2 else two, partial(note, n))
                if cancelled:
                    one.cancel_scope.cancel()
            assert order == list(range(7))


async def test_a_start_that_fails_holds_up_no_other() -> None:
    dispatcher, begun = Beginnings(TaskDispatcher()), list[str]()

    async def note() -> None:
        begun.append("begun")

    async with trio.open_nursery() as closed:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        dispatcher.start_soon(closed, note)
    async with trio.open_nursery() as nursery:
        dispatcher.start_soon(nursery, note)
    assert begun == ["begun"]


async def test_a_seeded_dispatcher_that_has_ended_lets_everybody_go() -> None:
    dispatcher = SeededDispatcher(1)
    gate, ended = Gate(dispatcher), list[str]()

    async def late() -> None:
        await dispatcher.enter()
        await dispatcher.pass_turn()
        await gate.wait()
        ended.append("late")

    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as services:
            services.start_soon(dispatcher.run)
            nursery.start_soon(gate.wait)
            await wait_all_tasks_blocked()
            services.cancel_scope.cancel()
        dispatcher.start_soon(nursery, late)
        gate.open()
    assert ended == ["late"]


async def test_new_tasks_of_a_seeded_dispatcher_start_in_an_order_of_its_own() -> None:
    async def order_of(seed: int) -> list[int]:
        dispatcher, order = SeededDispatcher(seed), list[int]()

        async def note(n: int) -> None:
            order.append(n)

        async with trio.open_nursery() as services:
            services.start_soon(dispatcher.run)
            async with trio.open_nursery() as nursery:
                for n in range(6):
                    dispatcher.start_soon(nursery, partial(note, n))
            services.cancel_scope.cancel()
        return order

    orders = [await order_of(seed) for seed in range(8)]
    assert orders == [await order_of(seed) for seed in range(8)]
    assert len({tuple(order) for order in orders}) > 4
