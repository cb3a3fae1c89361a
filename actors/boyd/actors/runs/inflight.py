"""What a run has begun and not yet written down, in this process's memory.

It is nobody's truth: a run that finds nothing here goes on from its thread. It
lets a crash within the process cost less, and an orderly end leave nothing open.
"""

from __future__ import annotations

import attrs

from boyd.actors.conversation.turns import Turn
from boyd.actors.tools.progress import OpenCalls

__all__ = ["Acting", "InFlight", "is_within"]


@attrs.define(eq=False)
class Acting:
    """The cycle whose calls an OODA agent makes.

    Attributes:
        view, decision: as they stand in the thread.
        read: the view by the types that tools have read it as, so that many calls decode it once.
    """

    cycle: int
    view: bytes
    decision: bytes
    read: dict[object, object] = attrs.field(factory=dict[object, object])


@attrs.define(eq=False)
class InFlight:
    """Shared by all actors of a run and of the runs within it, whatever crashes among them.

    Attributes:
        transcripts: threads in which an agent is at work, so that calls may stand open.
        calls: those that are being made, by thread.
        turns: made by a model and paid for, but not yet appended, by id.
        charged: the last dispatch of each thread that the budget was charged for.
        asked: threads with calls that were passed by until somebody approves them.
        cycles: number of the last cycle that each thread has begun, and when on the system's clock.
        acting: the cycle that each thread is acting in.
        errors: what ended the run of each thread, as it was raised.
        closed: the outermost run has been left; nothing may join it any more.
    """

    transcripts: set[str] = attrs.field(factory=set[str])
    calls: dict[str, OpenCalls] = attrs.field(factory=dict[str, OpenCalls])
    turns: dict[str, Turn] = attrs.field(factory=dict[str, Turn])
    charged: dict[str, str] = attrs.field(factory=dict[str, str])
    asked: set[str] = attrs.field(factory=set[str])
    cycles: dict[str, tuple[int, float]] = attrs.field(factory=dict[str, tuple[int, float]])
    acting: dict[str, Acting] = attrs.field(factory=dict[str, Acting])
    errors: dict[str, Exception] = attrs.field(factory=dict[str, Exception])
    closed: bool = False


def is_within(thread: str, outer: str) -> bool:
    """Whether `thread` is `outer` or one of the threads below it."""
    return thread == outer or thread.startswith(f"{outer}/")
