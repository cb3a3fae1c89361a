"""What a ledger file says of its threads and entries: the reading half.

A fork shares its parent's rows: the *spans* of a thread say which rows of which
threads are its own. Stored rows are untrusted: a type, a number or a link that
does not fit is `LedgerCorrupt`, so that damage never reaches a fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from boyd.runtime.errors import LedgerCorrupt
from boyd.runtime.ledger.chain import GENESIS, link
from boyd.runtime.ledger.protocol import Entry, ThreadInfo
from boyd.runtime.ledger.sqlite_database import Database, Row, Value

__all__ = [
    "SCHEMA",
    "Mark",
    "Span",
    "ThreadRow",
    "chain_at",
    "changed_threads",
    "damaged",
    "find_thread",
    "last_position",
    "list_threads",
    "read_page",
    "read_tip",
]

SCHEMA: Final = """
CREATE TABLE thread(
  key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at REAL NOT NULL, pos INTEGER NOT NULL,
  parent INTEGER, forked_at INTEGER NOT NULL
) STRICT;
CREATE TABLE entry(
  pos INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
  id TEXT NOT NULL, at REAL NOT NULL, chain BLOB NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX entry_seq ON entry(thread, seq);
CREATE UNIQUE INDEX entry_id ON entry(thread, id);
CREATE TABLE lease(
  thread TEXT PRIMARY KEY, owner TEXT NOT NULL, token INTEGER NOT NULL, ttl REAL NOT NULL,
  beat REAL NOT NULL, held INTEGER NOT NULL,
  boot TEXT NOT NULL, space TEXT NOT NULL, pid INTEGER NOT NULL, start TEXT NOT NULL
) STRICT;
"""
# All rows but leases are written once. A thread's tip and last activity are those of its last
# entry; before there is one, those of its making, `pos` being the file's last entry then.
# An entry's body stands last, so that a search among its other columns skips its pages.


@attrs.frozen
class Mark:
    """How far a look has seen: the data version, the last entry and the last thread."""

    version: Value
    pos: int
    key: int


@attrs.frozen
class Span:
    """A run of rows: those of thread `key` with `first <= seq <= last`."""

    key: int
    first: int
    last: int


@attrs.define(eq=False)
class ThreadRow:
    """A thread as the database has it, with the ancestors whose rows it begins with."""

    key: int
    tip: int
    chain: bytes
    forked_at: int
    ancestors: tuple[Span, ...]

    def spans(self) -> tuple[Span, ...]:
        """All its rows, in order."""
        return (*self.ancestors, Span(self.key, self.forked_at + 1, self.tip))


def damaged(db: Database, what: str) -> LedgerCorrupt:
    """The error to raise."""
    return LedgerCorrupt(f"{db.path} is damaged: {what}")


def find_thread(db: Database, name: str) -> ThreadRow | None:
    """Raises LedgerCorrupt."""
    match db.rows("SELECT key, forked_at, parent FROM thread WHERE name = ?", (name,)):
        case []:
            return None
        case [(int(key), int(forked_at), None | int() as parent)]:
            ancestors = _ancestors(db, key, parent, forked_at)
        case _:
            raise damaged(db, f"the row of thread {name}")
    query = "SELECT seq, chain FROM entry WHERE thread = ? ORDER BY seq DESC LIMIT 1"
    match db.rows(query, (key,)):
        case []:
            return ThreadRow(
                key, forked_at, _chain_at(db, ancestors, forked_at), forked_at, ancestors
            )
        case [(int(tip), bytes(chain))]:
            return ThreadRow(key, tip, chain, forked_at, ancestors)
        case _:
            raise damaged(db, f"the last entry of {name}")


def _ancestors(db: Database, key: int, parent: int | None, last: int) -> tuple[Span, ...]:
    spans: list[Span] = []
    while parent is not None and last:
        match db.rows("SELECT parent, forked_at FROM thread WHERE key = ?", (parent,)):
            # A parent is older than its fork, so a loop cannot be.
            case [(None | int() as grandparent, int(forked_at))] if parent < key:
                if last > forked_at:
                    spans.append(Span(parent, forked_at + 1, last))
                    last = forked_at
                key, parent = parent, grandparent
            case _:
                raise damaged(db, "the parent of a fork")
    return tuple(reversed(spans))


def read_tip(db: Database, name: str) -> int:
    """As `Ledger.tip`."""
    row = find_thread(db, name)
    return row.tip if row else 0


def chain_at(db: Database, row: ThreadRow, seq: int) -> bytes:
    """The link of the entry at `seq`. Raises LedgerCorrupt."""
    return row.chain if seq == row.tip else _chain_at(db, row.spans(), seq)


def _chain_at(db: Database, spans: Sequence[Span], seq: int) -> bytes:
    if seq == 0:
        return GENESIS
    for span in spans:
        if span.first <= seq <= span.last:
            query = "SELECT chain FROM entry WHERE thread = ? AND seq = ?"
            match db.rows(query, (span.key, seq)):
                case [(bytes(chain),)]:
                    return chain
                case _:
                    break
    raise damaged(db, f"entry {seq} of a thread is missing")


def read_page(
    db: Database, thread: str, after: int, limit: int, kinds: Sequence[str]
) -> tuple[Entry, ...]:
    """As `Ledger.read`; a page of all kinds is checked link by link.

    Raises:
        LedgerCorrupt: an entry is missing, or is not what was appended.
    """
    row = find_thread(db, thread)
    if row is None or after >= row.tip:
        return ()
    these = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
    query = (
        "SELECT seq, kind, id, at, chain, body FROM entry"  # noqa: S608  # question marks only
        f" WHERE thread = ? AND seq > ? AND seq <= ?{these} ORDER BY seq LIMIT ?"
    )
    rows: list[Row] = []
    for span in row.spans():
        if span.last > after and len(rows) < limit:
            first = max(after, span.first - 1)
            rows += db.rows(query, (span.key, first, span.last, *kinds, limit - len(rows)))
    if kinds:
        return tuple(_entry(db, thread, values)[0] for values in rows)
    return _sealed(db, thread, chain_at(db, row, after), after, rows)


def _sealed(
    db: Database, thread: str, chain: bytes, after: int, rows: Sequence[Row]
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for seq, values in enumerate(rows, start=after + 1):
        entry, stored = _entry(db, thread, values)
        chain = link(chain, seq=seq, at=entry.at, id=entry.id, kind=entry.kind, body=entry.body)
        if entry.seq != seq or chain != stored:
            raise damaged(db, f"entry {seq} of {thread} is not what was appended")
        entries.append(entry)
    return tuple(entries)


def _entry(db: Database, thread: str, values: Row) -> tuple[Entry, bytes]:
    # Not a match statement: it takes three times as long, and pages have thousands of rows.
    seq, kind, id, at, chain, body = values  # noqa: A001
    if (
        type(seq) is int
        and type(kind) is str
        and type(id) is str
        and type(at) is float
        and type(chain) is bytes
        and type(body) is bytes
    ):
        return Entry(kind=kind, body=body, id=id, seq=seq, at=at), chain
    raise damaged(db, f"an entry of {thread}")


def list_threads(db: Database, limit: int, before: tuple[int, int]) -> tuple[ThreadInfo, ...]:
    """As `Ledger.threads`."""
    rows = db.rows(
        "SELECT t.name, coalesce(e.seq, t.forked_at), coalesce(e.at, t.at), p.name, t.forked_at,"
        "  coalesce(e.pos, t.pos) AS activity, t.key"
        " FROM thread t LEFT JOIN thread p ON p.key = t.parent LEFT JOIN entry e ON e.pos ="
        "  (SELECT pos FROM entry WHERE thread = t.key ORDER BY seq DESC LIMIT 1)"
        " WHERE (activity, t.key) < (?, ?) ORDER BY activity DESC, t.key DESC LIMIT ?",
        (*before, limit),
    )
    listed: list[ThreadInfo] = []
    for values in rows:
        match values:
            case (
                str(name),
                int(tip),
                float(at),
                None | str() as parent,
                int(forked_at),
                int(activity),
                int(key),
            ):
                cursor = f"{activity}.{key}"
            case _:
                raise damaged(db, "the row of a thread")
        listed.append(
            ThreadInfo(
                thread=name, tip=tip, at=at, parent=parent, forked_at=forked_at, cursor=cursor
            )
        )
    return tuple(listed)


def last_position(db: Database) -> int:
    """Of the entry that was appended last to any thread."""
    return _highest(db, "SELECT coalesce(max(pos), 0) FROM entry")


def changed_threads(db: Database, mark: Mark | None) -> tuple[Mark, Sequence[str] | None]:
    """What has grown since `mark`; None for "any may have".

    The version is read first: a commit between the reads is told twice, not missed.
    """
    version = db.data_version()
    if mark and mark.version == version:
        return mark, ()
    new = Mark(version, last_position(db), _highest(db, "SELECT coalesce(max(key), 0) FROM thread"))
    if mark is None:
        return new, None
    rows = db.rows(
        "SELECT name FROM thread WHERE key > ?"
        " OR key IN (SELECT DISTINCT thread FROM entry WHERE pos > ?)",
        (mark.key, mark.pos),
    )
    return new, tuple(str(name) for (name,) in rows)


def _highest(db: Database, query: str) -> int:
    match db.rows(query):
        case [(int(top),)]:
            return top
        case _:
            raise damaged(db, "a row number")
