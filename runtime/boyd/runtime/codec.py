"""Typed values to plain trees and bytes, and back, strictly; the only user of cattrs.

The forms of ordinary types are ours (`forms`), because cattrs by default turns
`"12"` into 12 and `"abc"` into `["a", "b", "c"]`. What has a wire form of its
own, as a ref has, is a pair of hooks on a cattrs converter.
"""

from __future__ import annotations

import enum
from typing import Any, Final, Literal, NoReturn, cast, get_origin

import attrs
from cattrs import Converter

from boyd.runtime.annotations import hints_of
from boyd.runtime.errors import EncodeError, WireError
from boyd.runtime.forms.classes import class_form
from boyd.runtime.forms.containers import CONTAINERS, container_form
from boyd.runtime.forms.form import (
    ALLOWED,
    Form,
    Hook,
    Mismatch,
    bare,
    is_union,
    refuse,
    type_name,
    with_hooks,
)
from boyd.runtime.forms.scalars import (
    PRIMITIVES,
    TEXT_FORMS,
    enum_form,
    literal_form,
    plain,
    text_form,
)
from boyd.runtime.forms.unions import union_form, union_names
from boyd.runtime.wire import pack, unpack_foreign, unpack_own

__all__ = [
    "Mismatch",
    "TypeCodec",
    "codec_for",
    "hints_of",
    "plain",
    "refuse",
    "register_wire_form",
    "set_union_name",
]

_converter: Final = Converter(detailed_validation=False)
_made: Final[dict[Any, Form]] = {}
_being_made: Final[list[Any]] = []


def register_wire_form(kind: type, encode: Hook, decode: Hook) -> None:
    """Give `kind` (and `kind[...]`) a wire form of its own: two functions to and from a plain tree."""
    _converter.register_unstructure_hook(kind, encode)
    _converter.register_structure_hook(kind, lambda value, _tp: decode(value))
    with_hooks.add(kind)
    _made.clear()


def set_union_name(kind: type, name: str) -> None:
    """The name by which `kind` is told apart inside a union (default: the class name)."""
    union_names[kind] = name


def _form_of(tp: Any) -> Form:
    """The form of a type, made once."""
    try:
        known = _made.get(tp)
    except TypeError:  # an annotation that cannot be hashed
        return _make_form(tp)
    if known is None:
        _being_made.append(tp)
        try:
            known = _made[tp] = _make_form(tp)
        finally:
            _being_made.pop()
    return known


def _make_form(tp: Any) -> Form:  # noqa: PLR0911  # one return a kind of type
    tp = bare(tp)
    kind = get_origin(tp) or tp
    if kind in with_hooks:
        return _form_by_hooks(kind)
    if tp in PRIMITIVES:
        return PRIMITIVES[tp]
    if kind is Literal:
        return literal_form(tp)
    if is_union(tp):
        return union_form(tp, _find)
    if kind in CONTAINERS:
        return container_form(tp, _find)
    if isinstance(kind, type):
        return _class_form(cast("type[Any]", kind))
    return _no_form(tp)


def _class_form(kind: type[Any]) -> Form:
    if issubclass(kind, enum.Enum):
        return enum_form(kind)
    if kind in TEXT_FORMS:
        return text_form(kind)
    return class_form(kind, _find) if attrs.has(kind) else _no_form(kind)


def _no_form(tp: Any) -> NoReturn:
    raise TypeError(f"{type_name(tp)} has no wire form; {ALLOWED}")


def _form_by_hooks(kind: type) -> Form:
    structure = _converter.get_structure_hook(kind)
    return Form(_converter.get_unstructure_hook(kind), lambda value: structure(value, kind))


def _find(tp: Any) -> Form:
    """The form of a part; of a type still being made it is found at its first use, so that recursion ends."""
    if any(tp is one or tp == one for one in _being_made):
        return Form(
            lambda value: _form_of(tp).encode(value), lambda value: _form_of(tp).decode(value)
        )
    return _form_of(tp)


# ------------------------------------------------------------------ whole values
class TypeCodec:
    """Bytes of values of one type, for replies and products whose type is known on both sides.

    Attributes:
        name: the type, for people.
        form: its hooks, which raise `Mismatch`.
    """

    __slots__ = ("form", "name")

    def __init__(self, tp: Any) -> None:
        self.name = type_name(tp)
        self.form = _find(tp)

    def to_tree(self, value: object) -> Any:
        """The plain tree of `value`; EncodeError names the path to what does not fit."""
        return _encoded(self.form.encode, value, self.name)

    def from_tree(self, tree: object) -> Any:
        """The value of a plain tree; WireError names the path to what does not fit."""
        try:
            return self.form.decode(tree)
        except Mismatch as error:
            raise WireError(f"{self.name}{error.path}: {error.text}") from None
        except RecursionError:
            raise WireError(f"{self.name}: nested too deeply") from None

    def encode(self, value: object) -> bytes:
        """Raises EncodeError."""
        try:
            return pack(self.form.encode(value))
        except Exception:  # noqa: BLE001  # said again, with the path to what does not fit
            return pack_tree(self.to_tree(value), self.name)

    def decode(self, frame: bytes) -> Any:
        """From bytes of this process."""
        tree = unpack_own(frame)
        try:
            return self.form.decode(tree)
        except Mismatch:
            return self.from_tree(tree)

    def decode_foreign(self, frame: bytes) -> Any:
        """From anybody's bytes. Raises WireError."""
        return self.from_tree(unpack_foreign(frame))


def _encoded(encode: Hook, value: object, name: str) -> Any:
    try:
        return encode(value)
    except Mismatch as error:
        raise EncodeError(f"{name}{error.path}: {error.text}") from None
    except RecursionError:
        raise EncodeError(f"{name}: nested too deeply, or within itself") from None


def pack_tree(tree: object, name: str) -> bytes:
    """The bytes of a plain tree. Raises EncodeError."""
    try:
        return pack(tree)
    except OverflowError:
        _refuse(name, "an integer beyond 64 bits has no wire form; send it as text")
    except UnicodeEncodeError:
        _refuse(name, "text with a lone surrogate has no wire form")
    except (ValueError, TypeError, RecursionError) as error:
        _refuse(name, str(error))


def _refuse(name: str, why: str) -> NoReturn:
    raise EncodeError(f"{name}: {why}") from None


_codecs: Final[dict[Any, TypeCodec]] = {}


def codec_for(tp: Any) -> TypeCodec:
    """The codec of a type, made once.

    Raises:
        TypeError: the type has no wire form.
    """
    try:
        found = _codecs.get(tp)
    except TypeError:
        return TypeCodec(tp)
    if found is None:
        found = _codecs[tp] = TypeCodec(tp)
    return found
