"""Deltas to artifacts: flush rules, and tool calls that come in every shape but the right one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.actors.conversation.accumulate import Accumulator
from boyd.actors.conversation.artifacts import (
    Artifact,
    Delta,
    Reasoning,
    ReasoningDelta,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from boyd.actors.conversation.calls import assemble_name
from boyd.runtime.messages import message


def ids() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"made-{next(numbers)}"


def merged(items: Iterable[Artifact | Delta], tools: Sequence[str] = ()) -> list[Artifact]:
    accumulator = Accumulator(new_id=ids(), tools=tools)
    blocks = [block for item in items for block in accumulator.add(item)]
    return [*blocks, *accumulator.finish()]


def calls_of(*deltas: ToolCallDelta, tools: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    blocks = merged(deltas, tools)
    return [(b.id, b.name, b.arguments) for b in blocks if isinstance(b, ToolCall)]


def call(
    arguments: str = "",
    *,
    index: int | None = None,
    id: str = "",  # noqa: A002
    name: str = "",
) -> ToolCallDelta:
    return ToolCallDelta(index=index, id=id, name=name, arguments=arguments)


def test_o2_deltas_of_one_kind_merge_across_other_deltas() -> None:
    blocks = merged([TextDelta(text="a"), ReasoningDelta(text="r"), TextDelta(text="b")])
    assert blocks == [Text(text="ab"), Reasoning(text="r")]


def test_o3_a_complete_artifact_flushes_what_came_before_it() -> None:
    blocks = merged([TextDelta(text="a"), Text(text="whole"), TextDelta(text="b")])
    assert blocks == [Text(text="a"), Text(text="whole"), Text(text="b")]


def test_blocks_come_in_the_order_in_which_they_began() -> None:
    blocks = merged(
        [
            TextDelta(text="t"),
            call("{", index=0, id="a", name="f"),
            ReasoningDelta(text="r"),
            TextDelta(text="t"),
            call("{}", index=1, id="b", name="g"),
            call("}", index=0),
        ]
    )
    kinds = [type(block).__name__ for block in blocks]
    assert kinds == ["Text", "ToolCall", "Reasoning", "ToolCall"]


def test_o4_interleaved_fragments_of_two_calls() -> None:
    assert calls_of(
        call('{"a"', index=0, id="x", name="f"),
        call('{"b"', index=1, id="y", name="g"),
        call(":1}", index=0),
        call(":2}", index=1),
    ) == [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]


def test_usage_and_stop_reason_pass_through() -> None:
    usage, stop = Usage(input_tokens=1), StopReason(reason="stop")
    assert merged([TextDelta(text="a"), stop, usage]) == [Text(text="a"), stop, usage]


def test_empty_deltas_make_no_block() -> None:
    assert merged([TextDelta(text=""), ReasoningDelta(text="")]) == []


@message
class ProgressDelta(Delta):
    """A user's own kind."""

    percent: int


def test_c7_a_delta_of_a_foreign_kind_is_kept_out_of_the_turn() -> None:
    assert merged([TextDelta(text="a"), ProgressDelta(percent=5)]) == [Text(text="a")]


def test_abandoned_text_is_kept_and_abandoned_calls_are_not() -> None:
    accumulator = Accumulator(new_id=ids())
    accumulator.add(TextDelta(text="so far"))
    accumulator.add(call("{}", index=0, id="x", name="f"))
    assert accumulator.abandon() == [Text(text="so far")]
    assert accumulator.partial == "so far"


# ------------------------------------------------------------------ B01: index
def test_b01_a_call_in_three_chunks_without_index() -> None:
    assert calls_of(call('{"a"', id="x", name="f"), call(":"), call("1}")) == [
        ("x", "f", '{"a":1}')
    ]


def test_b01_two_calls_one_delta_each_without_index() -> None:
    assert calls_of(call("{}", id="x", name="f"), call('{"b":1}', id="y", name="f")) == [
        ("x", "f", "{}"),
        ("y", "f", '{"b":1}'),
    ]


