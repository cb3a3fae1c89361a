"""Whose task this is: what it sends carries its actor's ref, headers and deadline."""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast

from boyd.runtime.envelope import NO_HEADERS, Envelope, Headers

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.incarnation import Incarnation
    from boyd.runtime.ref import Ref

__all__ = [
    "Aside",
    "Errand",
    "Reentry",
    "current_headers",
    "origin",
    "sender_and_headers",
    "waiting_cell",
    "waiting_deadline",
]


class Aside:
    """What an actor does beside its mailbox."""

    __slots__ = ("cell", "epoch", "headers", "ref")

    def __init__(self, cell: Incarnation, headers: Headers) -> None:
        self.cell = cell
        self.epoch = cell.epoch
        self.ref: Ref[Any] = cell.ref
        self.headers: Headers = headers


class Errand(Aside):
    """Work that no handler waits for, so it has no deadline."""

    __slots__ = ()


class Reentry(Aside):
    """A message handled beside a handler that waits for what led to it.

    Attributes:
        current, deadline: of that message.
    """

    __slots__ = ("current", "deadline")

    def __init__(self, cell: Cell, envelope: Envelope) -> None:
        super().__init__(cell, envelope.headers)
        self.current: Envelope | None = envelope
        self.deadline = math.inf if envelope.track is None else envelope.track.deadline


origin: Final[ContextVar[Cell | Errand | Reentry | None]] = ContextVar("origin", default=None)
"""The actor whose handler this task runs, or what else of an actor, or None outside all actors."""

current_headers: Final[ContextVar[Headers]] = ContextVar("current_headers", default=NO_HEADERS)
"""What messages carry that are sent outside all actors."""


def waiting_cell() -> Cell | None:
    """The actor that handles no mail until this task goes on, if there is one."""
    who = origin.get()
    if isinstance(who, Reentry):
        return cast("Cell", who.cell)
    return None if isinstance(who, Errand) else who


def waiting_deadline() -> float:
    """By when the message is to be handled that this task handles; infinity if it handles none."""
    who = origin.get()
    return math.inf if who is None or isinstance(who, Errand) else who.deadline


def sender_and_headers() -> tuple[Ref[Any] | None, Headers]:
    """What a message that this task sends carries."""
    who = origin.get()
    return (None, current_headers.get()) if who is None else (who.ref, who.headers)
