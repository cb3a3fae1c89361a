"""A message grows over many releases, and every release reads what every other wrote, or damage to it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from boyd.runtime import WireError, message
from boyd.runtime.codec import codec_for
from boyd.runtime.messages import decode_named, encode_named, message_codec
from boyd.runtime.wire_layout import Layout, layouts_of
from boyd.runtime.wire_lock import breaking_changes, format_lock, parse_lock
from tests.runtime.typed import TYPES, Typed, same

_numbers = itertools.count()


@attrs.frozen
class Field:
    """One field; `default` is None where it has none, else its value alone in a list."""

    typed: Typed
    default: list[Any] | None = None


@attrs.frozen
class Release:
    """The message as one release of a program defines it."""

    fields: tuple[Field, ...]
    tag: str = attrs.field(factory=lambda: f"machine.release-{next(_numbers)}")
    cls: Any = attrs.field(init=False)
    layouts: Sequence[Layout] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        body: dict[str, Any] = {
            "__annotations__": {f"f{n}": one.typed[0] for n, one in enumerate(self.fields)}
        }
        for n, one in enumerate(self.fields):
            if one.default is not None:
                body[f"f{n}"] = attrs.field(default=one.default[0])
        object.__setattr__(self, "cls", message(self.tag)(type("Made", (), body)))
        # Its lock, read back, under a tag that all releases share.
        kept = parse_lock(format_lock(layouts_of([self.cls])))
        shared = [attrs.evolve(one, name="t") if one.name == self.tag else one for one in kept]
        object.__setattr__(self, "layouts", shared)


@attrs.frozen
class Stored:
    """What a release wrote, and of which values."""

    by: Release
    values: tuple[Any, ...]
    body: bytes


class WireMachine(RuleBasedStateMachine):
    """Releases append fields; bodies of each are read by each, whole, damaged and cut short."""

    releases = Bundle("releases")
    bodies = Bundle("bodies")

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Release] = []

    @initialize(target=releases, first=st.lists(TYPES, max_size=2))
    def define(self, first: list[Typed]) -> Release:
        """The first release: none of its fields has a default."""
        return self._released(tuple(Field(typed) for typed in first))

    @rule(target=releases, typed=TYPES, data=st.data())
    def append(self, typed: Typed, data: st.DataObject) -> Release:
        """The next: a field more, with a default."""
        return self._released((*self.all[-1].fields, Field(typed, [data.draw(typed[1])])))

    def _released(self, fields: tuple[Field, ...]) -> Release:
        self.all.append(Release(fields))
        return self.all[-1]

    @rule(target=bodies, by=releases, data=st.data())
    def write(self, by: Release, data: st.DataObject) -> Stored:
        """In its process it is read back, and a ledger gets its body."""
        values = tuple(data.draw(field.typed[1]) for field in by.fields)
        made = by.cls(**{f"f{n}": value for n, value in enumerate(values)})
        codec = message_codec(by.cls)
        assert same(codec.decode(codec.encode(made)), made)
        kind, body = encode_named(made)
        assert kind == by.tag
        return Stored(by, values, body)

    @rule(one=bodies, reader=releases)
    def read(self, one: Stored, reader: Release) -> None:
        """What both know is as it was written; what the writer did not know has its default."""
        found = decode_named(reader.tag, one.body)
        for n, field in enumerate(reader.fields):
            default = [] if field.default is None else field.default
            wanted = [*one.values[n : n + 1], *default][0]
            assert same(getattr(found, f"f{n}"), wanted)

    @rule(one=bodies, reader=releases, data=st.data())
    def damage(self, one: Stored, reader: Release, data: st.DataObject) -> None:
        """One byte is another: no error but a WireError, and no value that cannot be sent."""
        at = data.draw(st.integers(0, len(one.body) - 1))
        byte = data.draw(st.binary(min_size=1, max_size=1))
        self._look_at(reader, one.body[:at] + byte + one.body[at + 1 :])

    @rule(one=bodies, reader=releases, data=st.data())
    def cut(self, one: Stored, reader: Release, data: st.DataObject) -> None:
        """No part of a body is a body."""
        end = data.draw(st.integers(0, len(one.body) - 1))
        assert not self._look_at(reader, one.body[:end])

    @rule(reader=releases, frame=st.binary(max_size=60))
    def forge(self, reader: Release, frame: bytes) -> None:
        """Any bytes at all."""
        self._look_at(reader, frame)

    def _look_at(self, reader: Release, frame: bytes) -> bool:
        try:
            found = decode_named(reader.tag, frame)
        except WireError:
            return False
        assert type(found) is reader.cls
        codec_for(reader.cls).encode(found)
        return True

    @invariant()
    def the_lock_agrees(self) -> None:
        """Forwards no change breaks; backwards a field is gone."""
        if len(self.all) > 1:
            old, new = self.all[-2].layouts, self.all[-1].layouts
            assert breaking_changes(old, new) == []
            assert breaking_changes(new, old)


TestWire = pytest.mark.slow(WireMachine.TestCase)
TestWire.settings = settings(settings.default, stateful_step_count=20)
