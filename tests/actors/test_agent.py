"""Agent: what a newcomer writes first."""

from __future__ import annotations

import pytest

from boyd.actors.agent import Agent
from boyd.actors.budget import Budget
from boyd.actors.patterns.react import ReAct
from boyd.actors.providers.errors import ModelError
from boyd.actors.testing import ScriptedModel, calls, forbid_model_requests, says
from boyd.actors.tools.define import tool
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import open_system

from .stories import entries_of, turns_of


@tool(effect=Effect.PURE, risk=Risk.READ)
async def weather(city: str) -> float:
    """The temperature now, in Celsius."""
    return 21.5


async def test_a1_a_question_a_tool_an_answer() -> None:
    model = ScriptedModel(calls(weather.call(city="Utrecht")), says("It is 21.5 degrees."))
    agent = Agent(model, tools=[weather], instructions="Be brief.")
    result = await agent.run("How warm is Utrecht?")
    assert result.output == "It is 21.5 degrees."
    assert (result.usage.steps, result.usage.calls) == (2, 1)
    [told] = model.requests[0].tools
    assert (told.name, told.description) == ("weather", "The temperature now, in Celsius.")
    assert [turn.role for turn in model.requests[1].turns] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert model.requests[1].turns[-1].results[0].content == "21.5"


async def test_d35_a_definition_is_a_value_that_can_be_run_any_number_of_times() -> None:
    agent = Agent(ScriptedModel(*[says("hi")] * 4))
    async with open_system() as system:
        for n in range(4):
            assert (await agent.run("go", system=system, thread=f"t{n}")).output == "hi"
            assert system.paths() == ()


def test_using_another_model_changes_nothing_else() -> None:
    agent = Agent(
        ScriptedModel(name="one"),
        name="desk",
        instructions="x",
        tools=[weather],
        pattern=ReAct(max_turns=3),
        budget=Budget(steps=7),
        transforms=[lambda turns: turns],
        handlers=[],
    )
    other = agent.using(ScriptedModel(name="two"))
    assert other.provider.name == "two"
    for attribute in (
        "name",
        "instructions",
        "tools",
        "pattern",
        "budget",
        "transforms",
        "handlers",
    ):
        assert getattr(other, attribute) == getattr(agent, attribute)
    assert agent.provider.name == "one"


def test_d23_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are called 'weather'"):
        Agent(ScriptedModel(), tools=[weather, weather])


@pytest.mark.parametrize("name", ["", "a/b", "ä"])
def test_a_name_that_no_actor_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name for an actor"):
        Agent(ScriptedModel(), name=name)


async def test_d41_no_key_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError) as caught:
        await Agent("openai:gpt-5-mini").run("hi")
    assert str(caught.value) == (
        "openai:gpt-5-mini needs OPENAI_API_KEY, api_key= or base_url=. "
        "Without a key: agent.using(ScriptedModel(...)), or `boyd demo`"
    )


async def test_d41_a_real_request_in_a_test_is_refused() -> None:
    from boyd.actors.providers.openai import OpenAI

    with (
        forbid_model_requests(),
        pytest.raises(ModelError, match="a test tried to reach openai:gpt-5-mini"),
    ):
        await Agent(OpenAI("gpt-5-mini", api_key="k")).run("hi")


async def test_the_thread_says_who_ran_it_and_with_what() -> None:
    from boyd.actors.runs.messages import RunStarted

    async with open_system() as system:
        agent = Agent(ScriptedModel(says("hi")), name="desk")
        async with agent.open_run("go", system=system, thread="t", target="desk.py") as run:
            await run.wait()
        [started, *_] = await entries_of(system.ledger, "t")
    assert started.message() == RunStarted(
        name="desk", kind="Agent", given="go", target="desk.py", input=b"\xa2go"
    )


async def test_a_conversation_goes_on_in_its_thread() -> None:
    model = ScriptedModel(says("Hello Ada."), says("Ada."))
    agent = Agent(model)
    async with open_system() as system:
        await agent.run("I am Ada.", system=system, thread="user-1")
        result = await agent.run("Who am I?", system=system, thread="user-1")
        turns = await turns_of(system.ledger, "user-1")
    assert result.output == "Ada."
    assert [turn.text for turn in model.requests[1].turns] == [
        "I am Ada.",
        "Hello Ada.",
        "Who am I?",
    ]
    assert len(turns) == 4
