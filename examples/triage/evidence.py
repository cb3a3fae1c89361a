"""Evidence: which lines of which source something rests on, kept small however much there is."""

from collections.abc import Iterable
from itertools import pairwise

import attrs

from .digest import Digest, EntityCount, Mark, Share, TemplateCount

MOST_SPOTS = 120
MOST_SPANS = 24
MOST_NAMED = 24
MOST_MARKS = 6


@attrs.frozen(kw_only=True)
class Span:
    """Lines from `first` to `last`, `count` of which are meant: all of them, if it is as many."""

    first: int
    last: int
    count: int


@attrs.frozen(kw_only=True)
class Spot:
    """The lines of one template that are evidence, and one of them to look at."""

    template: int
    unit: str
    text: str
    count: int
    spans: tuple[Span, ...]
    line: int
    sample: str


@attrs.frozen(kw_only=True)
class Named:
    """Somebody or something that the evidence names, and in how many lines."""

    kind: str
    name: str
    count: int


@attrs.frozen(kw_only=True)
class Evidence:
    """Lines of one source, by template. Times are None where the source has none."""

    source: str
    count: int
    first_line: int
    last_line: int
    first_time: float | None = None
    last_time: float | None = None
    spots: tuple[Spot, ...] = ()
    more_spots: int = 0
    named: tuple[Named, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def templates(self) -> frozenset[int]:
        """The templates of the lines."""
        return frozenset(spot.template for spot in self.spots)


def spans_of(lines: tuple[int, ...], count: int, first: int, last: int) -> tuple[Span, ...]:
    """Return exact spans when all lines are known, else one span from the first to the last."""
    if len(lines) == count:
        return tuple(Span(first=line, last=line, count=1) for line in lines)
    return (Span(first=first, last=last, count=count),)


def of_templates(digest: Digest, counts: Iterable[TemplateCount]) -> Evidence:
    """Return the lines of some templates of a digest."""
    chosen = sorted(counts, key=lambda t: (-t.weight, -t.count, t.id))
    assert chosen, "evidence needs a template"
    times = [t for count in chosen for t in (count.first_time, count.last_time) if t is not None]
    return Evidence(
        source=digest.source,
        count=sum(count.count for count in chosen),
        first_line=min(count.first_line for count in chosen),
        last_line=max(count.last_line for count in chosen),
        first_time=min(times, default=None),
        last_time=max(times, default=None),
        spots=tuple(_spot(count) for count in chosen[:MOST_SPOTS]),
        more_spots=max(0, len(chosen) - MOST_SPOTS),
    )


def _spot(count: TemplateCount) -> Spot:
    return Spot(
        template=count.id,
        unit=count.unit,
        text=count.text,
        count=count.count,
        spans=spans_of(count.lines, count.count, count.first_line, count.last_line),
        line=count.sample_line,
        sample=count.sample,
    )


def of_entity(digest: Digest, entity: EntityCount) -> Evidence:
    """Return the suspicious lines of an entity."""
    known = {count.id: count for count in digest.templates}
    spots = [_share(entity, share, known.get(share.template)) for share in entity.templates]
    return Evidence(
        source=digest.source,
        count=entity.suspicious,
        first_line=entity.first_line,
        last_line=entity.last_line,
        first_time=entity.first_time,
        last_time=entity.last_time,
        spots=tuple(spots),
        named=(
            Named(kind=entity.kind, name=entity.name, count=entity.suspicious),
            *(Named(kind="user", name=name, count=1) for name in entity.partners),
        ),
    )


def _share(entity: EntityCount, share: Share, known: TemplateCount | None) -> Spot:
    """Return an entity's lines of one template, with a sample that is really about it."""
    line, sample = share.first_line, ""
    if share.first_line == entity.first_line:
        sample = entity.sample
    elif (
        known
        and entity.name in known.sample
        and share.first_line <= known.sample_line <= share.last_line
    ):
        line, sample = known.sample_line, known.sample
    exact = entity.lines if len(entity.templates) == 1 else ()
    if share.count <= 2:
        spans = _ends(share.first_line, share.last_line)
    else:
        spans = spans_of(exact, share.count, share.first_line, share.last_line)
    return Spot(
        template=share.template,
        unit=known.unit if known else "",
        text=known.text if known else "",
        count=share.count,
        spans=spans,
        line=line,
        sample=sample,
    )


def _ends(first: int, last: int) -> tuple[Span, ...]:
    ends = (first,) if first == last else (first, last)
    return tuple(Span(first=line, last=line, count=1) for line in ends)


def merge(one: Evidence, other: Evidence) -> Evidence:
    """Return both together. They are of one source; the order does not matter."""
    assert one.source == other.source, "evidence of two sources is never mixed"
    spots: dict[int, Spot] = {}
    for spot in (*one.spots, *other.spots):
        known = spots.get(spot.template)
        spots[spot.template] = spot if known is None else _joined(known, spot)
    ordered = sorted(spots.values(), key=lambda spot: (-spot.count, spot.template))
    named: dict[tuple[str, str], int] = {}
    for name in (*one.named, *other.named):
        named[name.kind, name.name] = named.get((name.kind, name.name), 0) + name.count
    marks = {mark.line: mark for mark in (*one.marks, *other.marks)}
    return Evidence(
        source=one.source,
        count=one.count + other.count,
        first_line=min(one.first_line, other.first_line),
        last_line=max(one.last_line, other.last_line),
        first_time=_least(one.first_time, other.first_time),
        last_time=_most(one.last_time, other.last_time),
        spots=tuple(ordered[:MOST_SPOTS]),
        more_spots=one.more_spots + other.more_spots + max(0, len(ordered) - MOST_SPOTS),
        named=tuple(
            Named(kind=kind, name=name, count=count)
            for (kind, name), count in sorted(named.items(), key=lambda n: (-n[1], n[0]))[
                :MOST_NAMED
            ]
        ),
        marks=tuple(marks[line] for line in sorted(marks)[:MOST_MARKS]),
    )


def _joined(one: Spot, other: Spot) -> Spot:
    first, second = sorted((one, other), key=lambda spot: (spot.line, spot.text))
    shown = first if first.sample or not second.sample else second
    # A template only gets more general: the text of the later lines fits all of them.
    return attrs.evolve(
        second,
        count=one.count + other.count,
        spans=joined_spans((*one.spans, *other.spans)),
        line=shown.line,
        sample=shown.sample,
    )


def joined_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans in order, neighbours joined, and the nearest too while they are too many."""
    ordered = sorted(set(spans), key=lambda span: (span.first, span.last))
    joined: list[Span] = []
    for span in ordered:
        if joined and span.first <= joined[-1].last + 1:
            joined[-1] = _both(joined[-1], span)
        else:
            joined.append(span)
    while len(joined) > MOST_SPANS:
        gaps = [(after.first - before.last, i) for i, (before, after) in _pairs(joined)]
        _, at = min(gaps)
        joined[at : at + 2] = [_both(joined[at], joined[at + 1])]
    return tuple(joined)


def _pairs(spans: list[Span]) -> Iterable[tuple[int, tuple[Span, Span]]]:
    return enumerate(pairwise(spans))


def _both(one: Span, other: Span) -> Span:
    return Span(
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        count=one.count + other.count,
    )


def _least(one: float | None, other: float | None) -> float | None:
    return min((t for t in (one, other) if t is not None), default=None)


def _most(one: float | None, other: float | None) -> float | None:
    return max((t for t in (one, other) if t is not None), default=None)
