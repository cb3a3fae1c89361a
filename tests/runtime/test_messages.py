"""`@message`: the registry, frames in this process, and bodies in a ledger."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any, cast

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.runtime import EncodeError, Entry, Ref, Replies, WireError, message
from boyd.runtime.messages import decode_named, encode_named, message_codec, registered
from boyd.runtime.supervision import SupervisorDecided
from boyd.runtime.wire import pack, unpack_own
from tests.runtime.typed import PLAIN, TYPES, Colour, Typed, same

_numbers = itertools.count()


@message("t.mixed")
class Mixed:
    """A bit of everything."""

    id: str
    count: int
    ratio: float
    parts: tuple[str, ...] = ()
    labels: dict[str, str] = attrs.field(factory=dict[str, str])
    colour: Colour = Colour.RED
    note: str | None = None
    extra: object = None
    _secret: int = 0


@message
class Untagged:
    """Never stored."""

    x: int


MIXED = Mixed(
    id="m-1",
    count=-5,
    ratio=0.5,
    parts=("a", "b"),
    labels={"origin": "web"},
    note="n",
    extra=[1, {"k": b"v"}],
    secret=9,  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  # they do not know that attrs strips it
)


def changed(value: Mixed, **changes: object) -> Mixed:
    """`attrs.evolve`; mypy does not see that messages are attrs classes."""
    evolved: Mixed = attrs.evolve(cast("Any", value), **changes)
    return evolved


GOLDEN = bytes.fromhex(
    "99a36d2d31fbcb3fe000000000000092a161a16281a66f726967696ea3776562a3524544a16e920181a16bc4017609"
)
"""`MIXED` as the first release wrote it into a ledger."""


# ---------------------------------------------------------------- frames
@given(st.lists(TYPES, max_size=5), st.data())
def test_a_message_of_any_fields_is_read_back_in_this_process_and_from_a_ledger(
    typed: list[Typed], data: st.DataObject
) -> None:
    names = [f"{'_' if n == 1 else ''}f{n}" for n in range(len(typed))]
    body = {"__annotations__": {name: tp for name, (tp, _) in zip(names, typed, strict=True)}}
    cls: Any = message(f"t.made-{next(_numbers)}")(type("Made", (), body))
    value = cls(
        **{
            name.lstrip("_"): data.draw(values)
            for name, (_, values) in zip(names, typed, strict=True)
        }
    )
    codec = message_codec(cls)
    assert same(codec.decode(codec.encode(value)), value)
    kind, stored = encode_named(value)
    assert same(decode_named(kind, stored), value)


def test_a_frame_is_the_index_of_its_type_and_its_fields_in_order() -> None:
    codec = message_codec(Mixed)
    tree = unpack_own(codec.encode(MIXED))
    assert tree == [
        codec.index,
        "m-1",
        -5,
        0.5,
        ["a", "b"],
        {"origin": "web"},
        "RED",
        "n",
        [1, {"k": b"v"}],
        9,
    ]
    assert codec.decode(codec.encode(MIXED)) == MIXED


def test_what_a_frame_holds_is_the_receivers_own() -> None:
    codec = message_codec(Mixed)
    one, two = codec.decode(frame := codec.encode(MIXED)), codec.decode(frame)
    one.labels["x"] = "y"
    assert two.labels == MIXED.labels == {"origin": "web"}


def test_conversions_happen_at_the_sender() -> None:
    codec = message_codec(Mixed)
    sent = Mixed(id="x", count=True + 1, ratio=3, parts=["a"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    got = codec.decode(codec.encode(sent))
    assert (got.ratio, got.parts) == (3.0, ("a",))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"count": "5"}, r"Mixed\.count: expected int, got str"),
        ({"count": True}, r"Mixed\.count: expected int, got bool"),
        ({"parts": ("a", 1)}, r"Mixed\.parts\[1\]: expected str, got int"),
        ({"labels": {"a": 1}}, r"Mixed\.labels\['a'\]: expected str, got int"),
        ({"note": 3}, r"Mixed\.note: expected str, got int"),
        ({"secret": None}, r"Mixed\._secret: expected int, got NoneType"),
        (
            {"extra": {"key": print}},
            r"Mixed\.extra\['key'\]: builtin_function_or_method has no wire form",
        ),
        ({"count": 2**64}, "Mixed: an integer beyond 64 bits has no wire form; send it as text"),
        ({"id": "\ud800"}, "Mixed: text with a lone surrogate has no wire form"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(change: dict[str, object], text: str) -> None:
    value = changed(MIXED, **change)
    with pytest.raises(EncodeError, match=text):
        message_codec(Mixed).encode(value)
    with pytest.raises(EncodeError, match=text):
        encode_named(value)


def test_a_class_that_is_no_message_cannot_be_sent() -> None:
    @attrs.define
    class Plain:
        x: int

    class Derived(Mixed):
        pass

    for cls in (Plain, Derived, int):
        with pytest.raises(EncodeError, match="is not a message: decorate it with @message"):
            message_codec(cls)


def test_a_message_field_belongs_to_the_constructor() -> None:
    @message
    class Hidden:
        x: int = attrs.field(init=False, default=1)

    with pytest.raises(TypeError, match=r"Hidden\.x: a message field cannot be init=False"):
        message_codec(Hidden)


def test_a_message_may_have_no_fields_and_any_field_name() -> None:
    @message
    class Empty:
        pass

    assert message_codec(Empty).decode(message_codec(Empty).encode(Empty())) == Empty()
    names = [
        "m",
        "pack",
        "slowly",
        "frame",
        "unpack",
        "cls",
        "new",
        "a0",
        "h1",
        "match",
        "Mismatch",
    ]
    body = {"__annotations__": dict.fromkeys(names, int)}
    odd: Any = message(type("Odd", (), body))
    value = odd(**{name: n for n, name in enumerate(names)})
    assert message_codec(odd).decode(message_codec(odd).encode(value)) == value


def test_a_message_keeps_its_validators_and_converters() -> None:
    @message
    class Careful:
        count: int = attrs.field(validator=attrs.validators.ge(0))
        name: str = attrs.field(default="", converter=str.strip)

    codec = message_codec(Careful)
    assert codec.decode(codec.encode(Careful(count=1, name=" a "))) == Careful(count=1, name="a")
    with pytest.raises(WireError, match="not a Careful"):
        codec.decode(pack([0, -1, "a"]))


def test_a_message_may_extend_another_and_inherits_its_reply() -> None:
    @message
    class Base(Replies[int]):
        a: int

    @message
    class Longer(Base):
        b: str = ""

    codec = message_codec(Longer)
    assert unpack_own(codec.encode(Longer(a=1, b="x")))[1:] == [1, "x"]
    assert codec.reply is not None
    assert codec.reply.decode(codec.reply.encode(3)) == 3
    assert message_codec(Untagged).reply is None


# ---------------------------------------------------------------- within functions
def test_a_message_within_a_function_may_mention_what_is_defined_there() -> None:
    @attrs.define
    class Inner:
        other: Far | None = None  # the class is defined below
        number: int = 0

    @attrs.define
    class Far:
        x: int

    Inner.__annotations__["other"] = "Far | None"

    @message
    class Note:
        inner: Inner
        more: dict[str, list[Inner]]
        again: Note | None = None

    note = Note(
        inner=Inner(number=1), more={"a": [Inner(number=2)]}, again=Note(inner=Inner(), more={})
    )
    codec = message_codec(Note)
    assert codec.decode(codec.encode(note)) == note
    assert Far(1).x == 1


def test_a_definition_within_a_function_keeps_nothing_alive_but_what_it_mentions() -> None:
    class Big:
        pass

    def define() -> weakref.ref[Big]:
        big = Big()
        kept = weakref.ref(big)

        @message
        class Small:
            x: int

        message_codec(Small)
        return kept

    kept = define()
    gc.collect()
    assert kept() is None


def test_a_name_that_cannot_be_found_says_so() -> None:
    @message
    class Lost:
        x: Nowhere  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    with pytest.raises(
        TypeError, match="Lost: its annotation mentions Nowhere, which cannot be found"
    ):
        message_codec(Lost)


# ---------------------------------------------------------------- tags and ledgers
def test_d39_a_tag_belongs_to_one_class() -> None:
    assert registered("t.mixed") is Mixed
    with pytest.raises(TypeError, match=r"message tag 't\.mixed' is taken by .*Mixed"):

        @message("t.mixed")
        class Other:
            pass

    for tag in ("", "a\nb"):
        with pytest.raises(TypeError, match="is no tag for a message"):
            message(tag)(type("Nameless", (), {}))


def test_a_definition_that_runs_again_takes_its_tag_over() -> None:
    def define() -> type:
        @message("t.again")
        class Again:
            x: int

        return Again

    first, second = define(), define()
    assert first is not second
    assert registered("t.again") is second


def test_d39_a_ledger_refuses_messages_without_a_tag() -> None:
    with pytest.raises(
        EncodeError,
        match=r'Untagged has no tag, so it cannot be stored: write @message\("a.name"\)',
    ):
        Entry.of(Untagged(x=1), id="1")
    assert registered("tests.runtime.test_messages:Untagged") is None
    assert decode_named("tests.runtime.test_messages:Untagged", pack([1])) is None


def test_an_unknown_kind_stays_opaque() -> None:
    entry = Entry(kind="t.from-the-future", body=b"\xc1 anything", id="1")
    assert entry.message() is None


def test_d18_the_golden_body_is_read_and_written() -> None:
    assert encode_named(MIXED) == ("t.mixed", GOLDEN)
    assert decode_named("t.mixed", GOLDEN) == MIXED


def test_every_truncation_of_the_golden_body_is_a_wire_error() -> None:
    for end in range(len(GOLDEN)):
        with pytest.raises(WireError):
            decode_named("t.mixed", GOLDEN[:end])


def test_every_substitution_in_the_golden_body_is_a_message_or_a_wire_error() -> None:
    read = 0
    for at in range(len(GOLDEN)):
        for byte in range(256):
            body = GOLDEN[:at] + bytes([byte]) + GOLDEN[at + 1 :]
            try:
                value = decode_named("t.mixed", body)
            except WireError:
                continue
            assert isinstance(value, Mixed)
            assert encode_named(value)[0] == "t.mixed"
            read += 1
    assert read > len(GOLDEN)


def test_a_body_of_earlier_and_later_versions_is_read() -> None:
    assert decode_named("t.mixed", pack(["a", 1, 2.0])) == Mixed(id="a", count=1, ratio=2.0)
    tree = unpack_own(GOLDEN)
    assert decode_named("t.mixed", pack([*tree, "a field of tomorrow"])) == MIXED
    with pytest.raises(WireError, match="Mixed needs 3 fields, got 2"):
        decode_named("t.mixed", pack(["a", 1]))


@given(PLAIN)
def test_any_body_is_a_message_or_a_wire_error(tree: object) -> None:
    try:
        assert isinstance(decode_named("t.mixed", pack(tree)), Mixed)
    except WireError:
        return


@pytest.mark.parametrize("extra", [list(range(5000)), {str(n): n for n in range(5000)}])
def test_what_could_not_be_read_back_is_not_stored(extra: object) -> None:
    with pytest.raises(EncodeError, match="more than 4096 elements, and could not be read back"):
        encode_named(changed(MIXED, extra=extra))
    codec = message_codec(Mixed)
    assert (
        codec.decode(codec.encode(changed(MIXED, extra=extra))).extra == extra
    )  # in process it may


def test_what_is_too_deep_to_be_read_back_is_not_stored() -> None:
    for depth, fits in ((31, True), (32, False)):
        tree: object = 1
        for _ in range(depth):
            tree = [tree]
        value = changed(MIXED, extra=tree)
        if fits:
            assert decode_named(*encode_named(value)) == value
        else:
            with pytest.raises(
                EncodeError, match="nested deeper than 32, and could not be read back"
            ):
                encode_named(value)


def test_not_a_number_is_legal_in_a_ledger() -> None:
    for ratio in (float("nan"), float("inf")):
        value = changed(MIXED, ratio=ratio)
        again = decode_named(*encode_named(value))
        assert isinstance(again, Mixed)
        assert repr(again.ratio) == repr(ratio)


def test_the_runtimes_own_messages_have_tags() -> None:
    assert registered("boyd.supervisor_decided") is SupervisorDecided
    assert message_codec(SupervisorDecided).tagged
    assert Ref is not None
