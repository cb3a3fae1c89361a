"""The scripted model streams as a real one does."""

from __future__ import annotations

import pytest
import trio

from boyd.actors.conversation.accumulate import Accumulator
from boyd.actors.conversation.artifacts import (
    Artifact,
    Reasoning,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    Usage,
)
from boyd.actors.conversation.turns import text_turn
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.protocol import Provider, Request
from boyd.actors.testing.scripted import ScriptedModel, ScriptExhausted, calls, fails, says
from boyd.actors.tools.define import tool
from boyd.runtime.seams import Ids


@tool
async def weather(city: str) -> float:
    """The weather."""
    return 21.5


async def blocks_of(model: Provider, *turns: str) -> list[Artifact]:
    asked = Request(turns=tuple(text_turn("user", text, id="u") for text in turns))
    accumulator = Accumulator(new_id=Ids("id").new)
    async with model.open_stream(asked) as stream:
        blocks = [block async for item in stream for block in accumulator.add(item)]
    return [*blocks, *accumulator.finish()]


async def test_words_come_in_pieces_with_usage_and_a_reason() -> None:
    model = ScriptedModel(says("Hello, dear world", reasoning="polite"), name="openai:fake")
    assert model.name == "openai:fake"
    async with model.open_stream(Request()) as stream:
        items = [item async for item in stream]
    assert sum(isinstance(item, TextDelta) for item in items) == 3
    model = ScriptedModel(says("Hello, dear world", reasoning="polite"))
    assert await blocks_of(model, "hi") == [
        Reasoning(text="polite"),
        Text(text="Hello, dear world"),
        StopReason(reason="stop"),
        Usage(input_tokens=1, output_tokens=6),
    ]


async def test_calls_have_ids_and_streamed_arguments() -> None:
    raw = ToolCall(id="mine", name="weather", arguments='{"city": ')
    model = ScriptedModel(calls(weather.call(city="Utrecht"), weather.call("Delft"), raw))
    blocks = await blocks_of(model)
    assert [block for block in blocks if isinstance(block, ToolCall)] == [
        ToolCall(id="call_1", name="weather", arguments='{"city": "Utrecht"}'),
        ToolCall(id="call_2", name="weather", arguments='{"city": "Delft"}'),
        raw,
    ]
    assert StopReason(reason="tool_use") in blocks


async def test_failures_look_like_real_ones() -> None:
    model = ScriptedModel(fails(429, retry_after=3.0), fails(502, after=10), fails(400))
    for status, retryable, partial in ((429, True, 0), (502, True, 10), (400, False, 0)):
        with pytest.raises(ModelError) as caught:
            await blocks_of(model)
        assert (caught.value.status, caught.value.retryable) == (status, retryable)
        assert len(caught.value.partial) == partial


async def test_what_was_asked_is_kept_and_can_be_answered() -> None:
    model = ScriptedModel(lambda asked: says(f"you said {asked.turns[-1].text}"), says("bye"))
    assert (await blocks_of(model, "one", "two"))[0] == Text(text="you said two")
    assert [turn.text for turn in model.requests[0].turns] == ["one", "two"]
    assert model.left == 1


async def test_a_script_that_is_over_says_so() -> None:
    model = ScriptedModel(says("only"))
    await blocks_of(model)
    with pytest.raises(ScriptExhausted) as caught:
        await blocks_of(model, "and now?")
    assert str(caught.value) == (
        "scripted: the script has 1 reply, and this was request 2; "
        "the last turn was user: 'and now?'"
    )
    assert not caught.value.retryable


async def test_it_can_be_left_in_the_middle() -> None:
    model = ScriptedModel(says("a long answer " * 20))
    async with model.open_stream(Request()) as stream:
        await stream.receive()
    with pytest.raises(trio.ClosedResourceError):
        await stream.receive()
