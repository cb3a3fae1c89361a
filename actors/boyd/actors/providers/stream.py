"""A receive channel that fetches only when it is asked.

There is no task behind it and nothing is read ahead, so a slow reader holds
its source back, an error surfaces in the reader itself, and a cancel reaches
the source at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

import trio

__all__ = ["FetchChannel", "PrefixedChannel"]

T = TypeVar("T")


class FetchChannel(trio.abc.ReceiveChannel[T], Generic[T]):
    """Yields what `fetch` returns: a batch at a time, None at the end.

    An error of `fetch` is raised once, and ends the channel. A reader that was
    cancelled within `fetch` has broken it: what it waited for is lost.
    """

    def __init__(self, fetch: Callable[[], Awaitable[Iterable[T] | None]]) -> None:
        self._fetch = fetch
        self._ready: deque[T] = deque()
        self._state = "open"

    async def receive(self) -> T:
        """The next item.

        Raises:
            trio.EndOfChannel: there is none, or an error was raised before.
            trio.BusyResourceError: another task is receiving.
        """
        await trio.lowlevel.checkpoint()
        if self._state == "fetching":
            raise trio.BusyResourceError("another task is receiving from this stream")
        if self._state == "closed":
            raise trio.ClosedResourceError("this stream has left its block")
        while not self._ready:
            await self._fill()
        return self._ready.popleft()

    def close(self) -> None:
        """No more is received. The source is closed by the block that opened it."""
        self._state = "closed"
        self._ready.clear()

    async def aclose(self) -> None:
        """As `close`."""
        self.close()
        await trio.lowlevel.checkpoint()

    async def _fill(self) -> None:
        if self._state == "ended":
            raise trio.EndOfChannel
        if self._state == "broken":
            raise trio.BrokenResourceError(
                "a receive was cancelled half-way, so the rest of this stream is lost"
            )
        self._state = "fetching"
        after = "broken"
        try:
            batch = await self._fetch()
            after = "ended" if batch is None else "open"
        except Exception:
            after = "ended"
            raise
        finally:
            if self._state == "fetching":
                self._state = after
        self._ready.extend(batch or ())


class PrefixedChannel(trio.abc.ReceiveChannel[T], Generic[T]):
    """`first`, then the rest of another channel."""

    def __init__(self, first: Iterable[T], rest: trio.abc.ReceiveChannel[T]) -> None:
        self._first = deque(first)
        self._rest = rest

    async def receive(self) -> T:
        """The next item, as from the channel behind."""
        if self._first:
            await trio.lowlevel.checkpoint()
            return self._first.popleft()
        return await self._rest.receive()

    async def aclose(self) -> None:
        """Close the channel behind too."""
        self._first.clear()
        await self._rest.aclose()
