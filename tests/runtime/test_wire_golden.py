"""The bytes of every wire form are what they always were, and no damage to them is more than an error."""

from __future__ import annotations

import json
import random
import re
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any, Final

import attrs
import pytest

from boyd.runtime import Entry, WireError
from boyd.runtime.codec import TypeCodec, codec_for
from boyd.runtime.failure import Failure, failure_of, to_exception
from boyd.runtime.forms.scalars import PRIMITIVES, TEXT_FORMS
from boyd.runtime.messages import decode_named, encode_named, registered
from boyd.runtime.wire import DEFAULT_LIMITS, WIRE_VERSION, unpack_foreign
from tests.house.sources import ROOT
from tests.runtime.golden_forms import ENTRIES, FORMS, GOLDEN, INDEX, Golden, Point, index_of
from tests.runtime.typed import same

SMALL: Final = 64
"""Of a frame up to this size every byte becomes every other."""
SAMPLES: Final = 8
"""How many others a byte of a larger frame becomes."""
# First bytes that announce something large: text, bytes, extensions, arrays, maps.
HEADERS: Final = bytes.fromhex("bf 9f 8f c4c5c6 c7c8c9 d8 d9dadb dcdd dedf")
CPU_SECONDS: Final = 1.0
PEAK: Final = 1 << 20

each_form: Final = pytest.mark.parametrize("golden", FORMS, ids=lambda one: one.name)


def substitutions(frame: bytes) -> Iterator[bytes]:
    """The frame with one byte replaced, at each place."""
    chance = random.Random(frame.hex())
    every = range(256)
    for at in range(len(frame)):
        for byte in every if len(frame) <= SMALL else chance.sample(every, SAMPLES):
            yield frame[:at] + bytes([byte]) + frame[at + 1 :]


def read(codec: TypeCodec, frame: bytes) -> list[Any]:
    """The value of a stranger's frame, alone in a list; an empty list where that is refused."""
    try:
        return [codec.decode_foreign(frame)]
    except WireError:
        return []


# ---------------------------------------------------------------- the bytes
@each_form
def test_d18_a_value_has_the_bytes_that_it_always_had(golden: Golden) -> None:
    """Both ways, for our own bytes and for a stranger's."""
    frame = golden.path.read_bytes()
    codec = codec_for(golden.type)
    assert codec.encode(golden.value) == frame, "the wire format has changed: see docs/wire.md"
    assert same(codec.decode(frame), golden.value)
    assert same(codec.decode_foreign(frame), golden.value)


def test_the_index_and_the_folder_hold_the_same() -> None:
    """`python -m tests.runtime.golden_forms` adds what is new."""
    index, now = json.loads(INDEX.read_text("utf-8")), index_of(FORMS, ENTRIES)
    assert index["wire"] == now["wire"]
    assert index["entries"] == now["entries"]
    kept = {name: form["bytes"] for name, form in index["forms"].items()}
    assert kept == {one.name: one.path.read_bytes().hex() for one in FORMS}
    assert sorted(kept) == sorted(path.stem for path in GOLDEN.glob("*.msgpack"))


def test_every_type_that_has_a_form_has_a_golden_value() -> None:
    """A form that is added gets one."""
    types = {one.type for one in FORMS}
    assert set(TEXT_FORMS) <= types
    assert set(PRIMITIVES) - {None, Any} <= types


def test_d18_a_stored_entry_has_the_bytes_and_the_link_that_it_always_had() -> None:
    """As it is read from the ledger of a program that is long gone."""
    stored = json.loads(INDEX.read_text("utf-8"))["entries"]
    for entry, one in zip(ENTRIES, stored, strict=True):
        del one["link"]
        again = Entry(**one | {"body": bytes.fromhex(one["body"])})
        assert again == entry
        message = again.message()
        assert message is not None
        assert encode_named(message) == (entry.kind, entry.body)


def test_d18_a_message_in_a_ledger_is_its_tag_and_the_array_of_its_fields() -> None:
    """The same array as inside another message."""
    [golden] = (one for one in FORMS if one.name == "message")
    assert encode_named(golden.value) == ("golden.order", golden.path.read_bytes())
    assert registered("golden.order") is type(golden.value)


