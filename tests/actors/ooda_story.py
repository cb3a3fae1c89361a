"""An OODA agent and a swarm whose phases remember, take their time, and count what they really do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import attrs

from boyd.actors.agent import Agent
from boyd.actors.budget import Budget
from boyd.actors.conversation.turns import Turn
from boyd.actors.ooda.agent import Ooda
from boyd.actors.ooda.cycle import Cycle, Decision
from boyd.actors.providers.protocol import Request
from boyd.actors.swarm.blackboard import Blackboard
from boyd.actors.swarm.swarm import MemberFinished, MemberRestarted, Swarm
from boyd.actors.testing import Reply, ScriptedModel
from boyd.actors.tools.define import AnyTool, tool
from boyd.actors.tools.spec import Call, Effect, Risk
from boyd.runtime import Context, message

from .stories import Effects, asks_for

V = TypeVar("V")


class OodaOptions(TypedDict, Generic[V], total=False):
    """What a test may want otherwise of an `Ooda` whose view is a V."""

    endorse: Callable[[Call, V], str | None]
    act: Callable[..., Any]
    until: Callable[[V], bool]
    max_cycles: int | None
    every: float
    guidance: Sequence[str]
    remember: int
    name: str
    budget: Budget


@attrs.frozen
class Sample:
    """What was observed: the n-th thing of a source."""

    source: str
    n: int


@attrs.frozen
class View:
    """All readings, and what the facet that remembers has summed up."""

    source: str
    n: int
    total: int


@message("test.found")
class Found:
    """A fact of the blackboard."""

    source: str
    n: int
    total: int


@attrs.frozen
class Story:
    """One OODA definition with its counted effects."""

    ooda: Ooda[str, View]
    effects: Effects
    paid: AnyTool


def make_ooda(  # a story is told in one piece
    *,
    cycles: int = 3,
    seconds: float = 1.0,
    risk: Risk = Risk.WRITE,
    decider: Agent | None = None,
    effects: Effects | None = None,
    **options: Unpack[OodaOptions[View]],
) -> Story:
    """Observe counts, one facet sums up, one does not, the decider reports and pays once a cycle.

    Each phase and tool waits `seconds` on the clock in the middle of its work.
    """
    counted: Effects = Counter() if effects is None else effects

    class Observe:
        def __init__(self, source: str) -> None:
            self.source, self.n = source, 0

        def recall(self, sample: Sample) -> None:
            self.n = sample.n

        async def __call__(self, ctx: Context) -> Sample:
            self.n += 1
            await ctx.sleep(seconds)
            return Sample(self.source, self.n)

    class Total:
        def __init__(self) -> None:
            self.total = 0

        def recall(self, sample: Sample, _reading: int) -> None:
            self.total += sample.n

        async def __call__(self, sample: Sample, ctx: Context) -> int:
            self.total += sample.n
            await ctx.sleep(seconds)
            return self.total

    async def minus(sample: Sample, ctx: Context) -> int:
        await ctx.sleep(seconds * 2)
        return -sample.n

    async def merge(readings: Sequence[int], sample: Sample, ctx: Context) -> View:
        await ctx.sleep(seconds)
        assert readings[1] == -sample.n
        return View(sample.source, sample.n, readings[0])

    class Decide:
        def __init__(self, source: str) -> None:
            self.source, self.decided = source, 0

        def recall(self, _view: View, _decision: Decision) -> None:
            self.decided += 1

        async def __call__(self, view: View, cycle: Cycle, ctx: Context) -> Decision:
            self.decided += 1
            await ctx.sleep(seconds)
            assert self.decided == view.n == cycle.number
            order = f"{self.source}-{view.n}"
            wanted = [report.call(view.source, view.n, view.total), pay.call(order)]
            return Decision(calls=wanted, why=f"total {view.total}", stop=view.n >= cycles)

    @tool(effect=Effect.IDEMPOTENT)
    async def report(ctx: Context, source: str, n: int, total: int) -> str:
        """Put a fact on the blackboard."""
        counted[f"report {source} {n}"] += 1
        await ctx.sleep(seconds / 2)
        fact = Found(source=source, n=n, total=total)
        await Blackboard.of(ctx).post(fact, key=f"{source}:{n}")
        await ctx.sleep(seconds / 2)
        return f"reported {n}"

    @tool(effect=Effect.ONCE, risk=risk)
    async def pay(ctx: Context, order: str) -> str:
        """Pay."""
        await ctx.sleep(seconds / 2)
        counted[f"pay {order}"] += 1
        await ctx.sleep(seconds / 2)
        return f"paid {order}"

    ooda: Ooda[str, View] = Ooda(
        observe=Observe,
        facets=[Total, minus],
        synthesize=merge,
        decide=decider or Decide,
        tools=[report, pay],
        **OodaOptions[View](name="scout", max_cycles=50) | options,
    )
    return Story(ooda, counted, pay)


# ------------------------------------------------------------------ the smallest one
async def as_it_is(n: int) -> int:
    """A facet without a view of its own."""
    return n


async def first_reading(readings: Sequence[int]) -> int:
    return readings[0]


def decided(*wanted: Call, tools: Sequence[AnyTool]) -> Ooda[None, int]:
    """Its only cycle sees nothing of note, decides on these calls, and stops."""

    async def observe() -> int:
        return 1

    async def decide(_n: int) -> Decision:
        return Decision(calls=wanted, stop=True)

    return Ooda(
        observe=observe,
        facets=[as_it_is],
        synthesize=first_reading,
        decide=decide,
        tools=tools,
    )


# ------------------------------------------------------------------ a model that decides
def deciding_model(*, cycles: int = 3) -> ScriptedModel:
    """Reports and pays what the cycle's question is about, whoever asks and however often. It never stops by itself."""

    def answer(request: Request) -> Reply:
        number = _cycle(request.turns)
        source = "a"
        total = number * (number + 1) // 2
        wanted = [
            Call("report", {"source": source, "n": number, "total": total}),
            Call("pay", {"order": f"{source}-{number}"}),
        ]
        return asks_for(*wanted, turn=f"c{number}.", text=f"cycle {number}")

    return ScriptedModel(*[answer] * 100, name="fake:decider")


