"""Families: templates of one unit that begin alike, such as all `ciod: Error loading ...`.

A person wants one incident for them, not thirty.
"""

import re
from collections.abc import Iterable

import attrs

from .digest import TemplateCount

_WORDS = 3
_LITERAL = re.compile(r"[A-Za-z][\w'/:!-]*")


@attrs.frozen(kw_only=True)
class Family:
    """Some failing templates of a digest that belong together."""

    key: str
    unit: str
    head: str
    counts: tuple[TemplateCount, ...]

    @property
    def failing(self) -> int:
        """How many failure-like lines there are."""
        return sum(count.failing for count in self.counts)

    @property
    def worst(self) -> TemplateCount:
        """The worst of the templates; of equal ones, the most frequent."""
        return max(self.counts, key=lambda t: (t.weight, t.failing, -t.id))


def head_of(text: str) -> str:
    """Return the first words of a template, without what varies: `ciod: Error loading`."""
    words: list[str] = []
    for token in text.split():
        if "<" in token:
            if words:
                break
            continue
        word = token.strip(".,;()[]{}\"'")
        if _LITERAL.fullmatch(word):
            words.append(word)
        elif words:
            break
        if len(words) == _WORDS:
            break
    return " ".join(words) or text[:40]


def families(counts: Iterable[TemplateCount]) -> tuple[Family, ...]:
    """Group the failing templates by unit and first words, in a fixed order."""
    groups: dict[tuple[str, str], list[TemplateCount]] = {}
    for count in counts:
        if count.failing:
            groups.setdefault((count.unit, head_of(count.text)), []).append(count)
    return tuple(
        Family(key=f"family:{unit}:{head}", unit=unit, head=head, counts=tuple(group))
        for (unit, head), group in sorted(groups.items())
    )
