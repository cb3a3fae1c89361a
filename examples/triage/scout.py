"""A scout: an OODA agent that reads one log, batch by batch, and reports what is wrong in it."""

from collections.abc import Sequence

from boyd.actors import Agent, Decision, Ooda
from boyd.runtime import Context

from . import observe, orient, rules
from .actions import call_for, endorse, facts_of, tools
from .beat import Beat, LinesRead
from .digest import Digest
from .facets import Concentration, Novelty, Severity, Volume
from .lens import lens
from .orient import Orientation
from .readings import Reading


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
        facets=[lens(Volume), lens(Novelty), lens(Severity), lens(Concentration)],
        synthesize=synthesize,
        decide=decide,
        tools=tools,
        endorse=endorse,
        until=lambda view: view.done,
    )
