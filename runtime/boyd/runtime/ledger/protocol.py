"""What a ledger promises, whatever store is behind it.

A *thread* is an append-only sequence of entries, numbered from 1 without a
gap. Entries never change. Everything an agent does is an entry somewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

import attrs
import trio

from boyd.runtime.errors import LedgerError
from boyd.runtime.messages import decode_named, encode_named

__all__ = [
    "ANY",
    "MAX_APPEND",
    "MAX_BODY",
    "MAX_ENTRIES",
    "MAX_NAME",
    "AnyTip",
    "Durability",
    "Entry",
    "Lease",
    "Ledger",
    "LedgerRefused",
    "ThreadInfo",
]

MAX_BODY: Final = 1 << 20
"""Bytes in the body of one entry."""
MAX_ENTRIES: Final = 1024
"""Entries in one append."""
MAX_APPEND: Final = 16 << 20
"""Bytes in the bodies of one append."""
MAX_NAME: Final = 512
"""UTF-8 bytes in the name of a thread, a kind, an entry id or an owner."""


class AnyTip(enum.Enum):
    """The type of `ANY`."""

    ANY = "any"


ANY: Final = AnyTip.ANY
"""`after=ANY`: append wherever the thread ends now, for facts whose order does not matter."""


class Durability(enum.Enum):
    """What an append survives once it has returned; a killed process it always survives."""

    FULL = "full"
    """Power loss too: each commit waits for the disk."""
    NORMAL = "normal"
    """Power loss may take the last commits, never damage earlier ones."""


class LedgerRefused(LedgerError, ValueError):
    """No ledger stores this: a name that is not plain text, a body or a batch over its limit.

    Nothing was stored, and trying again will not help.
    """


@attrs.frozen(kw_only=True)
class Entry:
    """One fact. Never edited after it is appended.

    Attributes:
        kind: the tag of the message that `body` holds.
        id: unique in its thread; appending it again with the same content changes nothing.
        seq: place in the thread from 1, given by the ledger; 0 before.
        at: wall clock seconds of the append, given by the ledger. For people: it may jump.
    """

    kind: str
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")
    id: str
    seq: int = 0
    at: float = 0.0

    @classmethod
    def of(cls, message: object, *, id: str) -> Entry:  # noqa: A002  # the field's own name
        """An entry that holds a message.

        Raises:
            EncodeError: it is not a message, or its class has no tag.
        """
        kind, body = encode_named(message)
        return cls(kind=kind, body=body, id=id)

    def message(self) -> object | None:
        """The message in it, or None where this process has no class for the kind.

        Raises:
            WireError: the body is not a message of that kind.
        """
        return decode_named(self.kind, self.body)


@attrs.frozen(kw_only=True)
class ThreadInfo:
    """A thread as `threads` lists it.

    Attributes:
        tip: seq of its last entry.
        at: wall clock seconds of its last append or of its fork.
        parent: the thread it was forked from.
        forked_at: how many of its entries are the parent's.
        cursor: its place in the listing; opaque.
    """

    thread: str
    tip: int
    at: float
    parent: str | None
    forked_at: int
    cursor: str = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class Lease:
    """The right to drive one thread, until somebody holds a higher token."""

    thread: str
    owner: str
    token: int
    ttl: float


class Ledger(Protocol):
    """Append-only, densely numbered threads of entries.

    Every method may raise `LedgerUnavailable` (the store does not work now),
    `LedgerCorrupt` (it does not hold what was appended) and `LedgerRefused`.
    A writing method that raises `Cancelled` has changed nothing; when it can no
    longer say so it raises `OutcomeUnknown`, and calling it again is safe.
    """

    async def append(
        self,
        thread: str,
        entries: Sequence[Entry],
        /,
        *,
        after: int | AnyTip,
        lease: Lease | None = None,
    ) -> int:
        """Append all of `entries` or none, and return the tip.

        Entries whose id is known with the same content are skipped; when all
        are, the append has happened before and succeeds whatever `after` says.
        An empty append only compares `after` with the tip.

        Args:
            after: the tip that the caller has seen, or `ANY`.
            lease: append only while it is held. It may be on another thread, as that of the run.

        Raises:
            SequenceConflict: the tip is not `after`.
            IdConflict: an id is known with other content.
            LeaseLost: somebody took over the lease, or it was released.
            OutcomeUnknown: the caller was cancelled, or the disk failed, during the commit.
        """
        ...

    async def read(
        self, thread: str, /, *, after: int = 0, limit: int = 1000, kinds: Collection[str] = ()
    ) -> Sequence[Entry]:
        """The next entries behind `after` in order, at most `limit`; of all kinds or of `kinds`.

        Fewer than `limit` means that there were no more when it was read.
        """
        ...

    async def tip(self, thread: str, /) -> int:
        """The seq of the last entry; 0 for an unknown thread."""
        ...

    def open_follow(
        self, thread: str, /, *, after: int = 0, size: int = 64
    ) -> AbstractAsyncContextManager[trio.MemoryReceiveChannel[Entry]]:
        """Receive what stands behind `after`, then what is appended, without gap or duplicate.

        A slow reader misses nothing: at most `size` entries wait in memory, the
        rest in the ledger. When the ledger fails, the block is cancelled and
        left with the error.
        """
        ...

    async def fork(self, thread: str, /, *, at: int, to: str | None = None) -> str:
        """Make a thread that begins with the first `at` entries of `thread`, and return its name.

        The same fork again, by name, changes nothing.

        Raises:
            UnknownThread: there is no `thread`.
            LedgerRefused: `at` is not in it, or `to` is another thread.
        """
        ...

    async def threads(
        self, *, limit: int = 100, after_cursor: str | None = None
    ) -> Sequence[ThreadInfo]:
        """Threads by their last append, latest first. The next page is behind the last cursor.

        A thread that is appended to meanwhile moves to the front.
        """
        ...

    async def acquire(self, thread: str, /, *, owner: str, ttl: float = 10.0) -> Lease:
        """Take the lease of a thread, with a token higher than any before.

        It is free when it was released, when it was not renewed for its `ttl`,
        or when its holder's process is known to be dead.

        Raises:
            LeaseHeld: somebody holds it.
        """
        ...

    async def renew(self, lease: Lease, /) -> Lease:
        """Hold it for another `ttl` from now.

        Raises:
            LeaseLost: somebody took it over, or it was released.
        """
        ...

    async def release(self, lease: Lease, /) -> None:
        """Give it back; nothing happens when it is not held any more."""
        ...
