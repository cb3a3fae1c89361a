"""Turns and tools to a Chat Completions request."""

from __future__ import annotations

import json
from typing import Any

from boyd.actors.conversation.artifacts import (
    Image,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from boyd.actors.conversation.turns import Turn, text_turn
from boyd.actors.providers.chat_request import chat_body, chat_messages
from boyd.actors.providers.protocol import Request
from boyd.actors.tools.spec import ToolSpec


def messages(*turns: Turn) -> list[dict[str, Any]]:
    return [dict(message) for message in chat_messages(turns)]


def body(request: Request) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(chat_body(request, model="m", limit_field="max_tokens"))
    return told


def test_a_whole_conversation_with_parallel_calls() -> None:
    turns = [
        text_turn("system", "Be good.", "Be brief.", id="1"),
        text_turn("user", "How warm is it?", id="2"),
        Turn(
            id="3",
            role="assistant",
            artifacts=(
                Reasoning(text="hm"),
                Text(text="I look."),
                ToolCall(id="a", name="f", arguments='{"x": 1}'),
                ToolCall(id="b", name="g", arguments=""),
                Usage(input_tokens=1),
            ),
        ),
        Turn(
            id="4",
            role="tool",
            artifacts=(
                ToolResult(call_id="a", content="1"),
                ToolResult(call_id="b", content="", is_error=True),
            ),
        ),
    ]
    assert messages(*turns) == [
        {"role": "system", "content": "Be good.\n\nBe brief."},
        {"role": "user", "content": "How warm is it?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": ""},
    ]


def test_b20_empty_turns_are_left_out_and_calls_without_text_have_null_content() -> None:
    call = ToolCall(id="a", name="f", arguments="{}")
    turns = [
        Turn(id="1", role="assistant"),
        Turn(id="2", role="assistant", artifacts=(Text(text=""), Usage())),
        Turn(id="3", role="assistant", artifacts=(call,)),
        Turn(id="4", role="user", artifacts=(Text(text=" "),)),
        Turn(id="5", role="system"),
    ]
    told = messages(*turns)
    assert len(told) == 1
    assert told[0]["content"] is None
    assert len(told[0]["tool_calls"]) == 1


def test_images_make_a_list_of_parts_in_their_order() -> None:
    turn = Turn(
        id="1",
        role="user",
        artifacts=(Text(text="see"), Image(url="data:x"), Text(text="this")),
    )
    parts = messages(turn)[0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text"]
    assert parts[1]["image_url"] == {"url": "data:x"}


def test_arguments_that_are_no_object_are_sent_inside_one() -> None:
    for raw in ('{"cut', "[1]", '{"a": NaN}', "[" * 100_000):
        turn = Turn(
            id="1", role="assistant", artifacts=(ToolCall(id="a", name="f", arguments=raw),)
        )
        arguments = messages(turn)[0]["tool_calls"][0]["function"]["arguments"]
        assert json.loads(arguments) == {"not_an_object": raw}


def test_the_body_asks_for_a_stream_with_usage_and_names_the_tools() -> None:
    spec = ToolSpec(name="f", description="does f", schema={"type": "object"})
    told = body(Request(tools=(spec,), temperature=0.0, max_tokens=7))
    assert (told["model"], told["stream"], told["stream_options"]) == (
        "m",
        True,
        {"include_usage": True},
    )
    assert told["tools"] == [
        {
            "type": "function",
            "function": {"name": "f", "description": "does f", "parameters": {"type": "object"}},
        }
    ]
    assert (told["temperature"], told["max_tokens"]) == (0.0, 7)


def test_what_was_not_asked_for_is_not_sent() -> None:
    assert set(body(Request())) == {"model", "messages", "stream", "stream_options"}
    assert body(Request(model="other"))["model"] == "other"


def test_half_a_character_does_not_fail_the_request() -> None:
    told = body(Request(turns=(text_turn("user", "a\ud83eb 你", id="1"),)))
    assert told["messages"][0]["content"] == "a?b 你"
