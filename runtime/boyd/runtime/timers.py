"""The keyed timers of one actor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from boyd.runtime.deadlines import Due
from boyd.runtime.envelope import Envelope

if TYPE_CHECKING:
    from boyd.runtime.incarnation import Incarnation

__all__ = ["Timer", "Timers", "next_time"]


class Timer:
    """One start of one key.

    Attributes:
        when: its time, or its next one.
        every: seconds between times, or None for one time only.
        cancelled: it was replaced or cancelled, and must not arrive.
    """

    __slots__ = ("_timers", "cancelled", "due", "every", "key", "when")

    def __init__(self, timers: Timers, key: str, when: float, every: float | None) -> None:
        self._timers = timers
        self.key = key
        self.when = when
        self.every = every
        self.due: Due | None = None
        self.cancelled = False

    def arrived(self, envelope: Envelope) -> None:
        """Its message is about to be handled: the key is free, or it is set anew."""
        if self.every is None:
            self._timers.forget(self)
        else:
            # Only now, so that of a slow actor's timer never more than one message waits.
            self.when = next_time(self.when, self.every, self._timers.now())
            self._timers.set(self, envelope)


def next_time(last: float, every: float, now: float) -> float:
    """The first time after `now` and `last` on the grid of `every` seconds; those missed are left out."""
    missed = max(0, math.floor((now - last) / every))
    return last + every * (missed + 1)


class Timers:
    """A key is one timer: what was replaced or cancelled never arrives, not even out of the mailbox."""

    __slots__ = ("_cell", "_running")

    def __init__(self, cell: Incarnation) -> None:
        self._cell = cell
        self._running: dict[str, Timer] = {}

    def start(self, key: str, message: object, after: float, every: float | None) -> None:
        """Have `message` told to the actor. Raises NotAccepted, EncodeError: here, not when it fires."""
        cell = self._cell
        timer = Timer(self, key, cell.system.now() + after, every)
        envelope = cell.reserve(message, timer)
        self.cancel(key)
        self._running[key] = timer
        self.set(timer, envelope)

    def now(self) -> float:
        """The system's time."""
        return self._cell.system.now()

    def set(self, timer: Timer, envelope: Envelope) -> None:
        """Have `envelope` delivered at the timer's time; at once where that has passed."""
        cell = self._cell
        system = cell.system
        timer.due = system.deadlines.at(
            timer.when, lambda: cell.deliver(envelope._replace(at=system.now()))
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
