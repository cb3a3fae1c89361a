"""What the fields of messages look like on the wire, as data that can be kept and compared."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias, cast, get_args, get_origin

import attrs

from boyd.runtime.annotations import meaning
from boyd.runtime.forms.classes import fields_of
from boyd.runtime.forms.containers import CONTAINERS
from boyd.runtime.forms.form import bare, is_union, type_name, with_hooks
from boyd.runtime.forms.scalars import PRIMITIVES
from boyd.runtime.forms.unions import Member, members_of, tell_apart
from boyd.runtime.messages import Replies, message_codec, registered_messages

__all__ = ["Kind", "Layout", "Part", "layouts_of", "tagged_messages"]

Kind: TypeAlias = Literal["message", "class", "enum"]


@attrs.frozen
class Part:
    """One field of a class, or one member of an enum.

    Attributes:
        type: as text, with messages by their tags; the number of a member of flags; else "".
        default: a body that ends before it can be read.
    """

    name: str
    type: str = ""
    default: bool = False


@attrs.frozen
class Layout:
    """One message, or one class or enum that messages are made of.

    Attributes:
        name: the tag of a message, else the name of the class.
        parts: in the order of the wire.
        reply: the type of a message's reply, or "".
    """

    kind: Kind
    name: str
    parts: tuple[Part, ...]
    reply: str = ""


def tagged_messages() -> Sequence[type]:
    """The classes of all tags of this process, by tag."""
    return [cls for _, cls in sorted(registered_messages().items())]


def layouts_of(messages: Iterable[type]) -> Sequence[Layout]:
    """Of messages, and of all that their fields and replies are made of, sorted.

    Two classes of one name have a layout each, unless these are equal.

    Raises:
        TypeError: a field has a type without wire form.
    """
    walk = _Walk()
    for cls in messages:
        message_codec(cls)
        walk.text(cls)
    order: Final = ("message", "class", "enum")
    return sorted(
        set(walk.found.values()),
        key=lambda one: (order.index(one.kind), one.name, repr(one.parts)),
    )


class _Walk:
    """Writes types as text, and finds the layouts of the classes among them."""

    def __init__(self) -> None:
        self.found: dict[type, Layout] = {}
        self._begun: set[type] = set()
        self._tags = {cls: tag for tag, cls in registered_messages().items()}
        self._aliases: list[object] = []

    def text(self, tp: Any) -> str:  # noqa: ANN401
        """`list["bank.entry"] | None`."""
        if any(tp is one for one in self._aliases):  # an alias of what contains it
            return type_name(tp)
        self._aliases.append(tp)
        try:
            return self._meant(bare(tp))
        finally:
            self._aliases.pop()

    def _meant(self, tp: Any) -> str:  # noqa: ANN401
        kind, arguments = get_origin(tp) or tp, get_args(tp)
        if is_union(tp):
            return " | ".join(self._union(tp))
        if kind is Literal:
            return f"Literal[{', '.join(sorted(self._value(one) for one in arguments))}]"
        if kind in CONTAINERS:
            return f"{kind.__name__}{self._arguments(kind, arguments)}"
        if tp is Any:
            return "object"
        if tp is None or tp is type(None):
            return "None"
        return self._class(cast("type[Any]", kind)) if isinstance(kind, type) else type_name(tp)

    def _union(self, tp: Any) -> list[str]:  # noqa: ANN401
        """The members, sorted: typing gives equal unions in the order of the first one."""
        kinds = list(dict.fromkeys(members_of(tp)))
        others = [one for one in kinds if one not in (None, type(None))]
        members = tell_apart(
            tp, others, lambda _: PRIMITIVES[object]
        )  # only their names are looked at
        texts = sorted(self._member(one) for one in members)
        return texts if len(others) == len(kinds) else [*texts, "None"]

    def _member(self, member: Member) -> str:
        """With the name in front of it on the wire, where that is another than its text."""
        text, name = self.text(member.type), json.dumps(member.tag, ensure_ascii=False)
        return text if member.tag in ("", text) or name == text else f"{text} as {name}"

    def _value(self, value: object) -> str:
        if isinstance(value, enum.Enum):
            self.text(type(value))
            return f"{type_name(type(value))}.{value.name}"
        return repr(value)

    def _arguments(self, kind: object, arguments: tuple[Any, ...]) -> str:
        if not arguments:
            arguments = (object, object) if CONTAINERS[kind] is dict else (object,)
            arguments += (...,) if kind is tuple else ()
        if arguments == ((),):
            return "[()]"
        return f"[{', '.join('...' if one is ... else self.text(one) for one in arguments)}]"

    def _class(self, cls: type[Any]) -> str:
        tag = self._tags.get(cls)
        if cls not in self._begun and cls not in with_hooks:
            self._begun.add(cls)
            if issubclass(cls, enum.Enum):
                self.found[cls] = Layout("enum", type_name(cls), _names_of(cls))
            elif attrs.has(cls):
                self.found[cls] = self._fields(cls, tag)
        return type_name(cls) if tag is None else json.dumps(tag, ensure_ascii=False)

    def _fields(self, cls: type, tag: str | None) -> Layout:
        around, self._aliases = self._aliases, []  # a field may be of a type that is being written
        with meaning(cls):
            parts = tuple(
                Part(field.name, self.text(field.type), not field.required)
                for field in fields_of(cls)
            )
        self._aliases = around
        if tag is None:
            return Layout("class", type_name(cls), parts)
        return Layout("message", tag, parts, self._reply(cls))

    def _reply(self, cls: type) -> str:
        for base in cls.__mro__:
            for parent in base.__dict__.get("__orig_bases__", ()):
                if get_origin(parent) is Replies:
                    return self.text(get_args(parent)[0])
        return ""


def _names_of(kind: type[enum.Enum]) -> tuple[Part, ...]:
    """By name, as they travel; flags with their numbers, since combinations travel as those."""
    flags = issubclass(kind, enum.Flag)
    members = cast("dict[str, enum.Enum]", kind.__members__)
    return tuple(Part(name, str(one.value) if flags else "") for name, one in members.items())
