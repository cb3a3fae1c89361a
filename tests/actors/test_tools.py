"""`@tool` on every kind of callable, and one call from raw text to a result."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.tools.define import AnyTool, Tool, tool
from boyd.actors.tools.invoke import Ready, invoke, prepare
from boyd.actors.tools.spec import Call, Effect, Risk, ToolError
from boyd.runtime import Context
from boyd.runtime.testing import cancel_at_each_checkpoint

if TYPE_CHECKING:
    import boyd.runtime as elsewhere


@attrs.frozen
class Point:
    x: int
    y: int = 0


@tool(effect=Effect.PURE, risk=Risk.READ, timeout=5.0)
async def weather(city: str, days: Annotated[int, "how many"] = 1) -> str:
    """The weather somewhere.

    Args:
        city: its name
    """
    return f"{city}: {'sun ' * days}".strip()


def tool_of(fn: object) -> AnyTool:
    """`tool(fn)` for what a type checker would refuse, or cannot tell."""
    return cast("Callable[[object], AnyTool]", tool)(fn)


async def told(one: AnyTool, raw: str) -> ToolResult:
    return await invoke(one, ToolCall(id="c1", name=one.name, arguments=raw), None)


def test_a_tool_is_what_its_function_says() -> None:
    assert (weather.name, weather.effect, weather.risk, weather.timeout) == (
        "weather",
        Effect.PURE,
        Risk.READ,
        5.0,
    )
    assert weather.description == "The weather somewhere."
    assert weather.schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "its name"},
            "days": {"type": "integer", "description": "how many", "default": 1},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert weather.spec.schema == weather.schema
    assert repr(weather) == "<tool weather>"


def test_defaults_are_the_careful_ones() -> None:
    @tool
    async def plain() -> None:
        pass

    assert (plain.effect, plain.risk, plain.timeout) == (Effect.ONCE, Risk.WRITE, 60.0)
    assert plain.schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_call_is_bound_and_plain() -> None:
    @tool
    async def move(to: Point, how: Annotated[str, "x"] = "slowly") -> None: ...

    assert weather.call("Utrecht", days=2) == Call("weather", {"city": "Utrecht", "days": 2})
    assert move.call(Point(1)) == Call("move", {"to": {"x": 1, "y": 0}})
    with pytest.raises(TypeError, match="missing a required argument: 'city'"):
        weather.call()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def test_a_tool_is_still_a_function() -> None:
    @tool
    def where() -> int:
        return threading.get_ident()

    assert await weather("Utrecht") == "Utrecht: sun"
    assert await where() != threading.get_ident()


# ------------------------------------------------------------------ B23: signature kinds
class Box:
    """Holds things."""

    def __init__(self) -> None:
        self.items: list[str] = []

    async def put(self, item: str) -> int:
        """Put one in."""
        self.items.append(item)
        return len(self.items)

    async def __call__(self, item: str) -> str:
        """Look for one."""
        return "yes" if item in self.items else "no"


async def positional(a: int, /, b: int = 2) -> int:
    return a * 10 + b


async def odd_names(self: int, schema: str, copy: float = 0.5, call: str = "") -> str:
    return f"{self} {schema} {copy} {call}"


def sync(x: int) -> int:
    return x + 1


async def later(x: int) -> int:
    return x + 2


def lazy(x: int) -> object:
    return later(x)


async def text_annotations(p: Point, xs: list[Point]) -> int:
    return p.x + sum(one.x for one in xs)


BOX = Box()


@pytest.mark.parametrize(
    ("made", "name", "raw", "content"),
    [
        (tool(positional), "positional", '{"a": 1}', "12"),
        (tool(positional), "positional", '{"a": 1, "b": 3}', "13"),
        (tool(odd_names), "odd_names", '{"self": 1, "schema": "s", "call": "c"}', "1 s 0.5 c"),
        (tool(BOX.put), "put", '{"item": "ball"}', "1"),
        (tool(BOX), "Box", '{"item": "ball"}', "yes"),
        (tool(functools.partial(positional, b=9)), "positional", '{"a": 1}', "19"),
        (tool(functools.partial(positional, 4)), "positional", "{}", "42"),
        (tool(name="renamed")(sync), "renamed", '{"x": 1}', "2"),
        (tool(lazy), "lazy", '{"x": 1}', "3"),
        (tool(text_annotations), "text_annotations", '{"p": {"x": 1}, "xs": [{"x": 2}]}', "3"),
    ],
)
async def test_b23_every_kind_of_callable_works(
    made: AnyTool, name: str, raw: str, content: str
) -> None:
    assert made.name == name
    assert made.schema["type"] == "object"
    assert await told(made, raw) == ToolResult(call_id="c1", content=content)


def test_b23_what_a_partial_has_filled_is_not_told() -> None:
    assert tool(functools.partial(positional, b=9)).schema["properties"] == {
        "a": {"type": "integer"}
    }
    assert tool(BOX.put).description == "Put one in."
    assert tool(BOX).description == "Look for one."


def test_b23_names_of_the_defining_function_are_found() -> None:
    @attrs.frozen
    class Local:
        n: int

    @tool
    async def local(it: Local) -> int:
        return it.n

    assert local.schema["properties"] == {"it": {"$ref": "#/$defs/Local"}}


def untyped(name: str) -> str:
    return name


untyped.__annotations__.clear()


def stars(*values: int) -> None: ...


def keywords(a: int, **more: int) -> None: ...


def binary(data: bytes) -> None: ...


def nowhere(x: str) -> None: ...


nowhere.__annotations__["x"] = "Nowhere"


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (
            untyped,
            "tool untyped: parameter `name` has no type, so the model cannot be told what it takes",
        ),
        (stars, "tool stars: `*values` cannot be told to a model; write `values: list[...]`"),
        (
            keywords,
            "tool keywords: `**more` cannot be told to a model; write `more: dict[str, ...]`",
        ),
        (binary, "tool binary: parameter `data`: bytes has no JSON form"),
        (nowhere, "tool nowhere: the type of `x` mentions Nowhere, which cannot be found"),
        (Box, "a tool is made of a function, not of <class 'tests.actors.test_tools.Box'>"),
        (
            lambda: None,
            "'<lambda>' is no name for a tool: 1 to 64 letters, digits, _ or -; pass name=",
        ),
    ],
)
def test_b23_what_cannot_be_told_is_refused_at_definition(fn: object, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        tool_of(fn)
    assert str(caught.value) == text


class FakeContext:
    """Nothing of an actor's, but told apart."""

    def __str__(self) -> str:
        return "the context"


