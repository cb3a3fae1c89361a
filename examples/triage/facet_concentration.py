"""Concentration: does one address, user, device, host or unit cause much of the trouble?

Only what somebody caused himself counts against an address: failed logins, forbidden and
missing pages. That a thousand clients see errors of a broken service says nothing about them.
"""

import math

import attrs

from .digest import Digest, EntityCount
from .entities import ADDRESS_KIND, DEVICE, HOST, UNIT, USER
from .evidence import Evidence, Named, merge, of_entity
from .readings import Finding, Reading, by_score, faded
from .text import counted, listed, percent

GUESSING, PROBING = "guessing", "probing"
_FADE = 0.6
_MOST = 600
_PROBE = 0.5
_SCALE, _PROBING_SCALE = 16.0, 40.0
_FORGIVEN = 3.0
"""A success makes up for so many failed lines: people mistype, and a mistake gives some lines."""

_FEW_LINES = 10
_GROUP_LINES, _GROUP_SHARE = 40, 0.04
_GROUP_SIZE = 5
_SUPPORT = 0.45


@attrs.define(kw_only=True)
class _Known:
    """What is remembered of an entity: fading counts, and totals."""

    points: float = 0.0
    success: float = 0.0
    logins: int = 0
    partners: dict[str, None] = attrs.field(factory=dict[str, None])


class Concentration:
    """Remembers the trouble of each entity, fading with the lines; bounded in number."""

    name = "concentration"

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._known: dict[tuple[str, str], _Known] = {}

    def recall(self, digest: Digest) -> None:
        """Know what was known after this digest."""
        kept: dict[tuple[str, str], _Known] = {}
        left = faded(_FADE, digest.lines)
        for key, known in self._known.items():
            known.points *= left
            known.success *= left
            if known.points > 0.2 or known.success > 0.2:
                kept[key] = known
        for entity in digest.entities:
            if entity.kind not in (ADDRESS_KIND, USER):
                continue
            known = kept.setdefault((entity.kind, entity.name), _Known())
            known.points += entity.logins + _PROBE * (entity.suspicious - entity.logins)
            known.success += entity.success
            known.logins += entity.logins
            for name in entity.partners:
                if len(known.partners) < 50:
                    known.partners[name] = None
        if len(kept) > _MOST:
            worst = sorted(kept.items(), key=lambda item: (-item[1].points, item[0]))[:_MOST]
            kept = dict(sorted(worst))
        self._known = kept

    def read(self, digest: Digest) -> Reading:
        """Find who or what stands out in a batch, and remember it."""
        before = {key: (known.points, known.success) for key, known in self._known.items()}
        self.recall(digest)
        findings: list[Finding] = []
        small: list[EntityCount] = []
        for entity in digest.entities:
            if entity.kind == ADDRESS_KIND and (entity.suspicious or entity.success_line):
                finding = self._address(digest, entity, before)
                if finding is not None:
                    findings.append(finding)
                elif entity.logins and self._share(entity) >= 0.7:
                    small.append(entity)
            elif entity.kind == DEVICE and entity.suspicious:
                findings.append(_device(digest, entity))
            elif entity.kind in (HOST, UNIT, USER):
                findings.extend(_support(digest, entity))
        findings.extend(self._group(digest, small))
        who = [f.key.partition(":")[2] for f in findings if f.kind in (GUESSING, PROBING)]
        return Reading(
            facet=self.name,
            source=digest.source,
            number=digest.number,
            note=f"stands out: {listed(who)}" if who else "nobody stands out",
            findings=by_score(findings, 80),
        )

    def _share(self, entity: EntityCount) -> float:
        """Return how much of what an entity did lately was trouble."""
        known = self._known.get((entity.kind, entity.name)) or _Known()
        return known.points / max(1.0, known.points + _FORGIVEN * known.success)

    def _address(
        self,
        digest: Digest,
        entity: EntityCount,
        before: dict[tuple[str, str], tuple[float, float]],
    ) -> Finding | None:
        key = (ADDRESS_KIND, entity.name)
        known = self._known.get(key) or _Known()
        points, success = before.get(key, (0.0, 0.0))
        broke_in = (
            entity.success_line > 0
            and points + entity.before_success >= 2 * _FEW_LINES
            and success * _FORGIVEN <= 0.1 * points
        )
        if not broke_in and (not entity.suspicious or known.points < _FEW_LINES):
            return None
        share = self._share(entity)
        guessing = entity.logins * 2 >= entity.suspicious
        scale = _SCALE if guessing else _PROBING_SCALE
        score = (1.0 - math.exp(-known.points / scale)) * (1.0 if share >= 0.7 else share)
        lines = "failed-login line" if guessing else "refused or missing request"
        count = entity.logins if guessing else entity.suspicious
        why = f"{entity.name} caused {counted(count, lines)} here"
        if entity.partners:
            why += f", users {listed(sorted(known.partners))}"
        why += f"; {percent(share, 1)} of what it does fails"
        if broke_in:
            score = 1.0
            why += f"; then it LOGGED IN (line {entity.success_line:,})"
        evidence = of_entity(digest, entity)
        if broke_in and not entity.suspicious:
            evidence = attrs.evolve(
                evidence, first_line=entity.success_line, last_line=entity.success_line
            )
        return Finding(
            key=f"address:{entity.name}",
            kind=GUESSING if guessing else PROBING,
            score=round(score, 3),
            why=why,
            evidence=evidence,
            trouble="login" if guessing else "probe",
            unit=evidence.spots[0].unit if evidence.spots else "",
            numbers={
                "lines": entity.suspicious,
                "logins": entity.logins,
                "successes": entity.success if broke_in else 0,
            },
        )

    def _group(self, digest: Digest, small: list[EntityCount]) -> list[Finding]:
        """Join addresses that try a little each: a guess spread over many."""
        points = sum(entity.logins for entity in small)
        if len(small) < _GROUP_SIZE or points < max(_GROUP_LINES, _GROUP_SHARE * digest.lines):
            return []
        evidence: Evidence | None = None
        for entity in sorted(small, key=lambda e: (-e.suspicious, e.name)):
            part = of_entity(digest, entity)
            evidence = part if evidence is None else merge(evidence, part)
        assert evidence is not None, "a group has members"
        return [
            Finding(
                key="addresses",
                kind=GUESSING,
                score=round(min(0.8, 0.6 + points / 2000), 3),
                why=f"{counted(points, 'failed-login line')} from {len(small):,} addresses "
                "with a few each",
                evidence=evidence,
                trouble="login",
                unit=evidence.spots[0].unit if evidence.spots else "",
                numbers={"lines": evidence.count, "logins": points},
            )
        ]


