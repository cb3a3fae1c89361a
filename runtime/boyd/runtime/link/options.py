"""How much a link may hold, and how long it waits."""

from __future__ import annotations

import math
from typing import Final

import attrs

from boyd.runtime.link.frames import FRAME_LIMITS

__all__ = ["DEDUP_WINDOW", "MOST_PARCEL", "LinkOptions", "resend_delay"]

DEDUP_WINDOW: Final = 4096
"""So many numbers beyond the last committed one are told from repetitions; what is further closes the link."""
MOST_PARCEL: Final = FRAME_LIMITS.frame - 8192
"""Bytes of header and body of one parcel; the rest of a frame is for names, numbers and the mac."""


@attrs.frozen(kw_only=True)
class LinkOptions:
    """The bounds of one end of a link. All seconds are those of the system's clock.

    Attributes:
        window, window_size: messages and bytes sent and not committed by the peer: more is `LinkFull`.
        handed, handed_size: messages and bytes delivered here and not committed yet: what
            comes beyond is not taken, and the peer sends it again later.
        early, early_size: messages and bytes that came before their turn: as above.
        resend: seconds until what was not acknowledged is sent again, the first time.
        resend_most: the most that this back-off grows to.
        silence: seconds without a word of a peer after which the link closes with
            `LinkLost`; after a third of it the peer is asked. Infinity: never.

    Raises:
        ValueError: a bound is out of range.
    """

    window: int = 1024
    window_size: int = 8 << 20
    handed: int = 1024
    handed_size: int = 8 << 20
    early: int = 1024
    early_size: int = 8 << 20
    resend: float = 0.5
    resend_most: float = 30.0
    silence: float = 60.0

    def __attrs_post_init__(self) -> None:
        for name in ("window", "handed", "early"):
            if not 1 <= getattr(self, name) <= DEDUP_WINDOW:
                raise ValueError(f"{name} must be from 1 to {DEDUP_WINDOW}")
            # Or the largest parcel would never have room.
            if not getattr(self, f"{name}_size") >= MOST_PARCEL:
                raise ValueError(f"{name}_size must be at least {MOST_PARCEL}")
        if not 0 < self.resend <= self.resend_most < math.inf:
            raise ValueError("resend must be more than 0, and at most resend_most")
        if not self.silence > 0:
            raise ValueError("silence must be more than 0")


def resend_delay(step: int, *, options: LinkOptions, jitter: float) -> float:
    """Seconds until the next try, doubled with each (RFC 6298, 5.5), and up to half of it more by chance.

    The first is `options.resend`: no round-trip time is measured, since an
    ack waits for a commit, and how long those take is the peer's affair.

    Args:
        step: how many tries had no answer in this session, from 0.
        jitter: from 0 to 1, so that many links do not speak at once.
    """
    # 64 doublings are beyond every `resend_most`, and 2.0 ** step must not overflow.
    wanted = min(options.resend * 2.0 ** min(step, 64), options.resend_most)
    return wanted * (1 + jitter / 2)
