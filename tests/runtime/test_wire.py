"""Bytes from outside: one plain tree within limits, or a `WireError`, and nothing else."""

from __future__ import annotations

import resource
import struct
from typing import Any, cast

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.runtime import WireError
from boyd.runtime.wire import DEFAULT_LIMITS, Limits, check_tree, pack, unpack_foreign, unpack_own
from tests.runtime.typed import PLAIN

_msgpack = cast("Any", msgpack)  # it has no types


@given(PLAIN)
def test_a_plain_tree_is_read_back(tree: object) -> None:
    frame = pack(tree)
    assert unpack_own(frame) == unpack_foreign(frame) == tree


@given(st.binary(max_size=300))
def test_any_bytes_are_a_plain_tree_or_a_wire_error(frame: bytes) -> None:
    try:
        tree = unpack_foreign(frame)
    except WireError:
        return
    check_tree(tree, DEFAULT_LIMITS)
    assert unpack_foreign(pack(tree)) == tree or tree != tree  # noqa: PLR0124  # NaN


@given(PLAIN, st.data())
def test_every_truncation_is_a_wire_error(tree: object, data: st.DataObject) -> None:
    frame = pack(tree)
    end = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(WireError):
        unpack_foreign(frame[:end])


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (b"", "not a message"),
        (b"\xc1", "not a message"),
        (pack([1]) + pack([2]), "not a message: ExtraData"),
        (b"\xa2\xff\xfe", "not a message: UnicodeDecodeError"),
        (_msgpack.packb(_msgpack.ExtType(5, b"x")), "extension type 5 is not accepted"),
        (_msgpack.packb([_msgpack.Timestamp(1, 2)]), "timestamps travel as numbers"),
        (b"\xc7\x0c\xff" + struct.pack(">Iq", 999_999_999, 2**62), "not a message|timestamps"),
        (b"\x82\xa1a\x01\xa1a\x02", "a map has the same key twice"),
        (b"\x81\x01\x02", "map keys must be text"),
        (b"\x81\xc4\x01a\x02", "map keys must be text"),
        (b"\x91" * 33 + b"\xc0", "nested deeper than 32"),
        (b"\x91" * 2000 + b"\xc0", "not a message|nested deeper"),
        (b"\x81\xa1a" * 33 + b"\xc0", "nested deeper than 32"),
        (pack(list(range(4097))), "not a message: ValueError"),
        (pack({str(n): n for n in range(4097)}), "not a message: ValueError"),
        (pack(bytes(2**20)), "a frame of .* bytes is over the limit of 1048576"),
        (b"\xdd\xff\xff\xff\xff", "not a message"),
        (b"\xdf\xff\xff\xff\xff", "not a message"),
        (b"\xc6\xff\xff\xff\xff", "not a message"),
    ],
)
def test_d9_what_is_not_accepted_is_a_wire_error(frame: bytes, text: str) -> None:
    with pytest.raises(WireError, match=text):
        unpack_foreign(frame)


def test_d9_the_limits_are_what_they_say() -> None:
    assert unpack_foreign(b"\x91" * 32 + b"\xc0")
    assert len(unpack_foreign(pack(list(range(4096))))) == 4096
    assert unpack_foreign(pack(bytes(2**20 - 10)))
    narrow = Limits(frame=10, depth=2, items=3)
    assert unpack_foreign(pack([[1]]), narrow) == [[1]]
    for tree in ([[[1]]], [1, 2, 3, 4], "x" * 20):
        with pytest.raises(WireError):
            unpack_foreign(pack(tree), narrow)


def test_d9_not_a_number_is_refused_where_it_is_said_to_be() -> None:
    for number in (float("nan"), float("inf"), -float("inf")):
        frame = pack({"a": [number]})
        unpack_foreign(frame)
        with pytest.raises(WireError, match="NaN and infinity are not accepted here"):
            unpack_foreign(frame, Limits(finite=True))
    assert unpack_foreign(pack([1.5, 0.0]), Limits(finite=True)) == [1.5, 0.0]


def test_headers_without_bodies_do_not_eat_memory() -> None:
    """Nested headers of large arrays, and no elements: 5 KB once made 67 MiB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for header in (b"\xdc\x10\x00", b"\xde\x10\x00\xa1a", b"\xdd\x00\x00\x10\x00"):
        with pytest.raises(WireError):
            unpack_foreign(header * 1700)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_own_bytes_may_be_long_and_deep() -> None:
    tree: object = list(range(10_000))
    for _ in range(100):
        tree = [tree]
    assert unpack_own(pack(tree)) == tree
