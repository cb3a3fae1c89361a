"""What a link needs of the system behind it, and of the way before it: two narrow protocols."""

from __future__ import annotations

from typing import Protocol

from boyd.runtime.link.events import Delivered, GivenBack, LinkEvent
from boyd.runtime.link.parcel import Parcel

__all__ = ["Border", "FrameWay", "Receipt"]


class Receipt(Protocol):
    """The owner's side of one delivery."""

    def commit(self) -> None:
        """The parcel is safe here: the peer may forget it. Idempotent, never blocks."""
        ...


class Border(Protocol):
    """What a system does with what comes over a link. Nothing of it may block, or raise.

    Parcels of one incarnation of the peer come in the order in which they were sent.
    """

    def deliver(self, parcel: Parcel, delivered: Delivered, receipt: Receipt) -> None:
        """Take a tell, an ask or a withdrawal.

        Where mail lives in memory alone, `receipt.commit()` belongs where the
        mailbox has accepted it (or it has become a dead letter); where a
        ledger holds it, behind the append that holds the effect and
        `(delivered.incarnation, delivered.seq)`. Until then it counts against
        `LinkOptions.handed`, and the peer keeps it.
        """
        ...

    def unanswered(self, parcel: Parcel) -> None:
        """An answer to an ask that nobody waits for: a dead letter, `late`."""
        ...

    def give_back(self, given: GivenBack) -> None:
        """Take back what the link will not send: a dead letter, or a decision to send it anew."""
        ...

    def hear(self, event: LinkEvent) -> None:
        """Everything else: opened, restarted, acked, refused, closed."""
        ...


class FrameWay(Protocol):
    """A way for frames to one peer; it may lose, double and reorder them, and never holds many.

    A pair of Trio memory channels (`open_local_ways`) and a byte stream
    (`StreamWay`) are such ways.
    """

    async def send(self, frame: bytes) -> None:
        """Put one frame on the way.

        Raises:
            trio.BrokenResourceError, trio.ClosedResourceError: there is no way any more.
        """
        ...

    async def receive(self) -> bytes:
        """The next frame that came.

        Raises:
            trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError: none will come.
        """
        ...
