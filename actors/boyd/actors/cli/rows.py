"""Rows of a view as data, and what can be said of them in plain text."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, Literal

import attrs

from boyd.actors.plural import noun_for

__all__ = ["Meter", "Row", "counted", "counted_as", "rate_text", "totals"]

_WINDOW: Final = 3.0


@attrs.frozen(kw_only=True)
class Row:
    """One line of a view: an agent, and how far it is.

    Attributes:
        name: unique in the view.
        phase: what it does now.
        done, total: how much of how much; without a total there is a count and no bar.
        queued: messages that wait for it.
        note: the last thing worth knowing; the first to be cut.
    """

    name: str
    phase: str = ""
    done: int = 0
    total: int | None = None
    queued: int = 0
    note: str = ""
    state: Literal["running", "done", "failed"] = "running"


class Meter:
    """How fast the rows move, over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, dict[str, int]]] = deque()

    def add(self, now: float, rows: Sequence[Row]) -> None:
        """See the rows at `now`."""
        self._seen.append((now, {row.name: row.done for row in rows}))
        while len(self._seen) > 2 and now - self._seen[1][0] >= _WINDOW:  # noqa: PLR2004  # a window has two ends
            self._seen.popleft()

    def rate(self, name: str) -> float:
        """Units a second of one row; 0.0 before it has moved."""
        if len(self._seen) < 2:  # noqa: PLR2004  # as above
            return 0.0
        (begun, first), (now, last) = self._seen[0], self._seen[-1]
        moved = last.get(name, 0) - first.get(name, last.get(name, 0))
        return max(moved, 0) / (now - begun) if now > begun else 0.0

    def total(self) -> float:
        """Units a second of all rows together."""
        return sum(self.rate(name) for name in self._seen[-1][1]) if self._seen else 0.0


def counted(row: Row) -> str:
    """`41,200/120,000`, or `41,200` where nobody knows of how many."""
    return f"{row.done:,}" if row.total is None else f"{row.done:,}/{row.total:,}"


def counted_as(row: Row, unit: str) -> str:
    """`41,200/120,000 lines`, `0/1 line`."""
    return f"{counted(row)} {noun_for(row.done if row.total is None else row.total, unit)}"


def rate_text(rate: float) -> str:
    """`850/s`, `21.3k/s`; nothing for nothing."""
    if rate < 0.05:  # noqa: PLR2004  # would read 0.0
        return ""
    if rate < 10:  # noqa: PLR2004  # one digit before the point
        return f"{rate:.1f}/s"
    return f"{rate:.0f}/s" if rate < 1000 else f"{rate / 1000:.1f}k/s"  # noqa: PLR2004


def totals(rows: Sequence[Row], unit: str, rate: float) -> str:
    """`41,200 of 120,000 lines, 21.3k/s, 3 at work, 1 done`."""
    done = sum(row.done for row in rows)
    known = [row.total for row in rows if row.total is not None]
    is_known = bool(known) and len(known) == len(rows)
    all_of_them = sum(known) if is_known else done
    of = f" of {all_of_them:,}" if is_known else ""
    parts = [f"{done:,}{of} {noun_for(all_of_them, unit)}"]
    if rate_text(rate):
        parts.append(rate_text(rate))
    parts += _states(rows)
    queued = sum(row.queued for row in rows)
    if queued:
        parts.append(f"{queued:,} queued")
    return ", ".join(parts)


def _states(rows: Sequence[Row]) -> list[str]:
    """How many are at work, done and failed; nothing where all are done, which the rows show."""
    counts = Counter[str](row.state for row in rows)
    if counts["done"] == len(rows):
        return []
    said = {"running": "at work", "done": "done", "failed": "failed"}
    return [f"{counts[state]} {words}" for state, words in said.items() if counts[state]]
