"""All deadlines and timers of a system: one heap, one sleeper, nothing polls."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Protocol

import trio

__all__ = ["Deadlines", "Due", "Expiring"]

_FEW = 512


class Expiring(Protocol):
    """Something that has a deadline.

    Attributes:
        settled: nothing will happen at its deadline any more. Whoever sets it
            before the deadline calls `Deadlines.forget_one`, once.
    """

    settled: bool

    def expire(self) -> None:
        """Its time has come. Must set `settled`, and not raise."""
        ...


class Due:
    """An action at a time, unless it is cancelled."""

    __slots__ = ("_action", "_deadlines", "settled")

    def __init__(self, deadlines: Deadlines, action: Callable[[], None]) -> None:
        self._deadlines = deadlines
        self._action = action
        self.settled = False

    def cancel(self) -> None:
        """It will not happen. Idempotent."""
        if not self.settled:
            self.settled = True
            self._deadlines.forget_one()

    def expire(self) -> None:
        self.settled = True
        self._action()


class Deadlines:
    """Expires each of what was added, synchronously, when its time has come; equal times in order of arrival."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Expiring]] = []
        self._count = 0
        self._cancelled = 0
        self._scope: trio.CancelScope | None = None

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def at(self, when: float, action: Callable[[], None]) -> Due:
        """Do `action` at `when` on Trio's clock (seconds). It must not raise."""
        due = Due(self, action)
        self.add(when, due)
        return due

    def add(self, when: float, due: Expiring) -> None:
        """Have `due` expire at `when`, unless it is settled by then."""
        self._count += 1
        heap = self._heap
        heapq.heappush(heap, (when, self._count, due))
        if heap[0][2] is due and self._scope is not None:
            self._scope.deadline = when

    def forget_one(self) -> None:
        """One of them was settled before its time. When most are, they are swept out."""
        self._cancelled += 1
        if self._cancelled > _FEW and self._cancelled * 2 > len(self._heap):
            self._heap = [one for one in self._heap if not one[2].settled]
            heapq.heapify(self._heap)
            self._cancelled = 0

    async def run(self) -> None:
        """Fire what is due, for as long as the system lives."""
        while True:
            self._fire(trio.current_time())
            with trio.CancelScope(deadline=self._heap[0][0] if self._heap else math.inf) as scope:
                self._scope = scope
                await trio.sleep_forever()

    def _fire(self, now: float) -> None:
        while self._heap and (self._heap[0][2].settled or self._heap[0][0] <= now):
            due = heapq.heappop(self._heap)[2]
            if due.settled:
                self._cancelled -= 1
            else:
                due.expire()
