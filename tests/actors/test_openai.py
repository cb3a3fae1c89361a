"""The OpenAI adapter against a real HTTP server, and what it says when it cannot."""

from __future__ import annotations

import gc
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.actors.conversation.accumulate import Accumulator
from boyd.actors.conversation.artifacts import (
    Artifact,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    Usage,
)
from boyd.actors.conversation.turns import text_turn
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.forbid import forbid_model_requests
from boyd.actors.providers.http import Deadlines, Post, is_loopback, origin_of
from boyd.actors.providers.openai import OpenAI
from boyd.actors.providers.protocol import Provider, Request
from boyd.actors.providers.resolve import model_from
from boyd.actors.secret import Secret
from boyd.runtime.seams import Ids, Seams
from boyd.runtime.testing import assert_no_leaks, cancel_at_each_checkpoint
from tests.actors.chat_server import (
    Answer,
    ChatServer,
    asks_for,
    chunk,
    events,
    open_chat_server,
    status,
    streams,
    whole,
)
from tests.actors.memory_post import memory_post

CANARY = "sk-canary-0123456789"
HELLO = Request(turns=(text_turn("user", "hello", id="1"),))


def environ(**values: str) -> Seams:
    return Seams(environ=values.get)


@asynccontextmanager
async def serving(
    *answers: Answer, api_key: str | None = None, deadlines: Deadlines | None = None
) -> AsyncGenerator[tuple[OpenAI, ChatServer]]:
    async with open_chat_server(*answers) as server:
        model = OpenAI("test", base_url=server.base_url, api_key=api_key, deadlines=deadlines)
        yield model, server


async def blocks_of(model: Provider) -> list[Artifact]:
    accumulator = Accumulator(new_id=Ids("id").new)
    async with model.open_stream(HELLO) as stream:
        blocks = [block async for item in stream for block in accumulator.add(item)]
    return [*blocks, *accumulator.finish()]


async def everybody_has_left(server: ChatServer) -> bool:
    """Whether the server soon sees every connection closed."""
    with trio.move_on_after(5):
        while server.open_connections:
            await trio.lowlevel.checkpoint()
    return not server.open_connections


async def failure_of(model: Provider) -> ModelError:
    with trio.fail_after(10), pytest.raises(ModelError) as caught:
        await blocks_of(model)
    text = "".join(traceback.format_exception(caught.value))
    assert CANARY not in text
    assert "\n" not in str(caught.value)
    return caught.value


async def test_g19_words_over_real_http() -> None:
    async with serving(streams("Hello", ", wörld")) as (model, server):
        assert await blocks_of(model) == [
            Text(text="Hello, wörld"),
            StopReason(reason="stop"),
            Usage(input_tokens=10, output_tokens=5),
        ]
    assert server.requests[0]["messages"] == [{"role": "user", "content": "hello"}]
    assert server.headers[0]["target"] == "/v1/chat/completions"
    assert server.headers[0]["accept-encoding"] == "identity"
    assert "authorization" not in server.headers[0]
    assert not server.hung_up.is_set()


async def test_g19_calls_over_real_http() -> None:
    async with serving(asks_for(("f", {"x": 1}), ("g", {"y": "ü"}))) as (model, _):
        blocks = await blocks_of(model)
    assert [block for block in blocks if isinstance(block, ToolCall)] == [
        ToolCall(id="call_f_0", name="f", arguments='{"x": 1}'),
        ToolCall(id="call_g_1", name="g", arguments='{"y": "\\u00fc"}'),
    ]


async def test_g20_leaving_the_block_hangs_up_before_control_returns() -> None:
    answer = events(*[chunk({"content": "x"})] * 5, stall=True)
    async with serving(answer) as (model, server):
        async with model.open_stream(HELLO) as stream:
            for _ in range(5):
                assert await stream.receive() == TextDelta(text="x")
            assert not server.hung_up.is_set()
        assert await everybody_has_left(server)
        assert server.hung_up.is_set()


