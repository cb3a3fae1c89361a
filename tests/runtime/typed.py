"""Hypothesis strategies that draw types, and values of them."""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import itertools
import pathlib
import typing
import uuid
from typing import Any, Literal, cast

import attrs
from hypothesis import strategies as st

Typed = tuple[Any, st.SearchStrategy[Any]]
"""A type and a strategy of its values."""


class Colour(enum.Enum):
    """Some enum."""

    RED = 1
    BLUE = "blue"


class Word(enum.StrEnum):
    """An enum of text."""

    YES = "y"
    NO = "n"


class Flags(enum.Flag):
    """An enum whose members combine."""

    A = 1
    B = 2
    C = 4


_numbers = itertools.count()

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
INTEGERS = st.integers(-(2**63), 2**64 - 1)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | INTEGERS
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from(["a", "b.txt", "é"]), min_size=1).map(
    lambda parts: pathlib.Path(*parts)
)

SCALARS: list[Typed] = [
    (int, INTEGERS),
    (str, TEXT),
    (bool, st.booleans()),
    (float, st.floats(allow_nan=False)),
    (bytes, st.binary(max_size=50)),
    (type(None), st.none()),
    (Colour, st.sampled_from(Colour)),
    (Word, st.sampled_from(Word)),
    (Flags, st.integers(0, 7).map(Flags)),
    (Literal["a", 1, True, Colour.RED], st.sampled_from(["a", 1, True, Colour.RED])),
    (datetime.datetime, st.datetimes(timezones=st.none() | st.just(datetime.UTC))),
    (datetime.date, st.dates()),
    (datetime.time, st.times()),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (uuid.UUID, st.uuids()),
    (pathlib.Path, PATHS),
    (typing.NewType("UserId", int), INTEGERS),
    (typing.Annotated[str, "a note"], TEXT),
]
HASHABLE = [one for one in SCALARS if one[0] is not float]


# As calls, since a type checker takes `list[tp]` for an annotation.
def _of(generic: object, *parts: object) -> object:
    return cast("Any", generic)[parts]


def _sequence(inner: Typed) -> st.SearchStrategy[Typed]:
    tp, values = inner
    lists, tuples = st.lists(values, max_size=4), st.lists(values, max_size=4).map(tuple)
    return st.sampled_from(
        [
            (_of(list, tp), lists),
            (_of(tuple, tp, ...), tuples),
            (_of(collections.abc.Sequence, tp), tuples),
            (_of(collections.abc.MutableSequence, tp), lists),
            (_of(typing.List, tp), lists),  # noqa: UP006
        ]
    )


def _fixed(inner: list[Typed]) -> Typed:
    types = tuple(tp for tp, _ in inner)
    return _of(tuple, *types), st.tuples(*(values for _, values in inner))


def _set(inner: Typed) -> st.SearchStrategy[Typed]:
    tp, values = inner
    return st.sampled_from(
        [
            (_of(set, tp), st.sets(values, max_size=4)),
            (_of(frozenset, tp), st.frozensets(values, max_size=4)),
            (_of(collections.abc.Set, tp), st.frozensets(values, max_size=4)),
        ]
    )


def _mapping(key: Typed, inner: Typed) -> st.SearchStrategy[Typed]:
    tp, values = inner
    keyed = st.dictionaries(key[1], values, max_size=4)
    texts = st.dictionaries(TEXT, values, max_size=4)
    return st.sampled_from(
        [
            (_of(dict, key[0], tp), keyed),
            (_of(dict, str, tp), texts),
            (_of(collections.abc.Mapping, str, tp), texts),
        ]
    )


def _union(inner: list[Typed]) -> Typed:
    union = inner[0][0]
    for tp, _ in inner[1:]:
        union = union | tp
    return union, st.one_of(*(values for _, values in inner))


def _class(inner: list[Typed], *, frozen: bool, slots: bool, kw_only: bool, alias: bool) -> Typed:
    names = [f"{'_' if n == 1 else ''}field{n}{'_' if n == 2 else ''}" for n in range(len(inner))]
    fields = {
        name: attrs.field(type=tp, kw_only=kw_only, alias=f"as_{name}" if alias else None)
        for name, (tp, _) in zip(names, inner, strict=True)
    }
    cls: Any = attrs.make_class(f"Made{next(_numbers)}", fields, frozen=frozen, slots=slots)
    aliases = [field.alias for field in attrs.fields(cls)]
    values = st.tuples(*(values for _, values in inner)).map(
        lambda given: cls(**dict(zip(aliases, given, strict=True)))
    )
    return cls, values


def _compound(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    several = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        inner.flatmap(_sequence),
        several.map(_fixed),
        st.sampled_from(HASHABLE).flatmap(_set),
        st.tuples(st.sampled_from(HASHABLE), inner).flatmap(lambda pair: _mapping(*pair)),
        st.lists(inner, min_size=2, max_size=4).map(_union),
        st.builds(
            _class,
            several,
            frozen=st.booleans(),
            slots=st.booleans(),
            kw_only=st.booleans(),
            alias=st.booleans(),
        ),
    )


TYPES: st.SearchStrategy[Typed] = st.recursive(
    cast("st.SearchStrategy[Typed]", st.sampled_from([*SCALARS, (object, PLAIN)])),
    _compound,
    max_leaves=6,
)


def same(one: object, other: object) -> bool:
    """Equal, and of the same types all the way down."""
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, (list, tuple)):
        both = cast("tuple[Any, Any]", (one, other))
        return len(both[0]) == len(both[1]) and all(map(same, *both))
    if isinstance(one, dict):
        left, right = cast("tuple[dict[object, object], dict[object, object]]", (one, other))
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if attrs.has(one.__class__):
        return all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in attrs.fields(one.__class__)
        )
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)
