"""A ledger whose answers reach actors through the dispatcher."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager

import trio

from boyd.runtime.dispatcher import Dispatcher
from boyd.runtime.ledger import AnyTip, Entry, Lease, Ledger, ThreadInfo

__all__ = ["DispatchedLedger"]


class DispatchedLedger:
    """The same ledger; a store's thread or task has woken the caller, so the caller asks for its turn.

    `enter` cannot be cancelled, so what was written is never reported as cancelled.
    """

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
        try:
            return await self._ledger.append(thread, entries, after=after, lease=lease)
        finally:
            await self._enter()

    async def read(
        self, thread: str, /, *, after: int = 0, limit: int = 1000, kinds: Collection[str] = ()
    ) -> Sequence[Entry]:
        try:
            return await self._ledger.read(thread, after=after, limit=limit, kinds=kinds)
        finally:
            await self._enter()

    async def tip(self, thread: str, /) -> int:
        try:
            return await self._ledger.tip(thread)
        finally:
            await self._enter()

    @asynccontextmanager
    async def open_follow(
        self, thread: str, /, *, after: int = 0, size: int = 64
    ) -> AsyncGenerator[trio.MemoryReceiveChannel[Entry]]:
        async with self._ledger.open_follow(thread, after=after, size=size) as channel:
            yield channel

    async def fork(self, thread: str, /, *, at: int, to: str | None = None) -> str:
        try:
            return await self._ledger.fork(thread, at=at, to=to)
        finally:
            await self._enter()

    async def threads(
        self, *, limit: int = 100, after_cursor: str | None = None
    ) -> Sequence[ThreadInfo]:
        try:
            return await self._ledger.threads(limit=limit, after_cursor=after_cursor)
        finally:
            await self._enter()

    async def acquire(self, thread: str, /, *, owner: str, ttl: float = 10.0) -> Lease:
        try:
            return await self._ledger.acquire(thread, owner=owner, ttl=ttl)
        finally:
            await self._enter()

    async def renew(self, lease: Lease, /) -> Lease:
        try:
            return await self._ledger.renew(lease)
        finally:
            await self._enter()

    async def release(self, lease: Lease, /) -> None:
        try:
            await self._ledger.release(lease)
        finally:
            await self._enter()
