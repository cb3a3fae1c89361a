"""What a wire form is, and how a value that does not fit says where."""

from __future__ import annotations

import enum
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from operator import length_hint
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NoReturn,
    TypeGuard,
    Union,
    cast,
    get_args,
    get_origin,
)

import attrs

__all__ = [
    "ALLOWED",
    "Find",
    "Form",
    "Hook",
    "Mismatch",
    "bare",
    "each",
    "each_value",
    "in_step",
    "is_mapping",
    "is_union",
    "no_wire_form",
    "refuse",
    "type_name",
    "with_hooks",
]

Hook = Callable[[Any], Any]

ALLOWED: Final = (
    "allowed are None, bool, int, float, str, bytes, list, tuple, set, dict, Enum, date and time, "
    "Decimal, UUID, Path, attrs classes, messages and refs"
)


@attrs.frozen
class Form:
    """Two functions: from a value to a plain tree, and back.

    Attributes:
        exact: values of just this class go through both unchanged.
    """

    encode: Hook
    decode: Hook
    exact: type | None = None


Find = Callable[[Any], Form]
"""Finds the form of a part."""

with_hooks: Final[set[object]] = set()
"""Classes that bring a form of their own."""


class Mismatch(Exception):  # never leaves this package: it becomes EncodeError or WireError
    """A value does not fit its type; `path` grows on the way out."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.path = ""

    def at(self, step: str) -> Mismatch:
        """One step further out."""
        self.path = step + self.path
        return self


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """As isinstance, for type checkers that mind what a mapping maps."""
    return isinstance(value, Mapping)


def refuse(value: object, wanted: str) -> NoReturn:
    """Raise Mismatch."""
    raise Mismatch(f"expected {wanted}, got {type(value).__name__}")


def no_wire_form(value: object) -> NoReturn:
    """Raise Mismatch: no type of the value could help."""
    raise Mismatch(f"{type(value).__name__} has no wire form; {ALLOWED}")


def in_step(hook: Hook, value: object, step: str) -> Any:  # noqa: ANN401
    """`hook(value)`, where what does not fit says that it is at `step`."""
    try:
        return hook(value)
    except Mismatch as error:
        raise error.at(step) from None


def each(hook: Hook, values: list[Any] | tuple[Any, ...]) -> list[Any]:
    """`hook` of every element."""
    elements = iter(values)
    try:
        return [hook(value) for value in elements]
    except Mismatch as error:
        # The iterator knows how far it came. Trying again from the start would double the work at
        # each level of nesting: a frame of a few bytes could hold this process up for days.
        raise error.at(f"[{len(values) - length_hint(elements) - 1}]") from None


def each_value(hook: Hook, values: Mapping[Any, Any]) -> dict[str, Any]:
    """`hook` of every value of a mapping with text keys."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise Mismatch(f"key {key!r:.40}: map keys must be text")
        try:
            out[str(key)] = hook(value)
        except Mismatch as error:
            raise error.at(f"[{key!r}]") from None
    return out


_QUALIFIED: Final = re.compile(r"(?:\w+\.|<locals>\.)+")


def bare(tp: Any) -> Any:  # noqa: ANN401
    """`tp` without what means nothing on the wire: Annotated, NewType, aliases."""
    while (inner := _unwrapped(tp)) is not None:
        tp = inner
    return tp


def _unwrapped(tp: Any) -> Any:  # noqa: ANN401
    """What an Annotated, a NewType or an alias stands for; None where `tp` is none of them."""
    if get_origin(tp) is Annotated:
        return get_args(tp)[0]
    if isinstance(tp, typing.NewType):
        return tp.__supertype__
    if sys.version_info >= (3, 12) and isinstance(tp, typing.TypeAliasType):
        return tp.__value__
    return None


def is_union(tp: Any) -> bool:  # noqa: ANN401
    """Whether `tp` is `A | B` or `Union[A, B]`."""
    return get_origin(tp) in (Union, types.UnionType)


def type_name(tp: Any, within: tuple[Any, ...] = ()) -> str:  # noqa: ANN401
    """`dict[str, int]`, `Path | None`: a type for people, and for the tags of unions.

    Spelt one way however it was written and whichever Python runs: `Optional[int]` is
    `int | None`, what means nothing on the wire is left out (see `bare`), and the members of a
    union are in order, None last.

    Args:
        within: aliases that are being spelt; one that contains itself is its own name there.
    """
    while (inner := _unwrapped(tp)) is not None:
        if any(tp is one for one in within):
            return str(tp.__name__)
        within, tp = (*within, tp), inner

    def name(one: Any) -> str:  # noqa: ANN401
        return type_name(one, within)

    if isinstance(tp, list):  # the arguments of a Callable
        return f"[{', '.join(map(name, cast('Sequence[object]', tp)))}]"
    arguments = get_args(tp)
    if get_origin(tp) is Literal:
        return f"Literal[{', '.join(map(_literal, arguments))}]"
    if is_union(tp):
        names = sorted({name(one) for one in arguments} - {"None"})
        return " | ".join([*names, "None"] if type(None) in arguments else names)
    if arguments:
        return f"{name(get_origin(tp))}[{', '.join(map(name, arguments))}]"
    special = next((text for one, text in _SPECIAL if tp is one), "")
    return special or getattr(tp, "__name__", "") or _QUALIFIED.sub("", str(tp))


_SPECIAL: Final[tuple[tuple[object, str], ...]] = (
    (None, "None"),
    (type(None), "None"),
    (..., "..."),
)


def _literal(value: object) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)
