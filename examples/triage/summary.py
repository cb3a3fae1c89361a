"""A source from afar: how much was read, what it was like, and when; a fold of its digests and of what came of them."""

from collections import Counter
from collections.abc import Iterable

import attrs

from boyd.actors import ActionResult

from .digest import Digest
from .entities import ADDRESS_KIND, USER

MOST_POINTS = 240
_MOST_SEEN = 200
_MOST_TEMPLATES = 12


@attrs.frozen(kw_only=True)
class Seen:
    """An address or user in a source, whether or not there is an incident about it."""

    kind: str
    name: str
    count: int
    suspicious: int
    first_time: float | None = None
    last_time: float | None = None


@attrs.frozen(kw_only=True)
class Volume:
    """How many lines, and failing ones, there were from a moment on."""

    start: int
    lines: int
    failing: int


@attrs.frozen(kw_only=True)
class Usual:
    """A frequent template of the source."""

    unit: str
    text: str
    count: int


@attrs.frozen(kw_only=True)
class SourceSummary:
    """One source as it was read.

    `judged` counts the lines, from the first on, about which something was decided. `error` is why
    the source could not be read or judged to its end, or empty. `failed_calls` of the `calls` that
    were decided came to nothing; `failure` is what the first of them was told.
    """

    name: str
    shape: str
    lines: int
    judged: int
    batches: int
    done: bool
    dated: bool
    failing: int
    templates: int
    first_time: float | None = None
    last_time: float | None = None
    width: int = 0
    volumes: tuple[Volume, ...] = ()
    usual: tuple[Usual, ...] = ()
    seen: tuple[Seen, ...] = ()
    bad: dict[str, int] = attrs.field(factory=dict[str, int])
    error: str = ""
    calls: int = 0
    failed_calls: int = 0
    failure: str = ""


class Summing:
    """Adds up the digests of one source, given in their order. A digest given twice counts once."""

    def __init__(self, name: str) -> None:
        """Begin empty."""
        self.name = name
        self.error = ""
        self._last: Digest | None = None
        self._lines = self._failing = self._batches = self._templates = 0
        self._ends: list[int] = []
        self._decided = 0
        self._first: float | None = None
        self._until: float | None = None
        self._width = 0
        self._volumes: dict[int, list[int]] = {}
        self._usual: dict[int, Usual] = {}
        self._seen: dict[tuple[str, str], Seen] = {}
        self._bad: Counter[str] = Counter()
        self._calls = self._failed = 0
        self._failure = ""

    @property
    def batches(self) -> int:
        """How many batches were added."""
        return self._batches

    def add(self, digest: Digest) -> None:
        """Add the next digest; one that was added already is ignored."""
        if digest.number < self._batches:
            return
        self._last = digest
        self._batches = digest.number + 1
        self._ends.append(digest.last_line)
        self._lines += digest.lines
        self._failing += digest.failing
        self._bad.update(digest.bad)
        self._templates = max(self._templates, *(c.id for c in digest.changes), 0)
        for time in (digest.first_time, digest.last_time):
            if time is not None:
                self._first = time if self._first is None else min(self._first, time)
                self._until = time if self._until is None else max(self._until, time)
        self._add_volumes(digest)
        self._add_usual(digest)
        self._add_seen(digest)

    def decided(self, batches: int) -> None:
        """Know that so many batches, from the first on, were decided about."""
        self._decided = max(self._decided, batches)

    def acted(self, results: Iterable[ActionResult]) -> None:
        """Know what came of the calls of one batch."""
        for result in results:
            self._calls += 1
            if result.status == "failed":
                self._failed += 1
                self._failure = self._failure or result.content

    def summary(self) -> SourceSummary:
        """Return what the digests come to so far."""
        last = self._last
        return SourceSummary(
            name=self.name,
            shape=last.parser.shape if last else "",
            lines=self._lines,
            judged=self._judged(),
            batches=self._batches,
            done=last.done if last else False,
            dated=last.dated if last else False,
            failing=self._failing,
            templates=self._templates,
            first_time=self._first,
            last_time=self._until,
            width=self._width,
            volumes=tuple(
                Volume(start=start, lines=cell[0], failing=cell[1])
                for start, cell in sorted(self._volumes.items())
            ),
            usual=tuple(sorted(self._usual.values(), key=lambda u: (-u.count, u.text)))[
                :_MOST_TEMPLATES
            ],
            seen=tuple(self._seen[key] for key in sorted(self._seen)),
            bad=dict(sorted(self._bad.items())),
            error=self.error,
            calls=self._calls,
            failed_calls=self._failed,
            failure=self._failure,
        )

    def _judged(self) -> int:
        ends = self._ends[: self._decided]
        return ends[-1] if ends else 0

    def _add_volumes(self, digest: Digest) -> None:
        self._width = self._width or digest.width
        for bucket in digest.buckets:
            self._at(bucket.start, bucket.lines, bucket.failing)
        while len(self._volumes) > MOST_POINTS:
            # Twice as wide buckets: a long log is drawn as finely as a short one.
            self._width *= 2
            before, self._volumes = self._volumes, {}
            for start, (lines, failing) in before.items():
                self._at(start, lines, failing)

    def _at(self, start: int, lines: int, failing: int) -> None:
        cell = self._volumes.setdefault(start // self._width * self._width, [0, 0])
        cell[0] += lines
        cell[1] += failing

    def _add_usual(self, digest: Digest) -> None:
        for count in digest.templates:
            known = self._usual.get(count.id)
            total = count.count + (known.count if known else 0)
            self._usual[count.id] = Usual(unit=count.unit, text=count.text, count=total)
        if len(self._usual) > 1000:
            kept = sorted(self._usual.items(), key=lambda item: (-item[1].count, item[0]))[:500]
            self._usual = dict(kept)

    def _add_seen(self, digest: Digest) -> None:
        for entity in digest.entities:
            if entity.kind not in (ADDRESS_KIND, USER):
                continue
            old = self._seen.get((entity.kind, entity.name))
            times = [
                time
                for time in (
                    old.first_time if old else None,
                    old.last_time if old else None,
                    entity.first_time,
                    entity.last_time,
                )
                if time is not None
            ]
            self._seen[entity.kind, entity.name] = Seen(
                kind=entity.kind,
                name=entity.name,
                count=entity.count + (old.count if old else 0),
                suspicious=entity.suspicious + (old.suspicious if old else 0),
                first_time=min(times, default=None),
                last_time=max(times, default=None),
            )
        if len(self._seen) > 2 * _MOST_SEEN:
            worst = sorted(self._seen.items(), key=lambda i: (-i[1].suspicious, -i[1].count, i[0]))
            self._seen = dict(worst[:_MOST_SEEN])
