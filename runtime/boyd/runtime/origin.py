"""Whose task this is: what it sends carries its actor's ref, headers and deadline."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from boyd.runtime.envelope import NO_HEADERS, Headers

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.incarnation import Incarnation
    from boyd.runtime.ref import Ref

__all__ = ["Errand", "current_headers", "origin", "sender_and_headers", "waiting_cell"]


class Errand:
    """Work of an actor beside its mailbox: no handler waits for it, so it has no deadline."""

    __slots__ = ("cell", "epoch", "headers", "ref")

    def __init__(self, cell: Incarnation) -> None:
        self.cell = cell
        self.epoch = cell.epoch
        self.ref: Ref[Any] = cell.ref
        self.headers: Headers = cell.headers


origin: Final[ContextVar[Cell | Errand | None]] = ContextVar("origin", default=None)
"""The actor whose handler this task runs, or the errand of one, or None outside all actors."""

current_headers: Final[ContextVar[Headers]] = ContextVar("current_headers", default=NO_HEADERS)
"""What messages carry that are sent outside all actors."""


def waiting_cell() -> Cell | None:
    """The actor that does nothing else until this task goes on, if there is one."""
    who = origin.get()
    return None if isinstance(who, Errand) else who


def sender_and_headers() -> tuple[Ref[Any] | None, Headers]:
    """What a message that this task sends carries."""
    who = origin.get()
    return (None, current_headers.get()) if who is None else (who.ref, who.headers)
