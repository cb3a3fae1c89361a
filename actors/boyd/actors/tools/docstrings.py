"""What a model is told of a docstring (Google style): what the thing does, and its arguments."""

from __future__ import annotations

import inspect
import re
from typing import Final

__all__ = ["described_arguments", "described_purpose"]

_SECTION: Final = re.compile(
    r"^(Args|Arguments|Parameters|Attributes|Returns|Yields|Raises|Warns"
    r"|Examples?|Notes?|See Also):\s*$"
)
_ARGUMENTS: Final = frozenset({"Args", "Arguments", "Parameters", "Attributes"})
_ENTRY: Final = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def described_purpose(doc: str) -> str:
    """Everything before the first section, without line breaks inside paragraphs."""
    lines: list[str] = []
    for line in inspect.cleandoc(doc).splitlines():
        if _SECTION.match(line):
            break
        lines.append(line)
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).strip()


def described_arguments(doc: str) -> dict[str, str]:
    """The text of each argument in the sections that list arguments."""
    found: dict[str, str] = {}
    inside = False
    margin = -1
    name = ""
    for line in inspect.cleandoc(doc).splitlines():
        section = _SECTION.match(line)
        if section or (line and not line[0].isspace()):
            inside = bool(section and section[1] in _ARGUMENTS)
            margin, name = -1, ""
            continue
        if not inside or not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        margin = indent if margin < 0 else margin
        entry = _ENTRY.match(line.strip()) if indent == margin else None
        if entry:
            name = entry[1]
            found[name] = entry[2]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
