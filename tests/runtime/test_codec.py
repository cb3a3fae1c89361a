"""Typed values to bytes and back: strictly, for every type that has a form."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import pathlib
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, cast

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.runtime import EncodeError, Ref, WireError
from boyd.runtime.codec import TypeCodec, codec_for
from boyd.runtime.forms.form import type_name
from boyd.runtime.wire import pack, unpack_own
from tests.runtime.typed import PLAIN, TYPES, Colour, Flags, Typed, Word, same


class Number(enum.IntEnum):
    """An enum of numbers."""

    A = 1


@attrs.frozen
class Point:
    """Two numbers."""

    x: int
    y: int = 0


@attrs.define(kw_only=True)
class Node:
    """Contains itself."""

    name: str
    left: Node | None = None
    children: list[Node] = attrs.field(factory=list["Node"])
    either: Node | str | int = 0


def stripped(text: str) -> str:
    """Without the spaces around it."""
    return text.strip()


@attrs.define
class Checked:
    """Does not take every value, and converts some."""

    count: int = attrs.field(validator=attrs.validators.ge(0))
    name: str = attrs.field(default="x", converter=stripped)
    later: int = attrs.field(init=False, default=7)

    def __attrs_post_init__(self) -> None:
        if self.name == "bad":
            raise RuntimeError("a bad name")


def wrong_point(*values: object) -> Point:
    """One that no type checker would let pass."""
    made: Point = cast("Any", Point)(*values)
    return made


# ---------------------------------------------------------------- there and back
@given(TYPES, st.data())
def test_what_is_decoded_is_what_was_encoded(typed: Typed, data: st.DataObject) -> None:
    tp, values = typed
    codec = TypeCodec(tp)
    value = data.draw(values)
    frame = codec.encode(value)
    assert same(codec.decode(frame), value)
    assert same(codec.decode_foreign(frame), value)
    assert codec.encode(codec.decode(frame)) == frame


@given(TYPES, PLAIN)
def test_any_plain_tree_is_a_value_of_the_type_or_a_wire_error(typed: Typed, tree: object) -> None:
    codec = TypeCodec(typed[0])
    try:
        value = codec.decode_foreign(pack(tree))
    except WireError:
        return
    again = codec.decode(codec.encode(value))
    assert same(again, value)


@given(TYPES, st.binary(max_size=200))
def test_any_bytes_are_a_value_of_the_type_or_a_wire_error(typed: Typed, frame: bytes) -> None:
    codec = TypeCodec(typed[0])
    try:
        value = codec.decode_foreign(frame)
    except WireError:
        return
    assert same(codec.decode(codec.encode(value)), value)


@given(
    TYPES, PLAIN | st.sampled_from([Colour.RED, Word.YES, Point(1), print, object(), {1: 2}, {"x"}])
)
def test_any_value_is_encoded_or_refused_with_an_encode_error(typed: Typed, value: object) -> None:
    codec = TypeCodec(typed[0])
    try:
        frame = codec.encode(value)
    except EncodeError:
        return
    assert codec.encode(codec.decode(frame)) == frame  # a list may have become a tuple


def test_a_recursive_type_is_read_back() -> None:
    leaf = Node(name="leaf", either="text")
    tree = Node(name="root", left=leaf, children=[leaf, Node(name="b", left=leaf)], either=leaf)
    codec = codec_for(Node)
    assert codec.decode_foreign(codec.encode(tree)) == tree


def test_a_value_within_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(EncodeError, match="nested too deeply, or within itself"):
        codec_for(object).encode(loop)
    node = Node(name="me")
    node.left = node
    with pytest.raises(EncodeError, match="nested too deeply"):
        codec_for(Node).encode(node)


def test_a_tree_too_deep_for_python_is_refused_and_not_a_recursion_error() -> None:
    tree: object = None
    for _ in range(480):
        tree = ["n", tree, list[object](), 0]
    with pytest.raises(WireError):
        codec_for(Node).from_tree(tree)


# ---------------------------------------------------------------- strictness
@pytest.mark.parametrize(
    ("tp", "value"),
    [
        (int, True),
        (int, 1.0),
        (int, "1"),
        (float, True),
        (float, 10**400),
        (str, b"x"),
        (bytes, "x"),
        (bool, 1),
        (type(None), 0),
        (list[int], (x for x in [1])),
        (list[int], {1}),
        (list[str], "abc"),
        (tuple[int, ...], b"abc"),
        (tuple[int, str], (1,)),
        (set[int], [1]),
        (dict[str, int], [("a", 1)]),
        (dict[str, int], {1: 1}),
        (datetime.date, datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)),
        (datetime.datetime, datetime.date(2026, 1, 1)),
        (Colour, "RED"),
        (Literal["a", 1], True),
        (Literal["a"], "b"),
        (int | str, 1.5),
        (Point, (1, 2)),
        (Point | None, "x"),
        (object, print),
        (object, {1: 2}),
        (object, {"a": {"b", "c"}}),
        (object, Colour.RED),
        (object, 2**64),
        (str, "\udcff"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_the_sender(tp: object, value: object) -> None:
    with pytest.raises(EncodeError):
        codec_for(tp).encode(value)


MISFITS: list[tuple[object, object]] = [
    (int, True),
    (int, 1.0),
    (float, 1),
    (str, b"x"),
    (bytes, "x"),
    (bool, 0),
    (list[int], {"a": 1}),
    (list[int], "abc"),
    (tuple[int, str], [1, "a", 2]),
    (set[int], [1, 1]),
    (set[object], [[1]]),
    (dict[int, int], [[1, 2], [1, 3]]),
    (dict[int, int], [[1, 2, 3]]),
    (dict[int, int], {"1": 2}),
    (dict[str, int], [["a", 1]]),
    (datetime.date, "2026-13-01"),
    (datetime.date, 3),
    (decimal.Decimal, "one"),
    (Colour, "GREEN"),
    (Colour, 1),
    (Flags, 99),
    (Literal["a", 1], True),
    (Point, []),
    (Point, [1, "2"]),
    (Point, {"x": 1}),
    (Point | Checked, ["Pointed", 1]),
    (Point | Checked, [[], 1]),
    (Point | Checked, []),
    (Checked, [-1]),
    (Checked, [1, "bad"]),
    (Ref[Any], ["a", "b", "c"]),
    (Ref[Any], []),
    (object, None),
]


@pytest.mark.parametrize(("tp", "tree"), MISFITS)
def test_a_tree_that_does_not_fit_is_a_wire_error(tp: object, tree: object) -> None:
    codec = codec_for(tp)
    if tp is object:
        assert codec.from_tree(tree) is None
        return
    with pytest.raises(WireError):
        codec.from_tree(tree)


def test_only_int_becomes_float_and_subclasses_become_plain_at_the_sender() -> None:
    assert codec_for(float).decode(codec_for(float).encode(1)) == 1.0
    assert unpack_own(codec_for(str).encode(Word.YES)) == "y"
    assert unpack_own(codec_for(object).encode({Word.YES: [Word.NO, Number.A]})) == {"y": ["n", 1]}
    assert unpack_own(codec_for(bytes).encode(bytearray(b"x"))) == b"x"
    assert codec_for(list[int]).to_tree((1, 2)) == [1, 2]
    assert codec_for(dict[str, int]).to_tree(collections.OrderedDict[str, int](a=1)) == {"a": 1}

    class Deep(str):
        __slots__ = ()

    class Deeper(Deep):
        __slots__ = ()

    assert type(codec_for(object).to_tree(Deeper("x"))) is str


@pytest.mark.parametrize(
    ("tp", "value", "path"),
    [
        (
            dict[str, list[int]],
            {"a": [1, "2"]},
            r"dict\[str, list\[int\]\]\['a'\]\[1\]: expected int, got str",
        ),
        (
            list[Point],
            [Point(1), wrong_point("x")],
            r"list\[Point\]\[1\]\.x: expected int, got str",
        ),
        (
            tuple[int, Point],
            (1, wrong_point(1, None)),
            r"tuple\[int, Point\]\[1\]\.y: expected int, got NoneType",
        ),
        (Point | None, wrong_point("x"), r"Point \| None\.x: expected int, got str"),
        (Point | str, wrong_point("x"), r"Point \| str\.x: expected int, got str"),
        (dict[Colour, int], {Colour.RED: "x"}, r"\[<Colour\.RED: 1>\]: expected int, got str"),
        (
            object,
            {"a": [1, {"b": print}]},
            r"object\['a'\]\[1\]\['b'\]: builtin_function_or_method has no wire form",
        ),
    ],
)
def test_an_encode_error_names_the_path(tp: object, value: object, path: str) -> None:
    with pytest.raises(EncodeError, match=path):
        codec_for(tp).encode(value)


def test_a_wire_error_names_the_path_too() -> None:
    with pytest.raises(
        WireError, match=r"list\[Node\]\[0\]\.children\[1\]\.name: expected str, got int"
    ):
        codec_for(list[Node]).from_tree([["a", None, [["b"], [3]]]])


# ---------------------------------------------------------------- classes over time
def test_a_short_array_takes_the_defaults_and_the_tail_of_a_long_one_is_ignored() -> None:
    codec = codec_for(Point)
    assert codec.from_tree([1]) == Point(1, 0)
    longer: list[object] = [1, 2, "from the future", []]
    assert codec.from_tree(longer) == Point(1, 2)
    with pytest.raises(WireError, match="Point needs 1 fields, got 0"):
        codec.from_tree([])


def test_a_required_field_behind_a_default_is_required() -> None:
    @attrs.define(kw_only=True)
    class Late:
        first: int = 1
        second: int

    with pytest.raises(WireError, match="Late needs 2 fields, got 1"):
        codec_for(Late).from_tree([5])


def test_a_class_keeps_its_validators_converters_and_defaults() -> None:
    codec = codec_for(Checked)
    made = codec.from_tree([1, "  a "])
    assert (made.count, made.name, made.later) == (1, "a", 7)
    assert codec.to_tree(made) == [1, "a"]
    with pytest.raises(WireError, match="not a Checked: 'count' must be >= 0"):
        codec.from_tree([-1, "a"])
    with pytest.raises(WireError, match="not a Checked: a bad name"):
        codec.from_tree([1, "bad"])


def test_fields_may_have_any_name() -> None:
    names = [
        "t",
        "v",
        "cls",
        "new",
        "slowly",
        "_private",
        "a0",
        "h0",
        "match",
        "self_",
        "frame",
        "é",
    ]
    odd = attrs.make_class(
        "Odd", {name: attrs.field(type=list[int] if n % 2 else int) for n, name in enumerate(names)}
    )
    value = odd(*[[n] if n % 2 else n for n in range(len(names))])
    codec = codec_for(odd)
    assert codec.decode(codec.encode(value)) == value


def test_a_class_with_a_constructor_of_its_own_is_made_by_it() -> None:
    made: list[int] = []

    @attrs.define
    class Own:
        x: int

        def __init__(self, x: int) -> None:
            made.append(x)
            self.__attrs_init__(x)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

    assert codec_for(Own).from_tree([3]) == Own(3)
    assert made[0] == 3


# ---------------------------------------------------------------- unions
@pytest.mark.parametrize(
    ("tp", "value", "tree"),
    [
        (int | None, 3, 3),
        (int | str, "a", "a"),
        (Point | None, Point(1), [1, 0]),
        (Point | Node, Point(1), ["Point", 1, 0]),
        (Point | str, Point(1), ["Point", 1, 0]),
        (Point | list[str], ["Point", "x"], ["list[str]", ["Point", "x"]]),
        (pathlib.Path | str, pathlib.Path("a"), ["Path", "a"]),
        (pathlib.Path | str, "a", ["str", "a"]),
        (float | int, 1, 1),
        (float | int, 1.0, 1.0),
        (list[int] | set[int], {1}, ["set[int]", [1]]),
        (list[int] | tuple[int, ...], (1,), ["tuple[int, ...]", [1]]),
        (datetime.date | datetime.datetime, datetime.date(2026, 1, 2), ["date", "2026-01-02"]),
        (Word | str, Word.YES, ["Word", "YES"]),
        (list[int] | list[str], ["a"], ["list[str]", ["a"]]),
        (Literal["on"] | bool, "on", "on"),
        ((int | None) | (str | None), None, None),
        (object | None, [1], [1]),
        (Mapping[str, None] | dict[int, int], {"": None}, {"": None}),
        (Sequence[str] | tuple[int], ("a",), ["Sequence[str]", ["a"]]),
        (Sequence[str] | list[int], [1], ["list[int]", [1]]),
    ],
)
def test_members_of_a_union_that_look_alike_are_told_apart(
    tp: object, value: object, tree: object
) -> None:
    codec = TypeCodec(tp)
    assert codec.to_tree(value) == tree
    assert same(codec.from_tree(tree), value)


def test_two_members_of_one_name_are_refused() -> None:
    def make() -> type:
        @attrs.define
        class Twin:
            x: int

        return Twin

    with pytest.raises(TypeError, match="two members of this union have one name"):
        codec_for(make() | make())


# ---------------------------------------------------------------- types without a form
@pytest.mark.parametrize(
    "tp",
    [
        collections.deque[int],
        collections.OrderedDict[str, int],
        collections.defaultdict[str, int],
        bytearray,
        complex,
        type,
        typing.Callable[[], None],
        typing.NamedTuple("Pair", [("a", int)]),
        list[typing.Callable[[], None]],
        dict[str, complex],
        Point | complex,
        range,
    ],
)
def test_a_type_without_a_form_is_refused_when_its_codec_is_made(tp: object) -> None:
    with pytest.raises(TypeError, match=r"has no wire form; allowed are None, bool"):
        codec_for(tp)


def test_a_codec_is_made_once() -> None:
    assert codec_for(list[int]) is codec_for(list[int])
    assert (
        codec_for(typing.Annotated[int, [1]]).decode(pack(3)) == 3
    )  # cannot be hashed, works all the same
    assert codec_for(dict[str, int]).name == "dict[str, int]"
    assert codec_for(Point).name == "Point"


def test_an_annotation_that_cannot_be_found_says_so() -> None:
    @attrs.define
    class Lost:
        x: Nowhere  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    with pytest.raises(
        TypeError, match="Lost: its annotation mentions Nowhere, which cannot be found"
    ):
        codec_for(Lost)


def test_what_does_not_fit_deep_within_costs_no_more_than_what_does() -> None:
    """Each part is tried once: twice at each level would be 2**30 times here."""
    node = Node(name=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    tree: object = [3]
    for n in range(30):
        node = Node(name="n", left=node) if n % 2 else Node(name="n", children=[node])
        tree = ["n", tree] if n % 2 else ["n", None, [tree]]
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        with pytest.raises(EncodeError, match=r"\.name: expected str, got int"):
            codec_for(Node).encode(node)
        with pytest.raises(WireError, match=r"\.name: expected str, got int"):
            codec_for(Node).from_tree(tree)
    finally:
        sys.setprofile(None)
    assert calls < 2000


UserId = NewType("UserId", int)


class Hue(enum.Enum):
    """Of a Literal."""

    RED = 1


OPTIONAL: Any = typing.Optional
UNION: Any = typing.Union
LIST: Any = getattr(typing, "List")  # noqa: B009  # the old spelling is what is tested


@pytest.mark.parametrize(
    ("tp", "name"),
    [
        (None, "None"),
        (type(None), "None"),
        (int, "int"),
        (Any, "Any"),
        (OPTIONAL[int], "int | None"),
        (UNION[None, int], "int | None"),
        (UNION[str, int, None], "int | str | None"),
        (list[OPTIONAL[int]], "list[int | None]"),
        (LIST[int], "list[int]"),
        (dict[str, UNION[None, bytes, list[pathlib.Path]]], "dict[str, bytes | list[Path] | None]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Literal["a", 1, Hue.RED], "Literal['a', 1, Hue.RED]"),
        (Callable[[int, str], None], "Callable[[int, str], None]"),
        (Ref[OPTIONAL[int]], "Ref[int | None]"),
        (list[Annotated[int, object()]], "list[int]"),
        (Annotated[UNION[int, str], object()], "int | str"),
        (dict[str, UserId], "dict[str, int]"),
        ({}, "{}"),
    ],
)
def test_a_type_is_spelt_one_way_however_it_was_written(tp: object, name: str) -> None:
    assert type_name(tp) == name


def test_the_names_of_unions_on_the_wire_are_those_of_any_spelling() -> None:
    """A peer of another Python, or another import order, writes the same bytes."""
    written: Any = UNION[list[OPTIONAL[int]], set[UNION[str, int]]]
    frame = codec_for(written).encode({"a", 1} - {"a"})
    assert unpack_own(frame) == ["set[int | str]", [1]]
    assert codec_for(list[int | None] | set[int | str]).decode_foreign(frame) == {1}
    assert unpack_own(codec_for(written).encode([None])) == ["list[int | None]", [None]]


def test_what_means_nothing_on_the_wire_is_not_in_the_name_of_a_member() -> None:
    """The repr of a mark in an Annotated may be an address, which is another one in each process."""
    frame = codec_for(UNION[list[Annotated[int, object()]], list[str]]).encode([1])
    assert unpack_own(frame) == ["list[int]", [1]]
    assert unpack_own(codec_for(UNION[list[UserId], list[str]]).encode([1])) == ["list[int]", [1]]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="its Python has no `type` statement")
def test_an_alias_that_contains_itself_is_spelt_to_an_end() -> None:
    space: dict[str, Any] = {}
    exec("type Tree = list[Tree] | int", space)  # noqa: S102  # no syntax of Python 3.11
    assert type_name(space["Tree"]) == "int | list[Tree]"
