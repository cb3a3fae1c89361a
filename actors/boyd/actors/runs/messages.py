"""What a run's actor is told, and what it tells its owner."""

from __future__ import annotations

from boyd.actors.budget import Used
from boyd.actors.events import Pending
from boyd.runtime.failure import Failure
from boyd.runtime.messages import message

__all__ = ["Begin", "RunDone", "RunFailed", "RunFinished", "RunStarted"]


@message("boyd.begin")
class Begin:
    """Do the run: from the start, or from where its thread says that it stopped."""


@message("boyd.run_started")
class RunStarted:
    """First entry of a run's thread.

    Attributes:
        name: of the definition.
        kind: class of the definition.
        given: what it was given, as text for people.
        target: how `boyd run` found the definition, or "".
    """

    name: str
    kind: str
    given: str = ""
    target: str = ""


@message("boyd.run_finished")
class RunFinished:
    """Entry of a thread whose run came to its end; its `output` is encoded by the type of the run."""

    output: bytes
    cycles: int = 0


@message("boyd.run_done")
class RunDone:
    """To the owner of a run: it is over, or paused while somebody must answer `pending`."""

    name: str
    status: str
    output: bytes
    pending: tuple[Pending, ...]
    used: Used


@message("boyd.run_failed")
class RunFailed:
    """To the owner of a run: it ended with an error."""

    name: str
    failure: Failure
    used: Used
