"""One line, two lines: nouns as their number wants them."""

from __future__ import annotations

__all__ = ["counted", "noun_for"]


def noun_for(number: float, plural: str) -> str:
    """`plural`, or its singular for exactly one: `lines`, `entries` and `batches` are understood."""
    if number != 1:
        return plural
    if plural.endswith("ies"):
        return f"{plural[:-3]}y"
    if plural.endswith(("ches", "shes", "sses", "xes")):
        return plural[:-2]
    return plural.removesuffix("s")


def counted(number: int, plural: str) -> str:
    """`1 line`, `1,500 lines`."""
    return f"{number:,} {noun_for(number, plural)}"
