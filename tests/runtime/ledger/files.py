"""What the tests of SQLite ledgers do to files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from boyd.runtime.errors import LedgerError
from boyd.runtime.ledger import open_sqlite_ledger
from boyd.runtime.testing.ledger_conformance import entry

T = "a thread"


async def fill(path: Path, count: int = 5) -> None:
    """A ledger of so many entries in one thread."""
    async with open_sqlite_ledger(path) as ledger:
        await ledger.append(T, [entry(str(n), b"body %d" % n) for n in range(count)], after=0)


async def refuse(path: Path, error: type[LedgerError], text: str) -> None:
    """Opening it fails with one sentence that names the file."""
    with pytest.raises(error, match=text) as caught:
        async with open_sqlite_ledger(path):
            pytest.fail("it was opened")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def edit(path: Path, *statements: str) -> None:
    """Change it behind the ledger's back, while it is closed: this is another SQLite library."""
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def names_in(folder: Path) -> list[str]:
    """The files in a folder."""
    return sorted(path.name for path in folder.iterdir())
