"""What the observers of a run see, beside the artifacts and deltas themselves."""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

import attrs

from boyd.actors.conversation.artifacts import Event, ToolResult
from boyd.actors.conversation.turns import Turn
from boyd.actors.tools.spec import Call, Risk
from boyd.runtime.messages import message

__all__ = [
    "Activity",
    "Approve",
    "Call",
    "ErrorEvent",
    "Event",
    "Lifecycle",
    "Notice",
    "Pending",
    "Phase",
    "Reject",
    "Severity",
    "ToolFinished",
    "ToolStarted",
    "TurnComplete",
]

Phase: TypeAlias = Literal["submitted", "streaming", "cancelled", "done"]


class Severity(enum.Enum):
    """How much a notice matters. `SUCCESS` is the default, as in ore."""

    SUCCESS = "Success"
    INFO = "Info"
    WARN = "Warn"
    ERROR = "Error"


@message("boyd.turn_complete")
class TurnComplete(Event):
    """A turn was appended.

    Attributes:
        seq: of its entry in the thread's ledger; None if nothing keeps it.
    """

    turn: Turn
    seq: int | None = None


@message("boyd.error")
class ErrorEvent(Event):
    """A provider, transform or handler failed. The caller gets the error itself."""

    message: str
    type: str
    code: str = ""


@message("boyd.lifecycle")
class Lifecycle(Event):
    """Where a message is on its way: submitted, streaming, and once cancelled or done."""

    phase: Phase


@message("boyd.notice")
class Notice(Event):
    """Words of the framework to a person. Never stored, never sent to a model."""

    content: str
    severity: Severity = Severity.SUCCESS


@message("boyd.activity")
class Activity(Event):
    """Something has begun (`active`) or ended that a person may wait for."""

    active: bool
    description: str = ""


@message("boyd.tool_started")
class ToolStarted(Event):
    """A tool runs, with arguments that passed its schema."""

    call: Call


@message("boyd.tool_finished")
class ToolFinished(Event):
    """A tool call has its result, which may be an error."""

    call: Call
    result: ToolResult


@message("boyd.pending")
class Pending(Event):
    """Somebody must answer: an approval of `call`, or a question with `payload`.

    Attributes:
        deadline: seconds since the epoch, UTC, after which no answer counts.
    """

    id: str
    payload: object = None
    call: Call | None = None
    deadline: float | None = None
    risk: Risk | None = None


@attrs.frozen
class Approve:
    """Let a pending call run, with its own arguments or with these."""

    arguments: dict[str, object] | None = None


@attrs.frozen
class Reject:
    """Do not run a pending call; the model is told why."""

    reason: str
