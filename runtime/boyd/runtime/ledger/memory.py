"""The ledger in this process's memory: for tests, and for runs that nobody resumes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import attrs
import trio

from boyd.runtime.errors import LedgerUnavailable, UnknownThread
from boyd.runtime.ledger.follow import Changes, open_followed
from boyd.runtime.ledger.lease import LeaseRecord, check_fence, check_terms, next_lease
from boyd.runtime.ledger.protocol import AnyTip, Entry, Lease, Ledger, LedgerRefused, ThreadInfo
from boyd.runtime.ledger.rules import (
    check_entries,
    check_name,
    check_page,
    new_entries,
    parse_cursor,
)
from boyd.runtime.seams import Seams

__all__ = ["open_memory_ledger"]


@attrs.define(eq=False)
class _Thread:
    entries: list[Entry]
    at: float
    activity: int
    parent: str | None = None
    forked_at: int = 0
    by_id: dict[str, tuple[str, bytes]] = attrs.field(factory=dict[str, tuple[str, bytes]])


class _MemoryLedger:
    """Each method checkpoints first and then acts without another, so it happens or it does not."""

    def __init__(self, seams: Seams) -> None:
        self._seams = seams
        self._threads: dict[str, _Thread] = {}
        self._leases: dict[str, LeaseRecord] = {}
        self._activity = 0
        self._changes = Changes()
        self._closed = False

    async def append(
        self,
        thread: str,
        entries: Sequence[Entry],
        /,
        *,
        after: int | AnyTip,
        lease: Lease | None = None,
    ) -> int:
        batch = check_entries(thread, entries)
        await self._checkpoint()
        if lease:
            check_fence(lease, self._leases.get(lease.thread))
        found = self._threads.get(thread)
        tip = len(found.entries) if found else 0
        added = new_entries(
            thread,
            batch,
            after=after,
            tip=tip,
            known=found.by_id.get if found else lambda _id: None,
        )
        if not added:
            return tip
        now = self._seams.clock.wall()
        if found is None:
            found = self._threads[thread] = _Thread([], now, 0)
        for entry in added:
            tip += 1
            found.entries.append(
                Entry(kind=entry.kind, body=entry.body, id=entry.id, seq=tip, at=now)
            )
            found.by_id[entry.id] = (entry.kind, entry.body)
        found.at = now
        self._touch(thread, found)
        return tip

    async def read(
        self, thread: str, /, *, after: int = 0, limit: int = 1000, kinds: Collection[str] = ()
    ) -> Sequence[Entry]:
        check_name("the name of a thread", thread)
        after, limit, wanted = check_page(after, limit, kinds)
        await self._checkpoint()
        found = self._threads.get(thread)
        if found is None:
            return ()
        if not wanted:
            return tuple(found.entries[after : after + limit])
        return tuple(entry for entry in found.entries[after:] if entry.kind in wanted)[:limit]

    async def tip(self, thread: str, /) -> int:
        check_name("the name of a thread", thread)
        await self._checkpoint()
        found = self._threads.get(thread)
        return len(found.entries) if found else 0

    def open_follow(
        self, thread: str, /, *, after: int = 0, size: int = 64
    ) -> AbstractAsyncContextManager[trio.MemoryReceiveChannel[Entry]]:
        async def read(after: int, limit: int) -> Sequence[Entry]:
            return await self.read(thread, after=after, limit=limit)

        return open_followed(read, self._changes, thread, after=after, size=size)

    async def fork(self, thread: str, /, *, at: int, to: str | None = None) -> str:
        check_name("the name of a thread", thread)
        name = self._seams.ids.new() if to is None else to
        check_name("the name of a thread", name)
        await self._checkpoint()
        parent = self._threads.get(thread)
        if parent is None:
            raise UnknownThread(f"the ledger has no thread {thread}")
        if not 0 <= at <= len(parent.entries):
            raise LedgerRefused(f"{thread} has {len(parent.entries)} entries, no {at}")
        if (same := self._threads.get(name)) is not None:
            if (same.parent, same.forked_at) != (thread, at):
                raise LedgerRefused(f"there is another thread {name}")
            return name
        entries = parent.entries[:at]
        made = _Thread(entries, self._seams.clock.wall(), 0, thread, at)
        made.by_id.update((entry.id, (entry.kind, entry.body)) for entry in entries)
        self._threads[name] = made
        self._touch(name, made)
        return name

    async def threads(
        self, *, limit: int = 100, after_cursor: str | None = None
    ) -> Sequence[ThreadInfo]:
        _, limit, _ = check_page(0, limit)
        before, _ = parse_cursor(after_cursor)
        await self._checkpoint()
        listed: list[ThreadInfo] = []
        for name, thread in reversed(self._threads.items()):
            if len(listed) == limit:
                break
            if thread.activity < before:
                listed.append(
                    ThreadInfo(
                        thread=name,
                        tip=len(thread.entries),
                        at=thread.at,
                        parent=thread.parent,
                        forked_at=thread.forked_at,
                        cursor=f"{thread.activity}.0",
                    )
                )
        return tuple(listed)

    async def acquire(self, thread: str, /, *, owner: str, ttl: float = 10.0) -> Lease:
        check_terms(thread, owner, ttl)
        await self._checkpoint()
        record = next_lease(
            thread,
            self._leases.get(thread),
            owner=owner,
            ttl=ttl,
            now=self._seams.clock.now(),
            dead=False,  # all holders live in this process
        )
        self._leases[thread] = record
        return Lease(thread=thread, owner=owner, token=record.token, ttl=ttl)

    async def renew(self, lease: Lease, /) -> Lease:
        await self._checkpoint()
        record = check_fence(lease, self._leases.get(lease.thread))
        self._leases[lease.thread] = attrs.evolve(record, beat=self._seams.clock.now())
        return lease

    async def release(self, lease: Lease, /) -> None:
        await self._checkpoint()
        record = self._leases.get(lease.thread)
        if record and record.token == lease.token:
            self._leases[lease.thread] = attrs.evolve(record, held=False)

    def close(self) -> None:
        self._closed = True
        self._changes.notify_all()

    async def _checkpoint(self) -> None:
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise LedgerUnavailable("the memory ledger is closed")

    def _touch(self, name: str, thread: _Thread) -> None:
        self._activity += 1
        thread.activity = self._activity
        # The dict is kept in the order of last activity.
        self._threads[name] = self._threads.pop(name)
        self._changes.notify((name,))


@asynccontextmanager
async def open_memory_ledger(*, seams: Seams | None = None) -> AsyncGenerator[Ledger]:
    """A ledger that is forgotten when the block ends."""
    ledger = _MemoryLedger(Seams() if seams is None else seams)
    try:
        yield ledger
    finally:
        ledger.close()
