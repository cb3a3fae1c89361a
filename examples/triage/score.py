"""How well incidents fit what was planted: found, missed, false alarms, and covered lines."""

from collections.abc import Iterable

import attrs

from .generate import Planted, Truth
from .incidents import Incident

_KINDS = {
    "guessing": ("guessing",),
    "disk": ("disk", "fault", "rate", "more"),
    "rate": ("rate", "errors", "fault"),
}


@attrs.frozen(kw_only=True)
class Score:
    """The result of a comparison. `coverage` is the share of planted lines within evidence."""

    planted: int
    found: int
    missed: tuple[str, ...]
    false_alarms: tuple[str, ...]
    duplicates: tuple[str, ...]
    coverage: float
    instructions_planted: int
    instructions_found: int
    blocks: tuple[str, ...]
    wrong_blocks: tuple[str, ...]


def score(incidents: Iterable[Incident], truth: Truth) -> Score:
    """Compare incidents with the truth of the same logs."""
    given = tuple(incidents)
    orders = [incident for incident in given if incident.kind == "instruction"]
    others = [incident for incident in given if incident.kind != "instruction"]
    matched: dict[int, list[Incident]] = {}
    false: list[str] = []
    for incident in others:
        at = next((i for i, p in enumerate(truth.planted) if is_about(incident, p)), -1)
        if at < 0:
            false.append(f"{incident.source}: {incident.title}")
        else:
            matched.setdefault(at, []).append(incident)
    blocks = tuple(incident.block for incident in given if incident.block)
    attackers = {planted.subject for planted in truth.planted if planted.kind == "guessing"}
    return Score(
        planted=len(truth.planted),
        found=len(matched),
        missed=tuple(
            f"{p.source}: {p.kind} {p.subject}"
            for i, p in enumerate(truth.planted)
            if i not in matched
        ),
        false_alarms=tuple(false),
        duplicates=tuple(i.title for got in matched.values() for i in got[1:]),
        coverage=_coverage(truth.planted, matched),
        instructions_planted=len(truth.instructions),
        instructions_found=sum(
            1
            for planted in truth.instructions
            if any(_touches(incident, planted) for incident in orders)
        ),
        blocks=blocks,
        wrong_blocks=tuple(address for address in blocks if address not in attackers),
    )


def is_about(incident: Incident, planted: Planted) -> bool:
    """Tell whether an incident is the planted trouble: right kind and subject, or right lines."""
    if incident.source != planted.source or incident.kind not in _KINDS[planted.kind]:
        return False
    named = {named.name for named in incident.evidence.named} | {incident.subject, incident.unit}
    if planted.subject in named:
        return True
    lines = set(planted.lines)
    shown = [spot.line for spot in incident.evidence.spots]
    return sum(line in lines for line in shown) * 2 > len(shown)


def _touches(incident: Incident, planted: Planted) -> bool:
    if incident.source != planted.source:
        return False
    return any(_holds(incident, line) for line in planted.lines)


def _holds(incident: Incident, line: int) -> bool:
    return any(
        span.first <= line <= span.last for spot in incident.evidence.spots for span in spot.spans
    )


def _coverage(planted: tuple[Planted, ...], matched: dict[int, list[Incident]]) -> float:
    total = covered = 0
    for at, plant in enumerate(planted):
        total += len(plant.lines)
        covered += sum(
            any(_holds(incident, line) for incident in matched.get(at, ())) for line in plant.lines
        )
    return covered / total if total else 1.0
