"""JSON Schema (2020-12) of types: what a model is told of a tool's arguments."""

from __future__ import annotations

import collections.abc
import enum
import math
from typing import Annotated, Any, Final, Literal, NoReturn, cast, get_args, get_origin

import attrs

from boyd.actors.tools.docstrings import described_arguments
from boyd.actors.tools.values import (
    FACTORY,
    NOTHING,
    TEXT_FORMS,
    bare,
    enum_values,
    fields_of,
    has_fields,
    is_union,
    to_json,
)

__all__ = ["Property", "SchemaBuilder", "object_schema", "schema_of"]

Json = dict[str, Any]

_PRIMITIVES: Final[dict[Any, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    None: "null",
}


@attrs.frozen(kw_only=True)
class Property:
    """A named member of an object schema; required if it has no default."""

    name: str
    type: Any
    default: object = NOTHING
    description: str = ""


def schema_of(tp: Any) -> Json:  # noqa: ANN401  # types have no better type
    """The schema of one type, its classes under `$defs`.

    Raises:
        TypeError: the type has no JSON form; the text says which and where.
    """
    builder = SchemaBuilder()
    return builder.finished(builder.of(tp))


def object_schema(properties: collections.abc.Iterable[Property]) -> Json:
    """The schema of an object with exactly these properties. Raises TypeError."""
    builder = SchemaBuilder()
    return builder.finished(builder.object(properties))


class SchemaBuilder:
    """Builds schemas that share their definitions."""

    def __init__(self) -> None:
        self._defs: dict[str, Json] = {}
        self._names: dict[type, str] = {}

    def finished(self, schema: Json) -> Json:
        """`schema` with the definitions that it refers to."""
        return {**schema, "$defs": self._defs} if self._defs else schema

    def object(self, properties: collections.abc.Iterable[Property]) -> Json:
        """An object with exactly these properties."""
        listed = list(properties)
        schema: Json = {
            "type": "object",
            "properties": {one.name: self._property(one) for one in listed},
        }
        required = [one.name for one in listed if one.default is NOTHING]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        return schema

    def of(self, tp: Any) -> Json:  # noqa: ANN401
        """The schema of one type."""
        if get_origin(tp) is Annotated:
            return self._annotated(tp)
        tp = bare(tp)
        if tp in _PRIMITIVES:
            return {"type": _PRIMITIVES[tp]}
        if tp in (object, Any):
            return {}
        if is_union(tp):
            return {"anyOf": [self.of(one) for one in get_args(tp)]}
        kind = get_origin(tp) or tp
        if kind is Literal:
            return _choice(get_args(tp))
        return self._of_class(tp, kind) if isinstance(kind, type) else _refuse(tp)

    def _of_class(self, tp: Any, kind: type[Any]) -> Json:  # noqa: ANN401
        if issubclass(kind, enum.Enum):
            return _choice(tuple(enum_values(kind)))
        if kind in TEXT_FORMS:
            named = TEXT_FORMS[kind][2]
            return {"type": "string", "format": named} if named else {"type": "string"}
        if has_fields(kind):
            return {"$ref": f"#/$defs/{self._define(kind)}"}
        if issubclass(kind, collections.abc.Mapping):
            return self._mapping(tp)
        return self._array(tp, kind) if _is_array(kind) else _refuse(tp)

    def _annotated(self, tp: Any) -> Json:  # noqa: ANN401
        inner, *notes = get_args(tp)
        text = next((one for one in notes if isinstance(one, str)), "")
        schema = self.of(inner)
        return {**schema, "description": text} if text else schema

    def _property(self, one: Property) -> Json:
        try:
            schema = self.of(one.type)
        except TypeError as error:
            raise TypeError(f"`{one.name}`: {error}") from None
        if one.description and "description" not in schema:
            schema = {**schema, "description": one.description}
        if one.default not in (NOTHING, FACTORY):
            default = _default(one.default)
            if default is not NOTHING:
                schema = {**schema, "default": default}
        return schema

    def _define(self, cls: type) -> str:
        if cls not in self._names:
            name, number = cls.__name__, 2
            while name in self._defs:
                name, number = f"{cls.__name__}_{number}", number + 1
            self._names[cls] = name
            self._defs[name] = {}  # so that a class that mentions itself ends
            told = described_arguments(cls.__doc__ or "")
            fields = fields_of(cls)
            self._defs[name] = self.object(
                Property(
                    name=one.name,
                    type=one.type,
                    default=one.default,
                    description=told.get(one.name, ""),
                )
                for one in fields
            )
        return self._names[cls]

    def _mapping(self, tp: Any) -> Json:  # noqa: ANN401
        key, element = get_args(tp) or (str, object)
        if bare(key) not in (str, object, Any):
            raise TypeError(f"a key of type {getattr(key, '__name__', key)} has no JSON form")
        return {"type": "object", "additionalProperties": self.of(element)}

    def _array(self, tp: Any, kind: type) -> Json:  # noqa: ANN401
        given = get_args(tp)
        if issubclass(kind, tuple) and not given and kind is not tuple:
            raise TypeError(f"{kind.__name__} has no JSON form: write an attrs class")
        if issubclass(kind, tuple) and given and given[-1] is not Ellipsis:
            count = len(given)
            return {
                "type": "array",
                "prefixItems": [self.of(one) for one in given],
                "items": False,
                "minItems": count,
                "maxItems": count,
            }
        schema: Json = {"type": "array", "items": self.of(given[0]) if given else {}}
        if issubclass(kind, collections.abc.Set):
            schema["uniqueItems"] = True
        return schema


def _is_array(kind: type) -> bool:
    is_text = issubclass(kind, (str, bytes, bytearray))
    return issubclass(kind, collections.abc.Collection) and not is_text


def _refuse(tp: Any) -> NoReturn:  # noqa: ANN401
    raise TypeError(f"{getattr(tp, '__name__', tp)} has no JSON form")


def _choice(values: tuple[object, ...]) -> Json:
    kinds = {_PRIMITIVES.get(type(value)) for value in values}
    if None in kinds:
        raise TypeError(
            "a Literal of other than text, numbers, true, false and None has no JSON form"
        )
    named = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return {**named, "enum": list(values)}


def _default(value: object) -> object:
    """The default as JSON, or NOTHING where it has no such form."""
    try:
        told = cast("object", to_json(value))
    except TypeError:
        return NOTHING
    return NOTHING if isinstance(told, float) and not math.isfinite(told) else told
