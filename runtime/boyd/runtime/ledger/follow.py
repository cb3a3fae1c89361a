"""Following a thread: history, then live, out of any store that can read and tell of changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Final

import trio

from boyd.runtime.ledger.background import open_background
from boyd.runtime.ledger.protocol import Entry

__all__ = ["Changes", "open_followed"]

PAGE: Final = 256

ReadPage = Callable[[int, int], Awaitable[Sequence[Entry]]]
"""(after, limit) -> the next entries of the followed thread."""


class _Watch:
    """One follower's wake-up call."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def arm(self) -> None:
        """Before a look at the store, so that no change after it is missed."""
        self._event = trio.Event()

    def wake(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


class Changes:
    """Who follows which thread, to be woken when it grows."""

    def __init__(self) -> None:
        self._watches: dict[str, set[_Watch]] = {}
        self._watched = trio.Event()

    def __bool__(self) -> bool:
        """Whether anybody follows."""
        return bool(self._watches)

    async def wait_watched(self) -> None:
        """Until somebody follows."""
        await self._watched.wait()

    def notify(self, threads: Iterable[str]) -> None:
        """These have grown."""
        if self._watches:
            for thread in threads:
                for watch in self._watches.get(thread, ()):
                    watch.wake()

    def notify_all(self) -> None:
        """Any may have grown, or the ledger is closed."""
        self.notify(tuple(self._watches))

    @contextmanager
    def watch(self, thread: str) -> Generator[_Watch]:
        watch = _Watch()
        self._watches.setdefault(thread, set()).add(watch)
        self._watched.set()
        try:
            yield watch
        finally:
            watches = self._watches[thread]
            watches.discard(watch)
            if not watches:
                del self._watches[thread]
            if not self._watches:
                self._watched = trio.Event()


@asynccontextmanager
async def open_followed(
    read: ReadPage, changes: Changes, thread: str, *, after: int, size: int
) -> AsyncGenerator[trio.MemoryReceiveChannel[Entry]]:
    """What `Ledger.open_follow` promises."""
    send, receive = trio.open_memory_channel[Entry](size)
    # The sending end outlives the pump: closed by a failing pump, it would tell the
    # reader "that was all" before the block is cancelled.
    async with receive, send, open_background(partial(_pump, read, changes, thread, after, send)):
        yield receive


async def _pump(
    read: ReadPage, changes: Changes, thread: str, after: int, send: trio.MemorySendChannel[Entry]
) -> None:
    with changes.watch(thread) as watch:
        while True:
            watch.arm()
            page = await read(after, PAGE)
            for entry in page:
                try:
                    await send.send(entry)
                except trio.BrokenResourceError:
                    return  # the reader has closed its end
                after = entry.seq
            if len(page) < PAGE:
                await watch.wait()