@pytest.mark.parametrize("way", ["exception", "cancelled in receive", "cancelled elsewhere"])
async def test_b39_every_way_out_hangs_up(way: str) -> None:
    async with serving(events(chunk({"content": "x"}), stall=True)) as (model, server):
        with trio.move_on_after(0.05) as scope, suppress(ZeroDivisionError):
            async with model.open_stream(HELLO) as stream:
                await stream.receive()
                assert not server.hung_up.is_set()
                if way == "exception":
                    raise ZeroDivisionError
                if way == "cancelled in receive":
                    await stream.receive()
                await trio.sleep_forever()
        assert scope.cancelled_caught is (way != "exception")
        assert await everybody_has_left(server)
        assert server.hung_up.is_set()


async def test_b39_ten_readers_that_go_away_leave_nothing_behind() -> None:
    many = [events(*[chunk({"content": "x"})] * 1000, stall=True) for _ in range(10)]
    async with serving(*many) as (model, server):

        async def one() -> None:
            async with model.open_stream(HELLO) as stream:
                for _ in range(5):
                    await stream.receive()

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(one)
        assert await everybody_has_left(server)
        assert len(server.requests) == 10


async def test_b39_cancelled_at_every_checkpoint_nothing_is_left_open() -> None:
    """Not even a generator inside httpx: a warning of one fails this test."""
    with assert_no_leaks():
        async with open_chat_server(*[streams("a", "b", "c")] * 1000) as server:
            await _cancelled_everywhere(server)


async def _cancelled_everywhere(server: ChatServer) -> None:
    model = OpenAI("test", base_url=server.base_url)

    async def scenario() -> None:
        await blocks_of(model)

    async def check() -> None:
        gc.collect()
        with trio.fail_after(5):
            while server.open_connections:
                await trio.lowlevel.checkpoint()

    assert await cancel_at_each_checkpoint(scenario, check, every=3) > 20


async def test_a_reader_that_was_cancelled_in_receive_cannot_take_the_rest_for_an_end() -> None:
    async with serving(events(chunk({"content": "x"}), stall=True)) as (model, _):
        async with model.open_stream(HELLO) as stream:
            await stream.receive()
            with trio.move_on_after(0.05):
                await stream.receive()
            with pytest.raises(trio.BrokenResourceError):
                await stream.receive()
        with pytest.raises(trio.ClosedResourceError):
            await stream.receive()


