"""The event-stream parser: the standard's cases, and the same items for every cut of the bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boyd.actors.providers.sse import Comment, Fault, Retry, ServerEvent, SseItem, SseParser


def parse(chunks: Iterable[bytes], longest: int = 1 << 20) -> list[SseItem]:
    parser = SseParser(longest=longest)
    return [item for chunk in chunks for item in parser.feed(chunk)]


def events(*chunks: bytes) -> list[tuple[str, str, str]]:
    items = parse(chunks)
    return [(i.event, i.data, i.id) for i in items if isinstance(i, ServerEvent)]


def e(data: str, event: str = "message", id: str = "") -> tuple[str, str, str]:  # noqa: A002
    return (event, data, id)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"data: a\n\ndata: b\n\n"], [e("a"), e("b")]),
        ([b"data: a\r\n\r\ndata: b\r\n\r\n"], [e("a"), e("b")]),
        ([b"data: a\r\rdata: b\r\r"], [e("a"), e("b")]),
        ([b"data: a\r", b"\n\r", b"\ndata: b\r\n\r\n"], [e("a"), e("b")]),
        ([b"data: a\r", b"\ndata: b\r\n\r\n"], [e("a\nb")]),
        ([b"data: \xf0\x9f", b"\x98\x80\n\n"], [e("\U0001f600")]),
        (["data: a\u2028b\x85c\x0cd\x0be\x1ef\n\n".encode()], [e("a\u2028b\x85c\x0cd\x0be\x1ef")]),
        ([b"data: a\n\ndata: incomplete\n"], [e("a")]),
        ([b"data: a\n\ndata: incomplete"], [e("a")]),
        ([b"\xef\xbb\xbfdata: a\n\n"], [e("a")]),
        ([b"\xef", b"\xbb", b"\xbfdata: a\n\n"], [e("a")]),
        ([b": ping\n\ndata: a\n: x\ndata: b\n\n"], [e("a\nb")]),
        (
            [b"id: 7\ndata: a\n\n: hb\n\nevent: x\n\ndata: b\n\n"],
            [e("a", id="7"), e("b", id="7")],
        ),
        ([b"id: 9\n\ndata: a\n\n"], [e("a", id="9")]),
        ([b"data\n\ndata:\n\n"], [e(""), e("")]),
        ([b"retry: +5\nretry: 1_0\nretry: 5\ndata: a\n\n"], [e("a")]),
        ([b"retry: 5\n\n"], []),
        ([b"id: a\x00b\ndata: a\n\n"], [e("a")]),
        ([b"data:  a\n\ndata:b\n\n"], [e(" a"), e("b")]),
        ([b"data: a\r\r"], [e("a")]),
        ([b"event: delta\n", b"data: a\n\n"], [e("a", "delta")]),
        ([b"event: x\ndata: a\n\ndata: b\n\n"], [e("a", "x"), e("b")]),
        ([b"unknown: x\n<html>\ndata: a\n\n"], [e("a")]),
    ],
)
def test_the_cases_of_the_standard(
    chunks: list[bytes], expected: list[tuple[str, str, str]]
) -> None:
    assert events(*chunks) == expected


def test_b06_comments_are_seen_and_are_no_events() -> None:
    assert parse([b": OPENROUTER PROCESSING\n\n:\n", b"retry: 10\n"]) == [
        Comment(" OPENROUTER PROCESSING"),
        Comment(""),
        Retry(10),
    ]


def test_b06_a_comment_after_an_id_dispatches_nothing() -> None:
    assert events(b"id: 1\ndata: a\n\n: ping\n\n: ping\n\ndata: b\n\n") == [
        e("a", id="1"),
        e("b", id="1"),
    ]


@pytest.mark.parametrize("ending", [b"\n", b""])
def test_a_line_over_the_cap_is_a_fault(ending: bytes) -> None:
    items = parse([b"data: a\n\n", b"x" * 33 + ending, b"data: b\n\n"], longest=32)
    assert items == [ServerEvent("a"), Fault("a line is longer than 32 bytes")]


def test_many_lines_of_one_event_are_capped_together() -> None:
    items = parse([b"data: 0123456789\n" * 3], longest=32)
    assert items == [Fault("an event is longer than 32 bytes")]


def test_text_that_is_not_utf_8_is_a_fault() -> None:
    assert parse([b"data: \xff\n\n"]) == [Fault("a line is not UTF-8")]


def test_a_line_that_trickles_in_is_capped_too() -> None:
    parser = SseParser(longest=10_000)
    for _ in range(10_000):
        assert parser.feed(b"x") == []
    assert parser.feed(b"x") == [Fault("a line is longer than 10,000 bytes")]
    assert parser.feed(b"\n\ndata: a\n\n") == []


pieces = st.sampled_from(
    [
        b"data: a",
        b"data",
        b"data:",
        b"event: x",
        b"id: 1",
        b"id: \0",
        b"retry: 10",
        b": c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        "data: 你好🦀\u2028".encode(),
        b"\xef\xbb\xbf",
        b"\xff",
        b"data: 0123456789012345678901234567890123456789",
    ]
)
streams = st.lists(pieces, max_size=12).map(b"".join) | st.binary(max_size=40)


@given(streams, st.lists(st.integers(0, 400), max_size=6))
@example(b"data: a\r\n\r\ndata: b\r\r", [8, 9, 10])
@example(b"data: a\r\ndata: b\r\n\r\n", [8])
def test_b08_every_cut_of_the_bytes_gives_the_same_items(data: bytes, cuts: list[int]) -> None:
    at = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[a:b] for a, b in itertools.pairwise(at)]
    assert parse(chunks, longest=40) == parse([data], longest=40)
    assert parse((bytes([byte]) for byte in data), longest=40) == parse([data], longest=40)
