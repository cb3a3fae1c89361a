"""Runs within a run: they join its system, budget, labels, deadline and lease, and keep a thread below its own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.budget import Budget, BudgetExceeded
from boyd.actors.ooda.agent import Ooda
from boyd.actors.ooda.cycle import Cycle, Decision
from boyd.actors.runs.messages import RunLinked
from boyd.actors.testing import ScriptedModel, says
from boyd.actors.tools.define import tool
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import (
    Actor,
    Context,
    RemoteFailure,
    Replies,
    message,
    open_memory_ledger,
    open_system,
    receives,
)

from .stories import SlowModel, asks_for, played, results_in, turns_of


class Writer:
    """An agent that counts how often its model was really asked."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.model = ScriptedModel(*[says("a fact")] * 50)
        self.agent = Agent(self.model, name="writer")


def ooda_with(writer: Agent, *, cycles: int = 2, thread: str | None = None) -> Ooda[str, str]:
    """It asks `writer` once in its observation, and twice in parallel in a facet."""

    async def observe(topic: str) -> str:
        return (await writer.run(f"about {topic}", thread=thread)).output

    async def twice(fact: str, ctx: Context) -> str:
        found: list[str] = []

        async def ask(n: int) -> None:
            found.append((await writer.run(f"{fact} {n}")).output)

        async with ctx.open_nursery() as nursery:
            nursery.start_soon(ask, 1)
            nursery.start_soon(ask, 2)
        return "+".join(found)

    async def merge(readings: Sequence[str]) -> str:
        return readings[0]

    async def decide(_view: str, cycle: Cycle) -> Decision:
        return Decision(stop=cycle.number == cycles)

    return Ooda(
        observe=observe, facets=[twice], synthesize=merge, decide=decide, name="otters",
        max_cycles=50,
    )  # fmt: skip


async def test_c10_a_run_in_a_node_writes_to_a_linked_child_thread(
    autojump_clock: trio.abc.Clock,
) -> None:
    writer = Writer()
    async with open_system() as system:
        result = await ooda_with(writer.agent, cycles=1).run("otters", system=system, thread="o")
        threads = {info.thread for info in await system.ledger.threads()}
        links = [
            entry.message() for entry in await system.ledger.read("o", kinds=("boyd.run_linked",))
        ]
        turns = await turns_of(system.ledger, "o/observe.1.1")
    assert result.output == "a fact+a fact"
    assert threads == {"o", "o/observe.1.1", "o/facet-twice.1.1", "o/facet-twice.1.2"}
    assert links[0] == RunLinked(thread="o/observe.1.1", name="writer")
    assert len(links) == 3
    assert [turn.text for turn in turns] == ["about otters", "a fact"]
    assert result.usage.steps == 3  # C10: the budget of the outer run is charged


@pytest.mark.parametrize("at", [n / 4 for n in range(12)])
async def test_g9_a_resume_does_not_pay_twice_for_runs_within_a_node(
    at: float, autojump_clock: trio.abc.Clock
) -> None:
    """Killed by whatever path and at whatever moment, each question is asked once."""

    @tool(effect=Effect.PURE, risk=Risk.READ)
    async def wait(ctx: Context) -> str:
        """Wait."""
        await ctx.sleep(0.6)
        return "ok"

    model = played(asks_for(wait.call(), turn="a"), says("a fact"))
    writer = Agent(model, name="writer", tools=[wait])
    ooda = ooda_with(writer, cycles=2)
    async with open_memory_ledger() as ledger:
        for path in ("/otters", "/otters/observe", "/otters/facet-twice", ""):
            async with open_system(ledger=ledger) as system:
                before = len(model.requests)

                async def kill(path: str = path) -> None:
                    await trio.sleep(at)
                    if path in system.paths():
                        system.crash(path)

                async with trio.open_nursery() as nursery:
                    nursery.start_soon(kill)
                    await ooda.run("otters", system=system, thread=f"o{path}")
                assert len(model.requests) - before == 12, path  # 3 runs a cycle, 2 requests each


async def test_c10_runs_within_a_run_share_its_budget() -> None:
    writer = Writer()
    ooda = ooda_with(writer.agent, cycles=50)
    with pytest.raises(BudgetExceeded) as caught:
        await ooda.run("otters", budget=Budget(steps=7))
    assert caught.value.cap == "steps"
    assert len(writer.model.requests) == 7


