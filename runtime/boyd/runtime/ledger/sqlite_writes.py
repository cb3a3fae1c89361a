"""What one transaction changes in a ledger file: the writing half.

Runs in a worker thread on the writer's `Database`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from boyd.runtime.errors import IdConflict, LeaseHeld, LeaseLost, SequenceConflict, UnknownThread
from boyd.runtime.ledger.chain import link
from boyd.runtime.ledger.holder import Holder, Machine
from boyd.runtime.ledger.lease import LeaseRecord, check_fence, next_lease
from boyd.runtime.ledger.protocol import AnyTip, Entry, Lease, LedgerRefused
from boyd.runtime.ledger.rules import new_entries
from boyd.runtime.ledger.sqlite_database import Database, Row, Value
from boyd.runtime.ledger.sqlite_threads import (
    ThreadRow,
    damaged,
    find_thread,
    last_position,
)

__all__ = ["Tables"]

CACHED_THREADS: Final = 4096
DECLINED: Final = (SequenceConflict, IdConflict, LeaseHeld, LeaseLost, LedgerRefused, UnknownThread)
"""Errors that concern one caller of a group; all others undo the whole transaction."""


class Tables:
    """The writer's side: every method but `commit` runs inside its transaction."""

    def __init__(self, db: Database, machine: Machine) -> None:
        self._db = db
        self._machine = machine
        self._version: Value = None
        self._cache: dict[str, ThreadRow] = {}
        self._grown: set[str] = set()
        self._now = 0.0

    def commit(
        self, works: Sequence[Callable[[Tables], object]], now: float
    ) -> tuple[list[object], set[str]]:
        """Do all in one transaction: their outcomes, and the names of the threads that have grown.

        A caller whose work is declined gets its error as outcome; the others are committed.

        Raises:
            Busy, CommitUnknown, LedgerUnavailable, LedgerCorrupt: for all of them.
        """
        self._now = now
        self._grown = set()
        outcomes: list[object] = []
        committed = False
        try:
            with self._db.writing():
                self._forget_if_others_wrote()
                outcomes = [_outcome(work, self) for work in works]
            committed = True
        finally:
            if not committed or len(self._cache) > CACHED_THREADS:
                self._cache.clear()
        return outcomes, self._grown

    def _forget_if_others_wrote(self) -> None:
        version = self._db.data_version()
        if version != self._version:
            self._version = version
            self._cache.clear()

    def _thread(self, name: str) -> ThreadRow | None:
        found = self._cache.get(name)
        if found is None:
            found = find_thread(self._db, name)
            if found:
                self._cache[name] = found
        return found

    def _new_thread(self, name: str, parent: ThreadRow | None = None, at: int = 0) -> ThreadRow:
        self._db.rows(
            "INSERT INTO thread(name, at, pos, parent, forked_at) VALUES(?, ?, ?, ?, ?)",
            (name, self._now, last_position(self._db), parent.key if parent else None, at),
        )
        made = self._thread(name)
        assert made, "a row that was just inserted is there"
        self._grown.add(name)
        return made

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def append(
        self, thread: str, entries: Sequence[Entry], after: int | AnyTip, lease: Lease | None
    ) -> int:
        """As `Ledger.append`."""
        if lease:
            check_fence(lease, self._lease(lease.thread)[0])
        row = self._thread(thread)
        tip = row.tip if row else 0
        added = new_entries(thread, entries, after=after, tip=tip, known=partial(self._known, row))
        if not added:
            return tip
        if row is None:
            row = self._new_thread(thread)
        at, chain = self._now, row.chain
        values: list[Row] = []
        for entry in added:
            tip += 1
            chain = link(chain, seq=tip, at=at, id=entry.id, kind=entry.kind, body=entry.body)
            values.append((row.key, tip, entry.kind, entry.id, at, chain, entry.body))
        self._db.each(
            "INSERT INTO entry(thread, seq, kind, id, at, chain, body) VALUES(?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        row.tip, row.chain = tip, chain
        self._grown.add(thread)
        return tip

    def _known(self, row: ThreadRow | None, id: str) -> tuple[str, bytes] | None:  # noqa: A002
        if row is None:
            return None
        query = "SELECT kind, body FROM entry WHERE thread = ? AND id = ?"
        rows = self._db.rows(query, (row.key, id))
        for span in () if rows else row.ancestors:
            rows += self._db.rows(f"{query} AND seq <= ?", (span.key, id, span.last))
        match rows:
            case []:
                return None
            case [(str(kind), bytes(body))]:
                return kind, body
            case _:
                raise damaged(self._db, f"the entry {id}")

    def fork(self, thread: str, at: int, to: str) -> str:
        """As `Ledger.fork`."""
        parent = self._thread(thread)
        if parent is None:
            raise UnknownThread(f"the ledger has no thread {thread}")
        if not 0 <= at <= parent.tip:
            raise LedgerRefused(f"{thread} has {parent.tip} entries, no {at}")
        if same := self._thread(to):
            rows = self._db.rows("SELECT parent, forked_at FROM thread WHERE key = ?", (same.key,))
            if rows != [(parent.key, at)]:
                raise LedgerRefused(f"there is another thread {to}")
            return to
        self._new_thread(to, parent, at)
        return to

    def _lease(self, thread: str) -> tuple[LeaseRecord | None, Holder | None]:
        rows = self._db.rows(
            "SELECT owner, token, ttl, beat, held, boot, space, pid, start"
            " FROM lease WHERE thread = ?",
            (thread,),
        )
        match rows:
            case []:
                return None, None
            case [
                (
                    str(owner),
                    int(token),
                    float(ttl),
                    float(beat),
                    int(held),
                    str(boot),
                    str(space),
                    int(pid),
                    str(start),
                )
            ]:
                return (
                    LeaseRecord(owner=owner, token=token, ttl=ttl, beat=beat, held=bool(held)),
                    Holder(boot=boot, space=space, pid=pid, start=start),
                )
            case _:
                raise damaged(self._db, f"the lease of thread {thread}")

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease:
        """As `Ledger.acquire`."""
        record, holder = self._lease(thread)
        new = next_lease(
            thread,
            record,
            owner=owner,
            ttl=ttl,
            now=self._machine.monotonic(),
            dead=holder is not None and self._machine.is_dead(holder),
        )
        me = self._machine.me()
        self._db.rows(
            "INSERT OR REPLACE INTO"
            " lease(thread, owner, token, ttl, beat, held, boot, space, pid, start)"
            " VALUES(?, ?, ?, ?, ?, 1, ?, ?, ?, ?)",
            (thread, owner, new.token, ttl, new.beat, me.boot, me.space, me.pid, me.start),
        )
        return Lease(thread=thread, owner=owner, token=new.token, ttl=ttl)

    def renew(self, lease: Lease) -> Lease:
        """As `Ledger.renew`."""
        check_fence(lease, self._lease(lease.thread)[0])
        self._db.rows(
            "UPDATE lease SET beat = ? WHERE thread = ?", (self._machine.monotonic(), lease.thread)
        )
        return lease

    def release(self, lease: Lease) -> None:
        """As `Ledger.release`."""
        record, _ = self._lease(lease.thread)
        if record and record.token == lease.token:
            self._db.rows("UPDATE lease SET held = 0 WHERE thread = ?", (lease.thread,))


def _outcome(work: Callable[[Tables], object], tables: Tables) -> object:
    try:
        return work(tables)
    except DECLINED as error:
        return error
