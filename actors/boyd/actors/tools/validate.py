"""Arguments against their schema; the only user of jsonschema-rs.

Schemas may come from elsewhere (MCP): no reference is ever fetched. Error
texts are for the model: they name the field and what is wrong with it, and
repeat at most 80 characters of what it sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, cast

import jsonschema_rs

__all__ = ["Validator"]

LONGEST_VALUE: Final = 80
MOST_PROBLEMS: Final = 10
_MASK: Final = "\0value\0"  # cannot stand in a schema's own texts


def _deny(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


class Validator:
    """A compiled schema.

    Raises:
        ValueError: it is no schema, or refers to something outside itself.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        try:
            self._rules = jsonschema_rs.Draft202012Validator(schema, retriever=_deny, mask=_MASK)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
            raise ValueError(f"not a usable JSON Schema: {error.message}") from None

    def problems(self, tree: dict[str, object]) -> tuple[str, ...]:
        """Everything that is wrong with `tree`, one text a field; () if nothing is."""
        try:
            found = list(_described(self._rules.iter_errors(tree)))
        except UnicodeEncodeError:
            return ("a text has half of a surrogate pair in it",)
        except (ValueError, RecursionError) as error:
            return (f"not plain JSON: {str(error)[:LONGEST_VALUE]}",)
        if len(found) > MOST_PROBLEMS:
            found[MOST_PROBLEMS:] = [f"and {len(found) - MOST_PROBLEMS} more"]
        return tuple(found)


def _described(errors: Iterator[jsonschema_rs.ValidationError]) -> Iterator[str]:
    for error in errors:
        text = _reason(error)
        where = "/".join(str(step) for step in error.instance_path)
        yield f"{_clip(where)}: {text}" if where else text


def _reason(error: jsonschema_rs.ValidationError) -> str:
    kind: Any = error.kind
    if kind.name == "required":
        return f"the field {_clip(str(kind.property))!r} is missing"
    if kind.name == "additionalProperties":
        names = ", ".join(repr(_clip(name)) for name in kind.unexpected[:MOST_PROBLEMS])
        return f"there is no field {names}"
    if kind.name in ("anyOf", "oneOf") and hasattr(kind, "context"):
        return f"{_value(error)} fits none of the allowed forms: {_forms(kind.context)}"
    return error.message.replace(_MASK, _value(error))


def _forms(context: Sequence[Sequence[jsonschema_rs.ValidationError]]) -> str:
    forms = (next((_brief(one) for one in errors), "") for errors in context)
    return "; ".join(dict.fromkeys(form for form in forms if form))


def _brief(error: jsonschema_rs.ValidationError) -> str:
    where = "/".join(str(step) for step in error.instance_path)
    kind: Any = error.kind
    if kind.name == "required":
        return f"{kind.property!r} is missing"
    if kind.name == "type":
        return f"{where or 'it'} is no {' or '.join(kind.types)}"
    return _clip(error.message.replace(_MASK, "it"))


def _value(error: jsonschema_rs.ValidationError) -> str:
    instance = cast("object", error.instance)
    if isinstance(instance, dict):
        return "this object"
    if isinstance(instance, list):
        return "this array"
    return _clip(repr(instance)) if not isinstance(instance, str) else f'"{_clip(instance)}"'


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
