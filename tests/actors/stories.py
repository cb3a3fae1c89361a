"""What the tests of the cast share: agents with counted effects, models that know their place, ledgers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from boyd.actors.conversation.artifacts import Event, TextDelta, ToolCall, ToolResult
from boyd.actors.conversation.turns import Turn
from boyd.actors.providers.protocol import Provider, Request, Streamed
from boyd.actors.providers.stream import FetchChannel
from boyd.actors.runs.run import Run
from boyd.actors.testing import Reply, ScriptedModel, calls
from boyd.actors.tools.define import AnyTool, tool
from boyd.actors.tools.spec import Call, Effect, Risk
from boyd.runtime import Context, Entry, Ledger, Seams, SupervisorDecided, System
from boyd.runtime.testing import seeded_seams

Effects = Counter[str]
"""How often each thing was really done."""


def played(*replies: Reply) -> ScriptedModel:
    """A model whose answer follows from how many it has given in the transcript that it is shown.

    So it says the same when it is asked again, after a crash or in another process.
    """

    def answer(request: Request) -> Reply:
        return replies[sum(turn.role == "assistant" for turn in request.turns)]

    return ScriptedModel(*[answer] * 1000)


def asks_for(*wanted: Call, turn: str, text: str = "") -> Reply:
    """`calls`, with ids that are the same each time."""
    named = [attrs.evolve(call, id=f"{turn}{n}") for n, call in enumerate(wanted)]
    return calls(*named, text=text)


@attrs.frozen
class Tools:
    """Three tools, one of each effect; each takes a second and counts what it did."""

    effects: Effects
    look: AnyTool
    note: AnyTool
    pay: AnyTool

    @property
    def all(self) -> tuple[AnyTool, ...]:
        return (self.look, self.note, self.pay)


def make_tools(*, seconds: float = 1.0, risk: Risk = Risk.WRITE) -> Tools:
    """Fresh tools; `risk` is that of `pay`."""
    effects: Effects = Counter()

    @tool(effect=Effect.PURE, risk=Risk.READ)
    async def look(at: str, ctx: Context) -> str:
        """Look at something."""
        effects[f"look {at}"] += 1
        await ctx.sleep(seconds)
        return f"{at} is fine"

    @tool(effect=Effect.IDEMPOTENT)
    async def note(text: str, ctx: Context) -> str:
        """Write something down."""
        effects[f"note {text}"] += 1
        await ctx.sleep(seconds)
        return f"noted {text}"

    @tool(effect=Effect.ONCE, risk=risk)
    async def pay(order: str, ctx: Context) -> str:
        """Pay for an order."""
        effects[f"pay {order}"] += 1
        await ctx.sleep(seconds)
        return f"paid {order}"

    return Tools(effects, look, note, pay)


# ------------------------------------------------------------------ what stands in a ledger
async def entries_of(ledger: Ledger, thread: str) -> list[Entry]:
    """All of a thread."""
    return list(await ledger.read(thread, limit=100_000))


async def turns_of(ledger: Ledger, thread: str) -> list[Turn]:
    """The turns of a thread."""
    found = [entry.message() for entry in await entries_of(ledger, thread)]
    return [one for one in found if isinstance(one, Turn)]


async def told(ledger: Ledger) -> dict[str, list[tuple[str, str, bytes]]]:
    """Every thread but those of supervisors: (kind, id, body) of each entry in order."""
    names = [info.thread for info in await ledger.threads(limit=1000)]
    return {
        name: [(one.kind, one.id, one.body) for one in await entries_of(ledger, name)]
        for name in sorted(names)
        if not name.endswith("/supervision")
    }


async def decisions(ledger: Ledger) -> list[SupervisorDecided]:
    """What supervisors decided, in whatever thread."""
    found: list[SupervisorDecided] = []
    for info in await ledger.threads(limit=1000):
        if info.thread.endswith("/supervision"):
            for entry in await entries_of(ledger, info.thread):
                decided = entry.message()
                assert isinstance(decided, SupervisorDecided)
                found.append(decided)
    return found


def unanswered(turns: Sequence[Turn]) -> list[str]:
    """The calls that have not exactly one result in the turn right behind theirs."""
    found: list[str] = []
    for n, turn in enumerate(turns):
        results = [one.call_id for one in turns[n + 1].results] if n + 1 < len(turns) else []
        found += [call.id for call in turn.calls if results.count(call.id) != 1]
    return found


def results_in(turns: Sequence[Turn]) -> list[ToolResult]:
    """All results, in order."""
    return [result for turn in turns for result in turn.results]


# ------------------------------------------------------------------ runs
async def events_of(run: Run[Any]) -> list[Event]:
    """All events of a run to its end."""
    return [event async for event in run]


async def until(system: System, held: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Let virtual time pass until something holds."""
    with trio.fail_after(seconds):
        while not held():
            await system.sleep(0.01)


def fixed_seams(seed: int = 0) -> Seams:
    """Seams from which everything follows, the wall clock included."""

    class Clock:
        def now(self) -> float:
            return trio.current_time()

        def wall(self) -> float:
            return 1_000_000.0

    return attrs.evolve(seeded_seams(seed), clock=Clock())


class SlowModel:
    """Streams `count` pieces of text without an end in sight, and tells how far it came and whether it was closed."""

    def __init__(self, count: int = 1000) -> None:
        self.count = count
        self.sent = 0
        self.open = 0

    @property
    def name(self) -> str:
        return "slow"

    @asynccontextmanager
    async def open_stream(
        self, _request: Request, /
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[Streamed]]:
        async def fetch() -> list[Streamed] | None:
            await trio.lowlevel.checkpoint()
            if self.sent == self.count:
                return None
            self.sent += 1
            return [TextDelta(text=f"{self.sent} ")]

        self.open += 1
        try:
            yield FetchChannel(fetch)
        finally:
            self.open -= 1


class Thoughtful:
    """Another model, which takes a second: half of it before it speaks, half in the middle."""

    def __init__(self, model: Provider) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return self.model.name

    @asynccontextmanager
    async def open_stream(
        self, request: Request, /
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[Streamed]]:
        await trio.sleep(0.5)
        async with self.model.open_stream(request) as stream:
            count = 0

            async def fetch() -> list[Streamed] | None:
                nonlocal count
                count += 1
                if count == 3:
                    await trio.sleep(0.5)
                try:
                    return [await stream.receive()]
                except trio.EndOfChannel:
                    return None

            yield FetchChannel(fetch)


def raw_call(name: str, arguments: str, *, id: str = "raw") -> ToolCall:  # noqa: A002
    """A call as a bad model writes it."""
    return ToolCall(id=id, name=name, arguments=arguments)
