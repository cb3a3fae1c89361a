"""The stage: actors, mailboxes, supervision, topics and the ledger, on Trio.

Start with `open_system`, `Actor`, `message` and `receives`.
"""

from boyd.runtime.actor import Actor, actor, receives
from boyd.runtime.context import Context, Fanout, current_context
from boyd.runtime.dispatcher import Dispatcher, Gate, TaskDispatcher, Waiter
from boyd.runtime.envelope import Headers
from boyd.runtime.errors import (
    ActorCrashed,
    ActorStopped,
    AskCycle,
    AskTimeout,
    BoydError,
    EncodeError,
    IdConflict,
    LeaseHeld,
    LeaseLost,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    MailboxFull,
    NameTaken,
    NotAccepted,
    OutcomeUnknown,
    RemoteFailure,
    SequenceConflict,
    StashFull,
    SystemClosed,
    UnknownActor,
    UnknownThread,
    WireError,
)
from boyd.runtime.failure import failure
from boyd.runtime.groups import Joined, Left, Spawned
from boyd.runtime.inbox import Inbox, Lag, Lagged
from boyd.runtime.ledger import (
    ANY,
    Entry,
    Lease,
    Ledger,
    ThreadInfo,
    open_lease,
    open_ledger,
    open_memory_ledger,
    open_sqlite_ledger,
)
from boyd.runtime.mailbox import Mailbox, Overflow
from boyd.runtime.messages import Replies, message
from boyd.runtime.opening import open_system
from boyd.runtime.ref import Ref
from boyd.runtime.restart import Directive, Restart, Strategy, Supervision
from boyd.runtime.seams import Seams
from boyd.runtime.statistics import ActorStatistics
from boyd.runtime.supervision import DeadLetter, SupervisorDecided, Terminated
from boyd.runtime.system import System
from boyd.runtime.watchdog import HeldLoop, OldMail, StuckHandler, open_watchdog

__all__ = [
    "ANY",
    "Actor",
    "ActorCrashed",
    "ActorStatistics",
    "ActorStopped",
    "AskCycle",
    "AskTimeout",
    "BoydError",
    "Context",
    "DeadLetter",
    "Directive",
    "Dispatcher",
    "EncodeError",
    "Entry",
    "Fanout",
    "Gate",
    "Headers",
    "HeldLoop",
    "IdConflict",
    "Inbox",
    "Joined",
    "Lag",
    "Lagged",
    "Lease",
    "LeaseHeld",
    "LeaseLost",
    "Ledger",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerUnavailable",
    "Left",
    "Mailbox",
    "MailboxFull",
    "NameTaken",
    "NotAccepted",
    "OldMail",
    "OutcomeUnknown",
    "Overflow",
    "Ref",
    "RemoteFailure",
    "Replies",
    "Restart",
    "Seams",
    "SequenceConflict",
    "Spawned",
    "StashFull",
    "Strategy",
    "StuckHandler",
    "Supervision",
    "SupervisorDecided",
    "System",
    "SystemClosed",
    "TaskDispatcher",
    "Terminated",
    "ThreadInfo",
    "UnknownActor",
    "UnknownThread",
    "Waiter",
    "WireError",
    "actor",
    "current_context",
    "failure",
    "message",
    "open_lease",
    "open_ledger",
    "open_memory_ledger",
    "open_sqlite_ledger",
    "open_system",
    "open_watchdog",
    "receives",
]
