"""Observe: the next batch of a source as a digest, and how to take up where one left off."""

from collections.abc import Sequence

from .digest import Digest
from .instructions import find_instructions
from .kinds import Kind, Kinds
from .parse import Parser, ParserState
from .reading import Batch, Position, Reader
from .sources import Source
from .spool import Feed
from .tally import (
    Lines,
    bucket_counts,
    buckets_of,
    entity_counts,
    marks_of,
    template_counts,
    unit_counts,
    width_for,
)
from .templates import Templates

FULL_BATCH = 2_000
"""Lines of a batch, if nobody wants it otherwise."""

_FIRST_LIVE = 50


class Digester:
    """Turns the batches of one source into digests, in order.

    What it knows is a fold of its digests: one that recalled them goes on as if it had made them.
    """

    def __init__(self) -> None:
        """Begin at the first line."""
        self.number = 0
        self.position = Position()
        self.done = False
        self._width = 0
        self._templates = Templates()
        self._kinds = Kinds(self._templates)
        self._parser = Parser()

    def recall(self, digest: Digest) -> None:
        """Know what was known after this digest."""
        self.number = digest.number + 1
        self.position = digest.position
        self.done = digest.done
        self._width = digest.width
        self._templates.recall(digest.changes)
        self._parser = Parser(digest.parser)

    def digest(self, source: str, batch: Batch) -> Digest:
        """Digest the batch that follows the last one."""
        first = self.position.line + 1
        lines = self._columns(batch.lines, first)
        if not self._width:
            self._width = width_for(lines.times, lines=0 if batch.done else FULL_BATCH)
        starts = buckets_of(lines.times, self._width)
        counts, more = template_counts(lines, self._templates.template)
        instructions, instruction_count = find_instructions(
            batch.lines, lines.times, first_line=first
        )
        timed = [time for time in lines.times if time is not None]
        digest = Digest(
            source=source,
            number=self.number,
            first_line=first,
            last_line=first + len(batch.lines) - 1,
            position=batch.position,
            done=batch.done,
            parser=self._parser.state(),
            dated=self._parser.dated,
            first_time=min(timed, default=None),
            last_time=max(timed, default=None),
            width=self._width,
            failing=sum(1 for kind in lines.kinds if kind is not None and kind.trouble.failing),
            templates=counts,
            more_templates=more,
            changes=self._templates.changes(),
            buckets=bucket_counts(lines, starts),
            units=unit_counts(lines, starts),
            entities=entity_counts(lines),
            marks=marks_of(lines),
            instructions=instructions,
            instruction_count=instruction_count,
            bad=_bad(batch, lines),
        )
        self.number += 1
        self.position = batch.position
        self.done = batch.done
        return digest

    def _columns(self, raw: Sequence[str], first: int) -> Lines:
        """Parse the lines and find their kinds.

        A line without a time has that of the one before.
        """
        last = self._parser.state().clock.last
        kinds: list[Kind | None] = []
        tokens: list[list[str]] = []
        times: list[float | None] = []
        units: list[str] = []
        hosts: list[str] = []
        kind_of = self._kinds.of
        for time, host, unit, level, message in self._parser.fields(raw):
            if time is not None:
                last = time
            kind, words = kind_of(unit, level, message)
            kinds.append(kind if words else None)
            tokens.append(words)
            times.append(last)
            units.append(unit)
            hosts.append(host)
        return Lines(
            first=first,
            raw=raw,
            kinds=kinds,
            tokens=tokens,
            times=times,
            units=units,
            hosts=hosts,
        )


class Observe:
    """The observer of one source: `recall` what was digested before, then `next` until `done`."""

    def __init__(
        self, source: Source, *, batch_lines: int = FULL_BATCH, feed: Feed | None = None
    ) -> None:
        """Read `source` in batches; `feed` is the live standard input, if that is the source."""
        self.source = source
        self._batch_lines = batch_lines
        self._reader = Reader(source, feed=feed)
        self._digester = Digester()

    @property
    def done(self) -> bool:
        """Whether the end of the source was reached."""
        return self._digester.done

    @property
    def position(self) -> Position:
        """Where the next batch begins."""
        return self._digester.position

    def recall(self, digest: Digest) -> None:
        """Know what was known after this digest, and read on behind it."""
        self._digester.recall(digest)

    def next(self) -> Digest:
        """Read and digest the next batch. Blocks on the file; after the end it is empty.

        Raises:
            SourceError: the source cannot be read any further.
        """
        position, most = self._digester.position, self._batch_lines
        if self.source.kind == "stdin":
            most = min(most, live_batch(position.line))
        batch = self._reader.read(position, max_lines=most)
        return self._digester.digest(self.source.name, batch)

    def close(self) -> None:
        """Let go of the file."""
        self._reader.close()


def live_batch(read: int) -> int:
    """How many lines to wait for on standard input, behind so many that were read.

    What is new there waits for a tenth of what came before, so the first findings show soon. It
    depends on the place in the stream alone: however the lines arrive, they are cut alike.
    """
    return max(_FIRST_LIVE, read // 10)


def _bad(batch: Batch, lines: Lines) -> dict[str, int]:
    """Count what was wrong with the lines; only what there was."""
    counts = {
        "blank": sum(1 for kind in lines.kinds if kind is None),
        "cut": batch.cut,
        "cut bytes": batch.skipped,
        "not UTF-8": batch.invalid,
        "with NUL bytes": batch.nuls,
        "without a time": sum(1 for time in lines.times if time is None),
    }
    return {name: count for name, count in counts.items() if count}


__all__ = ["Digester", "Observe", "ParserState"]
