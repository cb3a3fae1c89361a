"""Dispatch and its journal: calls in parallel, effects at most once, outcomes for good."""

from __future__ import annotations

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.events import ToolFinished, ToolStarted
from boyd.actors.testing import calls, says
from boyd.actors.tools.define import tool
from boyd.actors.tools.journal import ToolIntent, ToolOutcome, read_journal
from boyd.actors.tools.spec import Effect
from boyd.runtime import Context, open_memory_ledger, open_system

from .stories import (
    asks_for,
    entries_of,
    events_of,
    make_tools,
    played,
    results_in,
    turns_of,
    unanswered,
)


async def test_p12_intent_stands_before_the_effect_and_the_outcome_after_it(
    autojump_clock: trio.abc.Clock,
) -> None:
    seen: list[list[str]] = []

    @tool(effect=Effect.ONCE)
    async def pay(ctx: Context) -> str:
        """Pay."""
        seen.append([entry.kind for entry in await entries_of(ctx.system.ledger, "t")])
        return "paid"

    async with open_system() as system:
        agent = Agent(played(asks_for(pay.call(), turn="a"), says("done")), tools=[pay])
        await agent.run("go", system=system, thread="t")
        entries = await entries_of(system.ledger, "t")
    assert seen == [["boyd.run_started", "boyd.turn", "boyd.turn", "boyd.tool_intent"]]
    kinds = [entry.kind for entry in entries]
    assert kinds[3:6] == ["boyd.tool_intent", "boyd.tool_outcome", "boyd.turn"]


async def test_calls_without_lasting_effects_are_not_journalled() -> None:
    tools = make_tools(seconds=0.0)
    wanted = [tools.look.call(at="x"), tools.note.call(text="y")]
    agent = Agent(played(asks_for(*wanted, turn="a"), says("done")), tools=tools.all)
    async with open_system() as system:
        await agent.run("go", system=system, thread="t")
        kinds = {entry.kind for entry in await entries_of(system.ledger, "t")}
    assert kinds == {"boyd.run_started", "boyd.turn"}


@pytest.mark.parametrize("effect", list(Effect), ids=lambda one: one.name)
async def test_p12_a_tool_killed_in_a_call_runs_again_unless_its_effect_is_once(
    effect: Effect, autojump_clock: trio.abc.Clock
) -> None:
    """X4 too: one result, no hang, nothing left."""
    made = 0

    @tool(effect=effect)
    async def act(ctx: Context) -> str:
        """Act."""
        nonlocal made
        made += 1
        await ctx.sleep(1)
        return "acted"

    agent = Agent(played(asks_for(act.call(), turn="a"), says("done")), tools=[act])
    async with open_system() as system:
        async with agent.open_run("go", system=system, thread="t") as run:
            async for event in run:
                if isinstance(event, ToolStarted):
                    await trio.sleep(0.5)
                    system.crash("/agent/tool-act")
        assert run.result.output == "done"
        [result] = results_in(await turns_of(system.ledger, "t"))
        assert system.paths() == ()
    if effect is Effect.ONCE:
        assert made == 1
        assert result.is_error
        assert "the tool crashed and may have had effects" in result.content
    else:
        assert made == 2
        assert result.content == "acted"


async def test_p12_a_run_killed_in_a_call_tells_the_model_that_the_outcome_is_unknown(
    autojump_clock: trio.abc.Clock,
) -> None:
    tools = make_tools()
    wanted = [tools.pay.call(order="7"), tools.look.call(at="x")]
    model = played(asks_for(*wanted, turn="a"), says("I will ask."))
    agent = Agent(model, tools=tools.all)
    async with open_system() as system:
        async with agent.open_run("go", system=system, thread="t") as run:
            started = 0
            async for event in run:
                if isinstance(event, ToolStarted):
                    started += 1
                    if started == 2:
                        await trio.sleep(0.5)
                        system.crash("/agent")
        results = results_in(await turns_of(system.ledger, "t"))
    assert run.result.output == "I will ask."
    assert tools.effects == {"pay 7": 1, "look x": 2}
    assert [one.is_error for one in results] == [True, False]
    assert results[0].content.startswith("unknown outcome: this call was begun before a crash")
    assert model.requests[-1].turns[-1].results[0] == results[0]


