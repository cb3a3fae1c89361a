"""`open_view`: how far everybody is, drawn on a terminal or said in lines."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import trio

from boyd.actors.cli.output import stream_for_people, warn
from boyd.actors.cli.rows import Meter, Row, counted_as, totals
from boyd.actors.cli.session import Session, current_session
from boyd.actors.cli.visible import shortened

__all__ = ["open_view"]

_FRAMES: Final = 8
"""Drawings a second."""
_LOOK: Final = 0.25
"""Seconds between looks where nothing is drawn."""
_MOST: Final = 100
"""Characters of a line that is not drawn."""


@asynccontextmanager
async def open_view(
    rows: Callable[[], Sequence[Row]], *, title: str = "", unit: str = "lines", every: float = 5.0
) -> AsyncGenerator[None]:
    """Show what `rows()` returns, again and again, for as long as the block runs.

    On a terminal the rows are drawn over themselves, 8 times a second, and
    stay when the block ends; `say` and `warn` write above them. Elsewhere
    standard error has one line for all rows `every` seconds, if something has
    moved, and one for each row that ends. Rates are measured from `done`. What
    the block raises leaves it as it is; what `rows` raises is raised in a group.

    Args:
        rows: called often, so it should only read what somebody else keeps.
        title: a line above the rows.
        unit: of `done`, in the plural.
    """
    session = current_session()
    stream = stream_for_people()
    if stream.isatty() and os.environ.get("TERM", "") != "dumb":
        from boyd.actors.cli.live import Screen

        screen = Screen(stream, title=title, unit=unit)

        def drawn() -> None:
            _note_progress(session, now := rows())
            screen.show(now)

        screen.resume()
        session.view = screen
        try:
            async with _beside(drawn, 1 / _FRAMES):
                yield
        finally:
            session.view = None
            drawn()  # how it ended, also when that was bad
            screen.close()
        return
    if title:
        warn(title)
    lines = _Lines(unit, every)

    def said() -> None:
        _note_progress(session, now := rows())
        lines.show(now)

    async with _beside(said, _LOOK):
        yield
    said()


def _note_progress(session: Session, rows: Sequence[Row]) -> None:
    session.began = session.began or any(row.done for row in rows)


@asynccontextmanager
async def _beside(show: Callable[[], None], seconds: float) -> AsyncGenerator[None]:
    """Call `show` now and every `seconds` while the block runs; its error leaves it unwrapped."""

    async def repeat() -> None:
        while True:
            show()
            await trio.sleep(seconds)

    failed: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(repeat)
        try:
            yield
        except Exception as error:  # noqa: BLE001  # raised again below, outside the nursery that would wrap it
            failed = error
        nursery.cancel_scope.cancel()
    if failed is not None:
        raise failed


class _Lines:
    """Progress as lines on standard error, not many of them."""

    def __init__(self, unit: str, every: float) -> None:
        self._unit = unit
        self._every = every
        self._meter = Meter()
        self._next: float | None = None
        self._last = ""
        self._ended: set[str] = set()

    def show(self, rows: Sequence[Row]) -> None:
        now = trio.current_time()
        self._meter.add(now, rows)
        for row in rows:
            if row.state != "running" and row.name not in self._ended:
                self._ended.add(row.name)
                note = f"; {row.note}" if row.note else ""
                line = f"{row.name}: {row.state}, {counted_as(row, self._unit)}{note}"
                warn(shortened(line, _MOST))
        if self._next is None:
            self._next = now + self._every
        if now >= self._next:
            self._next = now + self._every
            moved = totals(rows, self._unit, 0.0)
            if moved != self._last:
                self._last = moved
                warn(shortened(totals(rows, self._unit, self._meter.total()), _MOST))