async def first(ctx: Context, q: str) -> str:
    return f"{q} {ctx}"


async def last(q: str, *, context: Context) -> str:
    return f"{q} {context}"


async def maybe(q: str, ctx: Context | None = None) -> str:
    return f"{q} {ctx}"


async def hinted(ctx: elsewhere.Context, q: str) -> str:
    return f"{q} {ctx}"


@pytest.mark.parametrize("fn", [first, last, maybe, hinted])
async def test_b23_the_context_is_found_wherever_it_stands_and_never_told(fn: object) -> None:
    made: AnyTool = tool_of(fn)
    assert made.schema["properties"] == {"q": {"type": "string"}}
    assert made.call(q="x") == Call(made.name, {"q": "x"})
    call = ToolCall(id="c", name=made.name, arguments='{"q": "x"}')
    ctx: Any = FakeContext()
    assert (await invoke(made, call, ctx)).content == "x the context"
    with_context = ToolCall(id="c", name=made.name, arguments='{"q": "x", "ctx": 1}')
    assert "there is no field 'ctx'" in (await invoke(made, with_context, ctx)).content


async def test_a_context_tool_outside_an_actor_says_so() -> None:
    result = await told(tool(first), '{"q": "x"}')
    assert (
        result.content
        == "first failed: TypeError: tool first takes a Context: run it inside an actor"
    )
    with pytest.raises(TypeError, match="inside an actor"):
        await tool(first)("x")


# ------------------------------------------------------------------ one call
@tool(timeout=1.0)
async def trouble(kind: str) -> object:
    """Gets into it."""
    match kind:
        case "told":
            raise ToolError("the queue is closed; try again tomorrow")
        case "raised":
            raise ZeroDivisionError("by\nzero")
        case "group":
            raise ExceptionGroup("two", [ValueError("a"), ExceptionGroup("in", [KeyError("b")])])
        case "hangs":
            await trio.sleep_forever()
        case "swallows":
            with trio.CancelScope():
                try:
                    await trio.sleep_forever()
                except BaseException:  # noqa: BLE001  # what bad tools do
                    return "as if nothing had happened"
        case "stray":
            raise asyncio.CancelledError
        case "bytes":
            return b"x"
        case "long":
            return "x" * 60_000
        case _:
            pass
    return None


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("told", "the queue is closed; try again tomorrow"),
        ("raised", "trouble failed: ZeroDivisionError: by zero"),
        ("group", "trouble failed: ValueError: a; KeyError: 'b'"),
        ("hangs", "trouble did not finish within 1 s; it may have had effects"),
        ("swallows", "trouble did not finish within 1 s; it may have had effects"),
        ("stray", "trouble failed: something under it was cancelled"),
        ("bytes", "trouble ran, but what it returned cannot be told: bytes has no JSON form"),
    ],
)
async def test_b41_whatever_a_tool_does_the_model_gets_one_result(
    kind: str, content: str, autojump_clock: MockClock
) -> None:
    result = await told(trouble, json.dumps({"kind": kind}))
    assert result == ToolResult(call_id="c1", content=content, is_error=True)


