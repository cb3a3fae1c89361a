"""The picture of a report (SVG): a lane for each source, its lines over time, its incidents."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

import attrs

from .clock import in_base_year, spoken_time
from .incidents import Incident
from .report import Report
from .summary import SourceSummary
from .text import counted

_WIDTH, _LEFT, _RIGHT = 1000.0, 118.0, 12.0
_BARS, _ROW, _GAP, _AXIS, _TOP = 46.0, 15.0, 20.0, 26.0, 8.0
_MOST_ROWS = 14
_STEPS = (
    1,
    5,
    15,
    60,
    300,
    900,
    3600,
    3 * 3600,
    6 * 3600,
    12 * 3600,
    86_400,
    2 * 86_400,
    7 * 86_400,
    14 * 86_400,
    30 * 86_400,
    91 * 86_400,
    365 * 86_400,
)


@attrs.frozen
class _Axis:
    """A stretch of time, or of line numbers, and what may be written below it."""

    begin: float
    end: float
    by_line: bool = False
    dated: bool = True
    base_year: bool = False

    def x(self, value: float) -> float:
        if self.base_year:
            value = in_base_year(value)
        share = (value - self.begin) / max(1e-9, self.end - self.begin)
        return _LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - _RIGHT)


def timeline_svg(report: Report) -> str:
    """Return the picture as an SVG element. Its colours are the style sheet's of the page."""
    if not report.sources:
        return ""
    shared = _shared_axis(report.sources)
    parts: list[str] = []
    top = _TOP
    for source in report.sources:
        axis = shared if shared and source.volumes else _own_axis(source)
        numbered = [
            (number, incident)
            for number, incident in enumerate(report.incidents, start=1)
            if incident.source == source.name
        ]
        drawn, height = _lane(source, axis, numbered, top)
        parts += drawn
        top += height
        if axis is not shared:
            parts += _ends(axis, top)
            top += 16.0
        top += _GAP
    if shared:
        parts = [*_grid(shared, top - _GAP), *parts]
        top += _AXIS - _GAP
    label = f"Lines over time of {counted(len(report.sources), 'source')}, with incidents"
    return (
        f'<svg class="timeline" viewBox="0 0 {_WIDTH:.0f} {top:.0f}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _lane(
    source: SourceSummary, axis: _Axis, numbered: list[tuple[int, Incident]], top: float
) -> tuple[list[str], float]:
    """Draw one source: its name, its incidents in rows, its lines as bars below them."""
    placed = _rows([(n, i, *_extent(i, axis)) for n, i in numbered])
    rows = max((row for *_, row in placed), default=-1) + 1
    floor = top + rows * _ROW + _BARS
    name = source.name if len(source.name) <= 18 else "…" + source.name[-17:]
    parts = [
        f'<text class="name" x="0" y="{floor - 16:.0f}">{escape(name)}</text>',
        f'<text class="dim" x="0" y="{floor - 2:.0f}">{counted(source.lines, "line")}</text>',
        (
            f'<line class="floor" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{floor:.1f}" '
            f'y2="{floor:.1f}"/>'
        ),
    ]
    parts += _bars(source, axis, floor)
    for number, incident, begin, end, row in placed:
        y = top + row * _ROW
        tip = f"{number}. {incident.title} ({incident.severity})"
        parts.append(
            f'<a href="#incident-{number}"><g class="mark {incident.severity}">'
            f"<title>{escape(tip)}</title>"
            f'<rect x="{begin:.1f}" y="{y + 1:.1f}" width="{end - begin:.1f}" height="12" rx="3"/>'
            f'<text x="{(begin + end) / 2:.1f}" y="{y + 10.5:.1f}">{number}</text></g></a>'
        )
    return parts, floor - top


def _bars(source: SourceSummary, axis: _Axis, floor: float) -> list[str]:
    if not source.volumes:
        return []
    most = max(volume.lines for volume in source.volumes)
    width = max(1.0, axis.x(axis.begin + max(1, source.width)) - _LEFT)
    if axis.base_year:
        share = max(1, source.width) / max(1e-9, axis.end - axis.begin)
        width = max(1.0, share * (_WIDTH - _LEFT - _RIGHT))
    parts: list[str] = []
    for volume in source.volumes:
        x = min(axis.x(float(volume.start)), _WIDTH - _RIGHT - 1.0)
        wide = min(width * 0.92, _WIDTH - _RIGHT - x)
        # The square root keeps a quiet hour visible beside a burst.
        tall = _BARS * 0.94 * (volume.lines / most) ** 0.5
        bad = tall * volume.failing / max(1, volume.lines)
        parts.append(_bar("lines", x, floor - tall, wide, tall))
        if bad >= 0.3:
            parts.append(_bar("bad", x, floor - bad, wide, bad))
    return parts


