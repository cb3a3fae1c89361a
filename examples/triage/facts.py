"""Facts: what was decided about one batch, with its evidence. Incidents are folded from facts.

A fact is placed by source and line, never by the moment it was written down, so that facts may
arrive in any order and more than once.
"""

from collections.abc import Mapping
from typing import Literal

import attrs

from .evidence import Evidence
from .orient import Orientation, Said, Suspicion

What = Literal["open", "extend", "quiet", "propose_block"]
DEEDS: Mapping[What, str] = {
    "open": "opened",
    "extend": "added to",
    "quiet": "quieted",
    "propose_block": "proposed a block for",
}
"""What was decided, in words; what it was about follows."""


@attrs.frozen(kw_only=True)
class Action:
    """One thing to do, and why. The key names a suspicion of the orientation.

    `incident` is the key of the incident it belongs to, which is another one when suspicions
    are gathered in a common incident.
    """

    what: What
    key: str
    incident: str
    why: str
    kind: str = ""
    title: str = ""
    severity: str = ""
    address: str = ""
    template: int = 0


@attrs.frozen(kw_only=True)
class Fact:
    """An action that was decided, by whom, on which batch, on what evidence."""

    source: str
    number: int
    line: int
    action: Action
    by: str
    score: float = 0.0
    trouble: str = ""
    unit: str = ""
    evidence: Evidence | None = None
    said: tuple[Said, ...] = ()
    numbers: dict[str, int] = attrs.field(factory=dict[str, int])

    @property
    def place(self) -> tuple[str, int, str, str, str]:
        """Where the fact belongs among all facts."""
        action = self.action
        return self.source, self.number, action.incident, action.key, action.what


def fact(orientation: Orientation, action: Action, *, by: str) -> Fact:
    """Join an action with the evidence that was measured, whoever decided it.

    A proposal carries none: its evidence counts for the incident that it belongs to.
    """
    suspicion = suspicion_of(orientation, action.key)
    if suspicion is None or action.what == "propose_block":
        first = orientation.first_line
        return Fact(
            source=orientation.source,
            number=orientation.number,
            line=suspicion.evidence.first_line if suspicion else first,
            action=action,
            by=by,
        )
    return Fact(
        source=orientation.source,
        number=orientation.number,
        line=suspicion.evidence.first_line,
        action=action,
        by=by,
        score=suspicion.score,
        trouble=suspicion.trouble,
        unit=suspicion.unit,
        evidence=suspicion.evidence,
        said=suspicion.said,
        numbers=suspicion.numbers,
    )


def suspicion_of(orientation: Orientation, key: str) -> Suspicion | None:
    """Return the suspicion with a key, if the orientation has one."""
    return next((s for s in orientation.suspicions if s.key == key), None)
