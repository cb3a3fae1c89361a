"""Nothing becomes a value of another type on its way: what libraries convert silently is refused.

For each type: a tree that does not look as its values do is a `WireError`, and a value of another
type an `EncodeError`.
"""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boyd.runtime import EncodeError, Ref, WireError
from boyd.runtime.codec import codec_for
from boyd.runtime.failure import Failure
from tests.runtime.typed import PLAIN, SCALARS, Colour, Flags, Typed, Word


@attrs.frozen
class Pair:
    """Two fields, of which one is needed."""

    name: str
    count: int = 0


# How values of a type look on the wire: as one of these classes of plain tree, exactly.
LOOKS: list[tuple[Any, tuple[type, ...]]] = [
    (type(None), (type(None),)),
    (bool, (bool,)),
    (int, (int,)),
    (float, (float,)),
    (str, (str,)),
    (bytes, (bytes,)),
    (Colour, (str,)),
    (Word, (str,)),
    (Flags, (str, int)),
    (Literal["a", 1], (str, int)),
    (datetime.datetime, (str,)),
    (datetime.date, (str,)),
    (datetime.time, (str,)),
    (decimal.Decimal, (str,)),
    (uuid.UUID, (str,)),
    (pathlib.Path, (str,)),
    (list[str], (list,)),
    (list[int], (list,)),
    (list[object], (list,)),
    (tuple[str, ...], (list,)),
    (tuple[int, str], (list,)),
    (Sequence[str], (list,)),
    (set[str], (list,)),
    (frozenset[int], (list,)),
    (dict[str, int], (dict,)),
    (dict[int, int], (list,)),
    (Mapping[str, object], (dict,)),
    (Pair, (list,)),
    (Ref[Any], (list,)),
    (Failure, (list,)),
    (int | None, (int, type(None))),
    (str | None, (str, type(None))),
    (int | str, (int, str)),
    (bool | bytes, (bool, bytes)),
    (Pair | None, (list, type(None))),
    (Pair | str, (list, str)),
]
SILENT: list[Any] = [
    "12", "", "abc", "false", "true", "nan", "None", "1.5", 0, 1, -1, 1.5, 1.0, 0.0, True, False,
    None, b"", b"12", b"abc", [], ["abc"], [1], [[1, 2]], {}, {"abc": 1}, {"name": "a"}, {"0": 1},
]  # fmt: skip
"""What one library or another takes for something else."""


TAKEN: list[tuple[Any, tuple[type, ...]]] = [
    (type(None), (type(None),)),
    (bool, (bool,)),
    (int, (int,)),
    (float, (float, int)),  # an int is a float, to type checkers as well
    (str, (str,)),
    (bytes, (bytes,)),
    (list[str], (list,)),
    (tuple[str, ...], (list,)),
    (set[str], ()),
    (dict[str, int], (dict,)),
    *((kind, ()) for kind in (Colour, Word, Flags, Pair, Ref[Any], Failure)),
    *((kind, ()) for kind in (datetime.date, decimal.Decimal, uuid.UUID, pathlib.Path)),
]
"""The classes of plain values that a sender may give for a type."""


def reads(tp: object, tree: object) -> bool:
    """Whether the tree is a value of the type."""
    try:
        codec_for(tp).from_tree(tree)
    except WireError:
        return False
    return True


def writes(tp: object, value: object) -> bool:
    """Whether the value is one of the type."""
    try:
        codec_for(tp).to_tree(value)
    except EncodeError:
        return False
    return True


@pytest.mark.parametrize(("tp", "looks"), LOOKS, ids=str)
def test_nothing_is_read_as_what_it_only_resembles(tp: object, looks: tuple[type, ...]) -> None:
    """The conversions that are known from elsewhere, one by one."""
    assert [one for one in SILENT if type(one) not in looks and reads(tp, one)] == []


@pytest.mark.parametrize(("tp", "taken"), TAKEN, ids=str)
def test_nothing_is_sent_as_what_it_only_resembles(tp: object, taken: tuple[type, ...]) -> None:
    """No `str()` of it, no `int()`, no `list()`, no truth of it."""
    assert [one for one in SILENT if type(one) not in taken and writes(tp, one)] == []


@given(PLAIN)
def test_a_tree_of_another_look_is_no_value_of_a_type(tree: object) -> None:
    """At the receiver: exactly the classes that the type travels as, whatever their value."""
    assert [tp for tp, looks in LOOKS if type(tree) not in looks and reads(tp, tree)] == []


@given(PLAIN)
def test_a_value_of_another_type_is_not_sent(value: object) -> None:
    """At the sender: exactly the classes that the type is written as, whatever their value."""
    assert [tp for tp, taken in TAKEN if type(value) not in taken and writes(tp, value)] == []


@given(st.sampled_from(SCALARS), PLAIN | st.sampled_from(SILENT), st.data())
def test_what_stands_inside_is_looked_at_as_strictly(
    typed: Typed, bad: object, data: st.DataObject
) -> None:
    """In a list, a tuple, a mapping and a class, at any place."""
    tp, values = typed
    good, fits = codec_for(tp).to_tree(data.draw(values)), reads(tp, bad)
    holder = attrs.make_class("Holder", {"one": attrs.field(type=tp), "two": attrs.field(type=tp)})
    # As values, since a type checker takes `list[tp]` for an annotation.
    lists, tuples, maps = cast("tuple[Any, Any, Any]", (list, tuple, dict))
    assert reads(lists[tp], [good, bad]) is fits
    assert reads(tuples[tp, tp], [good, bad]) is fits
    assert reads(maps[str, tp], {"a": good, "b": bad}) is fits
    assert reads(maps[int, tp], [[1, good], [2, bad]]) is fits
    assert reads(holder, [good, bad]) is fits


@given(st.integers(-(2**70), 2**70))
@example(10**400)
def test_a_number_beyond_the_wire_is_refused_and_not_rounded(number: int) -> None:
    """By the codec of bytes: 64 bits for int, the range of float for float."""
    try:
        assert codec_for(int).decode(codec_for(int).encode(number)) == number
    except EncodeError:
        assert not -(1 << 63) <= number < 1 << 64
    try:
        assert codec_for(float).decode(codec_for(float).encode(number)) == float(number)
    except EncodeError:
        assert abs(number) > 2**1000