async def test_two_readers_at_once_are_an_error() -> None:
    async with (
        serving(events(stall=True)) as (model, _),
        model.open_stream(HELLO) as stream,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(stream.receive)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await stream.receive()
        nursery.cancel_scope.cancel()


# ------------------------------------------------------------------ keys
async def test_no_key_says_what_to_do() -> None:
    error = await failure_of(OpenAI("gpt-5-mini", seams=environ()))
    assert str(error) == (
        "openai:gpt-5-mini needs OPENAI_API_KEY, api_key= or base_url=. "
        "Without a key: agent.using(ScriptedModel(...)), or `boyd demo`"
    )
    assert error.code == "no_key"


@pytest.mark.parametrize(
    ("url", "key", "sent"),
    [
        (None, CANARY, True),
        (None, f" {CANARY}\n", True),
        ("https://models.example.org/v1", CANARY, True),
        ("http://127.0.0.1:1/v1", CANARY, True),
        ("http://models.example.org/v1", CANARY, False),
        ("http://127.0.0.1:1/v1", "", False),
    ],
)
async def test_the_key_comes_from_the_environment_when_the_request_is_made(
    url: str | None,
    key: str,
    sent: bool,
) -> None:
    seen: list[Post] = []
    post = memory_post([b"data: [DONE]\n\n"], seen=seen)
    values: dict[str, str] = {}
    model = OpenAI("m", base_url=url, seams=Seams(environ=values.get), post=post)
    values["OPENAI_API_KEY"] = key
    await blocks_of(model)
    header = seen[0].headers.get("Authorization")
    assert (header == Secret(f"Bearer {CANARY}")) if sent else header is None
    assert CANARY not in repr(seen[0])
    assert CANARY not in repr(model)
    assert seen[0].url == (url or "https://api.openai.com/v1") + "/chat/completions"


async def test_a_key_that_was_given_comes_before_the_environment() -> None:
    async with open_chat_server(streams("x")) as server:
        model = OpenAI(
            "m", base_url=server.base_url, api_key=CANARY, seams=environ(OPENAI_API_KEY="no")
        )
        await blocks_of(model)
    assert server.headers[0]["authorization"] == f"Bearer {CANARY}"


async def test_a_key_with_a_line_break_is_refused_without_showing_it() -> None:
    error = await failure_of(OpenAI("m", api_key=f"{CANARY}\nX-Evil: 1"))
    assert error.code == "bad_key"


async def test_the_cap_on_output_has_two_names() -> None:
    for url, name in ((None, "max_completion_tokens"), ("http://localhost/v1", "max_tokens")):
        seen: list[Post] = []
        model = OpenAI(
            "m", base_url=url, api_key="k", post=memory_post([b"data: [DONE]\n\n"], seen=seen)
        )
        async with model.open_stream(Request(max_tokens=5)) as stream:
            await stream.aclose()
        assert f'"{name}": 5'.encode() in seen[0].body


# ------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("answer", "code", "retryable", "words"),
    [
        (
            status(401, f"Incorrect API key provided: {CANARY}"),
            "http_401",
            False,
            "refused the key",
        ),
        (status(404, "no such model"), "http_404", False, "no such model"),
        (status(429, "slow", ("Retry-After", "7")), "http_429", True, "asks to wait 7 s"),
        (status(500), "http_500", True, "the provider failed (500)"),
        (status(529), "http_529", True, "overloaded"),
        (
            whole([{"error": {"message": "in an array"}}], status=400),
            "http_400",
            False,
            "in an array",
        ),
        (whole({"detail": "fastapi"}, status=422), "http_422", False, "fastapi"),
        (
            whole({"error": {"code": "insufficient_quota", "message": "pay"}}, status=429),
            "insufficient_quota",
            False,
            "pay",
        ),
        (
            Answer(status=502, content_type="text/html", pieces=(b"<html>bad gateway</html>",)),
            "http_502",
            True,
            "the provider failed (502)",
        ),
        (
            Answer(status=302, headers=(("Location", "https://u:p@evil.example/x?key=1"),)),
            "redirect",
            False,
            "https://evil.example;",
        ),
        (
            Answer(content_type="text/html", pieces=(b"<html>log in</html>",)),
            "not_a_model",
            False,
            "web page",
        ),
        (whole({"error": {"message": "in a 200"}}), "provider_error", False, "in a 200"),
        (Answer(status=503, pieces=(b"x",), cut=True), "http_503", True, "503"),
    ],
)
async def test_b09_every_refusal_is_one_typed_sentence(
    answer: Answer,
    code: str,
    retryable: bool,
    words: str,
) -> None:
    async with serving(answer, api_key=CANARY) as (model, _):
        error = await failure_of(model)
    assert (error.code, error.retryable) == (code, retryable)
    assert str(error).startswith("openai:test: ")
    assert words in str(error)
    if code.startswith("http_"):
        assert error.status == int(code[5:])


async def test_b31_retry_after_is_on_the_error() -> None:
    async with serving(status(429, "slow", ("retry-after-ms", "250"))) as (model, _):
        assert (await failure_of(model)).retry_after == 0.25


async def test_b11_a_connection_cut_in_the_middle_keeps_the_text() -> None:
    async with serving(events(chunk({"content": "so far"}), cut=True)) as (model, _):
        error = await failure_of(model)
    assert (error.code, error.partial, error.retryable) == ("cut", "so far", True)


