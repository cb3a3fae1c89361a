"""The error tree, divided by who is at fault.

Every error is also the Trio or builtin error that a caller would expect to
catch: `except trio.TooSlowError` catches an `AskTimeout`, `except TypeError` a
message that has no wire form.

    BoydError
      the sender:    NotAccepted, EncodeError (TypeError)
      the receiver:  ActorStopped, ActorCrashed, MailboxFull, AskTimeout, AskCycle, StashFull
      the system:    SystemClosed
      the bytes:     WireError (ValueError)
      a remote end:  RemoteFailure
      the ledger:    LedgerError and its children
"""

from __future__ import annotations

import trio

__all__ = [
    "ActorCrashed",
    "ActorStopped",
    "AskCycle",
    "AskTimeout",
    "BoydError",
    "EncodeError",
    "IdConflict",
    "LeaseHeld",
    "LeaseLost",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerUnavailable",
    "MailboxFull",
    "NameTaken",
    "NotAccepted",
    "OutcomeUnknown",
    "RemoteFailure",
    "SequenceConflict",
    "StashFull",
    "SystemClosed",
    "UnknownActor",
    "UnknownThread",
    "WireError",
]


class BoydError(Exception):
    """Base of every error that Boyd raises by itself."""


class NotAccepted(BoydError, TypeError):
    """The receiver has no method for this message. Raised at the sender; nothing was sent."""


class EncodeError(BoydError, TypeError):
    """A value has no wire form. Raised at the sender, naming the path to the value."""


class WireError(BoydError, ValueError):
    """Bytes are not a message that this process accepts."""


class MailboxFull(BoydError, trio.WouldBlock):
    """The receiver's mailbox has no room and its policy is to reject. Nothing was sent."""


class ActorStopped(BoydError, trio.BrokenResourceError):
    """The receiver has stopped, or stopped before it answered. It will never handle this."""


class ActorCrashed(BoydError, RuntimeError):
    """The receiver was made to crash from outside while it handled this."""


class SystemClosed(BoydError, trio.ClosedResourceError):
    """The system has left its block; its refs are dead."""


class AskTimeout(BoydError, trio.TooSlowError):
    """No answer within the deadline. The request may have run, or may still run."""


class AskCycle(BoydError, RuntimeError):
    """This ask would wait for itself."""


class StashFull(BoydError, trio.WouldBlock):
    """An actor has put too many messages aside. Raised in its handler; the message in hand is not put aside."""


class NameTaken(BoydError, ValueError):
    """An actor of this name is alive under the same parent."""


class UnknownActor(BoydError, LookupError):
    """No living actor has this path."""


class RemoteFailure(BoydError, RuntimeError):
    """Another actor failed with an error that is not registered as a failure.

    Attributes:
        type: name of the original class.
        code: a stable word for programs, or "".
    """

    def __init__(self, message: str, *, type: str, code: str = "") -> None:  # noqa: A002
        super().__init__(f"{type}: {message}" if message else type)
        self.type = type
        self.code = code


class LedgerError(BoydError):
    """Base of what can go wrong between a caller and its ledger."""


class SequenceConflict(LedgerError):
    """Somebody appended first. Read the thread again, then decide again."""

    def __init__(self, *, thread: str, expected: int, actual: int) -> None:
        super().__init__(
            f"{thread}: expected to append after {expected}, the ledger is at {actual}"
        )
        self.thread = thread
        self.expected = expected
        self.actual = actual


class IdConflict(LedgerError):
    """An entry of this id exists with other bytes."""

    def __init__(self, *, thread: str, id: str) -> None:  # noqa: A002
        super().__init__(f"{thread}: entry {id} exists with other content")
        self.thread = thread
        self.id = id


class OutcomeUnknown(LedgerError):
    """The caller left while the store was working. Read by id to learn which it was.

    Appending the same entries with the same ids again is safe.
    """

    def __init__(self, *, thread: str, ids: tuple[str, ...]) -> None:
        super().__init__(
            f"{thread}: the append of {', '.join(ids) or 'nothing'} may or may not be committed"
        )
        self.thread = thread
        self.ids = ids


class LeaseHeld(LedgerError):
    """Somebody else runs this thread now."""

    def __init__(self, *, thread: str, owner: str, left: float) -> None:
        super().__init__(
            f"{thread} is being run by {owner} (its lease lasts {left:.0f} s more unless renewed)"
        )
        self.thread = thread
        self.owner = owner
        self.left = left


class LeaseLost(LedgerError):
    """Somebody else took over the run of this thread; this writer is fenced off."""

    def __init__(self, *, thread: str, token: int) -> None:
        super().__init__(
            f"{thread}: the lease with token {token} was taken over; this run must stop writing"
        )
        self.thread = thread
        self.token = token


class LedgerUnavailable(LedgerError, OSError):
    """The store cannot be opened or written: locked, full, read-only, missing, not a ledger."""


class LedgerCorrupt(LedgerError, ValueError):
    """Stored bytes are not what was appended."""


class UnknownThread(LedgerError, LookupError):
    """The ledger has no thread of this name."""
