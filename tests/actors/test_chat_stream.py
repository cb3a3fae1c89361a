"""Chat Completions streams as servers really send them, cut in every way."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from boyd.actors.conversation.accumulate import Accumulator
from boyd.actors.conversation.artifacts import (
    Artifact,
    Reasoning,
    ReasoningDelta,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from boyd.actors.providers.chat_stream import ChatStream
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.openai import OpenAI
from boyd.actors.providers.protocol import Request, Streamed
from boyd.runtime.seams import Ids
from tests.actors.chat_server import DONE, chunk, event, usage
from tests.actors.memory_post import memory_post

STOP = chunk(finish="stop")


async def items_of(*chunks: bytes, cut: bool = False) -> list[Streamed]:
    model = OpenAI("m", base_url="http://localhost/v1", post=memory_post(chunks, cut=cut))
    async with model.open_stream(Request()) as stream:
        return [item async for item in stream]


async def blocks_of(*chunks: bytes, cut: bool = False) -> list[Artifact]:
    accumulator = Accumulator(new_id=Ids("id").new)
    blocks = [b for item in await items_of(*chunks, cut=cut) for b in accumulator.add(item)]
    return [*blocks, *accumulator.finish()]


async def failure_of(*chunks: bytes, cut: bool = False) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await items_of(*chunks, cut=cut)
    return caught.value


def says(text: str) -> bytes:
    return chunk({"content": text})


def tool(**call: object) -> bytes:
    return chunk({"tool_calls": [call]})


async def test_a_plain_answer() -> None:
    assert await items_of(says("Hel"), says("lo"), STOP, usage(3, 2), DONE) == [
        TextDelta(text="Hel"),
        TextDelta(text="lo"),
        StopReason(reason="stop"),
        Usage(input_tokens=3, output_tokens=2),
    ]


async def test_b01_calls_without_index_from_the_wire() -> None:
    blocks = await blocks_of(
        tool(id="a", function={"name": "f", "arguments": '{"x":'}),
        tool(function={"arguments": "1}"}),
        tool(id="b", function={"name": "f", "arguments": '{"x":2}'}),
        chunk(finish="tool_calls"),
        DONE,
    )
    assert blocks[:2] == [
        ToolCall(id="a", name="f", arguments='{"x":1}'),
        ToolCall(id="b", name="f", arguments='{"x":2}'),
    ]


async def test_b04_blank_names_and_null_parameters_in_continuations() -> None:
    blocks = await blocks_of(
        tool(index=0, id="a", function={"name": "f", "arguments": ""}),
        tool(index=0, id=None, function={"name": "", "arguments": "{}", "parameters": None}),
        tool(index=0, function={"name": None, "arguments": None}),
        tool(index=0, function=None),
        chunk(finish="tool_calls"),
    )
    assert blocks[0] == ToolCall(id="a", name="f", arguments="{}")


@pytest.mark.parametrize("index", [0, "0", None, True, 1.5, {}])
async def test_b01_an_index_of_any_kind(index: object) -> None:
    blocks = await blocks_of(
        tool(index=index, id="a", function={"name": "f", "arguments": "{"}),
        tool(index=index, function={"arguments": "}"}),
        STOP,
    )
    assert blocks[0] == ToolCall(id="a", name="f", arguments="{}")


async def test_arguments_that_come_as_an_object_are_written_out() -> None:
    blocks = await blocks_of(tool(id="a", function={"name": "f", "arguments": {"x": 1}}), STOP)
    assert blocks[0] == ToolCall(id="a", name="f", arguments='{"x": 1}')


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": []},
        {"id": "x"},
        {"choices": None},
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        {"choices": [None]},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
    ],
)
async def test_b05_chunks_without_a_choice_are_skipped(odd: dict[str, Any]) -> None:
    blocks = await blocks_of(says("a"), event(odd), says("b"), STOP, event(odd), usage(), DONE)
    assert blocks == [
        Text(text="ab"),
        StopReason(reason="stop"),
        Usage(input_tokens=10, output_tokens=5),
    ]


async def test_b05_usage_after_the_finish_reason_is_read() -> None:
    items = await items_of(says("a"), STOP, usage(7, 1), DONE)
    assert items[-1] == Usage(input_tokens=7, output_tokens=1)


@pytest.mark.parametrize(
    "noise",
    [
        b": OPENROUTER PROCESSING\n\n",
        b"id: 1\n\n: ping\n\n",
        b"data: : keepalive\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b": glued\n",
        b"event: ping\n\n",
        b"retry: 1000\n\n",
    ],
)
async def test_b06_keep_alives_before_and_between(noise: bytes) -> None:
    pieces = [noise, says("a"), noise, says("b"), noise, STOP, noise, DONE, noise]
    assert await blocks_of(*pieces) == [Text(text="ab"), StopReason(reason="stop")]
    assert await blocks_of(b"".join(pieces)) == [Text(text="ab"), StopReason(reason="stop")]


WIDE = [
    says("你好"),
    says("🦀"),
    tool(index=0, id="a", function={"name": "f", "arguments": '{"city":"杭'}),
    tool(index=0, function={"arguments": '州"}'}),
    chunk(finish="tool_calls"),
    usage(),
    DONE,
]


async def test_b08_every_cut_gives_the_same_answer() -> None:
    data = b": hi\r\n\r\n" + b"".join(WIDE).replace(b"\n", b"\r\n")
    wanted = await items_of(data)
    assert TextDelta(text="🦀") in wanted
    for cut in range(1, len(data)):
        assert await items_of(data[:cut], data[cut:]) == wanted
    assert await items_of(*(bytes([byte]) for byte in data)) == wanted


def test_b08_a_character_in_two_escaped_halves() -> None:
    stream = ChatStream("m")
    texts: list[str] = []
    for raw in ("a\\ud83e", "\\udd80b", "\\ud83e", "c"):
        for item in stream.feed('{"choices":[{"delta":{"content":"' + raw + '"}}]}'):
            assert isinstance(item, TextDelta)
            texts.append(item.text)
    assert "".join(texts) == "a🦀b\ufffdc"
    assert stream.partial.encode()


def test_b08_a_half_at_the_very_end_is_replaced() -> None:
    stream = ChatStream("m")
    stream.feed('{"choices":[{"delta":{"content":"\\ud83e"},"finish_reason":"stop"}]}')
    assert stream.finish() == [TextDelta(text="\ufffd"), StopReason(reason="stop")]


# ------------------------------------------------------------------ B09: errors with status 200
async def test_b09_an_error_beside_a_finish_reason() -> None:
    error = await failure_of(
        says("so "),
        says("far"),
        event(
            {
                "choices": [{"delta": {"content": ""}, "finish_reason": "error"}],
                "error": {"code": 502, "message": "Provider disconnected"},
            }
        ),
    )
    assert (error.status, error.partial, error.retryable) == (502, "so far", True)
    assert "Provider disconnected" in str(error)


ERRORS: list[tuple[object, str, bool]] = [
    (
        {"choices": [], "error": {"code": "server_error", "message": "m"}},
        "server_error",
        True,
    ),
    ({"error": {"message": "quota exceeded"}}, "provider_error", False),
    ({"error": "just words"}, "provider_error", False),
    ({"error": {"code": "429", "message": "slow down"}}, "http_429", True),
    ({"error": {"code": 400, "message": "bad"}}, "http_400", False),
    ({"error": {"type": "insufficient_quota", "code": 429}}, "insufficient_quota", False),
    (
        {"choices": [{"delta": {}, "native_finish_reason": "network_error"}]},
        "network_error",
        True,
    ),
    ({"choices": [{"delta": {}, "finish_reason": "error"}]}, "error", True),
    ({"choices": [{"delta": {}, "error": {"message": "inner"}}]}, "provider_error", False),
    ([{"error": {"code": 503, "message": "wrapped"}}], "http_503", True),
]


@pytest.mark.parametrize(("data", "code", "retryable"), ERRORS)
async def test_b09_errors_of_every_shape(data: object, code: str, retryable: bool) -> None:
    error = await failure_of(
        tool(index=0, id="a", function={"name": "f", "arguments": "{"}), event(data), DONE
    )
    assert (error.code, error.retryable) == (code, retryable)


async def test_b09_an_event_called_error() -> None:
    error = await failure_of(b'event: error\ndata: {"message": "overloaded", "code": "x"}\n\n')
    assert (error.code, "overloaded" in str(error)) == ("x", True)


async def test_b09_what_came_before_the_error_is_delivered_however_it_was_cut() -> None:
    data = says("a") + says("b") + event({"error": {"message": "no"}})
    for chunks in ([data], [bytes([byte]) for byte in data]):
        model = OpenAI("m", base_url="http://localhost/v1", post=memory_post(chunks))
        got: list[Streamed] = []
        async with model.open_stream(Request()) as stream:
            got.append(await stream.receive())
            got.append(await stream.receive())
            with pytest.raises(ModelError, match="no"):
                await stream.receive()
            with pytest.raises(trio.EndOfChannel):  # G20: once, and that was the end
                await stream.receive()
        assert got == [TextDelta(text="a"), TextDelta(text="b")]


async def test_b09_one_document_with_an_error() -> None:
    error = await failure_of(json.dumps({"error": {"message": "quota", "code": 402}}).encode())
    assert (error.status, error.retryable) == (402, False)


async def test_one_document_with_a_whole_answer() -> None:
    message = {
        "content": "hi",
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
    }
    body = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    assert await blocks_of(b" \n", json.dumps(body, indent=1).encode()) == [
        Text(text="hi"),
        ToolCall(id="a", name="f", arguments="{}"),
        StopReason(reason="tool_use"),
        Usage(input_tokens=1, output_tokens=2),
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<!doctype html><html>", "not_a_model"),
        (b"\n  <html>", "not_a_model"),
        (b"data: <html>\n\n", "bad_stream"),
        (b"data: [1, 2]\n\n", "bad_stream"),
        (b"data: {" + b'"a":[' * 5000 + b"\n\n", "bad_stream"),
        (b"data: \xff\n\n", "bad_stream"),
        (b"Service Unavailable", "incomplete"),
        (b"", "incomplete"),
        (b'{"choices": [', "bad_stream"),
        (b"data: " + b"x" * (1 << 21), "bad_stream"),
    ],
)
async def test_what_is_no_stream_at_all_is_one_typed_error(body: bytes, code: str) -> None:
    assert (await failure_of(body)).code == code


# ------------------------------------------------------------------ B11: early ends
async def test_b11_an_end_after_text_is_an_error_with_the_text() -> None:
    error = await failure_of(says("half of it"))
    assert (error.code, error.partial, error.retryable) == ("incomplete", "half of it", True)


@pytest.mark.parametrize("tail", [[STOP], [DONE], [STOP, DONE]])
@pytest.mark.parametrize("cut", [False, True])
async def test_b11_a_finish_reason_or_done_is_an_end(tail: list[bytes], cut: bool) -> None:
    assert (await blocks_of(says("all"), *tail, cut=cut))[0] == Text(text="all")


async def test_b11_a_call_from_an_answer_that_was_cut_is_never_whole() -> None:
    whole = tool(index=0, id="a", function={"name": "f", "arguments": "{}"})
    for cut in (False, True):
        assert (await failure_of(whole, cut=cut)).code in ("incomplete", "cut")


async def test_b11_cut_at_every_offset_it_is_the_same_answer_or_a_typed_error() -> None:
    data = b"".join(WIDE)
    wanted = await items_of(data)
    whole_from = data.index(b'"finish_reason": "tool_calls"')
    for at in range(len(data)):
        for cut in (False, True):
            failed: ModelError | None = None
            items: list[Streamed] = []
            try:
                items = await items_of(data[:at], cut=cut)
            except ModelError as error:
                failed = error
            if failed is None:
                assert at > whole_from
                assert items in (wanted, wanted[:-1])  # all but the usage, at most
            else:
                assert failed.code in ("incomplete", "cut")
                assert failed.retryable


async def test_b11_length_in_a_call_leaves_its_arguments_as_they_are() -> None:
    blocks = await blocks_of(
        tool(index=0, id="a", function={"name": "f", "arguments": '{"text": "it was'}),
        chunk(finish="length"),
        DONE,
    )
    assert blocks == [
        ToolCall(id="a", name="f", arguments='{"text": "it was'),
        StopReason(reason="length"),
    ]


async def test_events_without_blank_lines_between_them() -> None:
    run_together = b"".join([says("a"), says("b"), STOP]).replace(b"\n\n", b"\n") + b"\n"
    assert await blocks_of(run_together, DONE) == [Text(text="ab"), StopReason(reason="stop")]
    pretty = json.dumps({"choices": [{"delta": {"content": "a"}}]}, indent=1)
    lines = b"".join(b"data: %s\n" % line.encode() for line in pretty.split("\n")) + b"\n"
    assert (await blocks_of(lines, STOP))[0] == Text(text="a")


async def test_one_call_that_is_not_in_a_list() -> None:
    one = {"tool_calls": {"id": "a", "function": {"name": "f", "arguments": "{}"}}}
    assert (await blocks_of(chunk(one), STOP))[0] == ToolCall(id="a", name="f", arguments="{}")


async def test_nothing_is_read_after_done() -> None:
    assert await blocks_of(says("a"), STOP, DONE, b"data: {broken\n\n") == [
        Text(text="a"),
        StopReason(reason="stop"),
    ]


# ------------------------------------------------------------------ the rest of the wire
@pytest.mark.parametrize(
    ("reason", "said"),
    [("content_filter", "refusal"), ("function_call", "tool_use"), ("eos", "other")],
)
async def test_stop_reasons_are_the_five_that_we_know(reason: str, said: str) -> None:
    assert await items_of(chunk(finish=reason), DONE) == [StopReason(reason=said)]


async def test_a_null_finish_reason_does_not_overwrite() -> None:
    assert (await items_of(chunk(finish="length"), chunk({}), DONE)) == [
        StopReason(reason="length")
    ]


async def test_a_refusal_is_text_and_a_reason() -> None:
    assert await blocks_of(chunk({"refusal": "I will not"}), STOP, DONE) == [
        Text(text="I will not"),
        StopReason(reason="refusal"),
    ]


async def test_l10_reasoning_that_stands_in_two_fields_is_taken_once() -> None:
    both = {
        "reasoning": "hm",
        "reasoning_content": "hm",
        "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
    }
    items = await items_of(chunk(both), chunk({"reasoning_content": "m"}), says("a"), STOP)
    assert items[:3] == [
        ReasoningDelta(text="hm"),
        ReasoningDelta(text="m"),
        TextDelta(text="a"),
    ]
    assert (await blocks_of(chunk(both), says("a"), STOP))[0] == Reasoning(text="hm")


async def test_content_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "other"}]
    assert (await blocks_of(chunk({"content": parts}), STOP))[0] == Text(text="ab")


async def test_b32_usage_in_every_chunk_is_not_a_sum() -> None:
    growing = [
        chunk({"content": "a"}, usage={"prompt_tokens": 25, "completion_tokens": 1}),
        chunk({"content": "b"}, usage=None),
        chunk({"content": "c"}, usage={"prompt_tokens": 25, "completion_tokens": 9}),
    ]
    details = {"cached_tokens": 20}
    blocks = await blocks_of(
        *growing, STOP, usage(25, 15, prompt_tokens_details=details, cost=0.01), DONE
    )
    assert blocks == [
        Text(text="abc"),
        StopReason(reason="stop"),
        Usage(input_tokens=25, output_tokens=15, cache_read_tokens=20, cost=0.01),
    ]


async def test_b32_no_usage_is_no_artifact_and_junk_is_unknown() -> None:
    assert await items_of(STOP, DONE) == [StopReason(reason="stop")]
    junk = event({"choices": [], "usage": {"prompt_tokens": "many", "completion_tokens": -1}})
    assert await items_of(STOP, junk, DONE) == [StopReason(reason="stop")]


async def test_the_old_function_call_field() -> None:
    blocks = await blocks_of(
        chunk({"function_call": {"name": "f", "arguments": "{"}}),
        chunk({"function_call": {"arguments": "}"}}),
        chunk(finish="function_call"),
    )
    assert isinstance(blocks[0], ToolCall)
    assert (blocks[0].name, blocks[0].arguments) == ("f", "{}")


def test_call_deltas_carry_what_the_wire_said() -> None:
    stream = ChatStream("m")
    data = {"choices": [{"delta": {"tool_calls": [{"index": 3, "id": "a"}]}}]}
    assert stream.feed(json.dumps(data)) == [ToolCallDelta(index=3, id="a")]
