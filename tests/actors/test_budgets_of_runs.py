"""Caps hold over parallel calls, over whole swarms and over time; the transcript is valid at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.budget import Budget, BudgetExceeded
from boyd.actors.conversation.artifacts import TextDelta, ToolResult
from boyd.actors.conversation.transcript import check_transcript
from boyd.actors.events import ErrorEvent, ToolStarted
from boyd.actors.providers.protocol import Request, Streamed
from boyd.actors.swarm.swarm import MemberFinished, Swarm
from boyd.actors.testing import Reply, ScriptedModel, calls, says
from boyd.runtime import open_system

from .ooda_story import make_ooda, make_swarm
from .stories import SlowModel, make_tools, results_in, turns_of, unanswered


async def ended_by(agent: Agent, budget: Budget) -> tuple[BudgetExceeded, list[ToolResult]]:
    """The error that a budget ends a run with, and the results in its valid transcript."""
    async with open_system() as system:
        with pytest.raises(BudgetExceeded) as caught:
            await agent.run("go", system=system, thread="t", budget=budget)
        assert system.paths() == ()
        turns = await turns_of(system.ledger, "t")
        assert check_transcript(turns) == ()
        assert unanswered(turns) == []
        # It can go on with a larger one.
        again = agent.using(ScriptedModel(says("fine")))
        assert (await again.resume("t", system=system)).output == "fine"
        return caught.value, results_in(turns)


def looping() -> tuple[Agent, ScriptedModel]:
    tools = make_tools(seconds=0.0)
    wanted = [tools.look.call(at="x"), tools.look.call(at="y"), tools.look.call(at="z")]
    model = ScriptedModel(*[calls(*wanted)] * 50, name="openai:gpt-5-mini")
    return Agent(model, tools=tools.all), model


async def test_n6_steps_are_capped_exactly() -> None:
    agent, model = looping()
    error, results = await ended_by(agent, Budget(steps=4))
    assert (error.cap, error.limit) == ("steps", 4)
    assert len(model.requests) == 4
    assert len(results) == 12


async def test_n6_calls_are_capped_over_parallel_calls_all_or_none() -> None:
    agent, model = looping()
    error, results = await ended_by(agent, Budget(calls=7))
    assert error.cap == "calls"
    assert len(model.requests) == 3
    texts = [one.content for one in results]
    assert texts[:6] == ["x is fine", "y is fine", "z is fine"] * 2
    assert all("not run: the cap of 7 calls is reached" in one for one in texts[6:])


async def test_n6_calls_are_charged_once_though_a_crash_makes_them_again(
    autojump_clock: trio.abc.Clock,
) -> None:
    tools = make_tools()
    wanted = [tools.look.call(at="x"), tools.look.call(at="y")]
    agent = Agent(ScriptedModel(calls(*wanted), says("done")), tools=tools.all)
    async with open_system() as system:
        budget = Budget(calls=2, steps=2)
        async with agent.open_run("go", system=system, thread="t", budget=budget) as run:
            crashed = False
            async for event in run:
                if isinstance(event, ToolStarted) and not crashed:
                    crashed = True
                    await trio.sleep(0.5)
                    system.crash("/agent")
    assert run.result.output == "done"
    assert run.result.usage.calls == 2
    assert tools.effects == {"look x": 2, "look y": 2}


async def test_n6_tokens_and_money_are_capped_before_the_next_request() -> None:
    agent, model = looping()
    error, _ = await ended_by(agent, Budget(tokens=1))
    assert error.cap == "tokens"
    assert len(model.requests) == 1
    agent, model = looping()
    error, _ = await ended_by(agent, Budget(money=1e-9))
    assert error.cap == "money"
    assert len(model.requests) == 1


async def test_n6_a_cap_that_cannot_be_kept_ends_the_run_in_words() -> None:
    class Unmetered(ScriptedModel):
        def _items(self, request: Request, reply: Reply) -> Iterator[Streamed]:
            return iter([TextDelta(text="hello")])

    agent = Agent(Unmetered(says("")))
    with pytest.raises(BudgetExceeded, match="cannot be kept: 1 of 1 reply came without usage"):
        await agent.run("go", budget=Budget(tokens=1000))
    assert (await agent.using(Unmetered(says(""))).run("go")).output == "hello"
    with pytest.raises(BudgetExceeded, match="a cap on money needs a price for slow"):
        await Agent(SlowModel()).run("go", budget=Budget(money=1.0))


@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.5])
async def test_n6_seconds_end_a_run_in_the_middle_of_a_tool(
    seconds: float, autojump_clock: trio.abc.Clock
) -> None:
    tools = make_tools(seconds=1.0)
    model = ScriptedModel(*[calls(tools.pay.call(order="7"))] * 9)
    begun = trio.current_time()
    error, results = await ended_by(Agent(model, tools=tools.all), Budget(seconds=seconds))
    assert (error.cap, error.limit) == ("seconds", seconds)
    assert trio.current_time() - begun == pytest.approx(seconds)
    assert "may have had effects" in results[-1].content or seconds == 1.0


async def test_n6_seconds_end_a_run_in_the_middle_of_a_stream(
    autojump_clock: trio.abc.Clock,
) -> None:
    model = SlowModel(10**9)

    async def read() -> None:
        async with Agent(model).open_run("go", budget=Budget(seconds=3.0), buffer=1) as run:
            async for _ in run:
                await trio.sleep(0.1)

    with pytest.raises(BudgetExceeded) as caught:
        await read()
    assert caught.value.cap == "seconds"
    assert model.open == 0
    assert trio.current_time() == pytest.approx(3.0, abs=20.0)


async def test_n6_a_standing_ooda_ends_when_its_seconds_are_over(
    autojump_clock: trio.abc.Clock,
) -> None:
    ooda = make_ooda(cycles=10**6, every=10.0, max_cycles=None).ooda
    async with open_system() as system:
        with pytest.raises(BudgetExceeded):
            await ooda.run("a", system=system, thread="t", budget=Budget(seconds=25.0))
        assert trio.current_time() == pytest.approx(25.0)
        assert system.paths() == ()


async def test_n6_a_budget_holds_over_a_whole_swarm(autojump_clock: trio.abc.Clock) -> None:
    """Members that reach it fail with it, which is a fact of the swarm as any failure."""
    swarm, stories = make_swarm(members=3, cycles=50, seconds=0.1)
    budget = Budget(calls=20, steps=None)
    async with swarm.open_run(None, budget=budget) as run:
        finished = [event async for event in run if isinstance(event, MemberFinished)]
    assert [one.failure.type for one in finished if one.failure] == ["boyd.BudgetExceeded"] * 3
    assert sum(sum(story.effects.values()) for story in stories) == 20
    assert run.result.usage.calls == 20


async def test_n6_the_seconds_of_a_swarm_end_all_of_it(autojump_clock: trio.abc.Clock) -> None:
    swarm, _ = make_swarm(members=3, cycles=50)
    async with open_system() as system:
        with pytest.raises(BudgetExceeded, match="the cap of 30 seconds is reached"):
            await swarm.run(None, system=system, budget=Budget(seconds=30.0))
        assert system.paths() == ()
    assert trio.current_time() == pytest.approx(30.0)


async def test_n6_a_members_own_cap_ends_that_member_only(autojump_clock: trio.abc.Clock) -> None:
    tools = make_tools()
    greedy = Agent(
        ScriptedModel(*[calls(tools.look.call(at="x"))] * 50),
        tools=tools.all,
        name="greedy",
        budget=Budget(steps=3),
    )
    swarm, _ = make_swarm(members=2, cycles=2)
    mixed = Swarm(
        members={"scout-0": swarm.members["scout-0"], "greedy": greedy.on("go")}, lead=swarm.lead
    )
    async with open_system() as system, mixed.open_run(None, system=system, thread="t") as run:
        finished = [event async for event in run if isinstance(event, MemberFinished)]
        turns = await turns_of(system.ledger, "t/greedy")
    failed = {one.member: one.failure.type for one in finished if one.failure is not None}
    assert failed == {"greedy": "boyd.BudgetExceeded"}
    assert run.result.output.finished == ("greedy", "scout-0")
    assert unanswered(turns) == []


async def test_a_reached_cap_is_one_error_event() -> None:
    agent, _ = looping()
    events: list[object] = []

    async def read() -> None:
        async with agent.open_run("go", budget=Budget(steps=1)) as run:
            async for event in run:
                events.append(event)  # noqa: PERF401  # what came before the error counts

    with pytest.raises(BudgetExceeded):
        await read()
    [told] = [event for event in events if isinstance(event, ErrorEvent)]
    assert (told.type, told.code) == ("boyd.BudgetExceeded", "budget_steps")
