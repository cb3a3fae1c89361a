"""When a provider takes a transcript, and the nearest one that it takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.actors.conversation.artifacts import (
    Image,
    Reasoning,
    StoredArtifact,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from boyd.actors.conversation.transcript import (
    INTERRUPTED,
    TranscriptInvalid,
    check_transcript,
    repair_view,
    require_transcript,
)
from boyd.actors.conversation.turns import Role, Turn, text_turn


def turn(role: Role, *artifacts: StoredArtifact, id: str = "t") -> Turn:  # noqa: A002
    return Turn(id=id, role=role, artifacts=artifacts)


def call(call_id: str) -> ToolCall:
    return ToolCall(id=call_id, name="f", arguments="{}")


def result(call_id: str, content: str = "ok") -> ToolResult:
    return ToolResult(call_id=call_id, content=content)


USER = text_turn("user", "hello", id="u")


def test_p11_a_plain_conversation_is_valid() -> None:
    turns = [
        text_turn("system", "be good", id="s"),
        USER,
        turn("assistant", Text(text="I look."), call("a"), call("b"), Usage(input_tokens=1)),
        turn("tool", result("a"), result("b")),
        text_turn("assistant", "Done.", id="d"),
    ]
    assert check_transcript(turns) == ()
    assert repair_view(turns) == tuple(turns)
    require_transcript(turns)


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ([turn("assistant", call("a"))], "call a has no result"),
        ([turn("assistant", call("a")), USER, turn("tool", result("a"))], "call a has no result"),
        ([turn("tool", result("a"))], "answers no open call"),
        ([turn("assistant", call("a")), turn("tool", result("a"), result("a"))], "no open call"),
        ([turn("assistant", call(""))], "no id"),
        ([turn("user", call("a"))], "has no place in a user turn"),
        ([turn("user", Text(text=" "))], "a text is empty"),
        ([turn("assistant")], "the turn is empty"),
        ([turn("assistant", Reasoning(text="hm"), Usage())], "the turn is empty"),
    ],
)
def test_p11_each_fault_is_named(turns: list[Turn], text: str) -> None:
    assert any(text in str(problem) for problem in check_transcript(turns))
    with pytest.raises(TranscriptInvalid, match="turn"):
        require_transcript(turns)
    assert check_transcript(repair_view(turns)) == ()


def test_p11_an_id_that_is_used_again_gets_a_new_name_in_the_view() -> None:
    turns = [
        turn("assistant", call("a")),
        turn("tool", result("a", "first")),
        turn("assistant", call("a")),
        turn("tool", result("a", "second")),
    ]
    view = repair_view(turns)
    assert [one.calls[0].id for one in view if one.calls] == ["a", "a-2"]
    assert [one.results[0] for one in view if one.results] == [
        result("a", "first"),
        result("a-2", "second"),
    ]


def test_p11_two_calls_with_one_id_in_one_turn_get_a_result_each() -> None:
    turns = [
        turn("assistant", call("a"), call("a")),
        turn("tool", result("a", "1"), result("a", "2")),
    ]
    assert repair_view(turns)[1].results == (result("a", "1"), result("a-2", "2"))


def test_b15_missing_results_say_that_they_were_interrupted() -> None:
    turns = [
        turn("assistant", call("a"), call("b"), call("c")),
        turn("tool", result("b", "real")),
        text_turn("user", "go on", id="u2"),
    ]
    view = repair_view(turns)
    assert [one.role for one in view] == ["assistant", "tool", "user"]
    assert [(one.call_id, one.content) for one in view[1].results] == [
        ("a", INTERRUPTED),
        ("b", "real"),
        ("c", INTERRUPTED),
    ]
    assert [one.is_error for one in view[1].results] == [True, False, True]


def test_b15_a_user_turn_that_slipped_in_before_the_results_comes_after_them() -> None:
    turns = [turn("assistant", call("a")), USER, turn("tool", result("a", "late"))]
    view = repair_view(turns)
    assert [one.role for one in view] == ["assistant", "tool", "user"]
    assert view[1].results == (result("a", "late"),)


def test_b17_moved_results_stand_in_call_order() -> None:
    turns = [
        turn("assistant", call("slow"), call("fast")),
        turn("tool", result("fast")),
        USER,
        turn("tool", result("slow")),
    ]
    assert [one.call_id for one in repair_view(turns)[1].results] == ["slow", "fast"]


def test_the_ledger_itself_is_left_alone() -> None:
    turns = [turn("assistant", call("a"))]
    repair_view(turns)
    assert turns == [turn("assistant", call("a"))]


call_ids = st.sampled_from(["a", "b", "c", ""])
artifacts: st.SearchStrategy[StoredArtifact] = st.one_of(
    st.sampled_from(["", " ", "words"]).map(lambda text: Text(text=text)),
    call_ids.map(call),
    call_ids.map(result),
    st.just(Image(url="https://example.org/a.png")),
    st.just(Usage(input_tokens=1)),
    st.just(Reasoning(text="hm")),
)
roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant", "tool"])
turns_of_any_kind = st.lists(
    st.builds(
        Turn, id=st.just("t"), role=roles, artifacts=st.lists(artifacts, max_size=4).map(tuple)
    ),
    max_size=8,
)


@given(turns_of_any_kind)
def test_p11_every_repaired_view_is_valid_and_stays_as_it_is(turns: list[Turn]) -> None:
    view = repair_view(turns)
    assert check_transcript(view) == ()
    assert repair_view(view) == view


@given(turns_of_any_kind)
def test_p11_repair_keeps_every_word_that_was_said_in_its_order(turns: list[Turn]) -> None:
    def words(some: tuple[Turn, ...]) -> list[str]:
        return [one.text.strip() for one in some if one.role != "tool" and one.text.strip()]

    assert words(repair_view(turns)) == words(tuple(turns))
