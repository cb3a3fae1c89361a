"""Which life of the peer this end speaks with, and how two ends come to agree on it.

A *session* is a pair of lives. Data, voids, acks and closes count only within
one. It begins when a hello comes back that names an epoch which this end has
offered to that incarnation and to no other: so it cannot be a replay from an
earlier session (the three-way handshake of RFC 9293, 3.5, with epochs for
initial sequence numbers). No clock, and nothing kept on disk, is needed.

    A                                          B
    knock (a,1) -> nobody        ---------->
                                 <----------   knock (b,1) -> (a,1)   offered to a
    open (a,1) -> (b,1)          ---------->   in session
    in session, sure             <----------   sure (b,1) -> (a,1)

A frame of an unknown life is a knock too: it is answered with an offer and
otherwise ignored, and the session that there is goes on until the newcomer has
proved by its answer that it lives now.
"""

from __future__ import annotations

import enum

from boyd.runtime.link.life import Life

__all__ = ["Handshake", "Verdict"]


class Verdict(enum.Enum):
    """What a frame's lives say of it."""

    CURRENT = "of this session"
    RENEWS = "a hello that begins a session"
    KNOCKS = "of a life that may be the peer's next one"
    STALE = "of a life that is over, or for one"


class Handshake:
    """The lives of both ends, as one end knows them.

    Attributes:
        me, peer: the lives of the session; `peer` is None until there is one.
        offered_to: the life that the next session is offered to, if one has knocked.
        sure: the peer is known to be in this session too.
    """

    def __init__(self, incarnation: str) -> None:
        self.me = Life(incarnation, 1)
        self.peer: Life | None = None
        self.sure = False
        self._offered = 1
        self.offered_to: Life | None = None

    @property
    def offered(self) -> Life:
        """This end's life for the next session."""
        return Life(self.me.incarnation, self._offered)

    def judge(self, sender: Life, to: Life | None, *, hello: bool) -> Verdict:
        """What to do with a frame from `sender` for `to`. Changes nothing."""
        peer = self.peer
        if sender == peer:
            return Verdict.CURRENT if to == self.me else Verdict.STALE
        if to is not None and to.incarnation != self.me.incarnation:
            return Verdict.STALE
        if _is_older(sender, peer) or _is_older(sender, self.offered_to):
            return Verdict.STALE
        known = self.offered_to
        if hello and to == self.offered and (known is None or _same(known, sender)):
            return Verdict.RENEWS
        return Verdict.KNOCKS

    def offer(self, sender: Life) -> None:
        """Offer a session to a life that has knocked: with an epoch that no other incarnation was offered."""
        if self.offered_to is not None and not _same(self.offered_to, sender):
            self._offered += 1
        self.offered_to = sender

    def adopt(self, sender: Life) -> Life | None:
        """Begin the session with a life whose hello renews. Returns the life before, if there was one."""
        before = self.peer
        self.me = self.offered
        self.peer = self.offered_to = sender
        self.sure = False
        return before


def _same(one: Life, other: Life) -> bool:
    return one.incarnation == other.incarnation


def _is_older(one: Life, other: Life | None) -> bool:
    return other is not None and _same(one, other) and one.epoch < other.epoch
