"""Ledgers by address, and the SQLite one by path."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager

from boyd.runtime.errors import LedgerUnavailable
from boyd.runtime.ledger.memory import open_memory_ledger
from boyd.runtime.ledger.protocol import Durability, Ledger
from boyd.runtime.seams import Seams

__all__ = ["open_ledger", "open_sqlite_ledger"]


def open_sqlite_ledger(
    path: str | os.PathLike[str],
    *,
    seams: Seams | None = None,
    durability: Durability = Durability.FULL,
) -> AbstractAsyncContextManager[Ledger]:
    """The ledger in a file, open for as long as the block runs. A new file is its owner's alone.

    While it is open, let nothing else in this process open and close the file (not even to
    copy it): by POSIX rules that drops SQLite's locks on it.

    Raises:
        LedgerUnavailable: the file is not a ledger, of a newer format, read-only or out of reach.
        LedgerCorrupt: it is damaged.
    """
    from boyd.runtime.ledger.sqlite import open_sqlite  # apsw is loaded by who uses it

    return open_sqlite(path, seams=seams, durability=durability)


def open_ledger(address: str, *, seams: Seams | None = None) -> AbstractAsyncContextManager[Ledger]:
    """The ledger at `sqlite:PATH` or `memory:`.

    Raises:
        LedgerUnavailable: as `open_sqlite_ledger`, or the address is of neither form.
    """
    scheme, colon, path = address.partition(":")
    if scheme == "sqlite" and path:
        return open_sqlite_ledger(path, seams=seams)
    if scheme == "memory" and colon and not path:
        return open_memory_ledger(seams=seams)
    raise LedgerUnavailable(
        f"{address!r} is not the address of a ledger: write sqlite:PATH or memory:"
    )
