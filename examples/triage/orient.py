"""Orient: the readings of all facets merged into one picture of a batch.

Findings about one subject become one suspicion. A suspicion that a more telling one explains is
absorbed: that the unit `sshd` fails more often is no second incident beside the address that
guesses passwords.
"""

from collections.abc import Iterable, Sequence

import attrs

from .digest import Digest
from .evidence import Evidence, Span, Spot, merge
from .readings import Finding, Noisy, Reading
from .text import counted
from .words import DENIED, LOGIN, PROBE

_WHO = ("guessing", "probing", "disk")
_EXPLAINED = 0.5
_MOST_SAID = 16
_MOST_TOLD = 25
_ACTOR_TROUBLE = frozenset({LOGIN, DENIED, PROBE})


@attrs.frozen(kw_only=True)
class Said:
    """What one facet said about a suspicion."""

    facet: str
    score: float
    why: str


@attrs.frozen(kw_only=True)
class Suspicion:
    """One subject that may be worth an incident, with all that speaks for it."""

    key: str
    kind: str
    score: float
    evidence: Evidence
    said: tuple[Said, ...]
    trouble: str = ""
    unit: str = ""
    subject: str = ""
    numbers: dict[str, int] = attrs.field(factory=dict[str, int])

    @property
    def why(self) -> str:
        """The reasons in one sentence: the strongest of each facet, the strongest first."""
        best: dict[str, Said] = {}
        for said in sorted(self.said, key=lambda s: (-s.score, s.facet, s.why)):
            best.setdefault(said.facet, said)
        return "; ".join(said.why for said in best.values())


@attrs.frozen(kw_only=True)
class Orientation:
    """The picture of one batch: what is suspected, and each facet's reading as it was.

    `done` says that the batch was the last of its source.
    """

    source: str
    number: int
    first_line: int
    last_line: int
    suspicions: tuple[Suspicion, ...] = ()
    readings: tuple[Reading, ...] = ()
    noisy: tuple[Noisy, ...] = ()
    done: bool = False

    def brief(self) -> str:
        """The picture as a model reads it: a line for each suspicion, its sample quoted as data."""
        head = f"{self.source}, lines {self.first_line:,} to {self.last_line:,}."
        if not self.suspicions:
            return f"{head} Nothing is suspected."
        lines = [f"{head} Suspicions, the strongest first:"]
        for one in self.suspicions[:_MOST_TOLD]:
            sample = next((spot.sample for spot in one.evidence.spots if spot.sample), "")
            about = f", in {one.unit}" if one.unit else ""
            count = counted(one.evidence.count, "line")
            lines.append(f"- key {one.key!r}: {one.kind}, score {one.score:.2f}{about}, {count}")
            lines.append(f"  because {one.why}")
            if sample:
                lines.append(f"  for example {sample[:160]!r}")
        lines += [
            f"- noisy template {noisy.template}: {noisy.text[:120]!r}" for noisy in self.noisy
        ]
        return "\n".join(lines)


def synthesize(digest: Digest, readings: Iterable[Reading]) -> Orientation:
    """Merge what the facets say of one batch. The order of the readings does not matter."""
    ordered = tuple(sorted(readings, key=lambda reading: reading.facet))
    suspicions = _absorb(_joined(ordered), digest) + _instructions(digest)
    return Orientation(
        source=digest.source,
        number=digest.number,
        first_line=digest.first_line,
        last_line=digest.last_line,
        suspicions=tuple(sorted(suspicions, key=lambda s: (-s.score, s.key))),
        readings=ordered,
        noisy=tuple(noisy for reading in ordered for noisy in reading.noisy),
        done=digest.done,
    )


def _instructions(digest: Digest) -> list[Suspicion]:
    """Make one suspicion of the orders found in the data. They are evidence, not orders."""
    if not digest.instructions:
        return []
    spots = tuple(
        Spot(
            template=-found.line,
            unit="",
            text=f"order to an agent ({found.shape})",
            count=1,
            spans=(Span(first=found.line, last=found.line, count=1),),
            line=found.line,
            sample=found.text,
        )
        for found in digest.instructions
    )
    lines = [found.line for found in digest.instructions]
    times = [found.time for found in digest.instructions if found.time is not None]
    many = digest.instruction_count
    why = (
        "1 line that reads like an order to an agent"
        if many == 1
        else f"{many:,} lines that read like orders to an agent"
    )
    return [
        Suspicion(
            key="instruction",
            kind="instruction",
            score=0.9,
            evidence=Evidence(
                source=digest.source,
                count=digest.instruction_count,
                first_line=min(lines),
                last_line=max(lines),
                first_time=min(times, default=None),
                last_time=max(times, default=None),
                spots=spots,
            ),
            said=(Said(facet="instructions", score=0.9, why=why),),
            numbers={"lines": digest.instruction_count},
        )
    ]


def _joined(readings: Sequence[Reading]) -> list[Suspicion]:
    """Make one suspicion of all findings with the same key."""
    groups: dict[str, list[tuple[str, Finding]]] = {}
    for reading in readings:
        for finding in reading.findings:
            groups.setdefault(finding.key, []).append((reading.facet, finding))
    return [_suspicion(key, found) for key, found in groups.items()]


