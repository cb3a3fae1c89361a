"""Incidents: what the facts of one trouble come to."""

from collections.abc import Iterable

import attrs

from .evidence import Evidence, merge
from .facts import Fact, What
from .text import clean, counted, listed

SEVERITIES = ("low", "medium", "high", "critical")
_MOST_SAID, _MOST_DECIDED, _MOST_POINTS = 8, 8, 80
_LATE = 0.9
_PLAIN = {
    "guessing": "medium",
    "probing": "low",
    "disk": "high",
    "rate": "high",
    "fault": "high",
    "errors": "medium",
    "burst": "low",
    "silence": "medium",
    "instruction": "medium",
    "more": "medium",
}


@attrs.frozen(kw_only=True)
class Statement:
    """What a facet said, at its strongest, and in which batch (by its first line)."""

    facet: str
    score: float
    why: str
    line: int


@attrs.frozen(kw_only=True)
class Decided:
    """Who decided what about the incident, and why."""

    by: str
    what: What
    why: str
    line: int


@attrs.frozen(kw_only=True)
class Point:
    """Some evidence on the time axis; times are None where the source has none."""

    first_time: float | None
    last_time: float | None
    first_line: int
    last_line: int
    count: int


@attrs.frozen(kw_only=True)
class Incident:
    """Something that needs a person, with all that is known about it.

    The key is unique in a report. `state` is `open` while evidence still came in the last
    tenth of the lines that were read, else `quiet`. `block` is an address whose block was proposed; it is
    pending until somebody approves, and nothing here carries it out.
    """

    key: str
    source: str
    kind: str
    title: str
    summary: str
    severity: str
    state: str
    score: float
    evidence: Evidence
    trouble: str = ""
    unit: str = ""
    subject: str = ""
    numbers: dict[str, int] = attrs.field(factory=dict[str, int])
    said: tuple[Statement, ...] = ()
    decided: tuple[Decided, ...] = ()
    points: tuple[Point, ...] = ()
    block: str = ""


def rank(incident: Incident) -> tuple[int, float, str, int, str]:
    """Order incidents: the worst first, then by source and line."""
    worst = -SEVERITIES.index(incident.severity)
    return worst, -incident.score, incident.source, incident.evidence.first_line, incident.key


def evidence_of(facts: Iterable[Fact], *, after: Evidence | None = None) -> Evidence | None:
    """Merge the evidence of facts, in order, behind what was merged of those before."""
    merged = after
    for fact in facts:
        if fact.evidence is not None:
            merged = fact.evidence if merged is None else merge(merged, fact.evidence)
    return merged


def fold(key: str, facts: list[Fact], evidence: Evidence, *, lines: int) -> Incident:
    """Make one incident of its facts, given in order of their place, and the evidence of all of them."""
    told = [fact for fact in facts if fact.evidence is not None]
    opened = next((fact for fact in facts if fact.action.what == "open"), facts[0])
    kind = opened.action.kind or "errors"
    numbers: dict[str, int] = {}
    for fact in told:
        for name, count in fact.numbers.items():
            numbers[name] = numbers.get(name, 0) + count
    incident = Incident(
        key=f"{opened.source}/{key}",
        source=opened.source,
        kind=kind,
        title=clean(opened.action.title or key, 160),
        summary="",
        severity=_PLAIN.get(kind, "medium"),
        state="open" if evidence.last_line > _LATE * lines else "quiet",
        score=max(fact.score for fact in told),
        evidence=evidence,
        trouble=opened.trouble,
        unit=opened.unit,
        subject=key.partition(":")[2],
        numbers=numbers,
        said=_statements(told),
        decided=_decisions(facts),
        points=_points(told),
        block=next((f.action.address for f in facts if f.action.what == "propose_block"), ""),
    )
    chosen = max((f.action.severity for f in facts if f.action.severity), key=_level, default="")
    severity = max(severity_of(incident), chosen or "low", key=_level)
    return attrs.evolve(incident, severity=severity, summary=summary_of(incident))