async def test_b11_a_body_without_length_that_ends_early_is_noticed() -> None:
    async with serving(events(chunk({"content": "so far"}), chunked=False)) as (model, _):
        error = await failure_of(model)
    assert (error.code, error.partial) == ("incomplete", "so far")


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serving(streams("direct")) as (model, _):
        assert (await blocks_of(model))[0] == Text(text="direct")


async def test_nobody_listens() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    error = await failure_of(OpenAI("m", base_url=f"http://u:{CANARY}@127.0.0.1:{port}/v1"))
    assert str(error).startswith(f"openai:m: cannot connect to http://127.0.0.1:{port}: ")
    assert (error.code, error.retryable) == ("connect", True)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://localhost/v1", "'ftp://localhost/v1' does not begin with http:// or https://"),
        ("localhost:8000", "'localhost:8000' does not begin with http:// or https://"),
        ("http:/localhost/v1", "'http:/localhost/v1' does not begin with http:// or https://"),
        ("http://", "'http://' names no host"),
        ("http://:80", "'http://:80' names no host"),
        ("http://ex..ample/v1", "'http://ex..ample/v1' names no host that can be looked up"),
        (f"http://{'a' * 64}.org", f"'http://{'a' * 64}.org' names no host that can be looked up"),
        ("http://a b/v1", "'http://a b/v1' has a space or a control character in it"),
        ("http://localhost:x/v1", "'http://localhost:x/v1' has no legible host and port"),
        ("http://localhost:99999/v1", "'http://localhost:99999/v1' has no legible host and port"),
        ("http://localhost:0/v1", "'http://localhost:0/v1' has port 0"),
        ("http://[::1/v1", "'http://[::1/v1' has no legible host and port"),
        ("", "'' is empty"),
        (f"ftp://u:{CANARY}@h/v1?k={CANARY}", "'ftp://h/v1' does not begin with"),
        (f"http://u:{CANARY}/@h/v1", "'http://h/v1' has no legible host and port"),
        (f"u:{CANARY}@h/v1", "'h/v1' does not begin with"),
    ],
)
async def test_an_address_that_is_none_is_refused_in_words_before_a_request(
    url: str, says: str
) -> None:
    model = OpenAI("m", base_url=url, api_key="k")
    error = await failure_of(model)
    with pytest.raises(ModelError) as checked:
        model.check()
    assert str(checked.value) == str(error)
    assert error.code == "bad_url"
    assert str(error).startswith(f"openai:m: the base URL {says}")
    assert str(error).endswith(
        "one looks like http://localhost:8000/v1 or https://models.example.org/v1"
    )


@pytest.mark.parametrize(
    "url",
    [" http://localhost/v1 ", "HTTPS://h", "http://[::1]:1/v1", "http://u:p@h:65535/a%20b"],
)
async def test_an_address_to_which_a_request_could_go_is_asked(url: str) -> None:
    seen: list[Post] = []
    post = memory_post([b"data: [DONE]\n\n"], seen=seen)
    model = OpenAI("m", base_url=url, api_key="k", post=post)
    model.check()
    async with model.open_stream(HELLO) as stream:
        await stream.aclose()
    assert [one.url for one in seen] == [f"{url.strip()}/chat/completions"]


# ------------------------------------------------------------------ slowness
async def test_a_server_that_says_nothing_is_given_up() -> None:
    async with serving(events(stall=True), deadlines=Deadlines(idle=0.05)) as (model, _):
        error = await failure_of(model)
    assert (error.code, error.retryable) == ("timeout_idle", True)


@pytest.mark.parametrize("start", [b"", chunk({"content": "a"})])
async def test_a_server_that_trickles_is_given_up(start: bytes) -> None:
    slow = events(start, b":", trickle=0.01)
    async with serving(slow, deadlines=Deadlines(idle=0.1)) as (model, _):
        error = await failure_of(model)
    assert error.code == "timeout_idle"
    assert error.partial == ("a" if start else "")


