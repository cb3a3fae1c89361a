"""Message types: `@message`, the registry, and codecs written for each class.

A message travels as `[tag, field, field, ...]`. In process the tag is an index
into this process's table; in ledgers and between processes it is the name, so
that stored bytes never choose what Python to build: a name that is not
registered stays opaque.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, MappingProxyType
from typing import (
    Any,
    Final,
    Generic,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

import attrs

from boyd.runtime.annotations import local_names, mentioned, own_annotations
from boyd.runtime.codec import TypeCodec, codec_for, pack_tree, set_union_name
from boyd.runtime.errors import EncodeError, WireError
from boyd.runtime.forms.classes import Field, construction, fields_of
from boyd.runtime.forms.form import Mismatch, bare, is_union
from boyd.runtime.generated import compiled
from boyd.runtime.spans import check_span
from boyd.runtime.wire import DEFAULT_LIMITS, Limits, check_tree, packer, unpack_foreign, unpack_own

__all__ = [
    "MessageCodec",
    "Replies",
    "decode_named",
    "encode_named",
    "message",
    "message_codec",
    "registered",
    "registered_messages",
    "same_definition",
]

C = TypeVar("C")
R_co = TypeVar("R_co", covariant=True)


class Replies(Generic[R_co]):
    """Base of a message that can be asked; `R` is the type of its reply, on the wire and for checkers."""

    __slots__ = ()


@overload
def message(cls: type[C], /) -> type[C]: ...
@overload
def message(tag: str, /, *, within: float | None = None) -> Callable[[type[C]], type[C]]: ...
@dataclass_transform(kw_only_default=True, field_specifiers=(attrs.field,))
def message(
    cls_or_tag: type[C] | str, /, *, within: float | None = None
) -> type[C] | Callable[[type[C]], type[C]]:
    """Make a class a message: an attrs class (`slots`, keyword-only) with a codec.

    The order of its fields is its wire layout: append fields with defaults,
    never reorder. Messages that a ledger stores or that leave the process need
    a tag, such as `@message("bank.deposit")`.

    Args:
        within: seconds that an ask of this message may take, in place of the
            system's `ask_timeout`; for requests that are long by nature.

    Raises:
        TypeError: the tag is taken by another class, or is no text.
    """
    if within is not None:
        check_span(within, "within", least=0.0)
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    if isinstance(cls_or_tag, str):
        return lambda cls: _define(cls, cls_or_tag, within, caller)
    return _define(cls_or_tag, None, within, caller)


def _define(
    cls: type[C], tag: str | None, within: float | None, caller: FrameType | None
) -> type[C]:
    names = local_names(caller, mentioned(own_annotations(cls).values()))
    made = attrs.define(slots=True, kw_only=True, weakref_slot=False)(cls)
    cast("Any", made).__boyd_names__ = names
    _register(made, tag, within)
    return made


@attrs.frozen
class _Registration:
    """What `@message` said of a class."""

    name: str
    tagged: bool
    index: int
    within: float | None


_indices: Final = itertools.count()
_by_tag: Final[dict[str, type]] = {}
_registrations: Final[dict[type, _Registration]] = {}
_codecs: Final[dict[type, MessageCodec[Any]]] = {}


def _register(cls: type, tag: str | None, within: float | None) -> None:
    name = f"{cls.__module__}:{cls.__qualname__}" if tag is None else tag
    if tag is not None:
        if not tag or not tag.isprintable():
            raise TypeError(
                f"{tag!r} is no tag for a message: use printable text, such as 'bank.deposit'"
            )
        known = _by_tag.get(tag)
        if known is not None and not same_definition(known, cls):
            taken = f"{known.__module__}.{known.__qualname__}"
            raise TypeError(f"message tag {tag!r} is taken by {taken}")
        _by_tag[tag] = cls
        set_union_name(cls, tag)
    _registrations[cls] = _Registration(name, tag is not None, next(_indices), within)


def same_definition(one: type, other: type) -> bool:
    """Whether two classes come from one place in one file: of a module that was imported twice."""
    if one.__qualname__ != other.__qualname__:
        return False
    files = [getattr(sys.modules.get(cls.__module__), "__file__", None) for cls in (one, other)]
    return one.__module__ == other.__module__ or (files[0] is not None and files[0] == files[1])


def registered_messages() -> Mapping[str, type]:
    """The message classes of this process by tag."""
    return MappingProxyType(_by_tag)


def registered(name: str) -> type | None:
    """The message class of a tag, or None."""
    return _by_tag.get(name)


class MessageCodec(Generic[C]):
    """How one message class travels. Made at its first use, when its annotations can be resolved.

    Attributes:
        encode, decode: its frame in this process.
        tree_codec: the array of its fields, for frames of others.
        reply: the codec of its reply, or None where it cannot be asked.
    """

    def __init__(self, cls: type[C], registration: _Registration) -> None:
        self.cls = cls
        self.name = registration.name
        self.tagged = registration.tagged
        self.index = registration.index
        self.within = registration.within
        for field in attrs.fields(cast("Any", cls)):
            if not field.init:
                raise TypeError(
                    f"{cls.__qualname__}.{field.name}: a message field cannot be init=False"
                )
        self.tree_codec = codec_for(cls)
        fields = fields_of(cls)
        self.encode: Callable[[C], bytes] = _encoder(self, fields)
        self.decode: Callable[[bytes], C] = _decoder(self, fields)
        self.reply = _reply_codec(cls)

    def __repr__(self) -> str:
        return f"<codec of {self.name}>"


def message_codec(cls: type[C]) -> MessageCodec[C]:
    """The codec of a message class.

    Raises:
        EncodeError: `cls` is not a message.
        TypeError: a field has a type without wire form.
    """
    found = _codecs.get(cls)
    if found is None:
        registration = _registrations.get(cls)
        if registration is None:
            raise EncodeError(f"{cls.__qualname__} is not a message: decorate it with @message")
        found = _codecs[cls] = MessageCodec(cls, registration)
    return found


def _reply_codec(cls: type) -> TypeCodec | None:
    for base in cls.__mro__:
        for parent in base.__dict__.get("__orig_bases__", ()):
            if get_origin(parent) is Replies:
                return codec_for(get_args(parent)[0])
    return None


def encode_named(value: object) -> tuple[str, bytes]:
    """Kind and body of a message for a ledger: its tag, and the array of its fields.

    Raises:
        EncodeError: it is not a message, its class has no tag, or it is too
            deep or too long to be read back.
    """
    codec = message_codec(type(value))
    if not codec.tagged:
        raise EncodeError(
            f'{codec.cls.__qualname__} has no tag, so it cannot be stored: write @message("a.name")'
        )
    tree = codec.tree_codec.to_tree(value)
    try:
        check_tree(tree, DEFAULT_LIMITS)
    except WireError as error:
        raise EncodeError(f"{codec.cls.__name__}: {error}, and could not be read back") from None
    return codec.name, pack_tree(tree, codec.cls.__name__)


def decode_named(kind: str, body: bytes, limits: Limits = DEFAULT_LIMITS) -> object | None:
    """The message of a stored kind and body, or None where the kind is not registered here.

    Raises:
        WireError: the body is not one of that kind.
    """
    cls = _by_tag.get(kind)
    if cls is None:
        return None
    found: object = message_codec(cls).tree_codec.from_tree(unpack_foreign(body, limits))
    return found


# ------------------------------------------------------------------ generated code
def _encoder(codec: MessageCodec[Any], fields: Sequence[Field]) -> Callable[[Any], bytes]:
    """`encode(m)`: one pass over the fields, type checks inline, one pack of a tuple."""

    def slowly(value: object) -> bytes:
        return pack_tree((codec.index, *codec.tree_codec.to_tree(value)), codec.cls.__name__)

    names: dict[str, Any] = {"packer": packer, "slowly": slowly, "Mismatch": Mismatch}
    lines = ["def encode(m):", " try:"]
    parts = [str(codec.index)]
    for n, field in enumerate(fields):
        lines.append(f"  a{n} = m.{field.name}")
        if field.check:
            lines.append(f"  if a{n}.__class__ is not {field.check}: return slowly(m)")
            parts.append(f"a{n}")
        else:
            names[f"h{n}"] = codec_for(field.type).form.encode
            parts.append(f"h{n}(a{n})")
    lines += [
        f"  return packer.pack(({', '.join(parts)},))",
        " except (Mismatch, TypeError, ValueError, OverflowError, RecursionError): return slowly(m)",
    ]
    return compiled("encode", lines, names)


def _decoder(codec: MessageCodec[Any], fields: Sequence[Field]) -> Callable[[bytes], Any]:
    """`decode(frame)` for frames of this process, whose primitives the encoder has checked."""

    def slowly(frame: bytes) -> Any:  # noqa: ANN401
        return codec.tree_codec.from_tree(unpack_own(frame)[1:])

    names: dict[str, Any] = {
        "unpack": unpack_own,
        "cls": codec.cls,
        "new": object.__new__,
        "slowly": slowly,
    }
    parts: list[str] = []
    for n, field in enumerate(fields):
        trusted = _trusted(field, f"a{n}")
        if not trusted:
            names[f"h{n}"] = codec_for(field.type).form.decode
        parts.append(trusted or f"h{n}(a{n})")
    lines = [
        "def decode(frame):",
        " try:",
        f"  _, {''.join(f'a{n}, ' for n in range(len(fields)))}= unpack(frame)",
        *(f"  {line}" for line in construction(codec.cls, fields, parts)),
        " except Exception: return slowly(frame)",
    ]
    return compiled("decode", lines, names)


_PRIMITIVES: Final = (str, int, bool, float, bytes)


def _trusted(field: Field, part: str) -> str:
    """An expression for a value whose encoder left nothing to check, or "" where there is one."""
    tp = bare(field.type)
    kind, arguments = get_origin(tp), get_args(tp)
    if field.check or tp in (object, Any):
        return part
    if kind is tuple and arguments[1:] == (Ellipsis,) and arguments[0] in _PRIMITIVES:
        return f"tuple({part})"
    optional = is_union(tp) and set(arguments) - {type(None)} in [{one} for one in _PRIMITIVES]
    array = kind is list and arguments[0] in _PRIMITIVES
    mapping = kind is dict and arguments[0] is str and arguments[1] in _PRIMITIVES
    return part if optional or array or mapping else ""
