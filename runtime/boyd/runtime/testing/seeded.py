"""A dispatcher that lets one parked task go on at a time, chosen by a seed."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar, TypeVarTuple

import attrs
import trio
import trio.testing

from boyd.runtime.dispatcher import Waiter
from boyd.runtime.seams import Ids, Seams

__all__ = ["InlineOffload", "SeededDispatcher", "seeded_seams"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SeededDispatcher:
    """Every choice of who goes on next is `random.Random(seed)`'s; one message an actor and turn.

    It waits until everything else in the Trio run is blocked before it
    chooses, so that all that could go on is in the choice: woken tasks, new
    ones and cancelled ones. What a handler waits for past the dispatcher
    (`trio.sleep`, a channel, a socket) is not.

    Attributes:
        order: the choices made, as (number of candidates, chosen).
    """

    orders_cancels = True

    def __init__(self, seed: int) -> None:
        self.batch = 1
        self.order: list[tuple[int, int]] = []
        self._random = random.Random(seed)  # noqa: S311  # schedules, not secrets
        self._ready: list[Waiter] = []
        self._more = trio.Event()
        self._ended = False

    def ready(self, waiter: Waiter, /) -> None:
        """Put `waiter` into the choice."""
        if self._ended:
            waiter.resume()
            return
        self._ready.append(waiter)
        self._more.set()

    def start_soon(
        self,
        nursery: trio.Nursery,
        job: Callable[[], Awaitable[object]],
        /,
        *,
        name: str | None = None,
    ) -> None:
        """Put a new task into the choice; its place in it does not depend on Trio."""
        turn = self._turn()

        async def begin() -> None:
            if not self._ended:
                await turn.wait_turn()
            await job()

        nursery.start_soon(begin, name=name)

    async def enter(self) -> None:
        """Take part in the choice. Not cancellable."""
        if not self._ended:
            await self._turn().wait_turn()

    async def pass_turn(self) -> None:
        """Take part in the choice; a checkpoint."""
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._ended:
            await trio.lowlevel.checkpoint()
        await self.enter()

    def _turn(self) -> Waiter:
        # Ready before it waits; it is parked by the time that a choice is made.
        turn = Waiter(self)
        self._ready.append(turn)
        self._more.set()
        return turn

    async def run(self) -> None:
        """Choose, until cancelled; then let everybody go."""
        try:
            while True:
                await self._more.wait()
                await trio.testing.wait_all_tasks_blocked()
                if not self._ready:
                    self._more = trio.Event()
                    continue
                chosen = self._random.randrange(len(self._ready))
                self.order.append((len(self._ready), chosen))
                self._ready.pop(chosen).resume()
        finally:
            self._ended = True
            while self._ready:
                self._ready.pop(0).resume()


class InlineOffload:
    """Blocking functions called on the loop, so that no thread decides when they end, and no clock jumps meanwhile."""

    async def run(
        self,
        fn: Callable[[*Ts], T],
        *args: *Ts,
        abandon: bool = False,  # noqa: ARG002  # as `Offload.run`
        vital: bool = False,  # noqa: ARG002
    ) -> T:
        """`fn(*args)`, after a checkpoint."""
        await trio.lowlevel.checkpoint()
        return fn(*args)


def seeded_seams(seed: int) -> Seams:
    """Seams whose ids, random numbers and order of actors follow from `seed`; nothing runs in threads."""
    return attrs.evolve(
        Seams(),
        ids=Ids(f"{seed:016x}"),
        random=random.Random(seed),  # noqa: S311
        offload=InlineOffload(),
        dispatcher=lambda: SeededDispatcher(seed),
        process="simulated",
        timer=trio.current_time,
    )
