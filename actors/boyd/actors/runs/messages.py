"""What a run's actors are told, what they tell its owner, and what its thread says of the run itself."""

from __future__ import annotations

from boyd.actors.budget import Used
from boyd.actors.events import Pending
from boyd.runtime import Replies, message
from boyd.runtime.failure import Failure

__all__ = ["Begin", "CarryOut", "RunDone", "RunFailed", "RunFinished", "RunLinked", "RunStarted"]


@message("boyd.begin")
class Begin:
    """Do the run: from the start, or from where its thread says that it stopped."""


@message("boyd.carry_out", within=24 * 3600.0)
class CarryOut(Replies[int]):
    """Make the approved calls that a run has passed by and nobody has made; replies how many.

    Attributes:
        thread: whose; "" is all of the run.
    """

    thread: str = ""


@message("boyd.run_started")
class RunStarted:
    """First entry of a run's thread.

    Attributes:
        name: of the definition.
        kind: class of the definition.
        given: what it was given, as text for people.
        target: how `boyd run` found the definition, or "".
        input: what it was given, encoded, for a resume; b"" where it has no wire form.
    """

    name: str
    kind: str
    given: str = ""
    target: str = ""
    input: bytes = b""


@message("boyd.run_linked")
class RunLinked:
    """Entry of a thread: a run within this one, in a thread of its own, began here."""

    thread: str
    name: str


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
