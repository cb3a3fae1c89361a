"""Typed values to plain trees and back, strictly; the only user of cattrs.

cattrs finds and caches the hook for a type; every hook here is ours, because
cattrs by default turns `"12"` into 12 and `"abc"` into `["a", "b", "c"]`.
Nothing is coerced but int to float at the sender.

An attrs class travels as the array of its fields in order: appending a field
with a default is compatible both ways (a short array takes the defaults, the
tail of a long one is ignored). A union of classes travels as `[name, ...]`.
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

import attrs
from cattrs import Converter

from boyd.runtime.errors import EncodeError, WireError
from boyd.runtime.generated import compiled
from boyd.runtime.wire import pack, unpack_foreign, unpack_own

__all__ = ["TypeCodec", "codec_for", "hints_of", "register_wire_form", "set_union_name"]

Hook = Callable[[Any], Any]
T = TypeVar("T")

ALLOWED: Final = (
    "allowed are None, bool, int, float, str, bytes, list, tuple, set, dict, Enum, date and time, Decimal, UUID, "
    "Path, attrs classes, messages and refs"
)


class Mismatch(Exception):  # never leaves this package: it becomes EncodeError or WireError
    """A value does not fit its type; `path` grows on the way out."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.path = ""

    def at(self, step: str) -> Mismatch:
        self.path = step + self.path
        return self


def refuse(value: object, wanted: str) -> NoReturn:
    raise Mismatch(f"expected {wanted}, got {type(value).__name__}")


def no_wire_form(value: object) -> NoReturn:
    raise Mismatch(f"{type(value).__name__} has no wire form; {ALLOWED}")


# ------------------------------------------------------------------ primitives
def _exactly(kind: type) -> Hook:
    def check(value: Any) -> Any:
        if value.__class__ is kind:
            return value
        return refuse(value, kind.__name__)

    return check


def _normalised(kind: type) -> Hook:
    """At the sender: subclasses (a StrEnum in a str field) become the plain value."""

    def check(value: Any) -> Any:
        if value.__class__ is kind:
            return value
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
        return refuse(value, kind.__name__)

    return check


