"""A lock of the wire is readable, stable, and finds every change that old bytes would not survive."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Union

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import boyd.actors
import boyd.runtime
from boyd.runtime import Ref, Replies, WireError, message
from boyd.runtime.messages import decode_named, encode_named
from boyd.runtime.testing import check_wire_lock
from boyd.runtime.wire_layout import Layout, Part, layouts_of, tagged_messages
from boyd.runtime.wire_lock import (
    WireLockUnreadable,
    breaking_changes,
    format_lock,
    parse_lock,
)
from tests.runtime.typed import TYPES, Colour, Flags, Typed

OURS = Path(__file__).parent / "boyd-wire.lock"
UPDATE = "boyd wire lock boyd.runtime boyd.actors --file tests/runtime/boyd-wire.lock"
_numbers = itertools.count()


Number = NewType("Number", int)


@attrs.define
class Leaf:
    """A class that is no message."""

    size: int
    kind: Literal["b", "a"] = "a"
    tree: Leaf | None = None


@message("lock.note")
class Note:
    """Is contained in another message."""

    text: str
    again: Note | None = None


@message("lock.everything")
class Everything(Replies[list[Leaf]]):
    """A bit of each kind of type."""

    notes: list[Note]
    either: Union[str, int, None]  # noqa: UP007  # in another order than below
    colour: Annotated[Colour, "a note"]
    who: Ref[Any]
    many: dict[str, tuple[int, ...]]
    flags: Flags = Flags.A
    anything: Any = None
    some: tuple = ()  # type: ignore[type-arg]  # pyright: ignore[reportMissingTypeArgument]
    bare: list = attrs.field(factory=list)  # type: ignore[type-arg]  # pyright: ignore[reportMissingTypeArgument, reportUnknownVariableType]
    word: Literal["it's", Colour.RED] = "it's"
    _hidden: int = 0


TEXT = """\
# How messages look on the wire: keep this beside their source. `boyd wire lock` updates it,
# `boyd.runtime.testing.check_wire_lock` compares. A message is the array of its fields, in order.

wire 1

message "lock.everything" -> list[Leaf]
    notes: list["lock.note"]
    either: int | str | None
    colour: Colour
    who: Ref
    many: dict[str, tuple[int, ...]]
    flags: Flags = default
    anything: object = default
    some: tuple[object, ...] = default
    bare: list[object] = default
    word: Literal["it's", Colour.RED] = default
    _hidden: int = default

message "lock.note"
    text: str
    again: "lock.note" | None = default

class Leaf
    size: int
    kind: Literal['a', 'b'] = default
    tree: Leaf | None = default

enum Colour
    RED
    BLUE

enum Flags
    A: 1
    B: 2
    C: 4