def test_d2_a_failure_comes_back_as_the_error_that_it_was() -> None:
    """Its class, its text, its fields and its notes."""
    error = WireError("no")
    error.add_note("on Tuesday")
    codec = codec_for(type(failure_of(error)))
    again = to_exception(codec.decode_foreign(codec.encode(failure_of(error))))
    assert (type(again), str(again), again.__notes__) == (WireError, "no", ["on Tuesday"])


def test_the_specification_says_what_is_so() -> None:
    """The numbers and the examples of docs/wire.md."""
    text = " ".join((ROOT / "docs" / "wire.md").read_text("utf-8").split())
    limits = DEFAULT_LIMITS
    assert limits.frame == 1 << 20
    assert not limits.finite
    said = f"1 MiB a frame, {limits.depth} containers within each other, {limits.items:,} elements"
    assert said in text
    assert f"`WIRE_VERSION` is {WIRE_VERSION}," in text
    assert codec_for(list[int] | set[int]).to_tree([1]) == ["list[int]", [1]]
    assert '`["list[int]", [1]]`' in text
    assert codec_for(Point | str).to_tree(Point(1, 2)) == ["Point", 1, 2]
    assert '`["Point", 1, 2]`' in text
    assert [field.name for field in attrs.fields(Failure)] == re.findall(
        r"\w+", text.partition("an ask is `[")[2].partition("]")[0]
    )


@pytest.mark.parametrize(
    ("frame", "value"),
    [("ca3f000000", 0.5), ("cd0001", 1), ("d30000000000000001", 1), ("dc000101", [1])],
)
def test_any_form_of_a_number_or_a_length_is_read(frame: str, value: object) -> None:
    """Other writers need not choose the shortest."""
    assert unpack_foreign(bytes.fromhex(frame)) == value


# ---------------------------------------------------------------- damage
@each_form
def test_every_truncation_is_a_wire_error(golden: Golden) -> None:
    """No part of a frame is a frame."""
    frame, codec = golden.path.read_bytes(), codec_for(golden.type)
    assert [end for end in range(len(frame)) if read(codec, frame[:end])] == []


@each_form
def test_every_substitution_is_a_wire_error_or_a_value_that_can_be_sent_again(
    golden: Golden,
) -> None:
    """Within a second at the very worst."""
    codec = codec_for(golden.type)
    for frame in substitutions(golden.path.read_bytes()):
        began = time.process_time()
        for value in read(codec, frame):
            codec.decode_foreign(codec.encode(value))
        assert time.process_time() - began < CPU_SECONDS


@pytest.mark.slow
def test_what_damage_announces_is_not_made_room_for() -> None:
    """A header of a large array that is not there costs no more than the frame."""
    frames = [
        (codec_for(one.type), frame[:at] + bytes([byte]) + frame[at + 1 :])
        for one in FORMS
        for frame in [one.path.read_bytes()]
        for at in range(min(len(frame), SMALL))
        for byte in HEADERS
    ]

    def peak(codec: TypeCodec, frame: bytes) -> int:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        read(codec, frame)
        return tracemalloc.get_traced_memory()[1] - before

    tracemalloc.start()
    try:
        high = [one for one in frames if peak(*one) >= PEAK]
        # What a thread of an earlier test allocates meanwhile is not repeated; what a frame makes is.
        assert [frame for codec, frame in high if peak(codec, frame) >= PEAK] == []
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: f"{one.seq}-{one.kind}")
def test_a_damaged_entry_is_a_wire_error_or_a_message_of_its_kind(entry: Entry) -> None:
    """And one of an unknown kind is not looked at."""
    kind = registered(entry.kind)
    assert kind is not None
    for frame in substitutions(entry.body):
        try:
            found = attrs.evolve(entry, body=frame).message()
        except WireError:
            continue
        assert type(found) is kind
        assert decode_named("golden.unheard-of", frame) is None
