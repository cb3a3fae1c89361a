"""The ledger in a SQLite file: the embedded default.

One connection writes, through the writer task; another reads beside it. Every
transaction is one call into a worker thread, so no cancel finds one open.
Several processes may use one file on a local disk.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, TypeVar, TypeVarTuple

import trio

from boyd.runtime.errors import LedgerError, LedgerUnavailable
from boyd.runtime.ledger.background import open_background
from boyd.runtime.ledger.follow import Changes, open_followed
from boyd.runtime.ledger.holder import Machine
from boyd.runtime.ledger.lease import check_terms
from boyd.runtime.ledger.protocol import AnyTip, Durability, Entry, Lease, Ledger, ThreadInfo
from boyd.runtime.ledger.rules import check_entries, check_name, check_page, parse_cursor
from boyd.runtime.ledger.sqlite_database import Busy, CommitUnknown, Database, prepare_file
from boyd.runtime.ledger.sqlite_threads import (
    SCHEMA,
    Mark,
    changed_threads,
    list_threads,
    read_page,
    read_tip,
)
from boyd.runtime.ledger.sqlite_writes import Tables
from boyd.runtime.ledger.writer import Job, Writer
from boyd.runtime.seams import Seams

__all__ = ["SqliteLedger", "open_sqlite"]

BUSY_WAIT: Final = 10.0
"""Seconds that a lock held by another process is waited for."""
BUSY_PAUSE: Final = 0.001
CLOSE_WAIT: Final = 5.0
"""Seconds that somebody's last read is waited for before the file is closed."""
POLL: Final = 0.05
"""Seconds between looks at what other processes appended, while somebody follows."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SqliteLedger:
    """A `Ledger` on two connections to one file."""

    def __init__(self, writer: Database, reader: Database, seams: Seams, machine: Machine) -> None:
        self._seams = seams
        self._tables = Tables(writer, machine)
        self._reader = reader
        self._reading = trio.Lock()
        self._changes = Changes()
        self._writer = Writer[Tables](self._commit, where=writer.path)

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
        if lease:
            check_name("the thread of a lease", lease.thread)
        return await self._writer.submit(
            lambda tables: tables.append(thread, batch, after, lease),
            thread=thread,
            ids=tuple(entry.id for entry in batch),
            size=sum(len(entry.body) for entry in batch),
        )

    async def read(
        self, thread: str, /, *, after: int = 0, limit: int = 1000, kinds: Collection[str] = ()
    ) -> Sequence[Entry]:
        check_name("the name of a thread", thread)
        return await self._read(read_page, self._reader, thread, *check_page(after, limit, kinds))

    async def tip(self, thread: str, /) -> int:
        check_name("the name of a thread", thread)
        return await self._read(read_tip, self._reader, thread)

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
        return await self._writer.submit(lambda tables: tables.fork(thread, at, name), thread=name)

    async def threads(
        self, *, limit: int = 100, after_cursor: str | None = None
    ) -> Sequence[ThreadInfo]:
        _, limit, _ = check_page(0, limit)
        return await self._read(list_threads, self._reader, limit, parse_cursor(after_cursor))

    async def acquire(self, thread: str, /, *, owner: str, ttl: float = 10.0) -> Lease:
        check_terms(thread, owner, ttl)
        return await self._writer.submit(
            lambda tables: tables.acquire(thread, owner, ttl), thread=thread
        )

    async def renew(self, lease: Lease, /) -> Lease:
        check_name("the thread of a lease", lease.thread)
        return await self._writer.submit(lambda tables: tables.renew(lease), thread=lease.thread)

    async def release(self, lease: Lease, /) -> None:
        check_name("the thread of a lease", lease.thread)
        await self._writer.submit(lambda tables: tables.release(lease), thread=lease.thread)

    async def work(self) -> None:
        """The writer and the look-out for other processes, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_others)
            await self._writer.run()

    async def _commit(self, group: Sequence[Job[Tables]]) -> Sequence[object]:
        works = [job.work for job in group]
        now = self._seams.clock.wall()
        try:
            outcomes, grown = await self._patiently(self._tables.commit, works, now)
        except CommitUnknown as error:
            return [job.unknown(error.__cause__) for job in group]
        self._changes.notify(grown)
        return outcomes

    async def _read(self, fn: Callable[[*Ts], T], *args: *Ts) -> T:
        self._writer.check_open()
        async with self._reading:
            self._writer.check_open()
            return await self._patiently(fn, *args)

    async def _patiently(self, fn: Callable[[*Ts], T], *args: *Ts) -> T:
        return await patiently(self._seams, self._reader.path, fn, *args)

    async def _watch_others(self) -> None:
        """Wake followers for what other processes append; the writer wakes them for its own."""
        mark: Mark | None = None
        while True:
            if not self._changes:
                mark = None
                await self._changes.wait_watched()
            try:
                mark, grown = await self._read(changed_threads, self._reader, mark)
            except LedgerError:
                mark, grown = None, None  # what is wrong the followers' own reads will say
            if grown is None:
                self._changes.notify_all()
            else:
                self._changes.notify(grown)
            await trio.sleep(POLL)

    async def close(self) -> None:
        """After the writer has ended: close the file, whoever cancels meanwhile."""
        self._changes.notify_all()
        with trio.CancelScope(shield=True):
            with trio.move_on_after(CLOSE_WAIT):
                async with self._reading:
                    await self._seams.offload.run(self._reader.close, vital=True)
            await self._seams.offload.run(self._tables.close, vital=True)


async def patiently(seams: Seams, path: str, fn: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call `fn` in a worker thread, again while another process holds the file's lock.

    Raises:
        LedgerUnavailable: for too long.
    """
    begun = seams.clock.now()
    while True:
        try:
            # Once begun it is not interrupted, and the answer is not lost.
            with trio.CancelScope(shield=True):
                return await seams.offload.run(fn, *args, vital=True)
        except Busy:
            if seams.clock.now() - begun >= BUSY_WAIT:
                raise LedgerUnavailable(
                    f"{path} is locked by another process (waited {BUSY_WAIT:.0f} s)"
                ) from None
        await trio.sleep(BUSY_PAUSE)


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)  # noqa: PTH100  # resolve() would follow links


def _open_file(path: str, durability: Durability) -> tuple[Database, Database]:
    prepare_file(path)
    writer = Database(path, SCHEMA, durability)
    reader: Database | None = None
    try:
        reader = Database(path, SCHEMA, None)
        return writer, reader
    finally:
        if reader is None:
            writer.close()


@asynccontextmanager
async def open_sqlite(
    path: str | os.PathLike[str],
    *,
    seams: Seams | None = None,
    durability: Durability = Durability.FULL,
    machine: Machine | None = None,
) -> AsyncGenerator[Ledger]:
    """As `open_sqlite_ledger`."""
    world = Seams() if seams is None else seams
    # Absolute, so that neither a later chdir nor SQLite's special names change it.
    file = _absolute(path)
    await trio.lowlevel.checkpoint()
    writer, reader = await patiently(world, file, _open_file, file, durability)
    ledger = SqliteLedger(writer, reader, world, machine or Machine())
    try:
        async with open_background(ledger.work):
            yield ledger
    finally:
        await ledger.close()
