"""The keyed timers of one actor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boyd.runtime.deadlines import Due

if TYPE_CHECKING:
    from boyd.runtime.incarnation import Incarnation

__all__ = ["Timer", "Timers"]


class Timer:
    """One start of one key."""

    __slots__ = ("_timers", "cancelled", "due", "key")

    def __init__(self, timers: Timers, key: str) -> None:
        self._timers = timers
        self.key = key
        self.due: Due | None = None
        self.cancelled = False

    def arrived(self) -> None:
        """Its message is about to be handled: the key is free."""
        self._timers.forget(self)


class Timers:
    """A key is one timer: what was replaced or cancelled never arrives, not even out of the mailbox."""

    __slots__ = ("_cell", "_running")

    def __init__(self, cell: Incarnation) -> None:
        self._cell = cell
        self._running: dict[str, Timer] = {}

    def start(self, key: str, message: object, after: float) -> None:
        """Have `message` told to the actor. Raises NotAccepted, EncodeError: here, not when it fires."""
        cell = self._cell
        timer = Timer(self, key)
        envelope = cell.reserve(message, timer)
        self.cancel(key)
        self._running[key] = timer
        timer.due = cell.system.deadlines.at(
            cell.system.now() + after, lambda: cell.deliver(envelope)
        )

    def cancel(self, key: str) -> None:
        """Idempotent."""
        timer = self._running.pop(key, None)
        if timer is not None:
            timer.cancelled = True
            if timer.due is not None:
                timer.due.cancel()

    def cancel_all(self) -> None:
        """Timers do not outlive a life."""
        for key in tuple(self._running):
            self.cancel(key)

    def forget(self, timer: Timer) -> None:
        """It is over; unless its key was started again."""
        if self._running.get(timer.key) is timer:
            del self._running[timer.key]
