"""Text that has a wire form."""

from __future__ import annotations

__all__ = ["without_halves"]


def without_halves(text: str) -> str:
    """`text` with pairs of surrogates joined, and lone ones, which UTF-8 cannot hold, as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