def test_b01_the_first_without_index_the_second_with_index_one() -> None:
    assert calls_of(
        call('{"a":1}', id="x", name="f"),
        call('{"b"', index=1, id="y", name="g"),
        call(":2}", index=1),
    ) == [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]


def test_b01_the_first_goes_on_under_the_index_that_it_should_have_had() -> None:
    assert calls_of(
        call('{"a"', id="x", name="f"),
        call('{"b"', index=1, id="y", name="g"),
        call(":1}", index=0),
        call(":2}", index=1),
    ) == [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]


@pytest.mark.parametrize("index", [0, None])
def test_b01_two_calls_that_share_an_index_are_told_apart_by_id(index: int | None) -> None:
    assert calls_of(
        call('{"a"', index=index, id="x", name="f"),
        call('{"b"', index=index, id="y", name="g"),
        call(":1}", index=index, id="x"),
        call(":2}", index=index, id="y"),
    ) == [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]


def test_b01_two_whole_calls_with_one_index_and_no_id() -> None:
    found = calls_of(call('{"a":1}', index=0, name="f"), call('{"a":2}', index=0, name="f"))
    assert [(name, raw) for _, name, raw in found] == [("f", '{"a":1}'), ("f", '{"a":2}')]
    assert len({call_id for call_id, _, _ in found}) == 2


def test_b01_two_registered_names_under_one_index_are_two_calls() -> None:
    found = calls_of(call(index=0, name="f"), call(index=0, name="g"), tools=["f", "g"])
    assert [name for _, name, _ in found] == ["f", "g"]


def test_b01_an_index_that_counts_chunks_is_overruled_by_the_id() -> None:
    assert calls_of(
        call('{"a"', index=0, id="x", name="f"),
        call(":1", index=1, id="x"),
        call("}", index=2, id="x"),
    ) == [("x", "f", '{"a":1}')]


def test_b01_an_index_that_counts_chunks_without_id_goes_to_the_last_call() -> None:
    assert calls_of(
        call('{"a"', index=0, id="x", name="f"), call(":1", index=1), call("}", index=2)
    ) == [("x", "f", '{"a":1}')]


def test_two_calls_with_one_id_get_two() -> None:
    found = calls_of(
        call('{"a":1}', index=0, id="x", name="f"), call('{"a":2}', index=1, id="x", name="f")
    )
    assert [(name, raw) for _, name, raw in found] == [("f", '{"a":1}'), ("f", '{"a":2}')]
    assert [call_id for call_id, _, _ in found] == ["x", "made-1"]


def test_an_id_that_changes_in_every_chunk_is_one_call() -> None:
    assert calls_of(
        call("", index=0, id="x1", name="f"),
        call('{"a"', index=0, id="x2"),
        call(":1}", index=0, id="x3"),
    ) == [("x3", "f", '{"a":1}')]


def test_an_id_that_comes_late_belongs_to_its_call() -> None:
    assert calls_of(call('{"a"', index=0, name="f"), call(":1}", index=0, id="x")) == [
        ("x", "f", '{"a":1}')
    ]


def test_ids_that_the_thread_has_already_are_replaced() -> None:
    accumulator = Accumulator(new_id=ids(), taken={"call_0"})
    accumulator.add(call("{}", index=0, id="call_0", name="f"))
    assert accumulator.finish() == [ToolCall(id="made-1", name="f", arguments="{}")]


def test_a_fragment_that_says_nothing_is_no_call() -> None:
    assert calls_of(ToolCallDelta(index=0)) == []


# ------------------------------------------------------------------ B04: names
def test_b04_the_full_name_in_every_delta() -> None:
    assert calls_of(
        call('{"a"', index=0, id="x", name="read_file"),
        call(":1}", index=0, id="x", name="read_file"),
        tools=["read_file"],
    ) == [("x", "read_file", '{"a":1}')]


