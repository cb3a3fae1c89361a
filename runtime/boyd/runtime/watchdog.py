"""Tells when actors hold everything up: the loop, their mailbox, or themselves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Final

import attrs
import trio
from trio.abc import Instrument

from boyd.runtime.cell import Cell
from boyd.runtime.envelope import Envelope
from boyd.runtime.messages import message
from boyd.runtime.origin import Aside, origin
from boyd.runtime.spans import check_span
from boyd.runtime.system import System

__all__ = ["WATCHDOG_TOPIC", "HeldLoop", "OldMail", "StuckHandler", "open_watchdog"]

WATCHDOG_TOPIC: Final = "boyd.watchdog"
"""Where a watchdog publishes what it sees."""


@message("boyd.held_loop")
class HeldLoop:
    """An actor ran for `seconds` without a checkpoint: nothing else ran meanwhile."""

    path: str
    handling: str
    seconds: float


@message("boyd.stuck_handler")
class StuckHandler:
    """A message has been in hand for `seconds`; `where` is the way to what its handler waits for."""

    path: str
    handling: str
    seconds: float
    where: tuple[str, ...] = ()


@message("boyd.old_mail")
class OldMail:
    """The oldest message of a mailbox has waited for `seconds`."""

    path: str
    queued: int
    seconds: float


@asynccontextmanager
async def open_watchdog(
    system: System,
    *,
    loop: float = 0.1,
    stuck: float = 30.0,
    mail: float = 30.0,
    every: float = 1.0,
) -> AsyncGenerator[None]:
    """Watch a system while the block runs: for each trouble a line in the log, and a message on `boyd.watchdog`.

    A handler or a mailbox is told of once, and again when it has recovered and
    is in trouble again. To see all at once, print `system.dump()`.

    Args:
        loop: seconds of real time that an actor may run without a checkpoint (`HeldLoop`).
        stuck: seconds that a message may be in hand (`StuckHandler`).
        mail: seconds that a message may wait in a mailbox (`OldMail`).
        every: seconds between looks at actors and mailboxes.

    Raises:
        ValueError: a number of seconds is none.
    """
    for name, span in (("loop", loop), ("stuck", stuck), ("mail", mail), ("every", every)):
        check_span(span, name, least=0.0)
    if not every > 0:
        raise ValueError(f"every={every} would look without a pause")
    steps = _Steps(system, loop)
    round_ = _Rounds(system, stuck, mail)
    trio.lowlevel.add_instrument(steps)
    try:
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                while True:
                    await system.sleep(every)
                    steps.tell()
                    round_.look()

            system.dispatcher.start_soon(nursery, watch, name="watchdog")
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()
    finally:
        trio.lowlevel.remove_instrument(steps)
        steps.tell()


def _tell(system: System, text: str, news: object) -> None:
    system.report(text, None)
    system.publish(WATCHDOG_TOPIC, news)


class _Steps(Instrument):
    """Measures each step of each task; tells of long ones later, for an instrument must not wait or fail."""

    def __init__(self, system: System, limit: float) -> None:
        self._system = system
        self._limit = limit
        self._timer = system.seams.timer
        self._began = self._timer()
        self._long: list[HeldLoop] = []

    def before_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002  # Trio's own signature
        self._began = self._timer()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        seconds = self._timer() - self._began
        if seconds < self._limit:
            return
        who = task.context.get(origin)
        cell = who.cell if isinstance(who, Aside) else who
        if isinstance(cell, Cell) and cell.system is self._system:
            handling = "" if isinstance(who, Aside) else _handling(cell)
            self._long.append(HeldLoop(path=cell.path, handling=handling, seconds=seconds))

    def tell(self) -> None:
        long, self._long = self._long, []
        for one in long:
            doing = f" in {one.handling}" if one.handling else ""
            text = (
                f"{one.path} held the loop for {one.seconds:.2f} s{doing}: await, or system.offload"
            )
            _tell(self._system, text, one)


def _handling(cell: Cell) -> str:
    return "" if cell.current is None else cell.current.codec.cls.__name__


@attrs.define(eq=False)
class _Seen:
    """What an actor has in hand, since when, and what was told of it."""

    current: Envelope | None
    since: float
    told_stuck: bool = False
    told_mail: bool = False


class _Rounds:
    """Looks at every actor now and then: that costs handlers nothing."""

    def __init__(self, system: System, stuck: float, mail: float) -> None:
        self._system = system
        self._stuck = stuck
        self._mail = mail
        self._seen: dict[Cell, _Seen] = {}

    def look(self) -> None:
        before, self._seen = self._seen, {}
        now = self._system.now()
        for cell in _all(self._system.directory.top.values()):
            seen = before.get(cell)
            if seen is None or seen.current is not cell.current:
                told = seen is not None and seen.told_mail
                seen = _Seen(cell.current, now, told_mail=told)
            self._seen[cell] = seen
            self._look_at_hand(cell, seen, now - seen.since)
            self._look_at_mail(cell, seen, now)

    def _look_at_hand(self, cell: Cell, seen: _Seen, seconds: float) -> None:
        if seen.current is None or seen.told_stuck or seconds < self._stuck:
            return
        seen.told_stuck = True
        where = tuple(self._system.place_of(cell.path))
        news = StuckHandler(path=cell.path, handling=_handling(cell), seconds=seconds, where=where)
        at = f", at {where[-1]}" if where else ""
        _tell(
            self._system, f"{cell.path} has been in {news.handling} for {seconds:.0f} s{at}", news
        )

    def _look_at_mail(self, cell: Cell, seen: _Seen, now: float) -> None:
        oldest = cell.queue.oldest
        seconds = 0.0 if oldest is None else now - oldest.at
        if seconds < self._mail:
            seen.told_mail = False
        elif not seen.told_mail:
            seen.told_mail = True
            queued = len(cell.queue)
            news = OldMail(path=cell.path, queued=queued, seconds=seconds)
            text = f"{cell.path} has {queued:,} messages waiting, the oldest for {seconds:.0f} s"
            _tell(self._system, text, news)


def _all(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Those and all below."""
    for cell in tuple(cells):
        yield cell
        yield from _all(cell.children.values())
