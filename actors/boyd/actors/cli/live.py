"""The view on a terminal; the only user of rich."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, TextIO

import trio
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.live import Live
from rich.text import Text

from boyd.actors.cli.rows import Meter, Row, counted, rate_text, totals
from boyd.actors.cli.visible import shortened, visible

__all__ = ["Screen", "draw"]

_STYLES: Final = {"running": "", "done": "green", "failed": "red"}
_MARKS: Final = {"running": " ", "done": "✓", "failed": "✗"}
_ASCII_MARKS: Final = {"running": " ", "done": "+", "failed": "x"}
_BAR: Final = 12
_NARROW: Final = 64
_MOST_NAME: Final = 16
_MOST_PHASE: Final = 10
_OTHER_LINES: Final = 4
"""Lines of a terminal that are not rows: title, totals, what is left out, the cursor's."""


def draw(
    rows: Sequence[Row],
    meter: Meter,
    *,
    title: str,
    unit: str,
    width: int,
    height: int,
    ascii_only: bool = False,
) -> Text:
    """The view as text of at most `width` columns and `height` lines."""
    shown = rows[: max(height - _OTHER_LINES, 1)]
    names = min(max((cell_len(row.name) for row in shown), default=0), _MOST_NAME)
    phases = min(max((cell_len(row.phase) for row in shown), default=0), _MOST_PHASE)
    counts = max((len(counted(row)) for row in shown), default=0)
    bars = _BAR if width >= _NARROW and any(row.total for row in shown) else 0
    lines = [Text(set_cell_size(title, min(cell_len(title), width)), "bold")] if title else []
    for row in shown:
        marks = _ASCII_MARKS if ascii_only else _MARKS
        line = Text(f"{marks[row.state]} ", _STYLES[row.state])
        line.append(f"{set_cell_size(visible(row.name), names)}  ")
        if phases:
            line.append(f"{set_cell_size(visible(row.phase), phases)}  ", "cyan")
        if bars:
            line.append_text(_bar(row, bars, ascii_only=ascii_only)).append("  ")
        line.append(f"{counted(row):>{counts}}  ")
        if width >= _NARROW:
            rate = rate_text(meter.rate(row.name)) if row.state == "running" else ""
            line.append(f"{rate:>7}  ", "dim")
        if row.queued:
            line.append(f"{row.queued:,} queued  ", "yellow")
        line.append(visible(shortened(row.note, 200)), "bold" if row.state == "running" else "")
        line.truncate(width, overflow="ellipsis" if not ascii_only else "crop")
        lines.append(line)
    if len(shown) < len(rows):
        lines.append(Text(f"  and {len(rows) - len(shown)} more", "dim"))
    lines.append(Text(shortened(totals(rows, unit, meter.total()), width), "dim"))
    return Text("\n").join(lines)


def _bar(row: Row, width: int, *, ascii_only: bool) -> Text:
    if not row.total:
        return Text(" " * width)
    full = min(row.done * width // row.total, width)
    done, left = ("#", ".") if ascii_only else ("━", "─")
    bar = Text(done * full, "green" if row.state == "done" else "cyan")
    return bar.append(left * (width - full), "dim")


class Screen:
    """Rows drawn over themselves on a terminal. No thread: somebody calls `refresh`."""

    def __init__(self, stream: TextIO, *, title: str, unit: str) -> None:
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._title = title
        self._unit = unit
        self._meter = Meter()
        self._rows: Sequence[Row] = ()
        self._live: Live | None = None

    def show(self, rows: Sequence[Row]) -> None:
        """Draw `rows`."""
        self._rows = rows
        self._meter.add(trio.current_time(), rows)
        if self._live is not None:
            self._live.update(self._drawing(), refresh=True)

    def above(self, text: str) -> None:
        """Put a line above the rows."""
        self._console.print(Text(text))

    def pause(self) -> None:
        """Take the rows off the terminal."""
        if self._live is not None:
            self._live.transient = True
            self.close()

    def resume(self) -> None:
        """Draw them from now on."""
        if self._live is None:
            # A fresh one each time: a stopped Live would move up by the lines it had.
            # What other code prints goes above the rows, unless it goes to a file.
            self._live = Live(
                self._drawing(),
                console=self._console,
                auto_refresh=False,
                redirect_stdout=sys.stdout.isatty(),
                redirect_stderr=sys.stderr.isatty(),
            )
            self._live.start(refresh=True)

    def close(self) -> None:
        """Leave the terminal as it was, below what was drawn last."""
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def _drawing(self) -> Text:
        width, height = self._console.size
        return draw(
            self._rows,
            self._meter,
            title=self._title,
            unit=self._unit,
            width=width,
            height=height,
            ascii_only=self._console.options.ascii_only,
        )
