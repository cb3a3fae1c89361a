"""What one end of a link has seen, in numbers."""

from __future__ import annotations

import attrs

__all__ = ["LinkStatistics"]


@attrs.define(kw_only=True)
class LinkStatistics:
    """What one end of a link has seen; all but the last six only grow.

    Attributes:
        sent, resent: data and voids, put on the way for the first time and again.
        delivered: parcels given to the owner.
        given_back: parcels given back to the owner, `late` of them because of their deadline.
        repeated: numbers that had come before.
        no_room: numbers not taken for want of room, or before the handshake was done.
        stale: frames of, or for, a life that is over.
        refused: bytes that are no frame for this end, `forged` of them not made by the peer.
        restarts: other incarnations of the peer.
        waiting, waiting_size: parcels in the send window.
        handed, handed_size: parcels delivered and not committed.
        early, early_size: parcels that came before their turn.
    """

    sent: int = 0
    resent: int = 0
    delivered: int = 0
    given_back: int = 0
    late: int = 0
    repeated: int = 0
    no_room: int = 0
    stale: int = 0
    refused: int = 0
    forged: int = 0
    restarts: int = 0
    waiting: int = 0
    waiting_size: int = 0
    handed: int = 0
    handed_size: int = 0
    early: int = 0
    early_size: int = 0
