"""Messages by which supervision is seen: decisions, and the end of an actor."""

from __future__ import annotations

from boyd.runtime.failure import Failure
from boyd.runtime.messages import message
from boyd.runtime.ref import Ref

__all__ = ["DeadLetter", "SupervisorDecided", "Terminated"]


@message("boyd.supervisor_decided")
class SupervisorDecided:
    """A supervisor's decision about one crash.

    Published on the topic `boyd.supervision`, and kept in the ledger.

    Attributes:
        path, kind: the actor.
        epoch: its life that ended, from 1.
        verdict: "restart", "resume", "stop" or "escalate".
        crash: number of this crash within the window; `budget` restarts are allowed in it.
        error, message: class and text of what was raised.
        handling: the message in hand, or "".
        redelivered: that message will be handled again.
        others: paths of the siblings that are restarted with it.
    """

    path: str
    kind: str
    epoch: int
    verdict: str
    crash: int
    budget: int
    error: str
    message: str
    handling: str = ""
    redelivered: bool = False
    others: tuple[str, ...] = ()


@message("boyd.terminated")
class Terminated:
    """`ref` has stopped for good. Sent once to each watcher, after its last message.

    Attributes:
        reason: "stopped" or "crashed".
        failure: the error that ended it, if it crashed.
    """

    ref: Ref[object]
    reason: str
    failure: Failure | None = None


@message("boyd.dead_letter")
class DeadLetter:
    """An accepted message that nobody will handle; published on the topic `boyd.dead`.

    Attributes:
        path: the receiver.
        kind: name of the message.
        reason: "crashed", "stopped", "closed", "dropped", "full", "late", "unhandled" or
            "withdrawn".
        sender: path of the sender, or "".
        size: bytes of the body.
    """

    path: str
    kind: str
    reason: str
    sender: str
    size: int
