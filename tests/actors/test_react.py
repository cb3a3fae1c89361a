"""ReAct: it steps until a turn asks for no tool, and each call has its one result."""

from __future__ import annotations

import itertools

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.conversation.artifacts import ToolCall
from boyd.actors.conversation.transcript import check_transcript
from boyd.actors.conversation.turns import Turn
from boyd.actors.patterns.react import ReAct, StepLimit
from boyd.actors.testing import ScriptedModel, calls, says
from boyd.actors.tools.define import tool
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import Context, open_system
from boyd.runtime.ledger import open_sqlite_ledger

from .stories import make_tools, raw_call, results_in, turns_of, unanswered


@tool(effect=Effect.PURE, risk=Risk.READ)
async def after(ctx: Context, seconds: float) -> str:
    """Wait."""
    await ctx.sleep(seconds)
    return f"{seconds:g}"


async def test_o34_a_text_answer_takes_exactly_one_request() -> None:
    model = ScriptedModel(says("42"))
    assert (await Agent(model).run("what?")).output == "42"
    assert len(model.requests) == 1


async def test_l2_it_goes_on_until_a_turn_asks_for_nothing() -> None:
    model = ScriptedModel(*[calls(after.call(seconds=0.0))] * 10, says("done"))
    async with open_system() as system:
        result = await Agent(model, tools=[after]).run("go", system=system, thread="t")
        turns = await turns_of(system.ledger, "t")
    assert result.output == "done"
    assert result.usage.steps == 11
    assert result.usage.calls == 10
    assert [turn.role for turn in turns] == ["user", *["assistant", "tool"] * 10, "assistant"]
    assert check_transcript(turns) == ()


async def test_d22_the_cap_is_exact_and_leaves_a_valid_transcript() -> None:
    tools = make_tools(seconds=0.0)
    model = ScriptedModel(*[calls(tools.pay.call(order="7"))] * 9)
    agent = Agent(model, tools=tools.all, pattern=ReAct(max_turns=3))
    async with open_system() as system:
        with pytest.raises(StepLimit) as caught:
            await agent.run("go", system=system, thread="t")
        turns = await turns_of(system.ledger, "t")
        assert caught.value.turns == 3
        assert len(model.requests) == 3
        assert tools.effects["pay 7"] == 2  # the calls of the last turn have nobody to hear of them
        assert check_transcript(turns) == ()
        assert "not run: the run stopped at its limit of 3 turns" in results_in(turns)[-1].content
        # A new message begins to count anew.
        again = agent.using(ScriptedModel(says("fine")))
        assert (await again.run("and now?", system=system, thread="t")).output == "fine"


@pytest.mark.parametrize("cap", [0, -1])
def test_d22_a_cap_of_nothing_is_an_error(cap: int) -> None:
    with pytest.raises(ValueError, match="max_turns"):
        ReAct(max_turns=cap)


@pytest.mark.parametrize("order", list(itertools.permutations([1.0, 2.0, 3.0])), ids=str)
async def test_b17_x2_results_stand_in_call_order_whoever_finishes_first(
    order: tuple[float, ...], autojump_clock: trio.abc.Clock
) -> None:
    model = ScriptedModel(calls(*[after.call(seconds=one) for one in order]), says("done"))
    begun = trio.current_time()
    async with open_system() as system:
        await Agent(model, tools=[after]).run("go", system=system, thread="t")
        turns = await turns_of(system.ledger, "t")
    assert trio.current_time() - begun == pytest.approx(3.0)  # in parallel, though of one tool
    assert [one.content for one in results_in(turns)] == [f"{one:g}" for one in order]
    assert model.requests[1].turns[-1] == turns[2]


async def test_b17_the_transcript_is_the_same_after_a_reload(tmp_path: object) -> None:
    path = f"{tmp_path}/t.db"
    model = ScriptedModel(
        calls(after.call(seconds=0.02), after.call(seconds=0.0)), says("one"), says("two")
    )
    agent = Agent(model, tools=[after])
    kept: list[Turn] = []
    for given in ("go", "and?"):
        async with open_sqlite_ledger(path) as ledger, open_system(ledger=ledger) as system:
            await agent.run(given, system=system, thread="t")
            kept = await turns_of(ledger, "t")
    live, reloaded = model.requests[1].turns, model.requests[2].turns
    assert reloaded[: len(live)] == live == tuple(kept[: len(live)])


async def test_more_calls_of_one_tool_than_it_has_actors_all_get_their_result(
    autojump_clock: trio.abc.Clock,
) -> None:
    begun = trio.current_time()
    model = ScriptedModel(calls(*[after.call(seconds=1.0)] * 40), says("done"))
    async with open_system() as system:
        await Agent(model, tools=[after]).run("go", system=system, thread="t")
        results = results_in(await turns_of(system.ledger, "t"))
    assert [one.content for one in results] == ["1"] * 40
    assert trio.current_time() - begun == pytest.approx(3.0)  # 16, 16 and 8


async def test_l6_o35_bad_calls_are_told_to_the_model_and_the_loop_goes_on() -> None:
    tools = make_tools(seconds=0.0)
    model = ScriptedModel(
        calls(
            raw_call("lok", "{}", id="1"),
            raw_call("look", "{", id="2"),
            raw_call("look", '{"at": 3}', id="3"),
            tools.look.call(at="x"),
        ),
        says("done"),
    )
    async with open_system() as system:
        result = await Agent(model, tools=tools.all).run("go", system=system, thread="t")
        results = results_in(await turns_of(system.ledger, "t"))
    assert result.output == "done"
    assert [one.is_error for one in results] == [True, True, True, False]
    assert "Did you mean look?" in results[0].content
    assert "at" in results[2].content
    assert tools.effects == {"look x": 1}


async def test_repeated_call_ids_of_a_model_do_not_meet_in_one_transcript() -> None:
    same = ToolCall(id="call_0", name="after", arguments='{"seconds": 0.0}')
    model = ScriptedModel(calls(same, same), calls(same), says("done"))
    async with open_system() as system:
        await Agent(model, tools=[after]).run("go", system=system, thread="t")
        turns = await turns_of(system.ledger, "t")
    assert check_transcript(turns) == ()
    assert unanswered(turns) == []


async def test_an_agent_without_tools_answers_calls_with_an_error() -> None:
    model = ScriptedModel(calls(raw_call("look", "{}")), says("sorry"))
    assert (await Agent(model).run("go")).output == "sorry"


async def test_one_answer_to_a_thread_does_not_lose_what_was_said_before() -> None:
    model = ScriptedModel(says("one"), says("two"))
    async with open_system() as system:
        for given in ("first", "second"):
            await Agent(model).run(given, system=system, thread="t")
        turns = await turns_of(system.ledger, "t")
    assert [turn.text for turn in turns] == ["first", "one", "second", "two"]
    assert [turn.text for turn in model.requests[1].turns] == ["first", "one", "second"]
