"""How much of a unit's lines fail, and whether that jumped against what was usual."""

import math
from collections import deque

import attrs

_HISTORY = 240
_WINDOW_LINES = 20
_WINDOW_CELLS = 12
_BASELINE_LINES = 40
_FEW = 12
_SURE = 18.0
"""Nats: the chance of so many failures at the usual rate is below e**-18."""


@attrs.frozen(kw_only=True)
class Jump:
    """The failing share of a unit is far above the usual, from one bucket to another."""

    start: int
    end: int
    lines: int
    failing: int
    usual: float


@attrs.define
class _Cell:
    start: int
    lines: int
    failing: int
    raised: bool = False


class UnitRate:
    """Follows one unit, bucket after bucket; what is part of a jump never counts as usual."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._cells: deque[_Cell] = deque()
        # Sums over the cells that are not part of a jump.
        self._lines = 0
        self._failing = 0

    def follow(self, cells: tuple[tuple[int, int, int], ...]) -> Jump | None:
        """Add the cells (start, lines, failing) of a batch; return the jump they are part of."""
        fired: dict[int, _Cell] = {}
        usual = 0.0
        for start, lines, failing in cells:
            if start < 0:
                continue
            last = self._cells[-1] if self._cells else None
            if last is not None and start <= last.start:
                last.lines += lines
                last.failing += failing
            else:
                last = _Cell(start, lines, failing)
                self._cells.append(last)
            if not last.raised:
                self._lines += lines
                self._failing += failing
            if len(self._cells) > _HISTORY:
                self._forget(self._cells.popleft())
            window, before = self._judge()
            if window:
                usual = before
                for cell in window:
                    self._forget(cell)
                    cell.raised = True
                    fired[cell.start] = cell
        if not fired:
            return None
        first = cells[0][0]
        inside = [cell for cell in fired.values() if cell.failing and cell.start >= first]
        now = sum(failing for start, _, failing in cells if start in fired)
        if not inside or 2 * now < _FEW:
            return None  # what jumped was the batch before
        return Jump(
            start=min(cell.start for cell in inside),
            end=max(cell.start for cell in inside),
            lines=sum(cell.lines for cell in inside),
            failing=sum(cell.failing for cell in inside),
            usual=usual,
        )

    def _forget(self, cell: _Cell) -> None:
        if not cell.raised:
            self._lines -= cell.lines
            self._failing -= cell.failing

    def _judge(self) -> tuple[list[_Cell], float]:
        """Return the latest cells if they fail far more than usual, and what is usual."""
        window: list[_Cell] = []
        lines = failing = 0
        for cell in reversed(self._cells):
            if lines >= _WINDOW_LINES or len(window) == _WINDOW_CELLS:
                break
            window.append(cell)
            lines += cell.lines
            failing += cell.failing
        usual_lines, usual_failing = self._lines, self._failing
        for cell in window:
            if not cell.raised:
                usual_lines -= cell.lines
                usual_failing -= cell.failing
        usual = (usual_failing + 1.0) / (usual_lines + 20.0)
        share = failing / max(1, lines)
        if usual_lines < _BASELINE_LINES or failing < _FEW or share < max(0.1, 4.0 * usual):
            return [], usual
        # Leading cells of the window that are as good as ever are not part of the jump.
        while len(window) > 1 and window[-1].failing <= 2.0 * usual * window[-1].lines:
            window.pop()
        return (window if _surprise(lines, share, usual) >= _SURE else []), usual


def _surprise(lines: int, share: float, usual: float) -> float:
    """Return how unlikely a share of failing lines is at the usual rate, in nats (Chernoff)."""
    got = lines * share * math.log(share / usual)
    if share < 1.0:
        got += lines * (1.0 - share) * math.log((1.0 - share) / (1.0 - usual))
    return got
