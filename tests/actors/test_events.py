"""Every event and artifact is a tagged message that survives the wire and the ledger."""

from __future__ import annotations

import pytest

from boyd.actors import events
from boyd.actors.conversation import artifacts as a
from boyd.actors.conversation.turns import Turn, text_turn
from boyd.actors.events import Approve, Call, Event, Pending, Reject
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.protocol import Request
from boyd.actors.tools.spec import Risk, ToolSpec
from boyd.runtime.codec import codec_for
from boyd.runtime.failure import failure_of, to_exception
from boyd.runtime.messages import decode_named, encode_named, message_codec

TURN = Turn(
    id="1",
    role="assistant",
    artifacts=(
        a.Text(text="hé"),
        a.Reasoning(text="hm"),
        a.ToolCall(id="c", name="f", arguments="{not json"),
        a.Usage(input_tokens=3, cost=0.5),
        a.StopReason(reason="tool_use"),
    ),
)
CALL = Call("f", {"a": [1, {"b": None}]}, "c")

EVENTS = [
    a.Text(text="x"),
    a.Reasoning(text="x"),
    a.ToolCall(id="c", name="f", arguments=""),
    a.ToolResult(call_id="c", content="", is_error=True),
    a.Image(url="https://example.org/a.png"),
    a.Usage(),
    a.Usage(input_tokens=1, output_tokens=2, cache_read_tokens=0, reasoning_tokens=1, cost=0.1),
    a.StopReason(reason="stop"),
    a.TextDelta(text="x"),
    a.ReasoningDelta(text="x"),
    a.ToolCallDelta(),
    a.ToolCallDelta(index=1, id="c", name="f", arguments="{"),
    events.TurnComplete(turn=TURN, seq=4),
    events.TurnComplete(turn=text_turn("user", "a", "b", id="2")),
    events.ErrorEvent(message="m", type="T", code="c"),
    events.Lifecycle(phase="streaming"),
    events.Notice(content="n"),
    events.Notice(content="n", severity=events.Severity.WARN),
    events.Activity(active=True, description="d"),
    events.ToolStarted(call=CALL),
    events.ToolFinished(call=CALL, result=a.ToolResult(call_id="c", content="r")),
    Pending(id="p", payload={"q": [1, "x"]}),
    Pending(id="p", call=CALL, deadline=1.5, risk=Risk.DANGEROUS),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_round_trips_by_tag_and_within_the_process(event: Event) -> None:
    kind, body = encode_named(event)
    assert kind.startswith("boyd.")
    assert decode_named(kind, body) == event
    codec = message_codec(type(event))
    assert codec.decode(codec.encode(event)) == event


def test_every_message_of_these_modules_is_an_event() -> None:
    for module in (events, a):
        for name in module.__all__:
            cls = getattr(module, name)
            if isinstance(cls, type) and hasattr(cls, "__attrs_attrs__"):
                plain = (Call, Approve, Reject)
                assert issubclass(cls, Event) or cls in plain, name


def test_unknown_usage_is_none_and_severity_is_success_by_default() -> None:
    assert a.Usage().input_tokens is None
    assert events.Notice(content="x").severity is events.Severity.SUCCESS


def test_answers_and_requests_have_a_wire_form() -> None:
    answers = codec_for(Approve | Reject)
    for answer in (Approve(), Approve({"a": 1}), Reject("no")):
        assert answers.decode_foreign(answers.encode(answer)) == answer
    spec = ToolSpec(name="f", description="d", schema={"type": "object"})
    request = Request(model="m", turns=(TURN,), tools=(spec,), temperature=0.5, max_tokens=9)
    codec = codec_for(Request)
    assert codec.decode_foreign(codec.encode(request)) == request


def test_a_model_error_survives_the_wire_with_its_fields() -> None:
    error = ModelError(
        "no", code="c", status=429, retry_after=1.5, partial="so far", retryable=True
    )
    again = to_exception(failure_of(error))
    assert isinstance(again, ModelError)
    assert vars(again) == vars(error)


def test_a_turn_knows_its_words_calls_and_results() -> None:
    assert TURN.text == "hé"
    assert [call.id for call in TURN.calls] == ["c"]
    assert TURN.results == ()
    assert text_turn("user", "a", "b", id="1").text == "ab"