async def test_keep_alives_hold_a_stream_open_only_until_the_total() -> None:
    alive = events(*[b": ping\n\n"] * 3, stall=True)
    async with serving(alive, deadlines=Deadlines(idle=5, total=0.1)) as (model, _):
        error = await failure_of(model)
    assert (error.code, error.retryable) == ("timeout_total", False)


async def test_a_reader_that_takes_its_time_is_not_the_servers_fault() -> None:
    answer = streams("a", "b", "c")
    async with (
        serving(answer, deadlines=Deadlines(idle=0.2)) as (model, _),
        model.open_stream(HELLO) as stream,
    ):
        await stream.receive()
        await trio.sleep(0.3)  # the reader's own business
        assert await stream.receive() == TextDelta(text="b")


async def test_an_outer_cancel_is_no_model_error() -> None:
    async with serving(events(stall=True)) as (model, _):
        with trio.move_on_after(0.05) as scope:
            await blocks_of(model)
        assert scope.cancelled_caught


# ------------------------------------------------------------------ the switch for tests
async def test_a_real_request_in_a_test_is_refused() -> None:
    for model in (OpenAI("gpt-5-mini", api_key="k"), OpenAI("gpt-5-mini", seams=environ())):
        with forbid_model_requests():
            error = await failure_of(model)
        assert str(error) == (
            "a test tried to reach openai:gpt-5-mini; use agent.using(ScriptedModel(...))"
        )


async def test_the_switch_holds_in_every_task_and_may_spare_loopback() -> None:
    async with serving(streams("x"), streams("y")) as (model, server):
        with forbid_model_requests(loopback=True):
            await blocks_of(model)
            away = OpenAI("m", base_url="https://models.example.org/v1")
            assert (await failure_of(away)).code == "forbidden_in_tests"
            with forbid_model_requests():
                results: list[str] = []

                async def one() -> None:
                    results.append((await failure_of(model)).code)

                async with trio.open_nursery() as nursery:
                    nursery.start_soon(one)
                assert results == ["forbidden_in_tests"]
        await blocks_of(model)
    assert len(server.requests) == 2


# ------------------------------------------------------------------ names
def test_a_model_by_its_name() -> None:
    model = model_from("openai:gpt-5-mini")
    assert model.name == "openai:gpt-5-mini"
    assert model_from(model) is model
    assert model_from(" openai:org/model:free ").name == "openai:org/model:free"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-5-mini", "did you mean openai:gpt-5-mini?"),
        ("anthropic:claude", "no model 'anthropic:claude'. Known: openai:NAME"),
        ("openai:", "no model 'openai:'"),
        ("", "no model ''"),
    ],
)
def test_a_name_that_is_none_lists_what_there_is(name: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        model_from(name)
    assert words in str(caught.value)
    assert "openai:NAME" in str(caught.value)
    assert caught.value.code == "unknown_model"


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:1/v1", True),
        ("http://LOCALHOST./v1", True),
        ("http://a.localhost/", True),
        ("http://127.9.9.9/", True),
        ("http://[::1]:80/", True),
        ("http://localhost.example.org/", False),
        ("http://127.0.0.1.example.org/", False),
        ("http://10.0.0.1/", False),
        ("http://user@127.0.0.1:x/", False),
        ("", False),
    ],
)
def test_what_this_machine_is(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_an_origin_shows_no_more_than_it_must() -> None:
    assert origin_of(f"https://u:{CANARY}@h.example:8/p?key={CANARY}") == "https://h.example:8"
    assert origin_of("http://[::1]:81/x") == "http://[::1]:81"
    assert origin_of("http://h:x") == "an address that is no URL"


def test_the_representation_names_the_server_and_no_key() -> None:
    shown = repr(OpenAI("m", base_url=f"http://u:{CANARY}@h/v1", api_key=CANARY))
    assert shown == "OpenAI('m' at http://h)"
    assert CANARY not in repr(attrs.asdict(Post(name="m", url="u", body=b"")))
