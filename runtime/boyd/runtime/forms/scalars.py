"""Forms of what has no parts: numbers, text, enums, dates; and of plain trees."""

from __future__ import annotations

import datetime
import decimal
import enum
import pathlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, cast, get_args

from boyd.runtime.forms.form import (
    Form,
    Hook,
    Mismatch,
    each,
    each_value,
    is_mapping,
    no_wire_form,
    refuse,
    type_name,
)

__all__ = ["PRIMITIVES", "TEXT_FORMS", "enum_form", "literal_form", "plain", "text_form"]


def _exactly(kind: type) -> Hook:
    def check(value: Any) -> Any:  # noqa: ANN401
        return value if value.__class__ is kind else refuse(value, kind.__name__)

    return check


def _normalised(kind: type) -> Hook:
    """At the sender: subclasses (a StrEnum in a str field) become the plain value."""

    def check(value: Any) -> Any:  # noqa: ANN401
        if value.__class__ is kind:
            return value
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value.value if isinstance(value, enum.Enum) else value)
        return refuse(value, kind.__name__)

    return check


def _to_float(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise Mismatch("an integer beyond the range of float") from None
    return refuse(value, "float")


def _to_none(value: object) -> None:
    return None if value is None else refuse(value, "None")


def _to_bytes(value: object) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return value.tobytes() if isinstance(value, memoryview) else refuse(value, "bytes")


def plain(value: Any) -> Any:  # noqa: ANN401
    """A copy of `value` as a plain tree, for fields typed `object`."""
    kind = value.__class__
    if (
        value is None
        or kind is bool
        or kind is int
        or kind is float
        or kind is str
        or kind is bytes
    ):
        return value
    if kind is list or kind is tuple:
        return each(plain, value)
    if is_mapping(value):
        return each_value(plain, value)
    if isinstance(value, enum.Enum) and isinstance(value, (str, int, float)):
        return plain(value.value)
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    return no_wire_form(value)


_PLAIN: Final = Form(plain, plain)
_NONE: Final = Form(_to_none, _to_none)

PRIMITIVES: Final[Mapping[Any, Form]] = {
    int: Form(_normalised(int), _exactly(int), int),
    str: Form(_normalised(str), _exactly(str), str),
    bool: Form(_exactly(bool), _exactly(bool), bool),
    float: Form(_to_float, _exactly(float), float),
    bytes: Form(_to_bytes, _exactly(bytes), bytes),
    type(None): _NONE,
    None: _NONE,
    object: _PLAIN,
    Any: _PLAIN,
}


def _date_text(value: datetime.date) -> str:
    # A datetime is a date, but its time of day would be lost.
    return refuse(value, "date") if isinstance(value, datetime.datetime) else value.isoformat()


TEXT_FORMS: Final[Mapping[type, tuple[Callable[[Any], str], Callable[[str], Any]]]] = {
    datetime.datetime: (datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.date: (_date_text, datetime.date.fromisoformat),
    datetime.time: (datetime.time.isoformat, datetime.time.fromisoformat),
    decimal.Decimal: (str, decimal.Decimal),
    uuid.UUID: (str, uuid.UUID),
    pathlib.Path: (str, pathlib.Path),
}


def text_form(kind: type) -> Form:
    """Of a type in `TEXT_FORMS`."""
    to_text, from_text = TEXT_FORMS[kind]

    def encode(value: Any) -> str:  # noqa: ANN401
        return to_text(value) if isinstance(value, kind) else refuse(value, kind.__name__)

    def decode(value: object) -> object:
        if not isinstance(value, str):
            return refuse(value, f"text of a {kind.__name__}")
        try:
            return from_text(value)
        except (ValueError, ArithmeticError):
            raise Mismatch(f"{value!r:.40} is not a {kind.__name__}") from None

    return Form(encode, decode)


def enum_form(kind: type[enum.Enum]) -> Form:
    """By name, so that values may change; a combination of flags as its number."""
    flags = issubclass(kind, enum.Flag)
    members = kind.__members__

    def encode(value: object) -> str | int:
        if not isinstance(value, kind):
            return refuse(value, kind.__name__)
        is_combination = flags and value.name not in members
        return cast("int", value.value) if is_combination else value.name

    def decode(value: object) -> enum.Enum:
        if isinstance(value, str) and value in members:
            return members[value]
        if flags and value.__class__ is int:
            try:
                return kind(value)
            except ValueError:
                pass
        raise Mismatch(f"expected one of {', '.join(members)}, got {value!r:.40}")

    return Form(encode, decode)


def literal_form(tp: Any) -> Form:  # noqa: ANN401
    """One of the values that the type names; a member of an enum by its name."""
    allowed = get_args(tp)
    trees: dict[tuple[type, object], object] = {
        (one.__class__, one): one.name if isinstance(one, enum.Enum) else one for one in allowed
    }
    values: dict[tuple[type, object], object] = {
        (tree.__class__, tree): value for (_, value), tree in trees.items()
    }
    if len(values) != len(trees):
        raise TypeError(f"{type_name(tp)}: two of its values look alike on the wire")

    def pick(found: Mapping[tuple[type, object], object], value: object) -> object:
        try:
            return found[value.__class__, value]
        except (KeyError, TypeError):
            raise Mismatch(
                f"expected one of {', '.join(map(repr, allowed))}, got {value!r:.40}"
            ) from None

    return Form(lambda value: pick(trees, value), lambda value: pick(values, value))
