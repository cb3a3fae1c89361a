"""The board: all facts, folded into incidents by source and place, whatever the order of arrival."""

from collections.abc import Iterable, Mapping

from .evidence import Evidence
from .facts import Fact
from .incidents import Incident, evidence_of, fold, rank

Place = tuple[str, int, str, str, str]
Group = tuple[str, str]


class Board:
    """All facts of a run. Adding a fact again changes nothing.

    It may be folded again and again while facts come in: evidence that was merged once is not
    merged again, as long as what is new stands behind it.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._facts: dict[Place, Fact] = {}
        self._merged: dict[Group, tuple[int, Place, Evidence | None]] = {}

    def add(self, facts: Iterable[Fact]) -> tuple[Fact, ...]:
        """Add facts; return those that were new."""
        new = tuple(fact for fact in facts if fact.place not in self._facts)
        self._facts.update((fact.place, fact) for fact in new)
        return new

    def facts(self) -> tuple[Fact, ...]:
        """Return all facts by source and place."""
        return tuple(self._facts[place] for place in sorted(self._facts))

    def incidents(
        self, lines: Mapping[str, int] | None = None, *, proposed: Iterable[Fact] = ()
    ) -> tuple[Incident, ...]:
        """Fold the facts into incidents, the worst first.

        Args:
            lines: how many lines of each source were read, to tell what is still going on.
            proposed: facts that carry no evidence and are not on the board: they wait for a person.
        """
        groups: dict[Group, list[Fact]] = {}
        for fact in sorted((*self._facts.values(), *proposed), key=lambda fact: fact.place):
            if fact.action.incident:
                groups.setdefault((fact.source, fact.action.incident), []).append(fact)
        found = [
            fold(group[1], facts, evidence, lines=(lines or {}).get(group[0], 0))
            for group, facts in groups.items()
            if (evidence := self._evidence(group, facts))
        ]
        return tuple(sorted(found, key=rank))

    def quieted(self) -> tuple[Fact, ...]:
        """Return the templates that were quieted."""
        return tuple(fact for fact in self.facts() if fact.action.what == "quiet")

    def _evidence(self, group: Group, facts: list[Fact]) -> Evidence | None:
        """All evidence of a group. Facts are only ever added: the same last place is the same beginning."""
        told = [fact for fact in facts if fact.evidence is not None]
        if not told:
            return None
        count, last, merged = self._merged.get(group, (0, told[0].place, None))
        if count and told[count - 1].place != last:
            count, merged = 0, None
        merged = evidence_of(told[count:], after=merged)
        self._merged[group] = (len(told), told[-1].place, merged)
        return merged
