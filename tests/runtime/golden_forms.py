"""A value of every wire form, whose bytes stand in `golden/`.

    python -m tests.runtime.golden_forms

writes the bytes of values that are new here. It never changes bytes that are there: programs have
stored and sent them. `golden/index.json` is the same for people.
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import json
import pathlib
import typing
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs

from boyd.runtime import Entry, Ref, Replies, message
from boyd.runtime.codec import codec_for
from boyd.runtime.failure import Failure
from boyd.runtime.forms.form import type_name
from boyd.runtime.ledger.chain import GENESIS, link
from boyd.runtime.wire import WIRE_VERSION, unpack_own
from tests.runtime.typed import Colour, Flags, Word

__all__ = ["ENTRIES", "FORMS", "GOLDEN", "INDEX", "Golden", "index_of"]

GOLDEN: Final = Path(__file__).parent / "golden"
INDEX: Final = GOLDEN / "index.json"


@attrs.frozen
class Golden:
    """One value, and the type that both sides know it by."""

    name: str
    type: Any
    value: Any

    @property
    def path(self) -> Path:
        """Where its bytes are."""
        return GOLDEN / f"{self.name}.msgpack"


@attrs.frozen
class Point:
    """Two numbers."""

    x: int
    y: int = 0


@attrs.define
class Node:
    """Contains itself."""

    name: str
    left: Node | None = None
    children: tuple[Node, ...] = ()


@attrs.frozen
class Nothing:
    """Has no fields."""


@message("golden.order")
class Order(Replies[int]):
    """A message."""

    id: str
    amount: decimal.Decimal
    at: datetime.datetime
    colour: Colour = Colour.RED
    lines: list[Point] = attrs.field(factory=list[Point])
    reply_to: Ref[Any] | None = None
    _secret: bytes = b""


@message("golden.either")
class Either:
    """A message of unions: a message is told apart by its tag, a class by its name."""

    one: Order | Point | None
    other: list[int] | list[str]
    again: tuple[Either | str, ...] = ()


REF: Final[Ref[Any]] = Ref("system-1", "/bank/acc", 7, None)
FAILURE: Final = Failure(
    type="bank.NotEnough",
    message="only 3 are left",
    code="not_enough",
    fields={"left": 3, "wanted": [5, None]},
    notes=("while paying",),
)
ORDER: Final = Order(
    id="o-1",
    amount=decimal.Decimal("12.50"),
    at=datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    colour=Colour.BLUE,
    lines=[Point(1), Point(2, 3)],
    reply_to=REF,
    secret=b"\0\xff",  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  # they do not know that attrs strips it
)
PLAIN: Final = {"a": [1, -1, 0.5, None, True], "b": {"é": b"\0"}, "": []}
UserId = typing.NewType("UserId", int)

_NUMBERS: Final = {
    "zero": 0,
    "7-bit": 127,
    "8-bit": 128,
    "16-bit": 1 << 15,
    "32-bit": 1 << 31,
    "64-bit": (1 << 64) - 1,
    "minus-5-bit": -32,
    "minus-8-bit": -33,
    "minus-16-bit": -129,
    "minus-32-bit": -(1 << 31),
    "minus-64-bit": -(1 << 63),
}
_FLOATS: Final = {"half": 0.5, "minus-zero": -0.0, "tiny": 5e-324, "inf": float("inf")}
_UNION: Final = Point | Node | str | int | None


def _forms() -> Iterator[Golden]:
    yield Golden("none", type(None), None)
    yield from (Golden(f"bool-{str(one).lower()}", bool, one) for one in (True, False))
    yield from (Golden(f"int-{name}", int, number) for name, number in _NUMBERS.items())
    yield from (Golden(f"float-{name}", float, number) for name, number in _FLOATS.items())
    yield Golden("str-empty", str, "")
    yield Golden("str-utf8", str, "naïve ☃ 𝄞")
    yield Golden("str-8-bit", str, "x" * 40)
    yield Golden("str-16-bit", str, "y" * 300)
    yield Golden("bytes", bytes, bytes(range(5)))
    yield Golden("bytes-16-bit", bytes, b"z" * 300)
    yield Golden("newtype", UserId, UserId(5))
    yield Golden("annotated", Annotated[str, "a note"], "a")
    yield from _texts()
    yield from _containers()
    yield from _unions()
    yield Golden("object", object, PLAIN)
    yield Golden("class", Point, Point(1, 2))
    yield Golden("class-empty", Nothing, Nothing())
    node = Node("root", Node("left"), (Node("a"), Node("b", Node("c"))))
    yield Golden("class-recursive", Node, node)
    yield Golden("ref", Ref[Any], REF)
    yield Golden("failure", Failure, FAILURE)
    yield Golden("message", Order, ORDER)
    deep = Either(one=ORDER, other=["a"], again=(Either(one=Point(1), other=[1]), "text"))
    yield Golden("message-in-union", Either, deep)


def _texts() -> Iterator[Golden]:
    """What travels as text."""
    yield Golden("enum", Colour, Colour.BLUE)
    yield Golden("enum-of-text", Word, Word.NO)
    yield Golden("flag", Flags, Flags.B)
    yield Golden("flags", Flags, Flags.A | Flags.C)
    yield Golden("literal-text", Literal["a", 1, Colour.RED], "a")
    yield Golden("literal-number", Literal["a", 1, Colour.RED], 1)
    yield Golden("literal-enum", Literal["a", 1, Colour.RED], Colour.RED)
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    yield Golden("datetime", datetime.datetime, datetime.datetime(2026, 1, 2, 3, 4, 5, 6, zone))
    yield Golden("datetime-naive", datetime.datetime, datetime.datetime(2026, 1, 2))  # noqa: DTZ001
    yield Golden("date", datetime.date, datetime.date(2026, 1, 2))
    yield Golden("time", datetime.time, datetime.time(3, 4, 5))
    yield Golden("decimal", decimal.Decimal, decimal.Decimal("-1.50E+3"))
    yield Golden("uuid", uuid.UUID, uuid.UUID(int=(1 << 127) + 5))
    yield Golden("path", pathlib.Path, pathlib.Path("a/é.txt"))


def _containers() -> Iterator[Golden]:
    yield Golden("list-empty", list[int], [])
    yield Golden("list", list[int], [1, 2])
    yield Golden("list-16-bit", list[int], list(range(20)))
    yield Golden("list-of-classes", list[Point], [Point(1), Point(2, 3)])
    yield Golden("tuple", tuple[str, ...], ("a", "b"))
    yield Golden("tuple-fixed", tuple[int, str, Point], (1, "a", Point(2)))
    yield Golden("sequence", collections.abc.Sequence[float], (0.5,))
    yield Golden("set", set[str], {"b", "a", "c"})
    yield Golden("frozenset", frozenset[int], frozenset({3, 1, 2}))
    yield Golden("dict", dict[str, int], {"b": 2, "a": 1})
    yield Golden("dict-16-bit", dict[str, None], {f"k{n}": None for n in range(17)})
    yield Golden("dict-of-numbers", dict[int, str], {2: "b", 1: "a"})
    yield Golden("mapping", Mapping[str, list[Point]], {"a": [Point(1)]})


def _unions() -> Iterator[Golden]:
    yield Golden("optional-none", Point | None, None)
    yield Golden("optional-class", Point | None, Point(1))
    yield Golden("union-by-look", int | str, "a")
    yield Golden("union-class", _UNION, Point(1, 2))
    yield Golden("union-beside-class", _UNION, "a")
    yield Golden("union-none", _UNION, None)
    yield Golden("union-alike", list[int] | set[int], {1})
    yield Golden("union-alike-text", pathlib.Path | str, "a")
    yield Golden("union-message", Order | Point, ORDER)


FORMS: Final = tuple(_forms())


def _entries() -> Iterator[Entry]:
    bare = Either(one=None, other=[1])
    for seq, value in enumerate((ORDER, bare, ORDER), 1):
        made = Entry.of(value, id=f"entry-{seq}")
        yield attrs.evolve(made, seq=seq, at=1_767_323_045.5 + seq)


ENTRIES: Final = tuple(_entries())
"""A thread as a ledger stores it."""


def index_of(forms: Iterable[Golden], entries: Iterable[Entry]) -> Mapping[str, object]:
    """What `index.json` says of them."""
    shown: dict[str, object] = {}
    for one in forms:
        frame = codec_for(one.type).encode(one.value)
        tree = repr(unpack_own(frame))
        shown[one.name] = {"type": type_name(one.type), "tree": tree, "bytes": frame.hex()}
    return {"wire": WIRE_VERSION, "forms": shown, "entries": list(_shown(entries))}


def _shown(entries: Iterable[Entry]) -> Iterator[Mapping[str, object]]:
    before = GENESIS
    for one in entries:
        before = link(before, seq=one.seq, at=one.at, id=one.id, kind=one.kind, body=one.body)
        yield attrs.asdict(one) | {"body": one.body.hex(), "link": before.hex()}


def write() -> None:
    """The bytes of what is new here; what is there already stays."""
    GOLDEN.mkdir(exist_ok=True)
    for one in FORMS:
        frame = codec_for(one.type).encode(one.value)
        if not one.path.exists():
            one.path.write_bytes(frame)
        elif one.path.read_bytes() != frame:
            raise SystemExit(f"{one.path.name} holds other bytes: the wire format has changed")
    text = json.dumps(index_of(FORMS, ENTRIES), indent=1, ensure_ascii=False)
    INDEX.write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    write()