async def test_p12_a_recorded_outcome_is_used_and_not_made_again(
    autojump_clock: trio.abc.Clock,
) -> None:
    tools = make_tools()
    slow = make_tools(seconds=50.0)
    wanted = [tools.pay.call(order="7"), slow.look.call(at="x")]
    agent = Agent(played(asks_for(*wanted, turn="a"), says("done")), tools=[tools.pay, slow.look])
    async with open_memory_ledger() as ledger:
        async with (
            open_system(ledger=ledger) as system,
            agent.open_run("go", system=system, thread="t") as run,
        ):
            async for event in run:
                if isinstance(event, ToolFinished):
                    run._spec.inflight.transcripts.clear()  # as if the process were gone
                    break
        assert unanswered(await turns_of(ledger, "t")) == ["a0", "a1"]
        async with open_system(ledger=ledger) as system:
            assert (await agent.resume("t", system=system)).output == "done"
        results = results_in(await turns_of(ledger, "t"))
    assert [one.content for one in results] == ["paid 7", "x is fine"]
    assert tools.effects == {"pay 7": 1}


async def test_g_k_one_call_that_fails_does_not_cancel_the_others(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool
    async def fail() -> str:
        """Fail."""
        raise ValueError("no such thing")

    tools = make_tools()
    wanted = [fail.call(), tools.look.call(at="x"), fail.call()]
    agent = Agent(played(asks_for(*wanted, turn="a"), says("done")), tools=[fail, tools.look])
    async with open_system() as system:
        await agent.run("go", system=system, thread="t")
        results = results_in(await turns_of(system.ledger, "t"))
    assert [one.is_error for one in results] == [True, False, True]
    assert results[0].content == "fail failed: ValueError: no such thing"


async def test_every_call_is_shown_when_it_starts_and_when_it_ends() -> None:
    tools = make_tools(seconds=0.0)
    wanted = [tools.look.call(at="x"), tools.pay.call(order="7")]
    agent = Agent(played(asks_for(*wanted, turn="a"), says("done")), tools=tools.all)
    async with agent.open_run("go") as run:
        events = await events_of(run)
    started = [event.call for event in events if isinstance(event, ToolStarted)]
    finished = {event.call.id: event.result for event in events if isinstance(event, ToolFinished)}
    assert {call.id: call.arguments for call in started} == {
        "a0": {"at": "x"},
        "a1": {"order": "7"},
    }
    assert finished["a1"].content == "paid 7"


async def test_a_call_that_cannot_be_made_is_not_shown_as_started() -> None:
    agent = Agent(played(calls(make_tools().look.call(at="x")), says("done")))
    async with agent.open_run("go") as run:
        events = await events_of(run)
    assert not any(isinstance(event, ToolStarted) for event in events)
    [finished] = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.result.is_error


async def test_the_journal_is_read_by_key() -> None:
    from boyd.actors.conversation.artifacts import ToolResult
    from boyd.runtime import ANY, Entry

    async with open_memory_ledger() as ledger:
        facts: list[object] = [
            ToolIntent(key="1.0", tool="pay", by="me"),
            ToolIntent(key="1.1", tool="pay"),
            ToolOutcome(key="1.1", result=ToolResult(call_id="b", content="paid")),
            ToolIntent(key="2.0", tool="pay"),
        ]
        for n, fact in enumerate(facts):
            await ledger.append("t", [Entry.of(fact, id=str(n))], after=ANY)
        journal = await read_journal(ledger, "t", {"1.0", "1.1", "3.0"})
    assert dict(journal.begun) == {"1.0": "me"}
    assert {key: one.content for key, one in journal.results.items()} == {"1.1": "paid"}
