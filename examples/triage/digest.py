"""What one batch of lines comes down to: the observation that facets read and a ledger keeps.

A digest is enough to go on from: position, parser and changed clusters are in it, so whoever has
all digests of a source needs no line of it again. Every list in it is bounded.
"""

import attrs

from .instructions import Instruction
from .parse import ParserState
from .reading import Position
from .templates import Change


@attrs.frozen(kw_only=True)
class TemplateCount:
    """How often a template came in a batch, and what it speaks of.

    `lines` are up to three line numbers: all there are, or the first two and the last.
    `weight` is the worst of its lines, 0 to 1; `failing` counts the failure-like ones.
    """

    id: int
    unit: str
    text: str
    count: int
    first_line: int
    last_line: int
    lines: tuple[int, ...]
    sample: str
    sample_line: int
    levels: dict[str, int]
    trouble: str = ""
    weight: float = 0.0
    failing: int = 0
    by_actor: bool = False
    first_time: float | None = None
    last_time: float | None = None


@attrs.frozen(kw_only=True)
class Bucket:
    """The lines of one span of time. `top` is its most frequent template."""

    start: int
    lines: int
    failing: int
    first_line: int
    last_line: int
    top: int
    top_lines: int


@attrs.frozen(kw_only=True)
class UnitCount:
    """The lines of one program, service or part. Cells are (bucket start, lines, failing).

    Failing are those that the unit itself is to blame for, not refused logins and the like; `spans`
    are the first and the last failing line of each cell, zeros where it has none.
    """

    name: str
    lines: int
    failing: int
    cells: tuple[tuple[int, int, int], ...]
    spans: tuple[tuple[int, int], ...] = ()

    def failing_between(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last failing line in the cells from one start to another."""
        found = [
            span
            for (at, _, _), span in zip(self.cells, self.spans, strict=False)
            if start <= at <= end and span[0]
        ]
        return (min(found)[0], max(last for _, last in found)) if found else None


@attrs.frozen(kw_only=True)
class Share:
    """How many lines of a template speak of an entity, and where."""

    template: int
    count: int
    first_line: int
    last_line: int


@attrs.frozen(kw_only=True)
class EntityCount:
    """The lines about one address, user, device, unit or host.

    Suspicious are failure-like lines, for an address or a user only those it caused itself.
    Lines, times, samples and templates are of the suspicious ones. `before_success` counts how
    many there were in this batch before its first success (at line `success_line`, or 0).
    """

    kind: str
    name: str
    count: int
    suspicious: int
    success: int = 0
    success_line: int = 0
    before_success: int = 0
    logins: int = 0
    first_line: int = 0
    last_line: int = 0
    first_time: float | None = None
    last_time: float | None = None
    lines: tuple[int, ...] = ()
    sample: str = ""
    templates: tuple[Share, ...] = ()
    partners: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Mark:
    """A line that tells of a change: a deploy, an upgrade, a restart."""

    line: int
    time: float | None
    unit: str
    text: str


@attrs.frozen(kw_only=True)
class Digest:
    """One batch of one source. Lines are numbered from 1; an empty batch has `last_line` below.

    Times are seconds as in `clock`; `width` is the length of a bucket in seconds, 0 without
    times. `bad` counts lines that were cut, not UTF-8, with NUL bytes, blank, or without a time.
    """

    source: str
    number: int
    first_line: int
    last_line: int
    position: Position
    done: bool
    parser: ParserState
    dated: bool = False
    first_time: float | None = None
    last_time: float | None = None
    width: int = 0
    failing: int = 0
    templates: tuple[TemplateCount, ...] = ()
    more_templates: int = 0
    changes: tuple[Change, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    units: tuple[UnitCount, ...] = ()
    entities: tuple[EntityCount, ...] = ()
    marks: tuple[Mark, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    instruction_count: int = 0
    bad: dict[str, int] = attrs.field(factory=dict[str, int])

    @property
    def lines(self) -> int:
        """How many lines the batch has."""
        return self.last_line - self.first_line + 1
