"""All deadlines and timers of a system: one heap, one sleeper, nothing polls."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import trio

__all__ = ["Deadlines", "Due"]

_FEW = 512


class Due:
    """Something that happens at a time unless it is cancelled."""

    __slots__ = ("_deadlines", "action")

    def __init__(self, deadlines: Deadlines, action: Callable[[], None]) -> None:
        self._deadlines = deadlines
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """It will not happen. Idempotent."""
        if self.action is not None:
            self.action = None
            self._deadlines.forget_one()


class Deadlines:
    """Calls each action, synchronously, when its time has come; equal times in order of arrival.

    An action must not raise.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Due]] = []
        self._count = 0
        self._cancelled = 0
        self._scope: trio.CancelScope | None = None

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def at(self, when: float, action: Callable[[], None]) -> Due:
        """Do `action` at `when` on Trio's clock (seconds)."""
        self._count += 1
        due = Due(self, action)
        heap = self._heap
        heapq.heappush(heap, (when, self._count, due))
        if heap[0][2] is due and self._scope is not None:
            self._scope.deadline = when
        return due

    def forget_one(self) -> None:
        """One of them was cancelled. When most are, they are swept out."""
        self._cancelled += 1
        if self._cancelled > _FEW and self._cancelled * 2 > len(self._heap):
            self._heap = [one for one in self._heap if one[2].action is not None]
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
        while self._heap and (self._heap[0][2].action is None or self._heap[0][0] <= now):
            due = heapq.heappop(self._heap)[2]
            action, due.action = due.action, None
            if action is None:
                self._cancelled -= 1
            else:
                action()
