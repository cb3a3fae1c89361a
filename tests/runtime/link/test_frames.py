"""The bytes of frames and headers are what they always were, and no damage to them is more than an error."""

from __future__ import annotations

import math
import re
from typing import Final

import hypothesis.strategies as st
import pytest
from hypothesis import given

from boyd.runtime import Headers, WireError
from boyd.runtime.link import DEDUP_WINDOW, Address, Life, LinkOptions, Parcel, Purpose
from boyd.runtime.link.frames import (
    LINK_VERSION,
    MOST_RANGES,
    Ack,
    Close,
    Data,
    Frame,
    Hello,
    Phase,
    Route,
    Void,
    decode_frame,
    encode_frame,
)
from boyd.runtime.link.parcel import HEADER_LIMITS, decode_header, encode_header
from boyd.runtime.wire import pack
from tests.house.sources import ROOT

ROUTE: Final = Route(sender="left", life=Life("l-1", 2), recipient="right", to=Life("r-1", 3))
UNKNOWN: Final = Route(sender="left", life=Life("l-1", 1), recipient="right", to=None)

GOLDEN: Final[dict[str, tuple[Frame, str]]] = {
    "hello, knocking": (
        Hello(route=UNKNOWN, phase=Phase.KNOCK, first=1, mark=None),
        "9b0101a46c656674a36c2d3101a57269676874a0000001c0",
    ),
    "hello": (
        Hello(route=ROUTE, phase=Phase.SURE, first=7, mark=300),
        "9b0101a46c656674a36c2d3102a57269676874a3722d31030207cd012c",
    ),
    "data": (
        Data(route=ROUTE, seq=7, left=2.5, header=b"\x90", body=b"\x91\x01"),
        "9c0102a46c656674a36c2d3102a57269676874a3722d310307cb4004000000000000c40190c4029101",
    ),
    "data without deadline": (
        Data(route=ROUTE, seq=8, left=math.inf, header=b"", body=b""),
        "9c0102a46c656674a36c2d3102a57269676874a3722d310308c0c400c400",
    ),
    "void": (
        Void(route=ROUTE, seq=9),
        "990103a46c656674a36c2d3102a57269676874a3722d310309",
    ),
    "ack": (
        Ack(route=ROUTE, mark=6, ranges=((8, 8), (10, 4000))),
        "9a0104a46c656674a36c2d3102a57269676874a3722d31030692920808920acd0fa0",
    ),
    "close": (
        Close(route=ROUTE, reason="enough"),
        "990105a46c656674a36c2d3102a57269676874a3722d3103a6656e6f756768",
    ),
}
PARCEL: Final = Parcel(
    kind="bank.deposit",
    body=b"",
    to=Address("right", "/bank", 7),
    sender=Address("left", "/a", 1),
    purpose=Purpose.ASK,
    correlation="c-1",
    headers=Headers(thread="t", provenance="p", trace="00-1", labels={"taint": "web"}),
)
HEADER: Final = (
    "9902ac62616e6b2e6465706f73697493a57269676874a52f62616e6b0793a46c656674a22f6101"
    "a3632d31a174a170a430302d3181a57461696e74a3776562"
)

# Every first byte that announces something, and some of each kind of small value.
BYTES: Final = (*range(0, 256, 9), *range(0xBF, 0xE0), 0, 1, 2, 3, 4, 5, 6, 0x7F, 0x80, 0xFF)

each_frame: Final = pytest.mark.parametrize(("frame", "golden"), GOLDEN.values(), ids=list(GOLDEN))


@each_frame
def test_a_frame_has_the_bytes_that_it_always_had(frame: Frame, golden: str) -> None:
    """Both ways."""
    assert encode_frame(frame).hex() == golden, "the frames have changed: see docs/wire.md"
    assert decode_frame(bytes.fromhex(golden)) == frame


def test_a_header_has_the_bytes_that_it_always_had() -> None:
    """Both ways."""
    assert encode_header(PARCEL).hex() == HEADER
    assert decode_header(bytes.fromhex(HEADER), b"", math.inf) == PARCEL


@each_frame
def test_damage_is_a_wire_error_or_another_frame(frame: Frame, golden: str) -> None:
    """Every truncation, and at each place every kind of byte; what is read can be written again."""
    whole = bytes.fromhex(golden)
    for end in range(len(whole)):
        with pytest.raises(WireError):
            decode_frame(whole[:end])
    for at in range(len(whole)):
        for byte in BYTES:
            try:
                found = decode_frame(whole[:at] + bytes([byte]) + whole[at + 1 :])
            except WireError:
                continue
            assert decode_frame(encode_frame(found)) == found


def test_damage_to_a_header_is_a_wire_error_or_another_header() -> None:
    """As above."""
    whole = bytes.fromhex(HEADER)
    for at in range(len(whole)):
        with pytest.raises(WireError):
            decode_header(whole[:at], b"", math.inf)
        for byte in BYTES:
            try:
                found = decode_header(whole[:at] + bytes([byte]) + whole[at + 1 :], b"", math.inf)
            except WireError:
                continue
            assert decode_header(encode_header(found), b"", math.inf) == found


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_a_wire_error(noise: bytes) -> None:
    """And nothing else."""
    for prefix in (b"", bytes.fromhex("9b01"), bytes.fromhex(GOLDEN["ack"][1])[:-12]):
        try:
            decode_frame(prefix + noise)
        except WireError:
            continue


