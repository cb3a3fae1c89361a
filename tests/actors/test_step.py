"""The step: one turn of a model, its events, its failures."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.conversation.artifacts import (
    Artifact,
    Event,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    Usage,
)
from boyd.actors.conversation.transcript import check_transcript
from boyd.actors.conversation.turns import Role, Turn, text_turn
from boyd.actors.events import ErrorEvent, Lifecycle, Notice, TurnComplete
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.protocol import Provider, Request, Streamed
from boyd.actors.providers.retry import RetryPolicy
from boyd.actors.providers.stream import FetchChannel
from boyd.actors.runs.spec import thread_topic
from boyd.actors.step.step import TurnFailed
from boyd.actors.step.transforms import view_of
from boyd.actors.testing import Reply, ScriptedModel, calls, fails, says
from boyd.actors.tools.define import tool
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import (
    ActorStopped,
    Context,
    LedgerUnavailable,
    RemoteFailure,
    open_memory_ledger,
    open_system,
)
from boyd.runtime.testing import fail_kth

from .stories import events_of, turns_of


@tool(effect=Effect.PURE, risk=Risk.READ)
async def weather(city: str) -> float:
    """The temperature now."""
    return 21.5


async def events_and_error(
    agent: Agent, given: str = "hi"
) -> tuple[list[Event], Exception | None, list[Turn]]:
    """All that a run shows, what ended it, and the turns of its thread."""
    events: list[Event] = []
    error: Exception | None = None
    async with open_system() as system:
        try:
            async with agent.open_run(given, system=system, thread="t") as run:
                async for event in run:
                    events.append(event)  # noqa: PERF401  # what came before an error counts
        except Exception as caught:  # noqa: BLE001  # the test looks at it
            error = caught
        return events, error, await turns_of(system.ledger, "t")


def names(events: Sequence[Event]) -> list[str]:
    return [one.phase if isinstance(one, Lifecycle) else type(one).__name__ for one in events]


class Silent(ScriptedModel):
    """Answers with nothing at all."""

    def _items(self, request: Request, reply: Reply) -> Iterator[Streamed]:
        return iter(())


async def test_o1_a_turn_is_seen_in_this_order() -> None:
    events, _, _ = await events_and_error(Agent(ScriptedModel(says("12345678abcd"))))
    assert names(events) == [
        "TurnComplete",  # of the user
        "submitted",
        "streaming",
        "TextDelta",
        "TextDelta",
        "Text",
        "StopReason",
        "Usage",
        "TurnComplete",
    ]
    assert [one.text for one in events if isinstance(one, TextDelta)] == ["12345678", "abcd"]
    last = events[-1]
    assert isinstance(last, TurnComplete)
    assert last.turn.role == "assistant"
    assert last.seq == 3


async def test_o5_a_provider_that_says_nothing_is_submitted_and_not_streaming() -> None:
    events, error, turns = await events_and_error(Agent(Silent(says(""))))
    assert names(events) == ["TurnComplete", "submitted", "TurnComplete"]
    assert error is None
    assert turns[-1].artifacts == ()


async def test_o6_a_provider_failure_is_one_error_event_and_the_callers_error() -> None:
    model = ScriptedModel(fails(503, after=10))
    events, error, turns = await events_and_error(Agent(model))
    assert names(events)[-2:] == ["Text", "ErrorEvent"]  # what had come is still shown
    [told] = [one for one in events if isinstance(one, ErrorEvent)]
    assert (told.type, told.code) == ("boyd.ModelError", "http_503")
    assert isinstance(error, ModelError)
    assert (error.code, error.partial) == ("http_503", "The answer")
    assert isinstance(error.__cause__, ModelError)
    assert [turn.role for turn in turns] == ["user"]
    assert len(model.requests) == 1


async def test_o43_a_request_that_failed_for_a_moment_is_made_again_and_the_reader_is_told_why(
    autojump_clock: trio.abc.Clock,
) -> None:
    model = ScriptedModel(fails(503), fails(429, retry_after=2.0), says("at last"))
    events, error, turns = await events_and_error(Agent(model))
    assert error is None
    assert turns[-1].text == "at last"
    first, second = (one.content for one in events if isinstance(one, Notice))
    assert first.startswith("Retrying (1/2) in 0.")
    assert first.endswith(" s after 503: scripted: the script fails with 503")
    assert second.startswith("Retrying (2/2) in 2.")
    assert second.endswith(" s after 429: scripted: the script fails with 429")
    assert not [one for one in events if isinstance(one, ErrorEvent)]


async def test_o43_how_often_a_request_is_made_again_is_the_agents_to_say() -> None:
    model = ScriptedModel(fails(503), says("never"))
    agent = Agent(model, retry=RetryPolicy(attempts=1))
    for one in (agent, agent.using(ScriptedModel(fails(503), says("never")))):
        _, error, _ = await events_and_error(one)
        assert isinstance(error, ModelError)
    assert len(model.requests) == 1


async def test_p8_an_actor_that_stops_under_a_provider_is_a_failure_and_no_whole_answer() -> None:
    class Worker(ScriptedModel):
        @asynccontextmanager
        async def open_stream(
            self, request: Request, /
        ) -> AsyncGenerator[trio.abc.ReceiveChannel[Streamed]]:
            pieces = 0
            async with super().open_stream(request) as stream:

                async def fetch() -> list[Streamed] | None:
                    nonlocal pieces
                    pieces += 1
                    if pieces > 1:
                        raise ActorStopped("/gpu/worker has stopped")
                    return [await stream.receive()]

                yield FetchChannel(fetch)

    events, error, turns = await events_and_error(Agent(Worker(says("NOT safe to run."))))
    assert isinstance(error, TurnFailed)
    assert [turn.role for turn in turns] == ["user"]
    assert not [one for one in events if isinstance(one, TurnComplete) and one.turn.role != "user"]


async def test_c3_a_provider_that_breaks_is_one_error_event_and_is_not_asked_again() -> None:
    class Broken(ScriptedModel):
        def _next(self, request: Request) -> Reply:
            self.requests.append(request)
            raise KeyError("choices")

    model = Broken()
    events, error, _ = await events_and_error(Agent(model))
    [told] = [one for one in events if isinstance(one, ErrorEvent)]
    assert (told.type, told.message) == ("KeyError", "'choices'")
    assert isinstance(error, RemoteFailure)
    assert error.type == "KeyError"
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    assert isinstance(causes[-1], KeyError)
    assert len(model.requests) == 1


async def test_o7_a_handler_failure_keeps_the_turn_and_is_one_error_event() -> None:
    async def handler(artifact: Artifact, _ctx: Context) -> None:
        if isinstance(artifact, Text):
            raise ValueError("no")  # noqa: TRY004  # it is about no type

    events, error, turns = await events_and_error(
        Agent(ScriptedModel(says("hello")), handlers=[handler])
    )
    assert names(events)[-2:] == ["TurnComplete", "ErrorEvent"]
    assert isinstance(error, TurnFailed)
    assert str(error) == "ValueError: no"
    assert [turn.role for turn in turns] == ["user", "assistant"]


async def test_o8_transforms_run_in_order_and_a_failure_reaches_no_model() -> None:
    log: list[int] = []

    def third(turns: Sequence[Turn]) -> Sequence[Turn]:
        log.append(3)
        return turns

    def first(turns: Sequence[Turn]) -> Sequence[Turn]:
        log.append(1)
        return turns

    async def second(_turns: Sequence[Turn]) -> Sequence[Turn]:
        log.append(2)
        raise ValueError("second")

    model = ScriptedModel(says("hello"))
    events, error, turns = await events_and_error(Agent(model, transforms=[first, second, third]))
    assert log == [1, 2]
    assert names(events)[-2:] == ["submitted", "ErrorEvent"]  # C2: submitted comes first
    assert str(error) == "ValueError: second"
    assert model.requests == []
    assert len(turns) == 1


async def test_o9_c15_transforms_do_not_stack_over_a_tool_loop() -> None:
    replies = [calls(weather.call(city=str(n))) for n in range(4)]
    model = ScriptedModel(*replies, says("done"))
    _, error, turns = await events_and_error(
        Agent(model, tools=[weather], instructions="Be brief.")
    )
    assert error is None
    assert [[turn.role for turn in one.turns].count("system") for one in model.requests] == [1] * 5
    assert [len(one.turns) for one in model.requests] == [2, 4, 6, 8, 10]
    assert "system" not in {turn.role for turn in turns}


async def test_a_blank_instruction_adds_no_turn() -> None:
    model = ScriptedModel(says("hi"))
    await Agent(model, instructions="  \n").run("hello")
    assert [turn.role for turn in model.requests[0].turns] == ["user"]


async def test_o15_events_are_live_only_and_the_rest_stands_in_the_ledger() -> None:
    agent = Agent(ScriptedModel(says("one"), says("two")))
    async with open_system() as system:
        await agent.run("first", system=system, thread="t")
        topic = thread_topic("t")
        async with system.open_subscription(topic, TurnComplete | Lifecycle) as seen:
            await agent.run("second", system=system, thread="t")
            heard = [seen.receive_nowait() for _ in range(5)]
    assert names([one for one in heard if isinstance(one, Event)]) == [
        "TurnComplete",
        "submitted",
        "streaming",
        "TurnComplete",
        "done",
    ]


async def test_o29_handlers_see_each_artifact_once_and_in_order() -> None:
    seen: list[str] = []

    async def one(artifact: Artifact, ctx: Context) -> None:
        seen.append(f"one {type(artifact).__name__} {ctx.headers.thread}")

    async def two(artifact: Artifact, _ctx: Context) -> None:
        seen.append(f"two {type(artifact).__name__}")

    agent = Agent(ScriptedModel(says("hello")), handlers=[one, two])
    await agent.run("hi", thread="t")
    assert seen == [
        "one Text t",
        "two Text",
        "one StopReason t",
        "two StopReason",
        "one Usage t",
        "two Usage",
    ]


async def test_o6_a_disk_that_fails_once_costs_no_second_request() -> None:
    """The turn that was paid for is stored by the next life of the step."""
    model = ScriptedModel(says("hello"))
    agent = Agent(model)
    failed = 0
    for k in range(1, 30):
        model.requests.clear()
        async with open_memory_ledger() as inner:
            ledger = fail_kth(inner, k, LedgerUnavailable("disk full"))
            async with open_system(ledger=ledger) as system:
                try:
                    result = await agent.run("hi", system=system, thread="t")
                except LedgerUnavailable:
                    failed += 1
                else:
                    assert result.output == "hello"
            assert len(model.requests) <= 1
            if not ledger.reached:
                break
    else:
        raise AssertionError("the run has more operations on the ledger than there can be")
    assert failed >= 2  # opening the run: nobody is there yet who would try again


async def test_p11_a_view_is_valid_whatever_the_thread_holds() -> None:
    torn = [
        text_turn("user", "go", id="u"),
        Turn(id="a", role="assistant", artifacts=(ToolCall(id="1", name="f", arguments="{}"),)),
        text_turn("user", "well?", id="v"),
    ]
    view = await view_of(torn, [])
    assert [turn.role for turn in view] == ["user", "assistant", "tool", "user"]
    [result] = view[2].results
    assert isinstance(result, ToolResult)
    assert "interrupted" in result.content


async def test_the_stop_reason_and_usage_are_part_of_the_turn() -> None:
    _, _, turns = await events_and_error(Agent(ScriptedModel(says("hello"))))
    kinds = [type(one) for one in turns[-1].artifacts]
    assert kinds == [Text, StopReason, Usage]


async def test_c17_o22_a_cancel_in_the_middle_shows_no_error_and_stores_nothing() -> None:
    from .stories import SlowModel

    model: Provider = SlowModel()
    agent = Agent(model)
    async with open_system() as system:
        heard: list[Event] = []
        topic = thread_topic("t")
        kinds = TurnComplete | Lifecycle | ErrorEvent | Text
        async with system.open_subscription(topic, kinds) as seen:
            async with agent.open_run("hi", system=system, thread="t") as run:
                count = 0
                async for event in run:
                    count += isinstance(event, TextDelta)
                    if count == 5:
                        break
            while seen.statistics().queued:
                event = await seen.receive()
                heard.append(event)
        assert names(heard) == ["TurnComplete", "submitted", "streaming", "cancelled", "done"]
        assert [turn.role for turn in await turns_of(system.ledger, "t")] == ["user"]
        assert system.paths() == ()


@pytest.mark.parametrize("role", ["user", "system", "assistant", "tool"])
def test_o30_every_role_may_have_an_empty_turn(role: Role) -> None:
    turn = Turn(id="t", role=role)
    assert check_transcript([turn])  # a view leaves it out: nobody would take it
    assert turn.artifacts == ()


async def test_a_run_can_be_read_to_its_end_in_one_go() -> None:
    agent = Agent(ScriptedModel(says("Hello, world.")))
    async with agent.open_run("hi") as run:
        assert await run.text() == "Hello, world."
        assert run.result.output == "Hello, world."
    async with agent.using(ScriptedModel(says("x"))).open_run("hi") as run:
        assert len(await events_of(run)) == 8