def severity_of(incident: Incident) -> str:
    """Return how bad an incident is, by its kind and its numbers."""
    numbers, count = incident.numbers, incident.evidence.count
    plain = _PLAIN.get(incident.kind, "medium")
    match incident.kind:
        case "guessing" if numbers.get("successes"):
            return "critical"
        case "guessing" if numbers.get("logins", 0) >= 100:
            return "high"
        case "disk" if count >= 50 or any("read-only" in s.text for s in incident.evidence.spots):
            return "critical"
        case "more" if incident.score >= 0.8:
            return "high"
        case _:
            return plain


STATES = {"open": "still going on at the end", "quiet": "over before the end"}
"""What the states mean, in words."""


def summary_of(incident: Incident) -> str:
    """Return the incident's numbers in one sentence."""
    evidence = incident.evidence
    parts = [counted(evidence.count, "line")]
    logins = incident.numbers.get("logins", 0)
    if incident.kind == "guessing" and logins:
        parts = [counted(logins, "failed-login line")]
        users = [named.name for named in evidence.named if named.kind == "user"]
        if users:
            parts.append(f"users {listed(users)}")
        addresses = [named.name for named in evidence.named if named.kind == "address"]
        if len(addresses) > 1:
            parts.append(f"addresses {listed(addresses)}")
        if incident.numbers.get("successes"):
            parts.append("then it logged in")
    elif len(evidence.spots) + evidence.more_spots > 1:
        parts.append(f"{len(evidence.spots) + evidence.more_spots:,} kinds of messages")
    hosts = [named for named in evidence.named if named.kind in ("host", "device")]
    if hosts and incident.kind != "disk":
        parts.append(f"mostly on {hosts[0].name}")
    first, last = evidence.first_line, evidence.last_line
    if first == last:
        return ", ".join([*parts[evidence.count == 1 :], f"line {first:,}"])
    return ", ".join([*parts, f"lines {first:,} to {last:,}"])


def _level(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else -1


def _statements(facts: list[Fact]) -> tuple[Statement, ...]:
    """Keep the strongest statement of each facet, and the first of each."""
    best: dict[str, Statement] = {}
    for fact in facts:
        for said in fact.said:
            known = best.get(said.facet)
            if known is None or said.score > known.score:
                best[said.facet] = Statement(
                    facet=said.facet, score=said.score, why=said.why, line=fact.line
                )
    return tuple(best[facet] for facet in sorted(best))[:_MOST_SAID]


def _decisions(facts: list[Fact]) -> tuple[Decided, ...]:
    """Keep the first decisions and the last ones."""
    made = [
        Decided(by=fact.by, what=fact.action.what, why=clean(fact.action.why, 600), line=fact.line)
        for fact in sorted(facts, key=lambda fact: (fact.number, fact.line))
    ]
    if len(made) > _MOST_DECIDED:
        half = _MOST_DECIDED // 2
        made = made[:half] + made[-half:]
    return tuple(made)


def _points(facts: list[Fact]) -> tuple[Point, ...]:
    """Return where on the time axis the evidence is; neighbours are joined while too many."""
    points = [
        Point(
            first_time=fact.evidence.first_time,
            last_time=fact.evidence.last_time,
            first_line=fact.evidence.first_line,
            last_line=fact.evidence.last_line,
            count=fact.evidence.count,
        )
        for fact in facts
        if fact.evidence is not None
    ]
    while len(points) > _MOST_POINTS:
        points = [_joined(points[i : i + 2]) for i in range(0, len(points), 2)]
    return tuple(points)


def _joined(points: list[Point]) -> Point:
    times = [t for p in points for t in (p.first_time, p.last_time) if t is not None]
    return Point(
        first_time=min(times, default=None),
        last_time=max(times, default=None),
        first_line=min(p.first_line for p in points),
        last_line=max(p.last_line for p in points),
        count=sum(p.count for p in points),
    )
