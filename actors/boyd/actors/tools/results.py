"""What a tool returned to the text that a model is told."""

from __future__ import annotations

import json
from typing import Final

from boyd.actors.conversation.texts import without_halves
from boyd.actors.plural import counted
from boyd.actors.tools.values import to_json

__all__ = ["MOST_BYTES", "MOST_LINES", "capped", "result_text"]

MOST_BYTES: Final = 50_000
MOST_LINES: Final = 2_000
_ROOM_FOR_NOTE: Final = 200


def result_text(value: object) -> str:
    """Text as it is, anything else as JSON.

    Raises:
        TypeError: the value has no JSON form.
    """
    text = value if isinstance(value, str) else json.dumps(to_json(value), ensure_ascii=False)
    return without_halves(str(text))


def capped(text: str, *, most_bytes: int = MOST_BYTES, most_lines: int = MOST_LINES) -> str:
    """`text`, or its beginning and a note of what is missing: never more bytes or lines."""
    data = text.encode()
    lines = text.count("\n") + 1
    if len(data) <= most_bytes and lines <= most_lines:
        return text
    room = max(most_bytes - _ROOM_FOR_NOTE, 0)
    kept = data[:room].decode(errors="ignore")  # never half a character
    kept = "\n".join(kept.split("\n")[: max(most_lines - 1, 0)])
    shown_lines = kept.count("\n") + 1
    shown = f"{len(kept.encode()):,} of {counted(len(data), 'bytes')}, {shown_lines:,} of {counted(lines, 'lines')}"
    return f"{kept}\n[cut: this is the beginning, {shown}]"
