"""Forms of sequences, sets and mappings."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Iterable, Mapping
from operator import length_hint
from typing import Any, Final, cast, get_args, get_origin

from boyd.runtime.forms.form import (
    Find,
    Form,
    Hook,
    Mismatch,
    bare,
    each,
    each_value,
    in_step,
    is_mapping,
    refuse,
)

__all__ = ["CONTAINERS", "container_form"]

_Make = Callable[[Iterable[Any]], Any]

# What a type is read back as. Other containers (deque, OrderedDict, bytearray) would come back
# as something else, so they have no form.
CONTAINERS: Final[Mapping[Any, _Make]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    dict: dict,
    collections.abc.Collection: tuple,
    collections.abc.Sequence: tuple,
    collections.abc.MutableSequence: list,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}


_NO_SEQUENCES: Final = (str, bytes, bytearray, memoryview, Mapping)


def container_form(tp: Any, find: Find) -> Form:  # noqa: ANN401
    """Of a type whose origin is in `CONTAINERS`."""
    kind = get_origin(tp) or tp
    make, arguments = CONTAINERS[kind], get_args(tp)
    if make is dict:
        key, element_type = arguments or (object, object)
        return _mapping(key, element_type, find)
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        return _fixed_tuple([] if arguments == ((),) else arguments, find)
    element = find(arguments[0] if arguments else object)
    if make in (set, frozenset):
        return _set(element, make)
    return _sequence(element, make, sized=kind is collections.abc.Collection)


def _sequence(element: Form, make: _Make, *, sized: bool) -> Form:
    accepts = collections.abc.Collection if sized else collections.abc.Sequence
    encode_one, decode_one = element.encode, element.decode
    unchanged = frozenset(() if element.exact is None else (element.exact,))

    def encode(value: Any) -> list[Any]:  # noqa: ANN401
        if value.__class__ is list or value.__class__ is tuple:
            same = unchanged.issuperset(map(type, value))
            return list(value) if same else each(encode_one, value)
        if not isinstance(value, accepts) or isinstance(value, _NO_SEQUENCES):
            refuse(cast("object", value), "a sequence")
        return each(encode_one, list(cast("Iterable[Any]", value)))

    def decode(value: object) -> Any:  # noqa: ANN401
        elements = array(value)
        same = unchanged.issuperset(map(type, elements))
        return make(elements if same else each(decode_one, elements))

    return Form(encode, decode)


def array(value: Any) -> list[Any]:  # noqa: ANN401
    """`value`, which must be an array."""
    found: list[Any] = value if value.__class__ is list else refuse(value, "an array")
    return found


def _set(element: Form, make: _Make) -> Form:
    def encode(value: object) -> list[Any]:
        if not isinstance(value, collections.abc.Set):
            refuse(value, "a set")
        # In an order of its own, or the same set would be different bytes in another process.
        return each(element.encode, sorted(cast("Iterable[Any]", value), key=repr))

    def decode(value: object) -> Any:  # noqa: ANN401
        elements = each(element.decode, array(value))
        try:
            made = make(elements)
        except TypeError as error:
            raise Mismatch(f"not a set: {error}") from None
        if len(made) != len(elements):
            raise Mismatch("a set has the same element twice")
        return made

    return Form(encode, decode)


def _fixed_tuple(types: Iterable[Any], find: Find) -> Form:
    forms = [find(tp) for tp in types]
    unchanged = tuple(form.exact for form in forms)

    def convert(hooks: list[Hook], values: Any) -> list[Any]:  # noqa: ANN401
        if tuple(map(type, values)) == unchanged:
            return list(values)
        if len(values) != len(hooks):
            raise Mismatch(f"expected {len(hooks)} elements, got {len(values)}")
        pairs = iter(list(zip(hooks, values, strict=True)))
        try:
            return [hook(one) for hook, one in pairs]
        except Mismatch as error:
            raise error.at(f"[{len(hooks) - length_hint(pairs) - 1}]") from None

    encoders, decoders = [form.encode for form in forms], [form.decode for form in forms]
    return Form(
        lambda value: convert(
            encoders, value if isinstance(value, (tuple, list)) else refuse(value, "a tuple")
        ),
        lambda value: tuple(convert(decoders, array(value))),
    )


def _mapping(key: Any, element: Any, find: Find) -> Form:  # noqa: ANN401
    of_value = find(element)
    if bare(key) not in (str, object, Any):
        return _pairs(find(key), of_value)

    def encode(value: Any) -> Any:  # noqa: ANN401
        return each_value(
            of_value.encode, value if is_mapping(value) else refuse(value, "a mapping")
        )

    def decode(value: Any) -> Any:  # noqa: ANN401
        return each_value(
            of_value.decode,
            value if value.__class__ is dict else refuse(value, "a map"),
        )

    return Form(encode, decode)


def _pairs(of_key: Form, of_value: Form) -> Form:
    """Keys that are not text: map keys are text on the wire, and 1 and "1" must stay two keys."""

    def encode(value: Any) -> list[Any]:  # noqa: ANN401
        if not is_mapping(value):
            refuse(value, "a mapping")
        return [
            [in_step(of_key.encode, k, " key"), in_step(of_value.encode, v, f"[{k!r}]")]
            for k, v in value.items()
        ]

    def decode(value: object) -> dict[Any, Any]:
        pairs = [array(pair) for pair in array(value)]
        if any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004
            raise Mismatch("expected pairs of key and value")
        try:
            made = {
                in_step(of_key.decode, k, " key"): in_step(of_value.decode, v, f"[{k!r:.40}]")
                for k, v in pairs
            }
        except TypeError as error:
            raise Mismatch(f"not a mapping: {error}") from None
        if len(made) != len(pairs):
            raise Mismatch("a mapping has the same key twice")
        return made

    return Form(encode, decode)
