"""Volume: is there much more, or nothing at all, against what is usual here?

Three questions, each over buckets of time: do lines come in a burst (against the median and the
median deviation of the buckets before), did they stop, and does a larger share of one unit's
lines fail than before (a bad deploy)?
"""

from collections import deque
from statistics import median

import attrs

from .digest import Bucket, Digest, Mark, UnitCount
from .evidence import Evidence, Spot, of_templates
from .rates import Jump, UnitRate
from .readings import Finding, Reading, by_score
from .text import counted, number, percent

_HISTORY = 240
_LEARNING = 12
_SILENCE_LEARNING = 24
_STEADY = 5
_SILENT = 12
_MOST_UNITS = 64


@attrs.define(kw_only=True)
class _Open:
    """The latest bucket, which the next batch may still add to."""

    start: int
    lines: int
    first_line: int
    last_line: int


class Volume:
    """Remembers how many lines the buckets before had, and how much of each unit's failed."""

    name = "volume"

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._closed: deque[int] = deque(maxlen=_HISTORY)
        self._open: _Open | None = None
        self._units: dict[str, UnitRate] = {}
        self._marks: deque[Mark] = deque(maxlen=12)

    def recall(self, digest: Digest) -> None:
        """Know what was known after this digest."""
        self._follow(digest)

    def read(self, digest: Digest) -> Reading:
        """Compare a batch with what is usual, and remember it."""
        findings, usual = self._follow(digest)
        if not digest.width:
            note = "no times in this source"
        elif usual is None:
            note = "still learning what is usual"
        else:
            note = f"usually {counted(round(usual), 'line')} in {_spoken(digest.width)}"
        return Reading(
            facet=self.name,
            source=digest.source,
            number=digest.number,
            note=note,
            findings=by_score(findings, 20),
        )

    def _follow(self, digest: Digest) -> tuple[list[Finding], float | None]:
        findings: list[Finding] = []
        bursts: list[tuple[float, Bucket, float]] = []
        for bucket in digest.buckets:
            silence = self._silence(digest, bucket)
            if silence is not None:
                findings.append(silence)
            burst = self._count(digest, bucket)
            if burst:
                # The tail of a burst is ordinary; its middle counts with what came before.
                own = bucket.lines < 2 * burst
                lines = bucket.lines if own else self._open_lines
                bursts.append((lines / burst, bucket, burst))
        if bursts:
            findings.append(_burst(digest, bursts))
        self._marks.extend(digest.marks)
        findings.extend(self._jumps(digest))
        return findings, median(self._closed) if len(self._closed) >= _LEARNING else None

    @property
    def _open_lines(self) -> int:
        return self._open.lines if self._open else 0

    def _count(self, digest: Digest, bucket: Bucket) -> float:
        """Add a bucket; return what is usual if this one is a burst, else 0."""
        last = self._open
        if last is not None and bucket.start <= last.start:
            last.lines += bucket.lines
            last.last_line = bucket.last_line
        else:
            if last is not None:
                self._close(last, (bucket.start - last.start) // max(1, digest.width) - 1)
            last = self._open = _Open(
                start=bucket.start,
                lines=bucket.lines,
                first_line=bucket.first_line,
                last_line=bucket.last_line,
            )
        if len(self._closed) < _LEARNING or last.lines < 2 * max(self._closed):
            return 0.0
        usual = median(self._closed)
        spread = 1.4826 * median(abs(count - usual) for count in self._closed)
        much = last.lines >= 5 * usual + 20
        return max(1.0, usual) if much and last.lines - usual > 8 * (spread + 1.0) else 0.0

    def _close(self, last: _Open, empty: int) -> None:
        usual = median(self._closed) if len(self._closed) >= _LEARNING else None
        # A burst must not become what is usual.
        self._closed.append(last.lines if usual is None else int(min(last.lines, 5 * usual + 20)))
        self._closed.extend([0] * min(max(0, empty), _HISTORY // 4))

    def _silence(self, digest: Digest, bucket: Bucket) -> Finding | None:
        last = self._open
        if last is None or len(self._closed) < _SILENCE_LEARNING or not digest.templates:
            return None
        empty = (bucket.start - last.start) // max(1, digest.width) - 1
        if empty < _SILENT:
            return None
        usual = sorted(self._closed)[len(self._closed) // 20]
        if usual < _STEADY:
            return None
        why = (
            f"no line for {_spoken(empty * digest.width)} after line {last.last_line:,}, "
            f"where at least {number(usual)} in {_spoken(digest.width)} are usual"
        )
        evidence = Evidence(
            source=digest.source,
            count=1,
            first_line=last.last_line,
            last_line=bucket.first_line,
            first_time=float(last.start + digest.width),
            last_time=float(bucket.start),
        )
        return Finding(key="silence", kind="silence", score=0.65, why=why, evidence=evidence)

    def _jumps(self, digest: Digest) -> list[Finding]:
        findings: list[Finding] = []
        for count in digest.units:
            rate = self._units.get(count.name)
            if rate is None:
                if len(self._units) >= _MOST_UNITS:
                    continue
                rate = self._units[count.name] = UnitRate()
            jump = rate.follow(count.cells)
            if jump is not None:
                finding = _jump(digest, count, jump, self._marks)
                if finding is not None:
                    findings.append(finding)
        return findings


def _burst(digest: Digest, bursts: list[tuple[float, Bucket, float]]) -> Finding:
    ratio, bucket, usual = max(bursts, key=lambda burst: (burst[0], -burst[1].start))
    texts = {count.id: count for count in digest.templates}
    top = texts.get(bucket.top)
    lines = round(ratio * usual)  # with what earlier batches had of this bucket
    why = (
        f"{counted(lines, 'line')} in {_spoken(digest.width)}, usually {number(usual)}; "
        f"{percent(bucket.top_lines, bucket.lines)} of them: {top.text[:80] if top else 'mixed'}"
    )
    chosen = [top] if top else list(digest.templates[:1])
    evidence = _between(
        of_templates(digest, chosen),
        min(b.first_line for _, b, _ in bursts),
        max(b.last_line for _, b, _ in bursts),
    )
    strong = ratio >= 10 and lines >= 200
    return Finding(
        key="burst",
        kind="burst",
        score=round(min(0.8, 0.62 + ratio / 500) if strong else min(0.55, 0.3 + ratio / 50), 3),
        why=why,
        evidence=attrs.evolve(
            evidence,
            count=sum(b.lines for _, b, _ in bursts),
            first_time=float(min(b.start for _, b, _ in bursts)),
            last_time=float(max(b.start for _, b, _ in bursts) + digest.width),
        ),
        trouble=top.trouble if top else "",
        unit=top.unit if top else "",
        numbers={"lines": sum(b.lines for _, b, _ in bursts)},
    )


def _jump(digest: Digest, of: UnitCount, jump: Jump, marks: deque[Mark]) -> Finding | None:
    unit = of.name
    bad = [
        count
        for count in digest.templates
        if count.unit == unit and count.failing and not count.by_actor
    ]
    inside = of.failing_between(jump.start, jump.end)
    if not bad or inside is None:
        return None
    first, last = inside
    why = (
        f"{percent(jump.failing, jump.lines)} of the lines of {unit} fail, "
        f"{percent(jump.usual * 1000, 1000)} did before"
    )
    before = [mark for mark in marks if mark.line <= last and _about(mark, unit, jump.start, first)]
    if before:
        why += f"; shortly before, line {before[-1].line:,}: {before[-1].text[:100]}"
    worst = max(bad, key=lambda count: (count.failing, count.weight, -count.id))
    evidence = _between(of_templates(digest, bad), first, last)
    begin = _later(evidence.first_time, jump.start)
    end = _earlier(evidence.last_time, jump.end + digest.width)
    return Finding(
        key=f"rate:{unit}",
        kind="rate",
        score=round(min(0.95, 0.65 + 0.3 * jump.failing / max(1, jump.lines)), 3),
        why=why,
        evidence=attrs.evolve(
            evidence,
            count=jump.failing,
            first_time=next((c.first_time for c in bad if c.first_line == first), begin),
            last_time=next((c.last_time for c in bad if c.last_line == last), end),
            marks=tuple(before[-2:]),
        ),
        trouble=worst.trouble,
        unit=unit,
        numbers={"lines": jump.failing},
    )


def _about(mark: Mark, unit: str, start: int, line: int) -> bool:
    """Tell whether a change may be why a unit fails from a moment on."""
    near = mark.time is None or start - 7200 <= mark.time <= start + 7200
    name = unit.strip("/").lower()
    return near and line - 2000 <= mark.line and (mark.unit == unit or name in mark.text.lower())


def _between(evidence: Evidence, first: int, last: int) -> Evidence:
    """Return the evidence without what lies outside a range of lines."""
    spots: list[Spot] = []
    for spot in evidence.spots:
        spans = tuple(
            attrs.evolve(span, first=max(first, span.first), last=min(last, span.last))
            for span in spot.spans
            if span.first <= last and span.last >= first
        )
        if spans:
            inside = first <= spot.line <= last
            spots.append(
                attrs.evolve(
                    spot,
                    spans=spans,
                    line=spot.line if inside else spans[-1].last,
                    sample=spot.sample if inside else "",
                )
            )
    return attrs.evolve(
        evidence,
        first_line=max(first, evidence.first_line),
        last_line=min(last, evidence.last_line),
        spots=tuple(spots),
    )


def _later(time: float | None, bound: float) -> float:
    return bound if time is None else max(time, bound)


def _earlier(time: float | None, bound: float) -> float:
    return bound if time is None else min(time, bound)


def _spoken(seconds: float) -> str:
    """Return a length of time as people say it."""
    for size, noun in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return counted(int(seconds // size), noun)
    return counted(int(seconds), "second")


__all__ = ["Volume"]
