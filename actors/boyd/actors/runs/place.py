"""Where in a run the code at hand stands, so that runs within a run find their thread, budget and lease."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from boyd.actors.runs.spec import RunSpec

__all__ = ["Place", "current_call", "current_place", "enter_call"]


class Place:
    """A step of a run: a phase in a cycle, a call of a tool.

    Runs within it are numbered from 1 in the order in which they begin, so
    that the same code, run again after a crash, finds its own runs again.
    """

    def __init__(self, spec: RunSpec, name: str) -> None:
        self.spec = spec
        self.name = name
        self._runs = 0

    def enter(self) -> None:
        """What this task does from now on, and what it starts, happens here."""
        _places.set(self)

    def next_thread(self) -> str:
        """A thread for the next run within this place: `otters/web.1`."""
        self._runs += 1
        return f"{self.spec.thread}/{self.name}.{self._runs}"


_places: Final[ContextVar[Place | None]] = ContextVar("boyd_place", default=None)


def current_place() -> Place | None:
    """The place of the task that asks; None outside any run, and once the run is over."""
    place = _places.get()
    return None if place is None or place.spec.inflight.closed else place


_calls: Final[ContextVar[str]] = ContextVar("boyd_call", default="")


def enter_call(key: str) -> None:
    """From now on this task makes the call of this key, for a run or after its end."""
    _calls.set(key)


def current_call() -> str:
    """The key, within its thread, of the call that this task makes; "" elsewhere."""
    return _calls.get()
