"""What a facet says about one batch: findings with a score, a reason and evidence."""

import attrs

from .evidence import Evidence


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that a facet noticed.

    The key names the subject, alike for all facets: `address:192.0.2.7`, `device:sdb`,
    `family:sshd:Failed password for`, `rate:checkout`. The score is 0 (nothing) to 1 (certain
    and bad); from 0.6 on a finding is worth an incident by itself. `numbers` are counts of this
    batch that may be added up over batches.
    """

    key: str
    kind: str
    score: float
    why: str
    evidence: Evidence
    trouble: str = ""
    unit: str = ""
    numbers: dict[str, int] = attrs.field(factory=dict[str, int])


@attrs.frozen(kw_only=True)
class Noisy:
    """A template that fills the log without telling of any trouble."""

    template: int
    unit: str
    text: str
    count: int
    share: float


@attrs.frozen(kw_only=True)
class Reading:
    """One facet's view of one batch, with a summary for people."""

    facet: str
    source: str
    number: int
    note: str
    findings: tuple[Finding, ...] = ()
    noisy: tuple[Noisy, ...] = ()


FADE_LINES = 2_000
"""Behind so many lines a count has faded by its whole factor; how they were batched is all one."""


def faded(factor: float, lines: int) -> float:
    """What is left of a count after so many lines."""
    return float(factor ** (lines / FADE_LINES))


def by_score(findings: list[Finding], most: int = 60) -> tuple[Finding, ...]:
    """Return the findings in a fixed order, the strongest first, and not too many."""
    return tuple(sorted(findings, key=lambda f: (-f.score, f.key))[:most])