def _device(digest: Digest, entity: EntityCount) -> Finding:
    texts = {count.id: count for count in digest.templates}
    told = [texts[share.template] for share in entity.templates if share.template in texts]
    weight = max((count.weight for count in told), default=0.5)
    worst = max(told, key=lambda count: (count.weight, count.failing), default=None)
    evidence = of_entity(digest, entity)
    return Finding(
        key=f"device:{entity.name}",
        kind="disk",
        score=round(min(1.0, weight + 0.005 * min(40, entity.suspicious)), 3),
        why=f"{counted(entity.suspicious, 'failure')} on device {entity.name}",
        evidence=evidence,
        trouble=worst.trouble if worst else "disk",
        unit=evidence.spots[0].unit if evidence.spots else "",
        numbers={"lines": entity.suspicious},
    )


def _support(digest: Digest, entity: EntityCount) -> list[Finding]:
    """Say that a host, unit or user has most of the trouble: a hint for what others found."""
    of_kind = [other for other in digest.entities if other.kind == entity.kind]
    total = sum(other.suspicious for other in of_kind)
    few = len(of_kind) < 3 or entity.suspicious < 2 * _FEW_LINES
    if few or entity.suspicious < 0.4 * total:
        return []
    evidence = of_entity(digest, entity)
    return [
        Finding(
            key=f"{entity.kind}:{entity.name}",
            kind="support",
            score=_SUPPORT,
            why=f"{entity.kind} {entity.name} has {percent(entity.suspicious, total)} "
            "of the trouble",
            evidence=attrs.evolve(
                evidence,
                named=(Named(kind=entity.kind, name=entity.name, count=entity.suspicious),),
            ),
        )
    ]
