"""The form of a union.

Members that look alike on the wire are told apart by a name in front of them:
`[name, field, ...]` for an attrs class, `[name, tree]` for anything else. An
attrs class has its name in every union but `Class | None`.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterable
from typing import Any, Final, Literal, cast, get_args, get_origin

import attrs

from boyd.runtime.forms.containers import CONTAINERS
from boyd.runtime.forms.form import (
    Find,
    Form,
    Mismatch,
    bare,
    is_union,
    refuse,
    type_name,
    with_hooks,
)
from boyd.runtime.forms.scalars import TEXT_FORMS

__all__ = ["Member", "members_of", "tell_apart", "union_form", "union_names"]

union_names: Final[dict[type, str]] = {}
"""The names by which classes are told apart, where it is not the class name."""

_WIRE: Final = frozenset({type(None), bool, int, float, str, bytes, list, dict})
"""The classes of plain trees: how things look on the wire."""


def looks(tp: Any) -> frozenset[type]:  # noqa: ANN401
    """The classes of plain tree that values of a type may have on the wire; all, where that is not known."""
    tp = bare(tp)
    kind = get_origin(tp) or tp
    if is_union(tp):
        return frozenset(look for one in members_of(tp) for look in looks(one))
    if kind is Literal:
        values: tuple[object, ...] = get_args(tp)
        return frozenset(str if isinstance(one, enum.Enum) else type(one) for one in values)
    if kind in CONTAINERS:
        text_keys = bare((get_args(tp) or (object,))[0]) in (str, object, Any)
        return frozenset({dict if CONTAINERS[kind] is dict and text_keys else list})
    if isinstance(kind, type) and kind not in with_hooks:
        return _looks_of_class(cast("type[Any]", kind))
    return frozenset({type(None)}) if tp is None else _WIRE


def _looks_of_class(kind: type[Any]) -> frozenset[type]:
    if issubclass(kind, enum.Enum):
        return frozenset({str, int} if issubclass(kind, enum.Flag) else {str})
    if kind in TEXT_FORMS:
        return frozenset({str})
    if kind in _WIRE:
        return frozenset({kind})
    return frozenset({list}) if attrs.has(kind) else _WIRE


def members_of(tp: Any) -> Iterable[Any]:  # noqa: ANN401
    """The members, those of unions within included."""
    for member in get_args(tp):
        inner = bare(member)
        if is_union(inner):
            yield from members_of(inner)
        else:
            yield inner


@attrs.frozen
class Member:
    """One member of a union; `tag` is "" where its look tells enough."""

    type: Any
    form: Form
    tag: str
    is_class: bool

    def encode(self, value: object) -> Any:  # noqa: ANN401
        tree = self.form.encode(value)
        if not self.tag:
            return tree
        return [self.tag, *tree] if self.is_class else [self.tag, tree]

    def decode(self, tail: list[Any]) -> Any:  # noqa: ANN401
        if self.is_class:
            return self.form.decode(tail)
        if len(tail) != 1:
            raise Mismatch(f"expected one value of {self.tag}")
        return self.form.decode(tail[0])


def union_form(tp: Any, find: Find) -> Form:  # noqa: ANN401
    """Of `A | B | ...`."""
    kinds = list(dict.fromkeys(members_of(tp)))
    others = [one for one in kinds if one not in (None, type(None))]
    nullable = len(others) < len(kinds)
    if len(others) == 1 and nullable and type(None) not in looks(others[0]):
        return _optional(find(others[0]))
    members = tell_apart(tp, others, find)
    name = type_name(tp)
    by_class: dict[Any, list[Member]] = {}
    for member in members:
        by_class.setdefault(get_origin(member.type) or member.type, []).append(member)
    any_class = [member for member in members if not member.is_class]
    # `Mapping` and the like: a dict may be one, also beside a member that is a `dict`.
    abstract = [one for one in members if inspect.isabstract(get_origin(one.type) or one.type)]
    by_look = {look: member for member in members if not member.tag for look in looks(member.type)}
    by_tag = {member.tag: member for member in members if member.tag}

    def encode(value: object) -> Any:  # noqa: ANN401
        if value is None and nullable:
            return None
        candidates = by_class.get(value.__class__) or any_class
        if len(candidates) == 1 and not abstract:
            return candidates[0].encode(value)
        for member in (*candidates, *abstract):
            try:
                return member.encode(value)
            except Mismatch:
                continue
        return refuse(value, name)

    def decode(value: Any) -> Any:  # noqa: ANN401
        if value is None and nullable:
            return None
        if by_tag and value.__class__ is list:
            tree: list[Any] = value or [None]
            tag, *tail = tree
            tagged = by_tag.get(tag) if tag.__class__ is str else None
            if tagged is None:
                raise Mismatch(f"expected one of {', '.join(by_tag)}, got {tag!r:.40}")
            return tagged.decode(tail)
        member = by_look.get(value.__class__)
        return refuse(value, name) if member is None else member.form.decode(value)

    return Form(encode, decode)


def tell_apart(tp: Any, kinds: list[Any], find: Find) -> list[Member]:  # noqa: ANN401
    looked: dict[type, int] = {}
    for kind in kinds:
        for look in looks(kind):
            looked[look] = looked.get(look, 0) + 1
    classes = {kind for kind in kinds if isinstance(kind, type) and _is_class(kind)}
    alike = {kind for kind in kinds if any(looked[look] > 1 for look in looks(kind))}
    tagged = classes | alike
    if tagged:  # a name in front makes an array, so no other array may go without
        tagged |= {kind for kind in kinds if list in looks(kind)}
    names = {kind: union_names.get(kind) or type_name(kind) for kind in tagged}
    if len(set(names.values())) != len(names):
        raise TypeError(f"{type_name(tp)}: two members of this union have one name")
    return [Member(kind, find(kind), names.get(kind, ""), kind in classes) for kind in kinds]


def _is_class(kind: type) -> bool:
    return attrs.has(kind) and looks(kind) == frozenset({list})


def _optional(form: Form) -> Form:
    encode, decode = form.encode, form.decode
    return Form(
        lambda value: None if value is None else encode(value),
        lambda value: None if value is None else decode(value),
    )