def _bar(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
    )


def _extent(incident: Incident, axis: _Axis) -> tuple[float, float]:
    """Return from where to where an incident is drawn; wide enough for its number."""
    evidence = incident.evidence
    first, last = evidence.first_time, evidence.last_time
    if axis.by_line or first is None or last is None:
        begin, end = axis.x(float(evidence.first_line)), axis.x(float(evidence.last_line))
    else:
        begin, end = axis.x(first), axis.x(last)
    middle, half = (begin + end) / 2, max(9.0, abs(end - begin) / 2)
    middle = min(max(middle, _LEFT + half), _WIDTH - _RIGHT - half)
    return middle - half, middle + half


def _rows(
    extents: list[tuple[int, Incident, float, float]],
) -> list[tuple[int, Incident, float, float, int]]:
    """Put incidents that would cover each other into rows."""
    ends: list[float] = []
    placed: list[tuple[int, Incident, float, float, int]] = []
    for number, incident, begin, end in sorted(extents, key=lambda e: (e[2], e[0])):
        row = next((r for r, until in enumerate(ends) if until + 2 <= begin), len(ends))
        if row == len(ends) and len(ends) < _MOST_ROWS:
            ends.append(end)
        row = min(row, _MOST_ROWS - 1)
        ends[row] = max(ends[row], end)
        placed.append((number, incident, begin, end, row))
    return placed


def _shared_axis(sources: Sequence[SourceSummary]) -> _Axis | None:
    """Return one axis for all sources with times, if they are of about the same time."""
    timed = [source for source in sources if source.volumes]
    if not timed or len({_scale(source) for source in timed}) != 1:
        return None
    dated = all(source.dated for source in timed)
    base_year = not dated and any(source.dated for source in timed)
    spans = [_span(source) for source in timed]
    if base_year:
        spans = [(in_base_year(begin), in_base_year(end)) for begin, end in spans]
    begin, end = min(s[0] for s in spans), max(s[1] for s in spans)
    longest = max(s[1] - s[0] for s in spans)
    if end - begin > 2 * longest + 60 or any(s[1] < s[0] for s in spans):
        return None
    return _Axis(begin, end, dated=dated or base_year, base_year=base_year)


def _scale(source: SourceSummary) -> str:
    """Tell times of the calendar from seconds since a machine started."""
    return "calendar" if source.dated or (source.last_time or 0) > 300 * 86_400 else "boot"


def _own_axis(source: SourceSummary) -> _Axis:
    if not source.volumes:
        return _Axis(1.0, float(max(2, source.lines)), by_line=True)
    begin, end = _span(source)
    return _Axis(begin, end, dated=source.dated)


def _span(source: SourceSummary) -> tuple[float, float]:
    """Return from when to when a source has lines, without a few stray ones far away."""
    starts = [volume.start for volume in source.volumes]
    begin, end = float(starts[0]), float(starts[-1] + source.width)
    few = 0.002 * source.lines
    sums = 0
    inner: list[int] = []
    for volume in source.volumes:
        sums += volume.lines
        if few < sums <= source.lines - few or volume.lines > few:
            inner.append(volume.start)
    if inner and (inner[-1] + source.width - inner[0]) * 5 < end - begin:
        return float(inner[0]), float(inner[-1] + source.width)
    return begin, end


def _grid(axis: _Axis, bottom: float) -> list[str]:
    span = axis.end - axis.begin
    step = next((step for step in _STEPS if span / step <= 9), _STEPS[-1])
    parts: list[str] = []
    at = (axis.begin // step + 1) * step
    while at < axis.end:
        x = _Axis(axis.begin, axis.end).x(at)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom:.1f}"/>'
        )
        if x < _WIDTH - 40:
            parts.append(
                f'<text class="dim tick" x="{x:.1f}" y="{bottom + 16:.1f}">{_tick(at, step)}</text>'
            )
        at += step
    return parts


def _tick(at: float, step: int) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    if step >= 86_400 or (moment.hour == moment.minute == moment.second == 0):
        return f"{moment:%b} {moment.day}"
    return f"{moment:%H:%M}" if step >= 60 else f"{moment:%H:%M:%S}"


def _ends(axis: _Axis, top: float) -> list[str]:
    if axis.by_line:
        begin, end = f"line {axis.begin:,.0f}", f"line {axis.end:,.0f}"
    else:
        begin = spoken_time(axis.begin, dated=axis.dated)
        end = spoken_time(axis.end, dated=axis.dated)
    return [
        f'<text class="dim" x="{_LEFT}" y="{top + 13:.1f}">{escape(begin)}</text>',
        f'<text class="dim end" x="{_WIDTH - _RIGHT}" y="{top + 13:.1f}">{escape(end)}</text>',
    ]
