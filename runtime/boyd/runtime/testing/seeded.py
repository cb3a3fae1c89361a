"""A dispatcher that lets one parked task go on at a time, chosen by a seed."""

from __future__ import annotations

import random

import attrs
import trio
import trio.testing

from boyd.runtime.dispatcher import Waiter
from boyd.runtime.seams import Ids, Seams

__all__ = ["SeededDispatcher", "seeded_seams"]


class SeededDispatcher:
    """Every choice of who goes on next is `random.Random(seed)`'s; one message an actor and turn.

    It waits until everything else in the Trio run is blocked before it
    chooses, so that all that could go on is in the choice. `order` is the list
    of choices made, as (number of candidates, chosen).
    """

    def __init__(self, seed: int) -> None:
        self.batch = 1
        self.order: list[tuple[int, int]] = []
        self._random = random.Random(seed)  # noqa: S311  # schedules, not secrets
        self._ready: list[Waiter] = []
        self._more = trio.Event()

    def ready(self, waiter: Waiter, /) -> None:
        self._ready.append(waiter)
        self._more.set()

    async def enter(self) -> None:
        await self.pass_turn()

    async def pass_turn(self) -> None:
        waiter = Waiter(self)
        # Ready before it waits: `wake` needs a waiting task, so it is put into the choice directly.
        self._ready.append(waiter)
        self._more.set()
        try:
            await waiter.wait()
        finally:
            if waiter in self._ready:
                self._ready.remove(waiter)

    async def run(self) -> None:
        while True:
            await self._more.wait()
            await trio.testing.wait_all_tasks_blocked()
            if not self._ready:
                self._more = trio.Event()
                continue
            chosen = self._random.randrange(len(self._ready))
            self.order.append((len(self._ready), chosen))
            self._ready.pop(chosen).resume()


def seeded_seams(seed: int) -> Seams:
    """Seams whose ids, random numbers and order of actors follow from `seed`."""
    return attrs.evolve(
        Seams(),
        ids=Ids(f"{seed:016x}"),
        random=random.Random(seed),  # noqa: S311
        dispatcher=lambda: SeededDispatcher(seed),
        process="simulated",
    )
