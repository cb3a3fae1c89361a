"""A model that decides: one request a cycle, streamed, whose tool calls are the decision."""

from __future__ import annotations

from typing import Unpack

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.conversation.artifacts import TextDelta, ToolCallDelta
from boyd.actors.conversation.transcript import check_transcript
from boyd.actors.conversation.turns import Turn
from boyd.actors.ooda.cycle import CycleComplete, Decision
from boyd.actors.ooda.decider import decision_of
from boyd.actors.providers.errors import ModelError
from boyd.actors.testing import ScriptedModel, calls, fails, says
from boyd.actors.tools.spec import Call
from boyd.runtime import open_memory_ledger, open_system

from .ooda_story import OodaOptions, Story, View, deciding_model, make_ooda
from .stories import events_of, raw_call, turns_of, unanswered


def decided_by(model: ScriptedModel, **options: Unpack[OodaOptions[View]]) -> Story:
    agent = Agent(model, name="decider", instructions="You decide.")
    options.setdefault("max_cycles", 3)
    return make_ooda(seconds=0.0, decider=agent, **options)


async def test_g23_the_decision_is_the_models_streamed_tool_calls() -> None:
    model = deciding_model()
    story = decided_by(model)
    async with story.ooda.open_run("a") as run:
        events = await events_of(run)
    done = [one for one in events if isinstance(one, CycleComplete)]
    assert [one.decision.by for one in done] == ["fake:decider"] * 3
    assert [one.decision.why for one in done] == ["cycle 1", "cycle 2", "cycle 3"]
    assert [[one.content for one in cycle.actions] for cycle in done] == [
        [f"reported {n}", f"paid a-{n}"] for n in (1, 2, 3)
    ]
    assert len(model.requests) == 3
    assert any(isinstance(one, ToolCallDelta) for one in events)
    assert any(isinstance(one, TextDelta) for one in events)
    assert run.result.usage.steps == 3


async def test_g16_g_m_the_model_is_shown_orientation_guidance_and_tools() -> None:
    model = deciding_model()
    await decided_by(model, guidance=["When in doubt, wait."]).ooda.run("a")
    first = model.requests[0]
    assert [turn.role for turn in first.turns] == ["system", "user"]
    assert first.turns[0].text == "You decide."
    question = first.turns[1].text
    assert '{"source": "a", "n": 1, "total": 1}' in question
    assert "When in doubt, wait." in question
    assert [tool.name for tool in first.tools] == ["report", "pay"]


async def test_a_bad_call_reaches_the_model_as_an_error_result_in_the_next_cycle() -> None:
    model = ScriptedModel(
        calls(raw_call("report", '{"source": 3', id="bad"), raw_call("pya", "{}", id="unknown")),
        calls(Call("pay", {"order": "7"}, "good")),
        says("Nothing to do."),
    )
    story = decided_by(model)
    async with story.ooda.open_run("a") as run:
        done = [event async for event in run if isinstance(event, CycleComplete)]
    assert [one.status for one in done[0].actions] == ["failed", "failed"]
    second = model.requests[1].turns
    assert [turn.role for turn in second] == ["system", "user", "assistant", "tool", "user"]
    results = second[3].results
    assert [(one.call_id, one.is_error) for one in results] == [("bad", True), ("unknown", True)]
    assert "Did you mean pay?" in results[1].content
    [paid] = model.requests[2].turns[3].results
    assert (paid.content, paid.is_error) == ("paid 7", False)
    assert done[2].decision == Decision(why="Nothing to do.", by="scripted")


async def test_requests_do_not_grow_over_the_cycles() -> None:
    model = deciding_model()
    await decided_by(model, max_cycles=12).ooda.run("a")
    sizes = [
        sum(len(turn.text) + sum(len(r.content) for r in turn.results) for turn in one.turns)
        for one in model.requests
    ]
    assert [len(one.turns) for one in model.requests] == [2, *[5] * 11]
    assert max(sizes[1:]) - min(sizes[1:]) < 30
    assert all(check_transcript(one.turns) == () for one in model.requests)


async def test_p11_every_call_of_the_deciders_thread_has_its_result() -> None:
    async with open_system() as system:
        await decided_by(deciding_model()).ooda.run("a", system=system, thread="t")
        turns = await turns_of(system.ledger, "t/decide")
    assert [turn.role for turn in turns] == ["user", "assistant", "tool"] * 3
    assert unanswered(turns) == []
    assert check_transcript(turns) == ()


async def test_p11_also_where_the_users_own_act_takes_the_calls() -> None:
    async def act(decision: Decision) -> int:
        return len(decision.calls)

    async with open_system() as system:
        story = decided_by(deciding_model(), act=act)
        await story.ooda.run("a", system=system, thread="t")
        turns = await turns_of(system.ledger, "t/decide")
    assert unanswered(turns) == []
    assert turns[2].results[0].content == "the act phase of this agent has taken it over"


async def test_p13_a_committed_decision_is_not_asked_for_again(
    autojump_clock: trio.abc.Clock,
) -> None:
    model = deciding_model()
    agent = Agent(model, name="decider")
    async with open_memory_ledger() as ledger:
        for at in (5.5, 11.0, 16.5):
            async with open_system(ledger=ledger) as system:
                with trio.move_on_after(at):
                    story = make_ooda(decider=agent, max_cycles=4)
                    await story.ooda.run("a", system=system, thread="t")
        async with open_system(ledger=ledger) as system:
            story = make_ooda(decider=agent, max_cycles=4)
            result = await story.ooda.resume("t", system=system)
        turns = await turns_of(ledger, "t/decide")
    assert result.output.n == 4
    assert len(model.requests) == 4
    assert unanswered(turns) == []


async def test_a_model_that_fails_ends_the_run_with_its_error() -> None:
    model = ScriptedModel(fails(400))
    with pytest.raises(ModelError) as caught:
        await decided_by(model).ooda.run("a")
    assert caught.value.status == 400
    assert len(model.requests) == 1


def test_arguments_that_are_no_object_stay_to_be_refused_by_name() -> None:
    turn = Turn(
        id="t",
        role="assistant",
        artifacts=(raw_call("report", "[1, 2]", id="1"), raw_call("pay", '{"order": "7"}', id="2")),
    )
    decision = decision_of(turn, "m")
    assert decision.calls[0].arguments == {"arguments that are not a JSON object": "[1, 2]"}
    assert decision.calls[1] == Call("pay", {"order": "7"}, "2")
