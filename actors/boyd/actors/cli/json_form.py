"""Any value of a ledger as plain JSON."""

from __future__ import annotations

import base64
import enum
from collections.abc import Mapping
from typing import Any, cast

import attrs

from boyd.actors.ooda.cycle import NodeDone
from boyd.actors.runs.messages import RunFinished
from boyd.runtime import Entry, Ref, WireError
from boyd.runtime.wire import unpack_foreign

__all__ = ["body_tree", "entry_json", "json_tree"]


def json_tree(value: Any) -> Any:  # noqa: ANN401, PLR0911  # any value; one return a kind
    """`value` as dicts, lists and scalars; bytes as {"base64": ...}."""
    simple: Any = value
    match simple:
        case None | bool() | int() | float() | str():
            return value
        case enum.Enum():
            return value.name
        case bytes():
            return {"base64": base64.b64encode(value).decode()}
        case Ref():
            return value.path
        case Mapping():
            return {str(key): json_tree(one) for key, one in value.items()}
        case list() | tuple() | set() | frozenset():
            return [json_tree(one) for one in value]
        case _ if attrs.has(kind := cast("type[attrs.AttrsInstance]", type(value))):
            names = [field.name for field in attrs.fields(kind)]
            return {name: json_tree(getattr(value, name)) for name in names}
        case _:
            return str(value)


def entry_json(thread: str, entry: Entry) -> dict[str, Any]:
    """An entry for a program: its message's fields, or the bare `body` of an unknown kind."""
    form: dict[str, Any] = {
        "thread": thread,
        "seq": entry.seq,
        "at": entry.at,
        "kind": entry.kind,
        "id": entry.id,
    }
    message = _message(entry)
    if message is None:
        return form | {"body": body_tree(entry.body)}
    tree = json_tree(message)
    match message:
        case NodeDone(product=product):
            tree["product"] = body_tree(product)
        case RunFinished(output=output):
            tree["output"] = body_tree(output)
        case _:
            pass
    return form | {"message": tree}


def _message(entry: Entry) -> object | None:
    try:
        return entry.message()
    except WireError:
        return None  # of another version of its program: shown bare


def body_tree(body: bytes) -> Any:  # noqa: ANN401  # a plain tree
    """The plain tree of encoded bytes, without the names that only their class knows."""
    try:
        return json_tree(unpack_foreign(body))
    except WireError:
        return json_tree(body)
