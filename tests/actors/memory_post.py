"""A server without sockets.

`OpenAI(..., post=memory_post(chunks))` reads exactly these chunks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.http import OpenPost, Post

__all__ = ["MemoryReply", "memory_post"]


@attrs.define
class MemoryReply:
    """An answer in memory; with `cut` it ends in a broken connection."""

    chunks: list[bytes]
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str])
    cut: bool = False

    def progressed(self) -> None:
        """No clock runs here."""

    async def chunk(self) -> bytes | None:
        await trio.lowlevel.checkpoint()
        if self.chunks:
            return self.chunks.pop(0)
        if self.cut:
            raise ModelError("test: the answer was cut short", code="cut", retryable=True)
        return None


def memory_post(
    chunks: Sequence[bytes],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    cut: bool = False,
    seen: list[Post] | None = None,
) -> OpenPost:
    """Answers every request alike; what was sent is added to `seen`."""

    @asynccontextmanager
    async def post(sent: Post) -> AsyncGenerator[MemoryReply]:
        if seen is not None:
            seen.append(sent)
        await trio.lowlevel.checkpoint()
        yield MemoryReply(list(chunks), status=status, headers=headers or {}, cut=cut)

    return post
