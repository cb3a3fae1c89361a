"""A test clock that jumps by itself waits for threads: work in them takes real time, and is not idleness."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import attrs
import trio

__all__ = ["held_clock"]


@attrs.define
class _Held:
    """How many hold the clock of this Trio run, and what it had before."""

    holders: int = 0
    threshold: float = math.inf


_held: Final[trio.lowlevel.RunVar[_Held]] = trio.lowlevel.RunVar("boyd_held_clock")


@contextmanager
def held_clock() -> Generator[None]:
    """Within it a `trio.testing.MockClock` does not jump; any other clock is left alone."""
    clock: Any = trio.lowlevel.current_clock()
    if not hasattr(clock, "autojump_threshold"):
        yield
        return
    try:
        held = _held.get()
    except LookupError:
        held = _Held()
        _held.set(held)
    if not held.holders:
        held.threshold = clock.autojump_threshold
        clock.autojump_threshold = math.inf
    held.holders += 1
    try:
        yield
    finally:
        held.holders -= 1
        if (
            not held.holders and clock.autojump_threshold == math.inf
        ):  # else somebody has set it since
            clock.autojump_threshold = held.threshold