def _to_float(value: Any) -> float:
    if value.__class__ is float:
        return cast("float", value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return refuse(value, "float")


def _from_float(value: Any) -> float:
    return cast("float", value) if value.__class__ is float else refuse(value, "float")


def _to_none(value: Any) -> None:
    return None if value is None else refuse(value, "None")


def _to_bytes(value: Any) -> bytes:
    return (
        bytes(value)
        if isinstance(value, (bytes, bytearray, memoryview))
        else refuse(value, "bytes")
    )


def plain(value: Any) -> Any:
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
        return _each(plain, value)
    if isinstance(value, Mapping):
        return _each_value(plain, cast("Mapping[Any, Any]", value))
    if isinstance(value, (str, int, float)):
        return kind.__mro__[1](value) if not isinstance(value, enum.Enum) else plain(value.value)
    return no_wire_form(value)


def _each(hook: Hook, values: Sequence[Any]) -> list[Any]:
    try:
        return [hook(value) for value in values]
    except Mismatch:
        for index, value in enumerate(values):
            try:
                hook(value)
            except Mismatch as error:
                raise error.at(f"[{index}]") from None
        raise


def _each_value(hook: Hook, values: Mapping[Any, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise Mismatch(f"key {key!r}: map keys must be text").at("")
        try:
            out[str(key)] = hook(value)
        except Mismatch as error:
            raise error.at(f"[{key!r}]") from None
    return out


def _list_of(value: Any) -> list[Any]:
    return cast("list[Any]", value) if value.__class__ is list else refuse(value, "an array")


# ------------------------------------------------------------------ the converter
_converter: Final = Converter(detailed_validation=False)
_TEXT_FORMS: Final[dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]]] = {
    datetime.datetime: (datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.date: (datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: (datetime.time.isoformat, datetime.time.fromisoformat),
    decimal.Decimal: (str, decimal.Decimal),
    uuid.UUID: (str, uuid.UUID),
    pathlib.Path: (str, pathlib.Path),
}
_wire_forms: Final[dict[type, tuple[Hook, Hook]]] = {}
_union_names: Final[dict[type, str]] = {}


def register_wire_form(kind: type, encode: Hook, decode: Hook) -> None:
    """Give `kind` (and `kind[...]`) a wire form of its own: two functions to and from a plain tree."""
    _wire_forms[kind] = (encode, decode)
    _pairs.clear()


def set_union_name(kind: type, name: str) -> None:
    """The name by which `kind` is told apart inside a union (default: the class name)."""
    _union_names[kind] = name


def hints_of(cls: type, names: Mapping[str, object] | None = None) -> dict[str, Any]:
    """The resolved annotations of `cls`.

    Raises:
        TypeError: an annotation names something that does not exist.
    """
    try:
        return typing.get_type_hints(
            cls, localns=dict(names or {}) | {cls.__name__: cls}, include_extras=True
        )
    except NameError as error:
        raise TypeError(
            f"{cls.__qualname__}: its annotation mentions {error.name}, which cannot be found"
        ) from error


def _bare(tp: Any) -> Any:
    while True:
        if get_origin(tp) is Annotated:
            tp = get_args(tp)[0]
        elif isinstance(tp, typing.NewType):
            tp = tp.__supertype__
        else:
            return tp


def _args(tp: Any, count: int) -> tuple[Any, ...]:
    given = get_args(tp)
    return given or (object,) * count


def _encoder(tp: Any) -> Hook:
    return _converter.get_unstructure_hook(tp, cache_result=False)


def _decoder(tp: Any) -> Hook:
    hook = _converter.get_structure_hook(tp, cache_result=False)
    return hook.alone if isinstance(hook, _Structure) else lambda value: hook(value, tp)


_being_made: Final[list[Any]] = []
_pairs: Final[dict[Any, tuple[Hook, Hook]]] = {}


def _lazily(find: Callable[[Any], Hook], tp: Any) -> Hook:
    """The hook of a part; found at its first use only where the type is still being made, so that recursion ends."""
    if not any(tp is one or tp == one for one in _being_made):
        return find(tp)
    found: Hook | None = None

    def hook(value: Any) -> Any:
        nonlocal found
        if found is None:
            found = find(tp)
        return found(value)

    return hook


_Pair = tuple[Hook, Hook]
_PRIMITIVE: Final[dict[Any, _Pair]] = {
    int: (_normalised(int), _exactly(int)),
    str: (_normalised(str), _exactly(str)),
    bool: (_exactly(bool), _exactly(bool)),
    float: (_to_float, _from_float),
    bytes: (_to_bytes, _exactly(bytes)),
    type(None): (_to_none, _to_none),
    None: (_to_none, _to_none),
    object: (plain, plain),
    Any: (plain, plain),
}


def _pair(tp: Any) -> _Pair:
    """The two hooks of a type, made once."""
    try:
        known = _pairs.get(tp)
    except TypeError:  # an annotation that cannot be hashed
        known = None
    if known is not None:
        return known
    _being_made.append(tp)
    try:
        made = _make_pair(_bare(tp))
    finally:
        _being_made.pop()
    with suppress(TypeError):
        _pairs[tp] = made
    return made


def _make_pair(tp: Any) -> _Pair:  # noqa: PLR0911  # one return a kind of type
    try:
        if tp in _PRIMITIVE:
            return _PRIMITIVE[tp]
    except TypeError:
        pass
    origin = get_origin(tp)
    kind = origin or tp
    if kind in _wire_forms:
        return _wire_forms[kind]
    if origin is Literal:
        return _literal(tp)
    if origin in (Union, types.UnionType):
        return _union(tp)
    if isinstance(kind, type):
        if issubclass(kind, enum.Enum):
            return _enum(kind)
        if kind in _TEXT_FORMS:
            return _text_form(kind)
        if attrs.has(kind):
            return _attrs_class(kind)
        if issubclass(kind, tuple):
            return _tuple(tp)
        if issubclass(kind, (collections.abc.Mapping,)):
            return _mapping(tp)
        if issubclass(kind, (collections.abc.Set,)):
            return _sequence(tp, set if issubclass(kind, set) else frozenset, collections.abc.Set)
        if issubclass(kind, (collections.abc.Sequence, collections.abc.Collection)):
            return _sequence(
                tp, list if issubclass(kind, list) else tuple, collections.abc.Collection
            )
    name = getattr(tp, "__name__", None) or str(tp)
    raise TypeError(f"{name} has no wire form; {ALLOWED}")


def _literal(tp: Any) -> _Pair:
    allowed = get_args(tp)

    def check(value: Any) -> Any:
        for one in allowed:
            if value == one and type(value) is type(one):
                return value
        raise Mismatch(f"expected one of {', '.join(map(repr, allowed))}, got {value!r:.40}")

    return check, check


def _enum(kind: type[enum.Enum]) -> _Pair:
    def encode(value: Any) -> str:
        return value.name if isinstance(value, kind) else refuse(value, kind.__name__)

    def decode(value: Any) -> enum.Enum:
        if value.__class__ is str and value in kind.__members__:
            return kind[value]
        raise Mismatch(f"expected one of {', '.join(kind.__members__)}, got {value!r:.40}")

    return encode, decode


def _text_form(kind: type) -> _Pair:
    to_text, from_text = _TEXT_FORMS[kind]

    def encode(value: Any) -> str:
        return to_text(value) if isinstance(value, kind) else refuse(value, kind.__name__)

    def decode(value: Any) -> Any:
        if value.__class__ is not str:
            refuse(value, f"text of a {kind.__name__}")
        try:
            return from_text(value)
        except (ValueError, ArithmeticError):
            raise Mismatch(f"{value!r:.40} is not a {kind.__name__}") from None

    return encode, decode


def _sequence(tp: Any, make: Callable[[list[Any]], Any], accepts: Any) -> _Pair:
    element = _args(tp, 1)[0]
    encode_one, decode_one = _lazily(_encoder, element), _lazily(_decoder, element)

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, accepts) or isinstance(value, (str, bytes, Mapping)):
            refuse(value, "a sequence")
        if accepts is collections.abc.Set:
            return _each(encode_one, sorted(value, key=repr))
        return _each(encode_one, value)

    def decode(value: Any) -> Any:
        return make(_each(decode_one, _list_of(value)))

    return encode, decode


def _tuple(tp: Any) -> _Pair:
    given = get_args(tp)
    if len(given) == 2 and given[1] is Ellipsis:  # noqa: PLR2004
        return _sequence(tp, tuple, collections.abc.Sequence)
    if not given and tp is not tuple:
        raise TypeError(f"{tp.__name__} has no wire form; write a tuple or an attrs class")
    if tp is tuple:
        return _sequence(tp, tuple, collections.abc.Sequence)
    encoders = [_lazily(_encoder, one) for one in given]
    decoders = [_lazily(_decoder, one) for one in given]

    def convert(hooks: list[Hook], value: Sequence[Any]) -> list[Any]:
        if len(value) != len(hooks):
            raise Mismatch(f"expected {len(hooks)} elements, got {len(value)}")
        try:
            return [hook(one) for hook, one in zip(hooks, value, strict=True)]
        except Mismatch:
            for n, (hook, one) in enumerate(zip(hooks, value, strict=True)):
                _in_step(hook, one, f"[{n}]")
            raise

    def encode(value: Any) -> list[Any]:
        return convert(
            encoders, value if isinstance(value, (tuple, list)) else refuse(value, "a tuple")
        )

    def decode(value: Any) -> tuple[Any, ...]:
        return tuple(convert(decoders, _list_of(value)))

    return encode, decode


def _in_step(hook: Hook, value: Any, step: str) -> Any:
    try:
        return hook(value)
    except Mismatch as error:
        raise error.at(step) from None


def _mapping(tp: Any) -> _Pair:
    key, element = _args(tp, 2)
    encode_one, decode_one = _lazily(_encoder, element), _lazily(_decoder, element)
    if _bare(key) in (str, object, Any):

        def encode(value: Any) -> Any:
            return _each_value(
                encode_one, value if isinstance(value, Mapping) else refuse(value, "a mapping")
            )

        def decode(value: Any) -> Any:
            return _each_value(
                decode_one, value if value.__class__ is dict else refuse(value, "a map")
            )

        return encode, decode
    # Other keys travel as pairs: map keys are text on the wire, and 1 and "1" must stay two keys.
    encode_key, decode_key = _encoder(key), _decoder(key)

    def encode_pairs(value: Any) -> Any:
        items = (value if isinstance(value, Mapping) else refuse(value, "a mapping")).items()
        return [[encode_key(k), _in_step(encode_one, v, f"[{k!r}]")] for k, v in items]

    def decode_pairs(value: Any) -> Any:
        pairs = [_list_of(pair) for pair in _list_of(value)]
        if any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004
            raise Mismatch("expected pairs of key and value")
        return {decode_key(k): _in_step(decode_one, v, f"[{k!r}]") for k, v in pairs}

    return encode_pairs, decode_pairs


def _union(tp: Any) -> _Pair:
    members = [_bare(one) for one in get_args(tp)]
    classes = {
        one: _union_names.get(one, one.__name__)
        for one in members
        if isinstance(one, type) and attrs.has(one)
    }
    others = [one for one in members if one not in classes]
    if len(classes) == 1 and set(others) <= {type(None)}:
        only = next(iter(classes))
        return _optional(only)
    if len(others) == 2 and type(None) in others and not classes:  # noqa: PLR2004
        return _optional(next(one for one in others if one is not type(None)))
    by_name = {name: one for one, name in classes.items()}
    if len(by_name) != len(classes):
        raise TypeError(f"{tp}: two members of this union have one name")
    other_pairs = [(_lazily(_encoder, one), _lazily(_decoder, one)) for one in others]
    encoders = {one: _lazily(_encoder, one) for one in classes}
    decoders = {name: _lazily(_decoder, one) for name, one in by_name.items()}

    def encode(value: Any) -> Any:
        if value.__class__ in encoders:
            return [classes[value.__class__], *encoders[value.__class__](value)]
        return _first_that_fits([to for to, _ in other_pairs], value, tp)

    def decode(value: Any) -> Any:
        if (
            classes
            and value.__class__ is list
            and value
            and value[0].__class__ is str
            and value[0] in decoders
        ):
            return decoders[value[0]](value[1:])
        return _first_that_fits([back for _, back in other_pairs], value, tp)

    return encode, decode


def _first_that_fits(hooks: list[Hook], value: Any, tp: Any) -> Any:
    for hook in hooks:
        try:
            return hook(value)
        except Mismatch:
            continue
    return refuse(value, str(tp).replace("typing.", ""))


def _optional(tp: Any) -> _Pair:
    encode_one, decode_one = _lazily(_encoder, tp), _lazily(_decoder, tp)

    def encode(value: Any) -> Any:
        return None if value is None else encode_one(value)

    def decode(value: Any) -> Any:
        return None if value is None else decode_one(value)

    return encode, decode


def _attrs_class(cls: type) -> _Pair:
    hints = hints_of(cls, getattr(cls, "__boyd_names__", None))
    fields = [field for field in attrs.fields(cls) if field.init]
    types_ = [hints.get(field.name, object) for field in fields]
    encoders = [_lazily(_encoder, tp) for tp in types_]
    decoders = [_lazily(_decoder, tp) for tp in types_]
    needed = sum(field.default is attrs.NOTHING for field in fields)

    def encode_slowly(value: Any) -> list[Any]:
        if value.__class__ is not cls:
            refuse(value, cls.__name__)
        return [
            _in_step(hook, getattr(value, field.name), f".{field.name}")
            for hook, field in zip(encoders, fields, strict=True)
        ]

    def decode_slowly(value: Any) -> Any:
        tree = _list_of(value)
        if len(tree) < needed:
            raise Mismatch(f"{cls.__name__} needs {needed} fields, got {len(tree)}")
        given = {
            field.alias: _in_step(hook, one, f".{field.alias}")
            for field, hook, one in zip(fields, decoders, tree, strict=False)
        }
        try:
            return cls(**given)
        except (TypeError, ValueError) as error:
            raise Mismatch(f"not a {cls.__name__}: {error}") from None

    names = [field.name for field in fields]
    aliases = [field.alias or field.name for field in fields]
    bare = [_bare(tp) for tp in types_]
    return (
        _generated_encoder(cls, names, bare, encoders, encode_slowly),
        _generated_decoder(cls, aliases, bare, decoders, decode_slowly),
    )


_CHECKED: Final[dict[Any, str]] = {
    int: "int",
    str: "str",
    bool: "bool",
    bytes: "bytes",
    float: "float",
}
"""Types whose check is one comparison, written inline."""


def _generated_encoder(
    cls: type, names: list[str], types_: list[Any], hooks: list[Hook], slowly: Hook
) -> Hook:
    """The fields in order, checks inline; whatever does not fit at once goes the slow way, which can say where."""
    env: dict[str, Any] = {"cls": cls, "slowly": slowly, "Mismatch": Mismatch}
    lines = ["def encode(v):", "    if v.__class__ is not cls: return slowly(v)", "    try:"]
    parts: list[str] = []
    for n, (name, tp, hook) in enumerate(zip(names, types_, hooks, strict=True)):
        if _is_checked(tp):
            lines += [
                f"        a{n} = v.{name}",
                f"        if a{n}.__class__ is not {_CHECKED[tp]}: return slowly(v)",
            ]
            parts.append(f"a{n}")
        else:
            env[f"h{n}"] = hook
            parts.append(f"h{n}(v.{name})")
    lines += [
        f"        return [{', '.join(parts)}]",
        "    except Mismatch:",
        "        return slowly(v)",
    ]
    return compiled("encode", lines, env)


def _generated_decoder(
    cls: type, aliases: list[str], types_: list[Any], hooks: list[Hook], slowly: Hook
) -> Hook:
    env: dict[str, Any] = {"cls": cls, "slowly": slowly, "Mismatch": Mismatch}
    lines = [
        "def decode(t):",
        f"    if t.__class__ is not list or len(t) != {len(aliases)}: return slowly(t)",
        "    try:",
    ]
    parts: list[str] = []
    for n, (alias, tp, hook) in enumerate(zip(aliases, types_, hooks, strict=True)):
        if _is_checked(tp):
            lines += [
                f"        a{n} = t[{n}]",
                f"        if a{n}.__class__ is not {_CHECKED[tp]}: return slowly(t)",
            ]
            parts.append(f"{alias}=a{n}")
        else:
            env[f"h{n}"] = hook
            parts.append(f"{alias}=h{n}(t[{n}])")
    lines += [
        f"        return cls({', '.join(parts)})",
        "    except (Mismatch, TypeError, ValueError):",
        "        return slowly(t)",
    ]
    return compiled("decode", lines, env)


def _is_checked(tp: Any) -> bool:
    try:
        return tp in _CHECKED
    except TypeError:
        return False


def _always(_tp: object) -> bool:
    return True


class _Structure:
    """A hook in the shape that cattrs calls, with the bare function beside it."""

    __slots__ = ("alone",)

    def __init__(self, alone: Hook) -> None:
        self.alone = alone

    def __call__(self, value: Any, _tp: Any) -> Any:
        return self.alone(value)


_converter.register_unstructure_hook_factory(_always, lambda tp: _pair(tp)[0])
_converter.register_structure_hook_factory(_always, lambda tp: _Structure(_pair(tp)[1]))
# cattrs looks at hooks for exact classes before it asks factories, and ships some: replace those too.
for _kind in (int, str, bool, float, bytes, *_TEXT_FORMS):
    _converter.register_unstructure_hook(_kind, _pair(_kind)[0])
    _converter.register_structure_hook(_kind, _Structure(_pair(_kind)[1]))


# ------------------------------------------------------------------ whole values
class TypeCodec:
    """Bytes of values of one type, for replies and products whose type is known on both sides."""

    __slots__ = ("_decode", "_encode", "name")

    def __init__(self, tp: Any) -> None:
        self.name = getattr(tp, "__name__", str(tp))
        self._encode, self._decode = _pair(tp)

    def to_tree(self, value: object) -> Any:
        """The plain tree of `value`; EncodeError names the path to what does not fit."""
        try:
            return self._encode(value)
        except Mismatch as error:
            raise EncodeError(f"{self.name}{error.path}: {error.text}") from None

    def from_tree(self, tree: object) -> Any:
        """The value of a plain tree; WireError names the path to what does not fit."""
        try:
            return self._decode(tree)
        except Mismatch as error:
            raise WireError(f"{self.name}{error.path}: {error.text}") from None

    def encode(self, value: object) -> bytes:
        """Raises EncodeError."""
        return pack_tree(self.to_tree(value), self.name)

    def decode(self, frame: bytes) -> Any:
        """From bytes of this process."""
        return self.from_tree(unpack_own(frame))

    def decode_foreign(self, frame: bytes) -> Any:
        """From anybody's bytes. Raises WireError."""
        return self.from_tree(unpack_foreign(frame))


def pack_tree(tree: object, name: str) -> bytes:
    try:
        return pack(tree)
    except OverflowError:
        raise EncodeError(
            f"{name}: an integer beyond 64 bits has no wire form; send it as text"
        ) from None
    except UnicodeEncodeError:
        raise EncodeError(f"{name}: text with a lone surrogate has no wire form") from None
    except (ValueError, TypeError) as error:
        raise EncodeError(f"{name}: {error}") from None


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
