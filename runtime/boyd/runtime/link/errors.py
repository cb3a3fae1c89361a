"""What can go wrong between two systems, by who is at fault.

    LinkError (BoydError)
      the sender:    LinkFull (WouldBlock): the send window has no room
      this side:     LinkClosed (ClosedResourceError)
      the peer:      PeerClosed, PeerRestarted, LinkGap (BrokenResourceError)
      the world:     LinkLost (BrokenResourceError)
    FrameForged (WireError): bytes that no key of the peer has signed

Bytes that are no frame are a `WireError`, as everywhere.
"""

from __future__ import annotations

import trio

from boyd.runtime.errors import BoydError, WireError

__all__ = [
    "FrameForged",
    "LinkClosed",
    "LinkError",
    "LinkFull",
    "LinkGap",
    "LinkLost",
    "PeerClosed",
    "PeerRestarted",
]


class LinkError(BoydError):
    """Base of what can go wrong between two systems."""


class LinkFull(LinkError, trio.WouldBlock):
    """The send window has no room (or somebody waits for it). Nothing was sent.

    Attributes:
        messages, size: how many messages, of how many bytes, the peer has not acknowledged yet.
    """

    def __init__(self, *, peer: str, messages: int, size: int) -> None:
        super().__init__(
            f"{peer} has not acknowledged {messages:,} messages of {size:,} bytes, "
            f"and the send window takes no more"
        )
        self.messages = messages
        self.size = size


class LinkClosed(LinkError, trio.ClosedResourceError):
    """The link has ended; where the fault was another's, its error is the cause of this one."""


class PeerClosed(LinkError, trio.BrokenResourceError):
    """The peer has closed the link; its last words are in the text."""


class PeerRestarted(LinkError, trio.BrokenResourceError):
    """The peer is another incarnation than the one that was asked. It will never answer this."""


class LinkGap(LinkError, trio.BrokenResourceError):
    """The peer went further ahead than its earlier messages can be told from repetitions.

    Attributes:
        mark: all up to here is committed.
        seq: what came.
    """

    def __init__(self, *, peer: str, mark: int, seq: int, window: int) -> None:
        super().__init__(
            f"{peer} sent number {seq:,}, but all is committed up to {mark:,} only, "
            f"and the window ends {window:,} behind that"
        )
        self.mark = mark
        self.seq = seq


class LinkLost(LinkError, trio.BrokenResourceError):
    """Nothing was heard of the peer for too long, or the way to it broke."""


class FrameForged(WireError):
    """A frame that no key of the peer has signed, or that names other ends than that key's."""
