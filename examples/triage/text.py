"""Foreign text made safe to show: no control codes, no hidden marks, a bounded length."""

import re
from collections.abc import Iterable

LIMIT = 300
"""How many characters of one log line are kept as a sample."""

# Control codes move a terminal's cursor, bidirectional and zero-width marks make a text look
# like another one, and a lone surrogate cannot be encoded at all.
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def clean(text: str, limit: int = LIMIT) -> str:
    """Return the text as it may be shown and stored: one line, at most `limit` characters."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escape, text.replace("\t", " "))[: limit * 2]


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def encodable(text: str) -> str:
    """Return the text with lone surrogates replaced, so that it always has UTF-8 bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def number(value: float) -> str:
    """Return a count as people read it: `1,412`."""
    return f"{value:,.0f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 line`, `3 lines` or, with a plural of its own, `2 entries`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(part: float, whole: float) -> str:
    """Return a share as `92 %`; a share that is not nothing never reads `0 %`."""
    if whole <= 0:
        return "0 %"
    share = 100.0 * part / whole
    if 0 < share < 1:
        return f"{share:.1f} %" if share >= 0.1 else "under 0.1 %"
    return f"{share:.0f} %"


def listed(names: Iterable[str], limit: int = 4) -> str:
    """Return `a, b and 3 more`."""
    given = list(names)
    if len(given) > limit:
        return f"{', '.join(given[:limit])} and {len(given) - limit:,} more"
    if len(given) > 1:
        return f"{', '.join(given[:-1])} and {given[-1]}"
    return given[0] if given else ""


def sentence(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
