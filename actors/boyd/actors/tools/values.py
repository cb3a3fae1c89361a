"""Typed values to JSON trees, and what both ways know of types: fields, enums, text forms."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Union, cast, get_args, get_origin

import attrs

__all__ = [
    "FACTORY",
    "NOTHING",
    "TEXT_FORMS",
    "Field",
    "bare",
    "enum_values",
    "fields_of",
    "has_fields",
    "is_union",
    "to_json",
]

Json = dict[str, object]
NOTHING: Final[object] = attrs.NOTHING
"""In place of a default: there is none, the field is required."""
FACTORY: Final[object] = object()
"""In place of a default: it is made anew for each instance."""
_FACTORY_TYPE: Final[type] = type(attrs.Factory(list[object]))

TEXT_FORMS: Final[dict[type, tuple[Callable[[Any], str], Callable[[str], Any], str]]] = {
    datetime.datetime: (datetime.datetime.isoformat, datetime.datetime.fromisoformat, "date-time"),
    datetime.date: (datetime.date.isoformat, datetime.date.fromisoformat, "date"),
    datetime.time: (datetime.time.isoformat, datetime.time.fromisoformat, "time"),
    decimal.Decimal: (str, decimal.Decimal, ""),
    uuid.UUID: (str, uuid.UUID, "uuid"),
    pathlib.Path: (str, pathlib.Path, ""),
}
"""Types that travel as text: to it, from it, and the format that the schema names."""


@attrs.frozen
class Field:
    """One field of a class, as its constructor takes it."""

    name: str
    attribute: str
    type: Any
    default: object
    """A value, `NOTHING` or `FACTORY`."""


def bare(tp: Any) -> Any:  # noqa: ANN401  # types have no better type
    """`tp` without `Annotated`, `NewType` and aliases around it."""
    while True:
        if get_origin(tp) is Annotated:
            tp = get_args(tp)[0]
        elif isinstance(tp, typing.NewType):
            tp = tp.__supertype__
        elif type(tp).__name__ == "TypeAliasType":
            tp = tp.__value__
        else:
            return tp


def is_union(tp: object) -> bool:
    """Whether `tp` is `A | B` in either spelling."""
    return get_origin(tp) in (Union, types.UnionType)


def has_fields(tp: object) -> bool:
    """Whether `tp` is an attrs class or a dataclass."""
    return isinstance(tp, type) and (attrs.has(tp) or dataclasses.is_dataclass(tp))


@functools.cache
def fields_of(cls: type) -> tuple[Field, ...]:
    """The fields that the constructor of an attrs class or dataclass takes."""
    names = {cls.__name__: cls} | cast("dict[str, Any]", getattr(cls, "__boyd_names__", {}))
    hints = typing.get_type_hints(cls, localns=names, include_extras=True)
    if attrs.has(cls):
        return tuple(
            Field(
                one.alias or one.name,
                one.name,
                hints.get(one.name, object),
                FACTORY if isinstance(one.default, _FACTORY_TYPE) else one.default,
            )
            for one in attrs.fields(cast("Any", cls))
            if one.init
        )
    return tuple(
        Field(one.name, one.name, hints.get(one.name, object), _dataclass_default(one))
        for one in dataclasses.fields(cast("Any", cls))
        if one.init
    )


def _dataclass_default(field: dataclasses.Field[Any]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return FACTORY
    return NOTHING


def enum_values(kind: type[enum.Enum]) -> dict[Any, enum.Enum]:
    """What stands for each member in JSON: its value if all are text or integers, else its name."""
    values = [member.value for member in kind]
    if all(type(value) in (str, int) for value in values):
        return dict(zip(values, kind, strict=True))
    return {member.name: member for member in kind}


# ------------------------------------------------------------------ to JSON
def to_json(value: object) -> Any:  # noqa: ANN401, PLR0911  # a JSON tree; one return a kind of value
    """The JSON tree of a value.

    Raises:
        TypeError: something in it has no JSON form; the text says what.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return next(told for told, member in enum_values(type(value)).items() if member is value)
    for primitive in (str, int, float):
        if isinstance(value, primitive):
            return primitive(value)
    cls = cast("type", type(value))
    if has_fields(cls):
        return {one.name: to_json(getattr(value, one.attribute)) for one in fields_of(cls)}
    if isinstance(value, Mapping):
        return {
            _key(key): to_json(one) for key, one in cast("Mapping[object, object]", value).items()
        }
    if isinstance(value, (set, frozenset)):
        return sorted((to_json(one) for one in cast("set[object]", value)), key=repr)
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in cast("list[object]", value)]
    for kind, (to_text, _, _) in TEXT_FORMS.items():
        if isinstance(value, kind):
            return to_text(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(key)
    raise TypeError(f"a key of type {type(key).__name__} has no JSON form")
