"""Novelty: which kinds of messages were never seen before in this source?

The first lines teach what is usual. Later a new failure is worth a look, many of them more;
a new harmless message is only a hint for the other facets.
"""

from .digest import Digest, TemplateCount
from .evidence import of_templates
from .families import families
from .readings import Finding, Noisy, Reading, by_score
from .text import counted

LEARNING = 1_000
"""So many lines must have been read before anything counts as new."""

_NOISY_SHARE = 0.3
_NOISY_LINES = 3_000
_MANY = 8


class Novelty:
    """Remembers which templates were seen, and for how many lines one of them has filled the log."""

    name = "novelty"

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._seen: set[int] = set()
        self._lines = 0
        self._filling: dict[int, int] = {}

    def recall(self, digest: Digest) -> None:
        """Know what was known after this digest."""
        self._seen.update(count.id for count in digest.templates)
        self._lines += digest.lines
        filling: dict[int, int] = {}
        for count in digest.templates:
            if not count.failing and count.count >= _NOISY_SHARE * digest.lines:
                filling[count.id] = self._filling.get(count.id, 0) + digest.lines
        self._filling = filling

    def read(self, digest: Digest) -> Reading:
        """Name what is new in a batch, and remember it."""
        before = self._lines
        fresh = [count for count in digest.templates if count.id not in self._seen]
        learning = before < LEARNING
        self.recall(digest)
        findings: list[Finding] = [] if learning else self._findings(digest, fresh, before)
        note = (
            f"{counted(len(fresh), 'template')} learned"
            if learning
            else f"{counted(len(fresh), 'template')} not seen in the {counted(before, 'line')} before"
        )
        return Reading(
            facet=self.name,
            source=digest.source,
            number=digest.number,
            note=note,
            findings=by_score(findings),
            noisy=self._noisy(digest),
        )

    def _findings(self, digest: Digest, fresh: list[TemplateCount], before: int) -> list[Finding]:
        found: list[Finding] = []
        for family in families(fresh):
            many = family.failing >= _MANY
            score = 0.3 + 0.2 * family.worst.weight + (0.2 if many else 0.0)
            found.append(
                Finding(
                    key=family.key,
                    kind="errors",
                    score=round(min(0.75, score), 3),
                    why=f"new: {counted(family.failing, 'line')} of this, "
                    f"none in the {counted(before, 'line')} before",
                    evidence=of_templates(digest, family.counts),
                    trouble=family.worst.trouble,
                    unit=family.unit,
                )
            )
        return found

    def _noisy(self, digest: Digest) -> tuple[Noisy, ...]:
        return tuple(
            Noisy(
                template=count.id,
                unit=count.unit,
                text=count.text,
                count=count.count,
                share=round(count.count / digest.lines, 3),
            )
            for count in digest.templates
            if self._filling.get(count.id, 0) >= _NOISY_LINES
        )