def _cycle(turns: Sequence[Turn]) -> int:
    question = next(turn for turn in reversed(turns) if turn.role == "user")
    return int(question.text.split(".")[0].removeprefix("Cycle "))


# ------------------------------------------------------------------ the swarm
@attrs.frozen
class Sight:
    """What the lead sees on the blackboard."""

    seq: int
    total: int
    finished: tuple[str, ...]


class Look:
    """Waits for news, then reads all that is new."""

    def __init__(self, members: int) -> None:
        self.members = members
        self.sight = Sight(0, 0, ())

    def recall(self, sight: Sight) -> None:
        self.sight = sight

    async def __call__(self, ctx: Context) -> Sight:
        board = Blackboard.of(ctx)
        seq, total, finished = self.sight.seq, self.sight.total, set(self.sight.finished)
        if len(finished) < self.members:
            await board.wait_news(after=seq)
        for posted in await board.read(after=seq):
            seq = posted.seq
            if isinstance(posted.fact, Found):
                total += posted.fact.n
            if isinstance(posted.fact, MemberFinished):
                finished.add(posted.fact.member)
            if isinstance(posted.fact, MemberRestarted):
                finished.discard(posted.fact.member)
        self.sight = Sight(seq, total, tuple(sorted(finished)))
        return self.sight


async def same(sight: Sight) -> Sight:
    return sight


async def first(readings: Sequence[Sight]) -> Sight:
    """Without the place in the thread, so that the output does not depend on the schedule."""
    return attrs.evolve(readings[0], seq=0)


def make_swarm(
    *, members: int = 2, cycles: int = 2, seconds: float = 1.0
) -> tuple[Swarm[Sight], list[Story]]:
    """Scouts, and a lead that adds up what they report until all have finished."""
    stories = [make_ooda(cycles=cycles, seconds=seconds) for _ in range(members)]

    async def decide(sight: Sight) -> Decision:
        return Decision(stop=len(sight.finished) == members)

    lead: Ooda[int, Sight] = Ooda(
        observe=Look, facets=[same], synthesize=first, decide=decide, max_cycles=10_000, name="lead"
    )
    scouts = {f"scout-{n}": story.ooda.on(f"s{n}") for n, story in enumerate(stories)}
    return Swarm(members=scouts, lead=lead.on(members), name="swarm"), stories
