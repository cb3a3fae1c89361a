"""Asks that wait for an answer from the other side of a link: exactly one outcome each.

Pure, as the rest of the protocol: whoever asks gives a function that is called
once with the outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from boyd.runtime.errors import AskTimeout
from boyd.runtime.link.errors import LinkError, PeerRestarted
from boyd.runtime.link.events import Closed, GivenBack, LinkEvent, Outcome, Restarted
from boyd.runtime.link.parcel import Parcel, Purpose

__all__ = ["Answer", "PendingAsks"]

Answer: TypeAlias = Parcel | LinkError | AskTimeout
"""A parcel whose purpose is reply or failure, or why there is none."""


class PendingAsks:
    """Whoever waits, by correlation.

    When the peer restarts or the link closes, all of them learn it at once,
    rather than by their timeouts.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Callable[[Answer], None]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, correlation: str, settle: Callable[[Answer], None]) -> None:
        """Call `settle` once with the outcome of the ask of this name.

        Raises:
            ValueError: an ask of this name waits already.
        """
        if correlation in self._waiting:
            raise ValueError(f"an ask named {correlation!r} waits already")
        self._waiting[correlation] = settle

    def forget(self, correlation: str) -> None:
        """Its asker has left; an answer that still comes is late. Idempotent."""
        self._waiting.pop(correlation, None)

    def answer(self, parcel: Parcel) -> bool:
        """Settle with a parcel that came. False: nobody waits for it (any more), so it is a dead letter `late`."""
        settle = self._waiting.pop(parcel.correlation, None)
        if settle is not None:
            settle(parcel)
        return settle is not None

    def hear(self, event: LinkEvent) -> None:
        """Settle what an event of the link decides."""
        match event:
            case Restarted(before=before):
                self._fail_all(
                    PeerRestarted(f"incarnation {before.incarnation} of the peer is over")
                )
            case Closed(error=error):
                self._fail_all(error)
            case GivenBack(outcome=Outcome.LATE, parcel=parcel) if parcel.purpose is Purpose.ASK:
                self._fail(
                    parcel, AskTimeout(f"{parcel.to.path} did not get {parcel.kind} in time")
                )
            case _:
                pass

    def _fail_all(self, error: LinkError) -> None:
        waiting, self._waiting = self._waiting, {}
        for settle in waiting.values():
            settle(error)

    def _fail(self, parcel: Parcel, error: AskTimeout) -> None:
        settle = self._waiting.pop(parcel.correlation, None)
        if settle is not None:
            settle(error)
