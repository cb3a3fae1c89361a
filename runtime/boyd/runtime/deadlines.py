"""All deadlines and timers of a system: one heap, one sleeper, nothing polls."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import trio

__all__ = ["Deadlines", "Due"]

_COMPACT_ABOVE = 1024


class Due:
    """Something that happens at a time unless it is cancelled."""

    __slots__ = ("action", "at", "order")

    def __init__(self, at: float, order: int, action: Callable[[], None]) -> None:
        self.at = at
        self.order = order
        self.action: Callable[[], None] | None = action

    def __lt__(self, other: Due) -> bool:
        return (self.at, self.order) < (other.at, other.order)

    def cancel(self) -> None:
        """It will not happen. Idempotent."""
        self.action = None


class Deadlines:
    """Calls each action, synchronously, when its time has come; equal times in order of arrival."""

    def __init__(self) -> None:
        self._heap: list[Due] = []
        self._count = 0
        self._scope: trio.CancelScope | None = None

    def at(self, when: float, action: Callable[[], None]) -> Due:
        """Do `action` at `when` on Trio's clock (seconds)."""
        self._count += 1
        due = Due(when, self._count, action)
        heapq.heappush(self._heap, due)
        if self._heap[0] is due and self._scope is not None:
            self._scope.deadline = when
        if len(self._heap) > _COMPACT_ABOVE and self._count % _COMPACT_ABOVE == 0:
            self._heap = [one for one in self._heap if one.action is not None]
            heapq.heapify(self._heap)
        return due

    async def run(self) -> None:
        """Fire what is due, for as long as the system lives."""
        while True:
            self._fire(trio.current_time())
            with trio.CancelScope(
                deadline=self._heap[0].at if self._heap else math.inf
            ) as self._scope:
                await trio.sleep_forever()

    def _fire(self, now: float) -> None:
        while self._heap and (self._heap[0].action is None or self._heap[0].at <= now):
            due = heapq.heappop(self._heap)
            if due.action is not None:
                action, due.action = due.action, None
                action()
