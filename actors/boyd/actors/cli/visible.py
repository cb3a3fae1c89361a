"""Text from logs, models and ledgers, made safe for a terminal and for the eyes of who approves."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["shortened", "visible"]

# Control characters but tab and newline, what turns the direction of reading, line separators
# that only some programs see, and halves of characters.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def visible(text: str) -> str:
    """`text` in which nothing moves the cursor, colours or hides: that is shown as `\\x1b`."""
    return _HIDDEN.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004  # two digits


def shortened(text: str, most: int) -> str:
    """At most `most` characters of `text`, on one line; a cut is marked."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: max(most - 1, 0)]}…"
