"""The protocol by which envelopes leave a system: numbers, acks, resending, dedup, and two drivers.

`Link` is the protocol without I/O; `open_link` runs it on Trio, between a
`FrameWay` and a `Border`. `boyd.runtime.testing.SimulatedLinks` runs the same
protocol over a network that loses, doubles, delays and forges.
"""

from boyd.runtime.link.asks import Answer, PendingAsks
from boyd.runtime.link.auth import Key, Keys
from boyd.runtime.link.border import Border, FrameWay, Receipt
from boyd.runtime.link.counts import LinkStatistics
from boyd.runtime.link.errors import (
    FrameForged,
    LinkClosed,
    LinkError,
    LinkFull,
    LinkGap,
    LinkLost,
    PeerClosed,
    PeerRestarted,
)
from boyd.runtime.link.events import (
    Acked,
    Closed,
    Delivered,
    GivenBack,
    LinkEvent,
    Opened,
    Outcome,
    Refused,
    Restarted,
)
from boyd.runtime.link.life import Life
from boyd.runtime.link.options import DEDUP_WINDOW, MOST_PARCEL, LinkOptions
from boyd.runtime.link.parcel import Address, Parcel, Purpose
from boyd.runtime.link.port import LinkPort, open_link
from boyd.runtime.link.protocol import Link, Turn
from boyd.runtime.link.ways import StreamWay, open_local_ways

__all__ = [
    "DEDUP_WINDOW",
    "MOST_PARCEL",
    "Acked",
    "Address",
    "Answer",
    "Border",
    "Closed",
    "Delivered",
    "FrameForged",
    "FrameWay",
    "GivenBack",
    "Key",
    "Keys",
    "Life",
    "Link",
    "LinkClosed",
    "LinkError",
    "LinkEvent",
    "LinkFull",
    "LinkGap",
    "LinkLost",
    "LinkOptions",
    "LinkPort",
    "LinkStatistics",
    "Opened",
    "Outcome",
    "Parcel",
    "PeerClosed",
    "PeerRestarted",
    "PendingAsks",
    "Purpose",
    "Receipt",
    "Refused",
    "Restarted",
    "StreamWay",
    "Turn",
    "open_link",
    "open_local_ways",
]