SCALARS: Final = (
    st.none() | st.booleans() | st.integers(-1, 1 << 63) | st.floats() | st.just("a") | st.just(b"")
)
TREE: Final = SCALARS | st.lists(SCALARS | st.lists(SCALARS, max_size=2), max_size=2)


@given(st.integers(1, 6), st.lists(TREE, max_size=4))
def test_any_fields_are_a_frame_or_a_wire_error(kind: int, fields: list[object]) -> None:
    """Types are looked at, one by one."""
    try:
        found = decode_frame(
            pack([LINK_VERSION, kind, "left", "l-1", 2, "right", "r-1", 3, *fields])
        )
    except WireError:
        return
    assert decode_frame(encode_frame(found)) == found


@given(st.lists(TREE, max_size=9))
def test_any_tree_is_a_header_or_a_wire_error(fields: list[object]) -> None:
    """As above."""
    heads: tuple[list[object], ...] = ([], [1, "kind", ["right", "/a", 1]])
    for head in heads:
        try:
            decode_header(pack(head + fields), b"", math.inf)
        except WireError:
            continue


def test_fields_that_a_later_version_appends_are_ignored_and_missing_ones_have_defaults() -> None:
    """As in messages; only the fields that every frame has are needed."""
    frame, golden = GOLDEN["void"]
    whole = bytes.fromhex(golden)
    assert decode_frame(bytes([whole[0] + 1]) + whole[1:] + b"\xc3") == frame
    header = bytes.fromhex(HEADER)
    assert decode_header(bytes([header[0] + 1]) + header[1:] + b"\xc3", b"", math.inf) == PARCEL
    short = decode_header(pack([1, "k", ["right", "/a", 1]]), b"b", 5.0)
    assert short == Parcel(kind="k", body=b"b", to=Address("right", "/a", 1), deadline=5.0)


@pytest.mark.parametrize(
    "fields",
    [
        [2, 1, "left", "l", 1, "right", "", 0, 0, 1, None],  # another version
        [True, 3, "left", "l", 1, "right", "r", 1, 1],
        [1, True, "left", "l", 1, "right", "r", 1, 0, 1, None],
        [1, 3, "left", "l", 1, "right", "", 1, 1],  # no incarnation, and an epoch
        [1, 3, "left", "l", 1, "right", "r", 0, 1],
        [1, 3, "left", "l", 1, "right", "", False, 1],
        [1, 3, "left", "l", 0, "right", "r", 1, 1],
        [1, 3, "", "l", 1, "right", "r", 1, 1],
        [1, 3, "left", "l" * 256, 1, "right", "r", 1, 1],
        [1, 3, "left", "l", 1, "right", "r", 1, 0],  # numbers begin at 1
        [1, 3, "left", "l", 1, "right", "r", 1, 1 << 63],
        [1, 2, "left", "l", 1, "right", "r", 1, 1, -1.0, b"", b""],
        [1, 2, "left", "l", 1, "right", "r", 1, 1, math.nan, b"", b""],
        [1, 2, "left", "l", 1, "right", "r", 1, 1, math.inf, b"", b""],
        [1, 2, "left", "l", 1, "right", "r", 1, 1, True, b"", b""],
        [1, 2, "left", "l", 1, "right", "r", 1, 1, 1.0, "", b""],
        [1, 4, "left", "l", 1, "right", "r", 1, 5, [[5, 6]]],  # a range must be beyond the mark,
        [1, 4, "left", "l", 1, "right", "r", 1, 5, [[7, 6]]],  # forwards,
        [1, 4, "left", "l", 1, "right", "r", 1, 5, [[7, 8], [8, 9]]],  # and behind the one before
        [1, 4, "left", "l", 1, "right", "r", 1, 0, [[n, n] for n in range(1, 18)]],
        [1, 1, "left", "l", 1, "right", "r", 1, 3, 1, None],
        [1, 0, "left", "l", 1, "right", "r", 1, 1],
        [1, 6, "left", "l", 1, "right", "r", 1, 1],
        [1, 3, "left", "l", 1, "right", "r", 1],
        {},
        None,
    ],
)
def test_what_is_no_frame_is_a_wire_error(fields: object) -> None:
    """Each in a way of its own."""
    with pytest.raises(WireError):
        decode_frame(pack(fields))


def test_reprs_show_no_body() -> None:
    """Neither of a frame nor of a parcel."""
    data, _ = GOLDEN["data"]
    assert "<2 bytes>" in repr(data)
    assert "secret" not in repr(Parcel(kind="k", body=b"secret", to=Address("a", "b", 1)))


def test_the_specification_says_what_is_so() -> None:
    """The numbers of docs/wire.md."""
    text = " ".join((ROOT / "docs" / "wire.md").read_text("utf-8").split())
    assert f"`LINK_VERSION` is {LINK_VERSION}" in text
    assert f"{DEDUP_WINDOW:,} numbers" in text
    assert f"at most {MOST_RANGES} ranges" in text
    assert f"{HEADER_LIMITS.frame >> 10} KiB" in text
    for purpose in Purpose:
        assert f"{int(purpose)} {purpose.name.lower()}" in text
    assert re.search(r"\| 5 close \| `reason` \|", text)
    assert LinkOptions().window <= DEDUP_WINDOW
