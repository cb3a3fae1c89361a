"""Ways for frames within a process: memory channels, and any byte stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import trio

from boyd.runtime.link.border import FrameWay
from boyd.runtime.link.frames import FRAME_LIMITS

__all__ = ["StreamWay", "open_local_ways"]

_PREFIX: Final = 4
_LARGEST_READ: Final = 64 << 10


class _LocalWay:
    """One end of two memory channels."""

    def __init__(
        self, sender: trio.MemorySendChannel[bytes], receiver: trio.MemoryReceiveChannel[bytes]
    ) -> None:
        self._sender = sender
        self._receiver = receiver

    async def send(self, frame: bytes) -> None:
        await self._sender.send(frame)

    async def receive(self) -> bytes:
        return await self._receiver.receive()

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()


@asynccontextmanager
async def open_local_ways(*, frames: int = 16) -> AsyncGenerator[tuple[FrameWay, FrameWay]]:
    """Both ends of a way within this process, in order and without loss; broken once the block ends.

    Args:
        frames: how many may be on the way in each direction.
    """
    to_right, from_left = trio.open_memory_channel[bytes](frames)
    to_left, from_right = trio.open_memory_channel[bytes](frames)
    left, right = _LocalWay(to_right, from_right), _LocalWay(to_left, from_left)
    try:
        yield left, right
    finally:
        left.close()
        right.close()


class StreamWay:
    """Frames on a byte stream, each behind its length as 4 bytes, big-endian.

    The stream stays its owner's, who closes it.
    """

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._came = bytearray()

    async def send(self, frame: bytes) -> None:
        """Write one frame. A cancel may cut it in two, and then nothing more can be sent here."""
        await self._stream.send_all(len(frame).to_bytes(_PREFIX, "big") + frame)

    async def receive(self) -> bytes:
        """The next frame; at most one and a read beyond it are kept. A cancel loses nothing.

        Raises:
            trio.EndOfChannel: the stream has ended.
            trio.BrokenResourceError: it ended within a frame, or announced one that is
                too long: where the next begins is not known any more.
        """
        await self._fill(_PREFIX)
        length = int.from_bytes(self._came[:_PREFIX], "big")
        if length > FRAME_LIMITS.frame:
            raise trio.BrokenResourceError(f"a frame of {length} bytes is announced")
        await self._fill(_PREFIX + length)
        frame = bytes(self._came[_PREFIX : _PREFIX + length])
        del self._came[: _PREFIX + length]
        return frame

    async def _fill(self, size: int) -> None:
        while len(self._came) < size:
            part = await self._stream.receive_some(_LARGEST_READ)
            if not part and self._came:
                raise trio.BrokenResourceError("the stream ended within a frame")
            if not part:
                raise trio.EndOfChannel
            self._came += part
