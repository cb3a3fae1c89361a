"""The text that a model wrote as arguments to a plain tree, whatever it wrote."""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn, cast

__all__ = ["ArgumentsError", "parse_arguments"]

LONGEST: Final = 512 << 10
DEEPEST: Final = 64


class ArgumentsError(ValueError):
    """The arguments cannot be used; the text is for the model."""


def parse_arguments(raw: str | None) -> dict[str, object]:
    """The object that `raw` holds. Nothing, blanks and `null` are an empty one.

    An object that was encoded twice is unwrapped once, because some models do that.

    Raises:
        ArgumentsError: it is anything else.
    """
    return _parse(raw, unwrap=True)


def _parse(raw: str | None, *, unwrap: bool) -> dict[str, object]:
    if raw is None or not raw.strip():
        return {}
    if len(raw) > LONGEST:
        raise ArgumentsError(f"they are {len(raw):,} characters long, and {LONGEST:,} are accepted")
    value = _load(raw)
    if value is None:
        return {}
    if isinstance(value, str) and unwrap:
        return _parse(value, unwrap=False)
    if not isinstance(value, dict):
        kind = _KINDS.get(cast("type", type(value)), "something else")
        raise ArgumentsError(f"they must be a JSON object, and are {kind}")
    tree = cast("dict[str, object]", value)
    _check(tree)
    return tree


_KINDS: Final[dict[type, str]] = {
    str: "a text",
    list: "an array",
    int: "a number",
    float: "a number",
    bool: "true or false",
}


def _load(raw: str) -> object:
    try:
        return json.loads(raw, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ArgumentsError(_explained(raw, error)) from None
    except RecursionError:
        raise ArgumentsError(f"they are nested deeper than {DEEPEST} levels") from None
    except ArgumentsError:
        raise
    except ValueError:  # an integer of more than 4,300 digits
        raise ArgumentsError("a number in them is too long") from None


def _explained(raw: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "they hold more than one JSON value"
    if error.pos >= len(raw.rstrip()) or error.msg.startswith("Unterminated string"):
        return "they end in the middle: the reply was cut off, so write less at once"
    return f"they are not valid JSON: {error.msg} at character {error.pos + 1}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ArgumentsError(f"the field {twice!r:.80} is given twice")
    return tree


def _no_constant(constant: str) -> NoReturn:
    raise ArgumentsError(f"{constant} is no JSON number")


def _check(tree: dict[str, object]) -> None:
    # A stack of our own: what JSON nests may be deeper than Python recurses.
    stack: list[tuple[object, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > DEEPEST:
            raise ArgumentsError(f"they are nested deeper than {DEEPEST} levels")
        if isinstance(node, dict):
            stack.extend((one, depth + 1) for one in cast("dict[str, object]", node).values())
        elif isinstance(node, list):
            stack.extend((one, depth + 1) for one in cast("list[object]", node))
        elif isinstance(node, float) and not math.isfinite(node):
            raise ArgumentsError("a number in them is too large")
