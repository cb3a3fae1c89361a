"""What a link tells its owner, in the order in which it happened."""

from __future__ import annotations

import enum
from typing import TypeAlias

import attrs

from boyd.runtime.errors import WireError
from boyd.runtime.link.errors import LinkError
from boyd.runtime.link.life import Life
from boyd.runtime.link.parcel import Parcel

__all__ = [
    "Acked",
    "Closed",
    "Delivered",
    "GivenBack",
    "LinkEvent",
    "Opened",
    "Outcome",
    "Refused",
    "Restarted",
]


class Outcome(enum.Enum):
    """What is known of a parcel that the link gives back."""

    UNSENT = "unsent"
    """It never left: it was not, and will not be, handled."""
    UNKNOWN = "unknown"
    """It left, and the peer may or may not have handled it. To send it again is the owner's choice."""
    LATE = "late"
    """Its deadline passed. Where it had left before (`tries`), it may have been handled."""


@attrs.frozen(kw_only=True)
class Opened:
    """A session began with a peer that was unknown before; sending needed not wait for it."""

    peer: Life


@attrs.frozen(kw_only=True)
class Restarted:
    """A session began with another incarnation of the peer. What the old one was asked stays unanswered.

    A new epoch of the same incarnation is no event: nothing is lost by it.
    """

    before: Life
    peer: Life


@attrs.frozen(kw_only=True)
class Delivered:
    """A parcel whose turn has come; the owner calls `Link.committed` with its two numbers when it is safe.

    Attributes:
        incarnation, seq: unique together. Of one incarnation they come in ascending order.
    """

    incarnation: str
    seq: int
    parcel: Parcel


@attrs.frozen(kw_only=True)
class Acked:
    """The peer has committed all up to this number."""

    through: int


@attrs.frozen(kw_only=True)
class GivenBack:
    """A parcel that this link will not send (again).

    Attributes:
        tries: how often it was sent; 0 means that it was certainly not handled.
    """

    seq: int
    parcel: Parcel
    outcome: Outcome
    tries: int


@attrs.frozen(kw_only=True)
class Refused:
    """Bytes that are no frame of the peer for this end. They changed nothing.

    Attributes:
        error: a `FrameForged` where the peer did not make them.
    """

    error: WireError


@attrs.frozen(kw_only=True)
class Closed:
    """The link has ended, and everything that it held was given back before. Comes once, last.

    Attributes:
        error: whose fault it is; a `LinkClosed` where the owner closed it.
    """

    error: LinkError


LinkEvent: TypeAlias = Opened | Restarted | Delivered | Acked | GivenBack | Refused | Closed
