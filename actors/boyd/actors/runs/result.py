"""What a run came to."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar, cast

import attrs

from boyd.actors.budget import Used
from boyd.actors.events import Pending
from boyd.runtime import BoydError

__all__ = ["Result", "RunPaused", "RunUnfinished"]

T = TypeVar("T")


class RunPaused(BoydError, RuntimeError):
    """There is no output yet: somebody has to answer first."""


class RunUnfinished(BoydError, RuntimeError):
    """There is no result yet: the run is still going."""


@attrs.frozen(kw_only=True)
class Result(Generic[T]):
    """The end of a run, or a pause in it.

    Attributes:
        thread: where all of it stands in the ledger.
        usage: what it took.
        pending: who has to be answered before it can go on.
    """

    status: Literal["done", "paused"]
    thread: str
    usage: Used
    pending: tuple[Pending, ...] = ()
    value: object = attrs.field(default=None, repr=False)

    @property
    def output(self) -> T:
        """The product of the run. Raises RunPaused while somebody still has to answer `pending`."""
        if self.status == "paused":
            waiting = ", ".join(one.id for one in self.pending)
            raise RunPaused(
                f"{self.thread} is paused until somebody answers {waiting}: resume(thread, answers=...)"
            )
        return cast("T", self.value)