def test_b04_a_name_in_two_pieces() -> None:
    deltas = [call("", index=0, id="x", name="edit_ex"), call("{}", index=0, name="isting_file")]
    assert calls_of(*deltas, tools=["edit_existing_file"]) == [("x", "edit_existing_file", "{}")]
    assert calls_of(*deltas) == [("x", "edit_existing_file", "{}")]


@pytest.mark.parametrize("blank", ["", " "])
def test_b04_a_blank_name_never_overwrites(blank: str) -> None:
    assert calls_of(call('{"a"', index=0, id="x", name="f"), call(":1}", index=0, name=blank)) == [
        ("x", "f", '{"a":1}')
    ]


@pytest.mark.parametrize(
    ("pieces", "tools", "name"),
    [
        (["go", "go"], ["gogo"], "gogo"),
        (["go", "go"], ["go"], "go"),
        (["go", "go"], ["go", "gogo"], "go"),
        (["read", "read_file"], ["read_file"], "read_file"),
        (["a", "b", "c"], ["abc"], "abc"),
        (["read_file", "read_file", "read_file"], [], "read_file"),
        ([], ["a"], ""),
        (["nobody"], ["a"], "nobody"),
    ],
)
def test_b04_names_are_read_by_what_is_registered(
    pieces: list[str], tools: list[str], name: str
) -> None:
    assert assemble_name(pieces, tools) == name


# ------------------------------------------------------------------ properties
json_objects = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=8), max_size=4)


@st.composite
def cut_calls(draw: st.DrawFn) -> tuple[list[tuple[str, str]], list[ToolCallDelta]]:
    """Calls with proper indexes, cut and interleaved in any way that keeps each call's order."""
    wanted = draw(st.lists(json_objects, min_size=1, max_size=4))
    queues: list[list[ToolCallDelta]] = []
    for index, arguments in enumerate(wanted):
        raw = json.dumps(arguments)
        cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=4)))
        pieces = [raw[a:b] for a, b in itertools.pairwise([0, *cuts, len(raw)])]
        first = call(pieces[0], index=index, id=f"id{index}", name=f"tool{index}")
        queues.append([first, *(call(piece, index=index) for piece in pieces[1:])])
    deltas: list[ToolCallDelta] = [queue.pop(0) for queue in queues]
    while any(queues):
        queue = draw(st.sampled_from([queue for queue in queues if queue]))
        deltas.append(queue.pop(0))
    return [(f"tool{n}", json.dumps(arguments)) for n, arguments in enumerate(wanted)], deltas


@given(cut_calls())
def test_calls_with_honest_indexes_survive_every_cut(
    case: tuple[list[tuple[str, str]], list[ToolCallDelta]],
) -> None:
    wanted, deltas = case
    assert [(name, raw) for _, name, raw in calls_of(*deltas)] == wanted


deltas = st.builds(
    ToolCallDelta,
    index=st.none() | st.integers(-1, 3),
    id=st.sampled_from(["", "a", "b", "c"]),
    name=st.sampled_from(["", "f", "g", " "]),
    arguments=st.sampled_from(["", "{", "}", "{}", '{"a":1}', "\n", "junk"]),
)


@given(st.lists(deltas, max_size=12), st.sampled_from([(), ("f",), ("f", "g")]))
def test_whatever_comes_ids_are_unique_and_no_argument_text_is_lost(
    items: list[ToolCallDelta], tools: tuple[str, ...]
) -> None:
    found = calls_of(*items, tools=tools)
    assert len({call_id for call_id, _, _ in found}) == len(found)
    kept = sorted("".join(raw for _, _, raw in found).replace("\n", ""))
    assert kept == sorted("".join(item.arguments for item in items).replace("\n", ""))


@given(st.lists(st.text(max_size=4).map(lambda text: TextDelta(text=text))))
def test_text_is_the_concatenation_of_its_deltas(items: list[TextDelta]) -> None:
    said = "".join(item.text for item in items)
    assert merged(items) == ([Text(text=said)] if said else [])
