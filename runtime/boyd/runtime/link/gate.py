"""Bytes that may leave for one peer, or come from it: frames of these two ends, sealed where there are keys."""

from __future__ import annotations

import attrs

from boyd.runtime.errors import WireError
from boyd.runtime.link.auth import Keys, open_sealed, seal
from boyd.runtime.link.errors import FrameForged
from boyd.runtime.link.frames import FRAME_LIMITS, Frame, decode_frame, encode_frame

__all__ = ["Gate"]


@attrs.frozen
class Gate:
    """Between this system and one peer.

    Attributes:
        name, peer: what both ends call them.
        keys: of the peer; without them every frame that names these ends is believed.
    """

    name: str
    peer: str
    keys: Keys | None

    def out(self, frame: Frame) -> bytes:
        """The bytes of a frame."""
        bare = encode_frame(frame)
        return bare if self.keys is None else seal(bare, self.keys)

    def into(self, frame: bytes) -> Frame:
        """The frame of bytes that came.

        Raises:
            FrameForged: the peer has not made them, or not for this end.
            WireError: they are no frame.
        """
        if len(frame) > FRAME_LIMITS.frame:
            raise WireError(
                f"a frame of {len(frame)} bytes is over the limit of {FRAME_LIMITS.frame}"
            )
        found = decode_frame(frame if self.keys is None else open_sealed(frame, self.keys))
        route = found.route
        if (route.sender, route.recipient) != (self.peer, self.name):
            raise FrameForged(
                f"a frame from {route.sender} for {route.recipient}, "
                f"on the link from {self.peer} to {self.name}"
            )
        return found
