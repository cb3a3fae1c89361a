"""Severity: how bad is what the lines say, by their levels and words?

A grave line (a fatal level, a panic, an I/O error) counts alone. Plain errors count when they
are many: every system has a few.
"""

from .digest import Digest
from .evidence import of_templates
from .families import Family, families
from .levels import ERROR, FATAL
from .readings import Finding, Reading, by_score, faded
from .text import counted, percent
from .words import DENIED, GRAVE, LOGIN, PROBE

GRAVE_WEIGHT = 0.7
_MANY, _SHARE = 20, 0.02
_MANY_BY_ACTOR, _SHARE_BY_ACTOR = 40, 0.10
_FADE = 0.7
_MOST = 2_000


class Severity:
    """Remembers how often each family of failures came, fading with the lines."""

    name = "severity"

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._lines = 0.0
        self._recent: dict[str, float] = {}

    def recall(self, digest: Digest) -> None:
        """Know what was known after this digest."""
        self._remember(digest, families(digest.templates))

    def read(self, digest: Digest) -> Reading:
        """Judge the failures of a batch, and remember them."""
        groups = families(digest.templates)
        self._remember(digest, groups)
        findings = [self._finding(digest, family) for family in groups]
        fatal = sum(count.levels.get(FATAL, 0) for count in digest.templates)
        note = f"{counted(digest.failing, 'failure-like line')} of {digest.lines:,}"
        if fatal:
            note += f", {fatal:,} of level fatal"
        return Reading(
            facet=self.name,
            source=digest.source,
            number=digest.number,
            note=note,
            findings=by_score(findings, 120),
        )

    def _remember(self, digest: Digest, groups: tuple[Family, ...]) -> None:
        left = faded(_FADE, digest.lines)
        self._lines = self._lines * left + digest.lines
        recent = {key: count * left for key, count in self._recent.items() if count > 0.1}
        for family in groups:
            recent[family.key] = recent.get(family.key, 0.0) + family.failing
        if len(recent) > _MOST:
            kept = sorted(recent.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
            recent = dict(sorted(kept))
        self._recent = recent

    def _finding(self, digest: Digest, family: Family) -> Finding:
        recent, worst = self._recent.get(family.key, 0.0), family.worst
        share = recent / max(1.0, self._lines)
        now = family.failing / max(1, digest.lines)
        level = max(worst.levels, key=lambda name: worst.levels[name], default="")
        score, why = 0.6 * worst.weight, f"{counted(family.failing, 'line')} of trouble"
        if worst.weight >= GRAVE_WEIGHT and worst.trouble not in (LOGIN, PROBE, DENIED):
            score = worst.weight
            said = f"level {level}" if level == FATAL else worst.trouble
            if worst.trouble in GRAVE and level == FATAL:
                said += f", {worst.trouble}"
            why = f"{counted(family.failing, 'line')} so grave that one is enough ({said})"
        elif worst.weight >= GRAVE_WEIGHT:
            score = worst.weight - 0.1
            why = f"{counted(family.failing, 'line')} of level {level} ({worst.trouble})"
        elif _is_sustained(family, recent, share, now):
            score = 0.6 + min(0.15, share)
            why = f"{percent(recent, self._lines)} of the latest lines say this"
        score = min(1.0, score + 0.004 * min(25, family.failing))
        return Finding(
            key=family.key,
            kind="fault" if worst.weight >= GRAVE_WEIGHT else "errors",
            score=round(score, 3),
            why=why,
            evidence=of_templates(digest, family.counts),
            trouble=worst.trouble,
            unit=family.unit,
            numbers={"lines": family.failing},
        )


def _is_sustained(family: Family, recent: float, share: float, now: float) -> bool:
    """Tell whether there are so many plain errors, lately and now, that it is not ordinary.

    Without an error level it takes more: words alone are a weak sign, and who is refused is for
    the concentration facet to judge.
    """
    worst = family.worst
    by_level = worst.levels.get(ERROR, 0) + worst.levels.get(FATAL, 0) > 0
    if worst.by_actor or not by_level:
        return recent >= _MANY_BY_ACTOR and min(share, 2 * now) >= _SHARE_BY_ACTOR
    return recent >= _MANY and min(share, 2 * now) >= _SHARE