@pytest.mark.parametrize("kind", ["hangs", "swallows"])
async def test_b41_a_cancel_from_outside_passes_through(
    kind: str, autojump_clock: MockClock
) -> None:
    with trio.move_on_after(0.5) as scope:
        await told(trouble, json.dumps({"kind": kind}))
        pytest.fail("the cancel was swallowed")
    assert scope.cancelled_caught


async def test_b41_cancelled_at_every_checkpoint_it_is_a_cancel_or_a_result() -> None:
    @tool
    async def three() -> str:
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        return "done"

    async def scenario() -> None:
        assert (await told(three, "{}")).content == "done"

    assert await cancel_at_each_checkpoint(scenario) >= 3


async def test_b41_a_cancel_and_a_time_out_at_the_same_moment_is_a_cancel(
    autojump_clock: MockClock,
) -> None:
    with trio.move_on_after(1.0) as scope:
        await told(trouble, '{"kind": "hangs"}')
        pytest.fail("the cancel was taken for a tool error")
    assert scope.cancelled_caught


async def test_a_sync_tool_that_is_late_still_tells_its_result() -> None:
    release = threading.Event()

    @tool(timeout=0.01)
    def slow() -> str:
        release.wait(5)
        return "late"

    async with trio.open_nursery() as nursery:

        async def let_go() -> None:
            await trio.sleep(0.05)
            release.set()

        nursery.start_soon(let_go)
        result = await told(slow, "{}")
    assert result in (
        ToolResult(call_id="c1", content="late"),
        ToolResult(
            call_id="c1",
            content="slow did not finish within 0.01 s; it may have had effects",
            is_error=True,
        ),
    )


async def test_s4_a_long_result_is_capped() -> None:
    result = await told(trouble, '{"kind": "long"}')
    assert len(result.content.encode()) <= 50_000
    assert not result.is_error


@pytest.mark.parametrize(
    ("raw", "content"),
    [
        ("{}", "the field 'city' is missing"),
        ('{"city": 5}', 'city: 5 is not of type "string"'),
        ('{"city": "x", "when": 1}', "there is no field 'when'"),
        ('{"city": "x", "days": "2"}', 'days: "2" is not of type "integer"'),
        ("[1]", "they must be a JSON object, and are an array"),
        ('{"city": "Utr', "they end in the middle: the reply was cut off, so write less at once"),
    ],
)
async def test_g22_bad_arguments_name_the_field(raw: str, content: str) -> None:
    result = await told(weather, raw)
    assert result.is_error
    assert result.content == f"weather was not called, because of its arguments: {content}"


async def test_an_unknown_name_lists_what_there_is() -> None:
    call = ToolCall(id="c1", name="wether", arguments="{}")
    known = ["weather", "move"]
    assert await invoke(None, call, None, known=known) == ToolResult(
        call_id="c1",
        content="there is no tool 'wether'. Did you mean weather? There are: move, weather",
        is_error=True,
    )
    assert "nor any other" in (await invoke(None, call, None)).content
    assert (await invoke(weather, call, None)).is_error


async def test_a_call_that_code_decided_is_checked_alike() -> None:
    good = await invoke(weather, Call("weather", {"city": "U"}, "c1"), None)
    assert good == ToolResult(call_id="c1", content="U: sun")
    bad = await invoke(weather, Call("weather", {"city": 1}, "c1"), None)
    assert bad.is_error


def test_a_gate_sees_the_parsed_call_before_it_runs() -> None:
    ready = prepare(weather, ToolCall(id="c", name="weather", arguments='{"city": "U"}'))
    assert isinstance(ready, Ready)
    assert ready.call == Call("weather", {"city": "U"}, "c")
    assert isinstance(prepare(weather, ToolCall(id="c", name="weather", arguments="")), ToolResult)


def must_be_even(_instance: object, _attribute: object, value: int) -> None:
    if value % 2:
        raise ValueError(f"{value} is odd")


async def test_classes_arrive_as_classes_and_their_own_checks_are_heard() -> None:
    @attrs.frozen
    class Even:
        n: int = attrs.field(validator=must_be_even)

    @tool
    async def half(it: Even, maybe: Point | None = None) -> int:
        return it.n // 2

    assert (await told(half, '{"it": {"n": 4}}')).content == "2"
    assert (await told(half, '{"it": {"n": 3}}')).content.endswith("arguments: it: 3 is odd")


@given(st.text())
def test_l18_any_argument_text_gives_exactly_one_result_with_the_id(raw: str) -> None:
    result = trio.run(told, weather, raw)
    assert result.call_id == "c1"
    assert result.content.encode()


def test_a_timeout_must_be_one() -> None:
    with pytest.raises(TypeError, match="timeout must be more than 0"):
        tool(timeout=0)(sync)


def test_types_are_kept() -> None:
    typed: Tool[..., str] = weather
    assert typed is weather
