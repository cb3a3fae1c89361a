"""The lead's view across sources: incidents that belong together become one campaign.

Two signs count: the same address or user in several sources, and the same service or device in
several sources at about the same time. Sources without a year are compared by the time of year.
"""

from collections.abc import Iterable, Sequence

import attrs

from .clock import in_base_year
from .incidents import Incident
from .summary import Seen, SourceSummary
from .text import counted, listed

CLOSE = 3600.0
"""Seconds between two things that count as close in time."""

_COMMON_USERS = frozenset({"root", "admin", "test", "user", "guest", "ubuntu", "nobody"})


@attrs.frozen(kw_only=True)
class Campaign:
    """Incidents of several sources, or one incident and its traces elsewhere."""

    key: str
    title: str
    why: str
    incidents: tuple[str, ...]
    sources: tuple[str, ...]


def correlate(
    incidents: Iterable[Incident], sources: Iterable[SourceSummary]
) -> tuple[Campaign, ...]:
    """Find what belongs together across sources. The order of the arguments does not matter."""
    given = sorted(incidents, key=lambda incident: incident.key)
    summaries = sorted(sources, key=lambda source: source.name)
    found = [*by_actor(given, summaries), *by_subject(given, summaries)]
    return tuple(sorted(found, key=lambda campaign: campaign.key))


def by_actor(
    incidents: Sequence[Incident], sources: Sequence[SourceSummary]
) -> tuple[Campaign, ...]:
    """Follow each address that has an incident through the other sources."""
    found: list[Campaign] = []
    addresses = sorted(
        {i.subject for i in incidents if i.kind in ("guessing", "probing") and i.subject}
    )
    for address in addresses:
        about = [i for i in incidents if i.subject == address]
        own = {incident.source for incident in about}
        traces = [
            (source.name, seen)
            for source in sources
            if source.name not in own and (seen := _seen(source, address))
        ]
        if len(own) + len(traces) < 2:
            continue
        where = [f"{name} ({counted(seen.count, 'line')})" for name, seen in traces]
        why = f"{address} has incidents in {listed(sorted(own))}"
        if where:
            why += f" and is seen in {listed(where)}"
        found.append(
            Campaign(
                key=f"address:{address}",
                title=f"{address} in {len(own) + len(traces)} sources",
                why=why,
                incidents=tuple(incident.key for incident in about),
                sources=tuple(sorted(own | {name for name, _ in traces})),
            )
        )
    return tuple(found)


def _seen(source: SourceSummary, address: str) -> Seen | None:
    return next((s for s in source.seen if s.name == address and s.kind == "address"), None)


def by_subject(
    incidents: Sequence[Incident], sources: Sequence[SourceSummary]
) -> tuple[Campaign, ...]:
    """Join incidents of different sources about one service, device or user, close in time."""
    dated = {source.name: source.dated for source in sources}
    groups: dict[str, list[Incident]] = {}
    for incident in incidents:
        for name in _subjects(incident):
            groups.setdefault(name, []).append(incident)
    found: list[Campaign] = []
    for name, about in sorted(groups.items()):
        close = [
            incident
            for incident in about
            if any(
                other.source != incident.source and _close(incident, other, dated)
                for other in about
            )
        ]
        where = sorted({incident.source for incident in close})
        if len(where) < 2:
            continue
        found.append(
            Campaign(
                key=f"about:{name}",
                title=f"{name} in {len(where)} sources",
                why=f"{listed(where)} have trouble with {name} at about the same time",
                incidents=tuple(incident.key for incident in close),
                sources=tuple(where),
            )
        )
    return tuple(found)


def _subjects(incident: Incident) -> set[str]:
    names: set[str] = set()
    if incident.kind in ("rate", "disk"):
        names.add(incident.subject.strip("/").lower())
    if incident.kind in ("guessing", "probing"):
        names.update(
            f"user {named.name}"
            for named in incident.evidence.named
            if named.kind == "user" and named.count > 1 and named.name not in _COMMON_USERS
        )
    return names - {""}


def _close(one: Incident, other: Incident, dated: dict[str, bool]) -> bool:
    """Tell whether two incidents overlap in time, or nearly."""
    times = (
        one.evidence.first_time,
        one.evidence.last_time,
        other.evidence.first_time,
        other.evidence.last_time,
    )
    begin, end, other_begin, other_end = times
    if begin is None or end is None or other_begin is None or other_end is None:
        return False
    if not (dated.get(one.source) and dated.get(other.source)):
        begin, end = in_base_year(begin), in_base_year(end)
        other_begin, other_end = in_base_year(other_begin), in_base_year(other_end)
    return begin - CLOSE <= other_end and other_begin - CLOSE <= end