def _suspicion(key: str, found: list[tuple[str, Finding]]) -> Suspicion:
    strongest = max((finding for _, finding in found), key=lambda f: (f.score, f.kind))
    others = sum(finding.score for _, finding in found) - strongest.score
    numbers: dict[str, int] = {}
    for _, finding in found:
        for name, count in finding.numbers.items():
            numbers[name] = max(numbers.get(name, 0), count)
    return Suspicion(
        key=key,
        kind=strongest.kind,
        score=round(min(1.0, strongest.score + 0.15 * others), 3),
        evidence=max((f.evidence for _, f in found), key=lambda e: (e.count, -e.first_line)),
        said=tuple(Said(facet=facet, score=f.score, why=f.why) for facet, f in found),
        trouble=strongest.trouble,
        unit=strongest.unit,
        subject=key.partition(":")[2],
        numbers=numbers,
    )


def _absorb(suspicions: list[Suspicion], digest: Digest) -> list[Suspicion]:
    """Give each suspicion that others explain to the one that explains most of it."""
    rest = [s for s in suspicions if s.kind != "support"]
    supports = [s for s in suspicions if s.kind == "support"]
    kept = [s for s in rest if s.kind in _WHO]
    strong = [s for s in kept if s.score >= _EXPLAINED]
    failing = {count.id: count.failing for count in digest.templates}
    for suspicion in sorted((s for s in rest if s.kind == "rate"), key=_order):
        _settle(suspicion, strong, kept, failing)
        strong = [s for s in kept if s.score >= _EXPLAINED and s.kind in _WHO]
    strong = [s for s in kept if s.score >= _EXPLAINED]
    for suspicion in sorted((s for s in rest if s.kind not in (*_WHO, "rate")), key=_order):
        # That a unit fails more often explains its errors, but not a grave fault among them.
        able = [s for s in strong if s.kind != "rate" or suspicion.kind != "fault"]
        _settle(suspicion, able, kept, failing)
        strong = [s for s in kept if s.score >= _EXPLAINED and s.kind in (*_WHO, "rate")]
    for support in sorted(supports, key=_order):
        best = max(kept, key=lambda s: (_overlap(support, s), s.key), default=None)
        if best is not None and _overlap(support, best) >= _EXPLAINED * best.evidence.count:
            kept[kept.index(best)] = _with(best, support, names=True)
    return kept


def _settle(
    suspicion: Suspicion, strong: list[Suspicion], kept: list[Suspicion], failing: dict[int, int]
) -> None:
    """Absorb a suspicion, or keep it beside the others."""
    by = _explainer(suspicion, strong, failing)
    if by is None:
        kept.append(suspicion)
        return
    kept[kept.index(by)] = _with(by, suspicion, names=False)


def _explainer(
    suspicion: Suspicion, strong: list[Suspicion], failing: dict[int, int]
) -> Suspicion | None:
    """Return the suspicion that explains this one best, if others explain half of it."""
    if not strong:
        return None
    shared = {other.key: _overlap(suspicion, other) for other in strong}
    best = max(strong, key=lambda other: (shared[other.key], other.evidence.count, other.key))
    mine = sum(min(s.count, failing.get(s.template, s.count)) for s in suspicion.evidence.spots)
    whole = max(1, min(suspicion.evidence.count, mine) if mine else suspicion.evidence.count)
    if sum(shared.values()) >= _EXPLAINED * whole:
        return best
    related = [
        other
        for other in strong
        if other.unit == suspicion.unit
        and (other.trouble in _ACTOR_TROUBLE) == (suspicion.trouble in _ACTOR_TROUBLE)
        and other.kind in _WHO
        and (other.kind == "disk") == (suspicion.trouble == "disk")
        and other.evidence.count * 2 >= suspicion.evidence.count
    ]
    return max(related, key=lambda o: (o.evidence.count, o.key), default=None)


def _overlap(one: Suspicion, other: Suspicion) -> int:
    """Return how many lines two suspicions may share, template by template."""
    counts = {spot.template: spot.count for spot in one.evidence.spots}
    return sum(
        min(spot.count, counts[spot.template])
        for spot in other.evidence.spots
        if spot.template in counts
    )


def _with(suspicion: Suspicion, other: Suspicion, *, names: bool) -> Suspicion:
    evidence = suspicion.evidence
    marks = {mark.line: mark for mark in (*evidence.marks, *other.evidence.marks)}
    evidence = attrs.evolve(evidence, marks=tuple(marks[line] for line in sorted(marks)))
    if names:
        named = attrs.evolve(evidence, count=0, spots=(), named=other.evidence.named, marks=())
        evidence = merge(evidence, named)
    return attrs.evolve(
        suspicion,
        score=round(min(1.0, max(suspicion.score, suspicion.score + 0.1 * other.score)), 3),
        evidence=evidence,
        said=(*suspicion.said, *other.said)[:_MOST_SAID],
    )


def _order(suspicion: Suspicion) -> tuple[float, str]:
    return -suspicion.score, suspicion.key