async def test_c10_a_run_in_a_tool_belongs_to_the_call() -> None:
    writer = Writer()

    @tool(effect=Effect.PURE)
    async def research(topic: str) -> str:
        """Ask the writer."""
        return (await writer.agent.run(topic)).output

    boss = Agent(
        played(asks_for(research.call("x"), research.call("y"), turn="a"), says("done")),
        tools=[research],
    )
    async with open_system() as system:
        await boss.run("go", system=system, thread="t")
        threads = {info.thread for info in await system.ledger.threads()}
        results = results_in(await turns_of(system.ledger, "t"))
    assert threads == {"t", "t/research.1.0.1", "t/research.1.1.1"}
    assert [one.content for one in results] == ["a fact", "a fact"]


async def test_c10_a_cancel_of_the_outer_run_ends_the_inner_ones_and_closes_their_models(
    autojump_clock: trio.abc.Clock,
) -> None:
    model = SlowModel(10**9)
    inner = Agent(model, name="inner")

    @tool
    async def ask() -> str:
        """Ask."""
        async with inner.open_run("go", buffer=1) as run:
            async for _ in run:
                await trio.sleep(1)
        return ""

    outer = Agent(played(asks_for(ask.call(), turn="a")), tools=[ask], name="outer")
    async with open_system() as system:
        with trio.move_on_after(10):
            await outer.run("go", system=system, thread="t")
        assert system.paths() == ()
    assert model.open == 0


@pytest.mark.parametrize("thread", ["o", "o/observe.1.1/x"])
async def test_a_thread_of_the_run_around_it_is_refused(thread: str) -> None:
    writer = Writer()
    ooda = ooda_with(writer.agent, thread=thread)
    async with open_system() as system:
        if thread == "o":
            with pytest.raises(RemoteFailure, match="cannot use the thread o: leave thread= out"):
                await ooda.run("otters", system=system, thread="o")
        else:
            await ooda.run("otters", system=system, thread="o")


@message("test.question")
class Question(Replies[str]):
    """Asked of an actor that stands by itself."""


async def test_a_run_in_an_actor_that_belongs_to_no_run_takes_its_own_lease() -> None:
    writer = Writer()

    class Desk(Actor[Question]):
        @receives
        async def answer(self, question: Question, ctx: Context) -> str:
            result = await writer.agent.run("go")
            return result.thread

    async with open_system() as system:
        desk = await system.spawn(Desk, name="desk")
        thread = await desk.ask(Question())
        assert thread.startswith("writer-")
        assert await system.ledger.tip(thread) > 0


async def test_c10_the_deadline_of_the_message_in_hand_is_the_runs_too(
    autojump_clock: trio.abc.Clock,
) -> None:
    model = SlowModel(10**9)
    agent = Agent(model)
    timed_out: list[bool] = []

    class Desk(Actor[Question]):
        @receives
        async def answer(self, question: Question, ctx: Context) -> str:
            try:
                async with agent.open_run("go", buffer=1) as run:
                    async for _ in run:
                        await trio.sleep(1)
            except trio.TooSlowError:
                timed_out.append(True)
            return "late"

    async with open_system() as system:
        desk = await system.spawn(Desk)
        with pytest.raises(trio.TooSlowError):
            await desk.ask(Question(), within=5.0)
        await trio.sleep(1)
        assert timed_out == [True]
        assert model.open == 0


async def test_an_actor_that_outlives_a_run_does_not_go_on_in_its_name() -> None:
    writer = Writer()

    class Desk(Actor[Question]):
        @receives
        async def answer(self, question: Question, ctx: Context) -> str:
            return (await writer.agent.run("go")).thread

    async def observe(_given: str, ctx: Context) -> str:
        await ctx.system.spawn(Desk, name="desk")
        return "x"

    async def facet(text: str) -> str:
        return text

    async def merge(readings: Sequence[str]) -> str:
        return readings[0]

    async def decide(_view: str) -> Decision:
        return Decision(stop=True)

    ooda: Ooda[str, str] = Ooda(observe=observe, facets=[facet], synthesize=merge, decide=decide)
    async with open_system() as system:
        await ooda.run("go", system=system, thread="t")
        thread = await system.lookup("/desk", Question).ask(Question())
    assert thread.startswith("writer-")
