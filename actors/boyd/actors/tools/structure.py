"""JSON trees to typed values, strictly.

Validation comes first (`validate`), so what arrives here has the right shape;
this turns it into the classes that a tool's annotations name.
"""

from __future__ import annotations

import collections.abc
import enum
import math
from typing import Any, Final, Literal, NoReturn, cast, get_args, get_origin

from boyd.actors.plural import counted
from boyd.actors.tools.values import (
    NOTHING,
    TEXT_FORMS,
    bare,
    enum_values,
    fields_of,
    has_fields,
    is_union,
)

__all__ = ["Misfit", "from_json"]

Json = dict[str, object]


class Misfit(ValueError):
    """A value does not fit its type; `path` leads to it."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.text = text
        self.path = path

    def under(self, step: str) -> Misfit:
        """The same, seen from one level up."""
        return Misfit(self.text, f"{step}/{self.path}" if self.path else step)


def from_json(value: object, tp: Any, *, exact: bool = False) -> Any:  # noqa: ANN401
    """The value of type `tp` that a JSON tree stands for.

    Args:
        exact: 1 is no float and 1.0 no int. Members of a union are tried so first.

    Raises:
        Misfit: it does not fit.
    """
    tp = bare(tp)
    origin = get_origin(tp) or tp
    if tp in (object, Any):
        return value
    if is_union(tp):
        return _union(value, tp)
    if origin is Literal:
        fits = (one for one in get_args(tp) if one == value and type(one) is type(value))
        return (
            next(fits, value)
            if value in get_args(tp)
            else _refuse(value, "one of the allowed values")
        )
    if tp in (None, type(None), bool, str, int, float):
        return _primitive(value, tp, exact=exact)
    if not isinstance(origin, type):
        raise Misfit(f"{tp} has no JSON form")
    return _of_class(value, tp, origin, exact=exact)


def _of_class(value: object, tp: Any, kind: type[Any], *, exact: bool) -> Any:  # noqa: ANN401
    if issubclass(kind, enum.Enum):
        return _enum(value, kind)
    if kind in TEXT_FORMS:
        return _text_form(value, kind)
    if has_fields(kind):
        return _instance(value, kind, exact=exact)
    if issubclass(kind, collections.abc.Mapping):
        element = (get_args(tp) or (str, object))[1]
        tree = cast("Json", value) if isinstance(value, dict) else _refuse(value, "an object")
        return {key: _at(key, one, element, exact=exact) for key, one in tree.items()}
    return _sequence(value, tp, kind, exact=exact)


def _refuse(value: object, wanted: str) -> NoReturn:
    kind = cast("type", type(value))
    raise Misfit(f"expected {wanted}, got {_KINDS.get(kind, kind.__name__)}")


_KINDS: Final[dict[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _at(step: object, value: object, tp: Any, *, exact: bool) -> Any:  # noqa: ANN401
    try:
        return from_json(value, tp, exact=exact)
    except Misfit as misfit:
        raise misfit.under(str(step)) from None


def _primitive(value: object, tp: Any, *, exact: bool) -> object:  # noqa: ANN401
    kind = type(None) if tp is None else tp
    if type(value) is kind:
        return value
    if not exact and kind is float and type(value) is int:
        return float(value)
    if (
        not exact
        and kind is int
        and type(value) is float
        and math.isfinite(value)
        and value.is_integer()
    ):
        return int(value)
    return _refuse(value, _KINDS[kind])


def _enum(value: object, kind: type[enum.Enum]) -> enum.Enum:
    for told, member in enum_values(kind).items():
        if told == value and type(told) is type(value):
            return member
    return _refuse(value, "one of the allowed values")


def _text_form(value: object, kind: type) -> object:
    if not isinstance(value, str):
        return _refuse(value, "a text")
    try:
        return TEXT_FORMS[kind][1](value)
    except (ValueError, ArithmeticError):
        raise Misfit(f"this text is no {TEXT_FORMS[kind][2] or kind.__name__}") from None


def _instance(value: object, cls: type, *, exact: bool) -> object:
    tree = cast("Json", value) if isinstance(value, dict) else _refuse(value, "an object")
    fields = {one.name: one for one in fields_of(cls)}
    for name in tree:
        if name not in fields:
            raise Misfit(f"there is no field {name!r:.80}")
    for name, field in fields.items():
        if field.default is NOTHING and name not in tree:
            raise Misfit(f"the field {name!r} is missing")
    given = {name: _at(name, one, fields[name].type, exact=exact) for name, one in tree.items()}
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:  # its own validators
        raise Misfit(str(error)[:200]) from None


def _union(value: object, tp: Any) -> object:  # noqa: ANN401
    misfits: list[Misfit] = []
    for exact in (True, False):
        for member in get_args(tp):
            try:
                return from_json(value, member, exact=exact)
            except Misfit as misfit:
                misfits.append(misfit)
    deepest = max(misfits, key=lambda misfit: misfit.path.count("/") + bool(misfit.path))
    raise deepest


def _sequence(value: object, tp: Any, origin: type, *, exact: bool) -> object:  # noqa: ANN401
    if not issubclass(origin, collections.abc.Collection) or issubclass(origin, (str, bytes)):
        raise Misfit(f"{origin.__name__} has no JSON form")
    tree = cast("list[object]", value) if isinstance(value, list) else _refuse(value, "an array")
    given = get_args(tp)
    if issubclass(origin, tuple) and given and given[-1] is not Ellipsis:
        if len(tree) != len(given):
            raise Misfit(f"expected {counted(len(given), 'elements')}, got {len(tree)}")
        return tuple(
            _at(n, one, kind, exact=exact)
            for n, (one, kind) in enumerate(zip(tree, given, strict=True))
        )
    element = given[0] if given else object
    values = [_at(n, one, element, exact=exact) for n, one in enumerate(tree)]
    if issubclass(origin, collections.abc.Set):
        return set(values) if issubclass(origin, set) else frozenset(values)
    return values if issubclass(origin, collections.abc.MutableSequence) else tuple(values)
