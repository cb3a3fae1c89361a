"""A ledger whose answers reach actors through the dispatcher."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager

import trio

from boyd.runtime.dispatcher import Dispatcher
from boyd.runtime.ledger import AnyTip, Entry, Lease, Ledger, ThreadInfo

__all__ = ["DispatchedLedger"]


class DispatchedLedger:
    """The same ledger; a store's thread or task has woken the caller, so the caller asks for its turn."""

    def __init__(self, ledger: Ledger, dispatcher: Dispatcher) -> None:
        self._ledger = ledger
        self._enter = dispatcher.enter

    async def append(
        self,
        thread: str,
        entries: Sequence[Entry],
        /,
        *,
        after: int | AnyTip,
        lease: Lease | None = None,
    ) -> int:
        tip = await self._ledger.append(thread, entries, after=after, lease=lease)
        await self._enter()
        return tip

    async def read(
        self, thread: str, /, *, after: int = 0, limit: int = 1000, kinds: Collection[str] = ()
    ) -> Sequence[Entry]:
        page = await self._ledger.read(thread, after=after, limit=limit, kinds=kinds)
        await self._enter()
        return page

    async def tip(self, thread: str, /) -> int:
        tip = await self._ledger.tip(thread)
        await self._enter()
        return tip

    @asynccontextmanager
    async def open_follow(
        self, thread: str, /, *, after: int = 0, size: int = 64
    ) -> AsyncGenerator[trio.MemoryReceiveChannel[Entry], None]:
        async with self._ledger.open_follow(thread, after=after, size=size) as channel:
            yield channel

    async def fork(self, thread: str, /, *, at: int, to: str | None = None) -> str:
        name = await self._ledger.fork(thread, at=at, to=to)
        await self._enter()
        return name

    async def threads(
        self, *, limit: int = 100, after_cursor: str | None = None
    ) -> Sequence[ThreadInfo]:
        page = await self._ledger.threads(limit=limit, after_cursor=after_cursor)
        await self._enter()
        return page

    async def acquire(self, thread: str, /, *, owner: str, ttl: float = 10.0) -> Lease:
        lease = await self._ledger.acquire(thread, owner=owner, ttl=ttl)
        await self._enter()
        return lease

    async def renew(self, lease: Lease, /) -> Lease:
        return await self._ledger.renew(lease)

    async def release(self, lease: Lease, /) -> None:
        await self._ledger.release(lease)
