"""Paths of actors, and names of topics and groups."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["check_name", "check_topic", "child_path", "default_name"]

_NAME: Final = re.compile(r"[A-Za-z0-9_.$~:@+-]{1,128}\Z")


def check_name(name: str) -> str:
    """`name`, if it can be one part of a path.

    Raises:
        ValueError: it is empty, too long, or has other characters.
    """
    if not _NAME.match(name):
        raise ValueError(
            f"{name!r} is no name for an actor: use up to 128 letters, digits and any of _.$~:@+-"
        )
    return name


def child_path(parent: str, name: str) -> str:
    """`/bank` and `acc` make `/bank/acc`."""
    return f"{parent.rstrip('/')}/{name}"


def default_name(factory: object, number: int) -> str:
    """`account-17`, for an actor that was given no name."""
    name = str(getattr(factory, "__name__", "")).lower()
    return f"{name if _NAME.match(name) else 'actor'}-{number}"


def check_topic(name: str) -> str:
    """`name`, if it can be that of a topic or a group: printable words joined by "/", none of them empty or a star.

    Raises:
        ValueError: it is not.
    """
    words = name.split("/")
    if not name.isprintable() or any(word in ("", "*", "**") for word in words):
        raise ValueError(f"{name!r} is no name for a topic or a group: use words joined by '/'")
    return name
