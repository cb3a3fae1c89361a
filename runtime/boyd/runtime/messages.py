"""Message types: `@message`, the registry, and array codecs generated for each class.

A message travels as `[tag, field, field, ...]`. In process the tag is an index
into this process's table; in ledgers and between processes it is the name, so
that stored bytes never choose what Python to build: a name that is not
registered stays opaque.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
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

from boyd.runtime.codec import Mismatch, TypeCodec, codec_for, hints_of, pack_tree, set_union_name
from boyd.runtime.errors import EncodeError, WireError
from boyd.runtime.generated import compiled
from boyd.runtime.wire import DEFAULT_LIMITS, Limits, pack, unpack_foreign, unpack_own

__all__ = [
    "MessageCodec",
    "Replies",
    "decode_named",
    "encode_named",
    "message",
    "message_codec",
    "registered",
]

C = TypeVar("C")
R_co = TypeVar("R_co", covariant=True)


class Replies(Generic[R_co]):
    """Base of a message that can be asked; `R` is the type of its reply, on the wire and for type checkers."""

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
        TypeError: the tag is taken by another class.
    """
    names = _local_names()

    def register(cls: type[C], tag: str | None) -> type[C]:
        made = attrs.define(slots=True, kw_only=True, weakref_slot=False)(cls)
        _register(made, tag, within, names)
        return made

    if isinstance(cls_or_tag, str):
        return lambda cls: register(cls, cls_or_tag)
    return register(cls_or_tag, None)


def _local_names() -> dict[str, object]:
    """What a class defined inside a function may mention in its annotations."""
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame and frame.f_back else None
    if caller is None or caller.f_locals is caller.f_globals:
        return {}
    return dict(caller.f_locals)


class MessageCodec(Generic[C]):
    """How one message class travels. Made at its first use, when its annotations can be resolved."""

    def __init__(
        self, cls: type[C], *, name: str, tagged: bool, index: int, within: float | None
    ) -> None:
        self.cls = cls
        self.name = name
        self.tagged = tagged
        self.index = index
        self.within = within
        hints = hints_of(cls, cast("Any", cls).__boyd_names__)
        self.fields = tuple(attrs.fields(cast("Any", cls)))
        for field in self.fields:
            if not field.init:
                raise TypeError(
                    f"{cls.__qualname__}.{field.name}: a message field cannot be init=False"
                )
        self.types = tuple(hints.get(field.name, object) for field in self.fields)
        self.encode: Callable[[C], bytes] = _generate_encoder(self)
        self.decode: Callable[[bytes], C] = _generate_decoder(self)
        self.tree_codec = codec_for(cls)
        self.reply = _reply_codec(cls)

    def decode_tree(self, tree: list[Any]) -> C:
        """From the fields of somebody's frame, strictly. Raises WireError."""
        return cast("C", self.tree_codec.from_tree(tree))

    def __repr__(self) -> str:
        return f"<codec of {self.name}>"


_table: Final[list[type]] = []
_by_name: Final[dict[str, type]] = {}
_codecs: Final[dict[type, MessageCodec[Any]]] = {}
_options: Final[dict[type, tuple[str, bool, int, float | None]]] = {}


def _register(cls: type, tag: str | None, within: float | None, names: dict[str, object]) -> None:
    name = tag if tag is not None else f"{cls.__module__}:{cls.__qualname__}"
    known = _by_name.get(name)
    if known is not None and tag is not None and not same_definition(known, cls):
        raise TypeError(f"message tag {tag!r} is taken by {known.__module__}.{known.__qualname__}")
    cls.__boyd_names__ = names  # type: ignore[attr-defined]
    index = len(_table)
    _table.append(cls)
    _by_name[name] = cls
    _options[cls] = (name, tag is not None, index, within)
    set_union_name(cls, name if tag is not None else cls.__name__)


def same_definition(one: type, other: type) -> bool:
    """Whether two classes come from one place in one file: a module that was imported again, or under another name."""
    if one.__qualname__ != other.__qualname__:
        return False
    files = [getattr(sys.modules.get(cls.__module__), "__file__", None) for cls in (one, other)]
    return one.__module__ == other.__module__ or (files[0] is not None and files[0] == files[1])


def registered(name: str) -> type | None:
    """The message class of a tag, or None."""
    return _by_name.get(name)