"""


def made(tag: str, fields: Sequence[tuple[str, Any, bool]]) -> type:
    """A message of these fields: name, type, and whether it has a default."""
    body: dict[str, Any] = {"__annotations__": {name: tp for name, tp, _ in fields}}
    body |= {name: attrs.field(default=None) for name, _, default in fields if default}
    cls: type = message(tag)(type("Made", (), body))
    return cls


# ---------------------------------------------------------------- the text
def test_d39_the_lock_of_a_message_names_fields_types_defaults_and_reply() -> None:
    """What it is made of stands below it."""
    assert format_lock(layouts_of([Everything])) == TEXT


def test_a_lock_is_read_back_and_written_the_same() -> None:
    """So an update without a change leaves no diff."""
    layouts = layouts_of([Note, Everything])
    assert parse_lock(TEXT) == layouts == layouts_of([Everything, Note])
    assert format_lock(parse_lock(TEXT)) == TEXT


@given(st.lists(TYPES, max_size=3))
def test_the_lock_of_any_message_is_read_back(typed: list[Typed]) -> None:
    """Whatever its fields are."""
    cls = made(
        f'lock.any-{next(_numbers)} -> "é\\',
        [(f"f{n}", tp, bool(n % 2)) for n, (tp, _) in enumerate(typed)],
    )
    layouts = layouts_of([cls])
    assert parse_lock(format_lock(layouts)) == layouts
    assert not breaking_changes(layouts, layouts)


def test_two_classes_of_one_name_have_a_layout_each() -> None:
    """And each is compared with the one that it resembles."""

    def leaf(fields: dict[str, type]) -> type:
        return attrs.make_class("Twin", {name: attrs.field(type=tp) for name, tp in fields.items()})

    one, other, wrong = leaf({"a": int}), leaf({"b": str}), leaf({"b": bytes})
    both = layouts_of([made("lock.twins", [("x", one, False), ("y", other, False)])])
    assert [layout.name for layout in both] == ["lock.twins", "Twin", "Twin"]
    assert not breaking_changes(both, both)
    after = layouts_of([made("lock.twins", [("x", one, False), ("y", wrong, False)])])
    assert breaking_changes(both, after) == ["class Twin: field b was str, is bytes"]


def test_a_member_of_a_union_has_its_name_on_the_wire_beside_it() -> None:
    """Where that is not its text: a rename of the type would change it."""
    alike: Any = list[Note] | set[Number]
    fields = [("a", alike, False), ("b", Leaf | Note | None, False), ("c", alike | None, False)]
    cls = made("lock.union", fields)
    [layout] = [one for one in layouts_of([cls]) if one.name == "lock.union"]
    assert [part.type for part in layout.parts] == [
        'list["lock.note"] as "list[Note]" | set[int]',
        '"lock.note" | Leaf | None',
        'list["lock.note"] as "list[Note]" | set[int] | None',
    ]


def test_a_class_inside_a_function_is_found_as_its_codec_finds_it() -> None:
    """By the names around the definition."""

    @attrs.define
    class Inner:
        x: Far | None = None

    @attrs.define
    class Far:
        y: int

    Inner.__annotations__["x"] = "Far | None"

    @message("lock.local")
    class Local:
        inner: list[Inner]

    names = [one.name for one in layouts_of([Local])]
    assert names == ["lock.local", "Far", "Inner"]
    assert Far(1).y == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="aliases that contain themselves are newer")
def test_an_alias_that_contains_itself_is_written_by_its_name() -> None:
    """It has no end otherwise."""
    names: dict[str, Any] = {}
    exec("type Json = None | list[Json] | dict[str, Json]", names)  # noqa: S102  # newer syntax
    [layout] = layouts_of([made("lock.json", [("json", names["Json"], False)])])
    assert layout.parts[0].type == "dict[str, Json] | list[Json] | None"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the lock begins with 'nothing'; this Boyd reads 'wire 1'"),
        ("wire 2\n", "the lock begins with 'wire 2'"),
        ("wire 1\nmessage bad tag\n", "line 2 of the lock is no part of one: 'message bad tag'"),
        ("wire 1\n\n    x: int\n", "line 3 of the lock is no part of one"),
        ('wire 1\nmessage "\\x"\n', "line 2 of the lock has no readable tag"),
        ("<<<<<<< HEAD\nwire 1\n", "the lock begins with '<<<<<<< HEAD'"),
        ('wire 1\nmessage "a"\n=======\n', "line 3 of the lock is no part of one: '======='"),
    ],
)
def test_what_is_no_lock_is_refused_with_its_line(text: str, said: str) -> None:
    """A conflict of a merge, for one."""
    with pytest.raises(WireLockUnreadable, match=said):
        parse_lock(text)


@given(st.text(max_size=60))
def test_any_text_is_a_lock_or_unreadable(text: str) -> None:
    """And raises nothing else."""
    for whole in (text, f"wire 1\n{text}", f'wire 1\nmessage "a"\n    {text}'):
        try:
            layouts = parse_lock(whole)
        except WireLockUnreadable:
            continue
        assert list(parse_lock(format_lock(layouts))) == list(layouts)


# ---------------------------------------------------------------- the decision
A, B, C = Part("a", "int"), Part("b", "str"), Part("c", "bool", default=True)


def of(*parts: Part, reply: str = "") -> list[Layout]:
    """The layouts of one message."""
    return [Layout("message", "t", parts, reply)]


@pytest.mark.parametrize(
    ("new", "changes"),
    [
        (of(A, B), ["field c is gone"]),
        (of(B, C), ["field a is gone"]),
        (of(B, A, C), ["the order of its fields was a, b, c; is b, a, c"]),
        (of(A, Part("d", "str"), C), ["field b is now called d"]),
        (of(A, Part("d", "bytes"), C), ["field b is gone", "field d is new and not at the end"]),
        (of(A, Part("b", "bytes"), C), ["field b was str, is bytes"]),
        (of(A, Part("d", "int", default=True), B, C), ["field d is new and not at the end"]),
        (of(A, B, C, Part("d", "int")), ["field d is new and has no default"]),
        (of(A, B, Part("c", "bool")), ["field c has no default any more"]),
        (of(A, B, C, reply="str"), ["its reply was int, is str"]),
        (of(A, B, C), ["its reply was int, is not there"]),
    ],
    ids=lambda value: str(value[0])[:40] if isinstance(value[0], str) else "",
)
def test_an_incompatible_change_is_named(new: list[Layout], changes: list[str]) -> None:
    """Each kind of it."""
    reply = "int" if "reply" in changes[0] else ""
    found = breaking_changes(of(A, B, C, reply=reply), new)
    assert found == [f'message "t": {change}' for change in changes]


@pytest.mark.parametrize(
    "new",
    [
        of(A, B, C),
        of(A, B, C, Part("d", "int", default=True), Part("e", "int", default=True)),
        of(A, attrs.evolve(B, default=True), C),
        of(A, B, C, reply="int"),
        [*of(A, B, C), Layout("message", "u", (A,)), Layout("class", "t", ())],
    ],
    ids=["none", "appended", "a default more", "a first reply", "new ones"],
)
def test_a_compatible_change_passes(new: list[Layout]) -> None:
    """Old bytes are read by the new program, and the reverse."""
    assert breaking_changes(of(A, B, C), new) == []


def test_a_tag_that_is_gone_and_a_member_that_is_gone_are_named() -> None:
    """A member more is fine, in any order; a number of flags may not change."""
    old = [
        *of(A),
        Layout("enum", "E", (Part("X"), Part("Y"))),
        Layout("enum", "F", (Part("P", "1"),)),
    ]
    new = [
        Layout("enum", "E", (Part("Z"), Part("Y"))),
        Layout("enum", "F", (Part("P", "2"), Part("Q", "1"))),
    ]
    assert breaking_changes(old, new) == [
        'message "t" is gone, or its module was not imported',
        "enum E: member X is gone",
        "enum F: member P was 1, is 2",
    ]
    assert not breaking_changes(new[:1], [Layout("enum", "E", (Part("Y"), Part("W"), Part("Z")))])


Fields = list[tuple[str, Any, bool]]
TYPED = st.sampled_from([int, str, list[int]])
FIELD = st.tuples(st.sampled_from("abcdef"), TYPED, st.booleans())
VALUES: dict[Any, Any] = {int: 7, str: "x", list[int]: [7]}


def by_name(fields: Fields) -> Fields:
    """Without the second of one name."""
    return list({name: (name, tp, default) for name, tp, default in reversed(fields)}.values())[
        ::-1
    ]


@st.composite
def edits(draw: st.DrawFn) -> tuple[Fields, Fields]:
    """A message, and what up to two edits made of it."""
    old = by_name(draw(st.lists(FIELD, max_size=4)))
    new = list(old)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(new)))
        match draw(st.sampled_from(["put", "append", "take", "change", "swap"])):
            case "put":
                new.insert(at, draw(FIELD))
            case "append":
                name, tp, _ = draw(FIELD)
                new.append((name, tp, True))
            case "take":
                del new[at : at + 1]
            case "change":
                new[at : at + 1] = [(name, draw(TYPED), put) for name, _, put in new[at : at + 1]]
            case _:
                new[at : at + 2] = new[at : at + 2][::-1]
    return old, by_name(new)


def changes_of(before: type, after: type) -> Sequence[str]:
    """As if both were one message at two times."""
    old, new = (
        [attrs.evolve(one, name="t") for one in layouts_of([cls])] for cls in (before, after)
    )
    return breaking_changes(old, new)


@given(edits())
def test_what_passes_reads_old_bytes_and_is_read_by_old_programs(
    edit: tuple[Fields, Fields],
) -> None:
    """The rule, against the codec itself: every field that both have arrives as it was."""
    before, after = (
        made(tag, fields) for tag, fields in zip(("lock.old", "lock.new"), edit, strict=True)
    )
    changes = changes_of(before, after)
    for reader, (written, read) in (("lock.new", edit), ("lock.old", edit[::-1])):
        writer: Any = before if reader == "lock.new" else after
        _, body = encode_named(writer(**{name: VALUES[tp] for name, tp, _ in written}))
        try:
            got = decode_named(reader, body)
        except WireError:
            assert changes
            continue
        names = {name for name, _, _ in written}
        wanted = [VALUES[tp] if name in names else None for name, tp, _ in read]
        assert changes or [getattr(got, name) for name, _, _ in read] == wanted


# ---------------------------------------------------------------- the check
def test_d39_the_check_is_one_line_and_passes_where_nothing_changed(tmp_path: Path) -> None:
    """Also where a message is new."""
    lock = tmp_path / "boyd-wire.lock"
    lock.write_text(format_lock(layouts_of([Note])), "utf-8")
    text = lock.read_text("utf-8")
    check_wire_lock(lock)
    check_wire_lock(str(lock))
    assert lock.read_text("utf-8") == text


def test_the_check_says_what_broke_and_what_to_do(tmp_path: Path) -> None:
    """Each change on a line."""
    lock = tmp_path / "boyd-wire.lock"
    text = TEXT.replace("    text: str\n", "    text: int\n").replace(
        "    BLUE", "    BLUE\n    GREEN"
    )
    lock.write_text(f'{text}\nmessage "lock.away"\n', "utf-8")
    with pytest.raises(AssertionError) as caught:
        check_wire_lock(lock)
    said = str(caught.value).splitlines()
    assert said[0].startswith(f"{lock}: what was stored or sent before could not be read any more")
    assert said[1:-1] == [
        '  message "lock.note": field text was int, is str',
        "  enum Colour: member GREEN is gone",
        '  message "lock.away" is gone, or its module was not imported',
    ]
    assert "Append fields with a default instead" in said[-1]


# ---------------------------------------------------------------- our own
def our_messages() -> list[type]:
    """All of boyd.runtime and boyd.actors."""
    for package in (boyd.runtime, boyd.actors):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    names = tuple(f"{package.__name__}." for package in (boyd.runtime, boyd.actors))
    return [cls for cls in tagged_messages() if cls.__module__.startswith(names)]


def test_d39_what_boyd_stored_and_sent_can_be_read() -> None:
    """Our own messages keep to our own lock."""
    assert our_messages()
    check_wire_lock(OURS)


def test_our_lock_knows_every_message_and_field_that_there_is() -> None:
    """What it does not know it does not guard."""
    now = format_lock(layouts_of(our_messages()))
    assert now == OURS.read_text("utf-8"), f"update it: {UPDATE}"
