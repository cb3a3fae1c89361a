"""Every source of chance, in one place, so that a simulated world can replace it.

Nothing else in Boyd reads a clock, draws a random number, makes an id or
starts a thread.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple

import attrs
import trio

from boyd.runtime.jumping import held_clock

if TYPE_CHECKING:
    from boyd.runtime.dispatcher import Dispatcher

__all__ = [
    "Clock",
    "Ids",
    "Offload",
    "Seams",
    "SystemClock",
    "ThreadOffload",
    "monotonic_ns",
    "time_of",
]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

monotonic_ns: Callable[[], int] = time.perf_counter_ns


class Clock(Protocol):
    """Two readings of time, both in seconds."""

    def now(self) -> float:
        """Monotonic, and that of the Trio run, by which deadlines and timers fire (`trio.run(..., clock=)`)."""
        ...

    def wall(self) -> float:
        """Since the epoch, UTC; for people. It may jump and must not decide anything."""
        ...


class SystemClock:
    """Trio's clock (so that `MockClock` works) and the machine's wall clock."""

    now = staticmethod(trio.current_time)

    def wall(self) -> float:
        return time.time()


def time_of(clock: Clock) -> Callable[[], float]:
    """`clock.now`, for the rest of this Trio run. It is called for every message."""
    return trio.lowlevel.current_clock().current_time if type(clock) is SystemClock else clock.now


class Ids:
    """Unique short names: 64 random bits for the process, then a counter.

    A process start that draws the same 64 bits as another one is the only
    way to a collision.
    """

    def __init__(self, prefix: str | None = None) -> None:
        self._prefix = secrets.token_hex(8) if prefix is None else prefix
        self._count = 0

    def new(self) -> str:
        """The next id, never returned before."""
        self._count += 1
        return f"{self._prefix}-{self._count:x}"


class Offload(Protocol):
    """Runs blocking functions without holding the loop."""

    async def run(
        self, fn: Callable[[*Ts], T], *args: *Ts, abandon: bool = False, vital: bool = False
    ) -> T:
        """Call `fn(*args)` elsewhere and return what it returns.

        A cancel is delivered when `fn` has ended; with `abandon` at once, and
        `fn` is left to end by itself, for reads that may wait for ever.
        A `vital` call begins however many others are still busy: a commit
        must not wait for tools that hang.
        """
        ...


class ThreadOffload:
    """Trio's worker threads. A `MockClock` that jumps by itself waits for them."""

    async def run(
        self, fn: Callable[[*Ts], T], *args: *Ts, abandon: bool = False, vital: bool = False
    ) -> T:
        limiter = trio.CapacityLimiter(1) if vital else None  # of its own, or the one of all
        with held_clock():
            return await trio.to_thread.run_sync(
                fn, *args, abandon_on_cancel=abandon, limiter=limiter
            )


def _default_dispatcher() -> Dispatcher:
    from boyd.runtime.dispatcher import TaskDispatcher

    return TaskDispatcher()


@attrs.frozen(kw_only=True)
class Seams:
    """What a system takes from the world. `attrs.evolve` one field to inject your own."""

    clock: Clock = attrs.field(factory=SystemClock)
    ids: Ids = attrs.field(factory=Ids)
    random: random.Random = attrs.field(factory=random.Random)
    offload: Offload = attrs.field(factory=ThreadOffload)
    dispatcher: Callable[[], Dispatcher] = _default_dispatcher
    timer: Callable[[], float] = time.perf_counter
    """Seconds of real time, to measure how long code has run."""
    process: str = attrs.field(factory=lambda: f"pid {os.getpid()}")
    environ: Callable[[str], str | None] = os.environ.get
