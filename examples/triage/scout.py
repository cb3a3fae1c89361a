"""A scout: an OODA agent that reads one log, batch by batch, and reports what is wrong in it."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from boyd.actors import Agent, Decision, Ooda
from boyd.runtime import Context, message

from . import observe, orient, rules
from .actions import TOOLS, call_for, endorse, facts_of
from .digest import Digest
from .facets import Concentration, Novelty, Severity, Volume
from .orient import Orientation
from .readings import Reading
from .sources import Source
from .spool import Feed


@attrs.frozen(kw_only=True)
class Beat:
    """What one scout is sent to: a log, and where a block list would be kept."""

    source: Source
    folder: str = "."
    batch_lines: int = 2000
    feed: Feed | None = None

    def __str__(self) -> str:
        return self.source.path


@message("triage.lines_read")
class LinesRead:
    """To whoever watches: so far a log was read."""

    source: str
    line: int


class Observe:
    """Observe: the next batch of lines, read and digested on a worker thread."""

    def __init__(self, beat: Beat) -> None:
        self.log = observe.Observe(beat.source, batch_lines=beat.batch_lines, feed=beat.feed)
        self.waits = beat.feed is not None
        self.close = self.log.close

    def recall(self, digest: Digest) -> None:
        self.log.recall(digest)

    async def __call__(self, ctx: Context) -> Digest:
        digest = await ctx.system.offload(self.log.next, abandon=self.waits)
        ctx.publish("triage/read", LinesRead(source=digest.source, line=digest.last_line))
        return digest


def facet(kind: Callable[[], Any]) -> type:
    """Orient: one lens of the four. What it remembers of earlier batches it is told again after a crash."""

    class Facet:
        def __init__(self) -> None:
            self.lens = kind()

        def recall(self, digest: Digest, _reading: Reading) -> None:
            self.lens.recall(digest)

        async def __call__(self, digest: Digest) -> Reading:
            reading: Reading = self.lens.read(digest)
            return reading

    Facet.__name__ = kind.__name__
    return Facet


async def synthesize(readings: Sequence[Reading], digest: Digest) -> Orientation:
    """Orient: all readings of a batch merged into one picture."""
    return orient.synthesize(digest, readings)


class Rules:
    """Decide by rules: open, extend, quiet, propose."""

    def __init__(self, beat: Beat) -> None:
        self.folder = beat.folder
        self.known = rules.Known()

    def recall(self, view: Orientation, decision: Decision) -> None:
        self.known = rules.known_after(self.known, facts_of(view, decision))

    async def __call__(self, view: Orientation) -> Decision:
        actions = rules.decide(view, self.known)
        calls = [call_for(action, self.folder) for action in actions]
        decision = Decision(calls=calls, why="; ".join(action.why for action in actions))
        self.recall(view, decision)
        return decision


def scout(decide: type[Rules] | Agent = Rules) -> Ooda[Beat, Orientation]:
    """The scout, deciding by rules or by a model."""
    return Ooda(
        name="scout",
        observe=Observe,
        facets=[facet(Volume), facet(Novelty), facet(Severity), facet(Concentration)],
        synthesize=synthesize,
        decide=decide,
        tools=TOOLS,
        endorse=endorse,
        until=lambda view: view.done,
    )