def message_codec(cls: type[C]) -> MessageCodec[C]:
    """The codec of a message class.

    Raises:
        EncodeError: `cls` is not a message.
        TypeError: a field has a type without wire form.
    """
    found = _codecs.get(cls)
    if found is None:
        if cls not in _options:
            raise EncodeError(f"{cls.__qualname__} is not a message: decorate it with @message")
        name, tagged, index, within = _options[cls]
        found = _codecs[cls] = MessageCodec(
            cls, name=name, tagged=tagged, index=index, within=within
        )
    return found


def encode_named(value: object) -> tuple[str, bytes]:
    """Kind and body of a message for a ledger: its tag, and the array of its fields.

    Raises:
        EncodeError: it is not a message, or its class has no tag.
    """
    codec = message_codec(type(value))
    if not codec.tagged:
        raise EncodeError(
            f'{codec.cls.__qualname__} has no tag, so it cannot be stored: write @message("a.name")'
        )
    return codec.name, codec.tree_codec.encode(value)


def decode_named(kind: str, body: bytes, limits: Limits = DEFAULT_LIMITS) -> object | None:
    """The message of a stored kind and body, or None where the kind is not registered here.

    Raises:
        WireError: the body is not one of that kind.
    """
    cls = _by_name.get(kind)
    if cls is None or not _options[cls][1]:
        return None
    tree = unpack_foreign(body, limits)
    return cast("object", message_codec(cls).decode_tree(tree))


def _reply_codec(cls: type) -> TypeCodec | None:
    for base in getattr(cls, "__orig_bases__", ()):
        if get_origin(base) is Replies:
            return codec_for(get_args(base)[0])
    return None


# ------------------------------------------------------------------ generated code
_CHECKED: Final = {int: "int", str: "str", bool: "bool", bytes: "bytes", float: "float"}


def _generate_encoder(codec: MessageCodec[Any]) -> Callable[[Any], bytes]:
    """`encode(m)`: one pass over the fields, type checks inline, one pack of a tuple."""
    env: dict[str, Any] = {
        "pack": pack,
        "INDEX": codec.index,
        "slow": _slow_encoder(codec),
        **{n: t for t, n in _CHECKED.items()},
    }
    lines = ["def encode(m):"]
    parts = ["INDEX"]
    for n, (field, tp) in enumerate(zip(codec.fields, codec.types, strict=True)):
        lines.append(f"    a{n} = m.{field.name}")
        if tp in _CHECKED:
            lines.append(f"    if a{n}.__class__ is not {_CHECKED[tp]}: return slow(m)")
            parts.append(f"a{n}")
        else:
            env[f"u{n}"] = codec_for(tp)._encode  # noqa: SLF001  # one package, the hot path
            parts.append(f"u{n}(a{n})")
    body = f"pack(({', '.join(parts)},))"
    lines += [
        "    try:",
        f"        return {body}",
        "    except (Mismatch, TypeError, ValueError, OverflowError):",
        "        return slow(m)",
    ]
    env["Mismatch"] = Mismatch
    return compiled("encode", lines, env)


def _slow_encoder(codec: MessageCodec[Any]) -> Callable[[Any], bytes]:
    """The same bytes with conversions, or the EncodeError that names the field."""

    def slow(value: Any) -> bytes:
        return pack_tree((codec.index, *codec.tree_codec.to_tree(value)), codec.cls.__name__)

    return slow


def _generate_decoder(codec: MessageCodec[Any]) -> Callable[[bytes], Any]:
    """`decode(frame)` for frames of this process, whose primitives the encoder has checked."""
    env: dict[str, Any] = {"unpack": unpack_own, "cls": codec.cls, "COUNT": len(codec.fields) + 1}
    lines = ["def decode(frame):", "    t = unpack(frame)"]
    arguments: list[str] = []
    for n, (field, tp) in enumerate(zip(codec.fields, codec.types, strict=True)):
        if tp in _CHECKED:
            arguments.append(f"{field.alias}=t[{n + 1}]")
        else:
            env[f"s{n}"] = codec_for(tp)._decode  # noqa: SLF001
            arguments.append(f"{field.alias}=s{n}(t[{n + 1}])")
    lines.append(f"    return cls({', '.join(arguments)})")
    generated = compiled("decode", lines, env)

    def decode(frame: bytes) -> Any:
        try:
            return generated(frame)
        except Mismatch as error:
            raise WireError(f"{codec.name}{error.path}: {error.text}") from None

    return decode
