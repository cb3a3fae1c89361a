"""The file of a SQLite ledger: what is made, what is refused, what is left alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from boyd.runtime.errors import LedgerUnavailable
from boyd.runtime.ledger import Durability, open_ledger, open_sqlite_ledger, sqlite
from boyd.runtime.testing import assert_no_leaks
from boyd.runtime.testing.ledger_conformance import entry, ids_of
from tests.runtime.ledger.files import T, edit, fill, names_in, refuse


# ------------------------------------------------------------------------ made
async def test_a_new_file_is_its_owners_alone_and_leaves_no_wal(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    old = os.umask(0)
    try:
        async with open_sqlite_ledger(path) as ledger:
            await ledger.append(T, [entry("one")], after=0)
            assert names_in(tmp_path) == ["ledger.db", "ledger.db-shm", "ledger.db-wal"]
            for name in names_in(tmp_path):
                assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    finally:
        os.umask(old)
    assert names_in(tmp_path) == ["ledger.db"]


async def test_reopening_finds_everything(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    for n in range(3):
        async with open_sqlite_ledger(path) as ledger:
            assert await ledger.append(T, [entry(str(n))], after=n) == n + 1
            assert await ids_of(ledger, T) == [str(m) for m in range(n + 1)]


@pytest.mark.parametrize(("durability", "level"), [(Durability.FULL, 2), (Durability.NORMAL, 1)])
async def test_a_commit_waits_for_the_disk_as_asked(
    tmp_path: Path, durability: Durability, level: int
) -> None:
    async with open_sqlite_ledger(tmp_path / "ledger.db", durability=durability) as ledger:
        assert isinstance(ledger, sqlite.SqliteLedger)
        database = ledger._tables._db
        assert database.rows("pragma synchronous") == [(level,)]
        assert database.rows("pragma journal_mode") == [("wal",)]


async def test_nothing_outlives_the_block(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    with assert_no_leaks():
        async with open_sqlite_ledger(path) as ledger:
            await ledger.append(T, [entry("one more")], after=5)
            async with ledger.open_follow(T) as entries:
                await entries.receive()


async def test_what_the_block_raises_leaves_unchanged(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_sqlite_ledger(tmp_path / "ledger.db"):
            raise ZeroDivisionError


async def test_after_the_block_the_ledger_is_closed(tmp_path: Path) -> None:
    async with open_sqlite_ledger(tmp_path / "ledger.db") as ledger:
        pass
    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger.append(T, [entry("one")], after=0)
    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger.read(T)


@pytest.mark.slow
def test_a_program_that_fails_inside_the_block_ends_at_once(tmp_path: Path) -> None:
    script = (
        "import sys, trio\nfrom boyd.runtime.ledger import open_sqlite_ledger\n"
        "async def main():\n  async with open_sqlite_ledger(sys.argv[1]) as ledger:\n    1 / 0\n"
        "trio.run(main)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "ledger.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


async def test_a_thousand_turns_cost_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with open_sqlite_ledger(path, durability=Durability.NORMAL) as ledger:
        for n in range(1000):
            await ledger.append(T, [entry(f"{n:016x}-{n:x}", os.urandom(235))], after=n)
    assert path.stat().st_size < 500_000


def test_opening_a_memory_ledger_does_not_import_apsw() -> None:
    script = (
        "import sys, trio\nfrom boyd.runtime.ledger import open_ledger\n"
        "async def main():\n  async with open_ledger('memory:'): pass\n"
        "trio.run(main)\nprint('apsw' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# --------------------------------------------------------------------- refused
@pytest.mark.parametrize("address", ["", "sqlite:", "sqlite", "memory", "memory:x", "redis:x"])
def test_an_address_of_no_ledger_is_refused(address: str) -> None:
    with pytest.raises(LedgerUnavailable, match="write sqlite:PATH or memory:"):
        open_ledger(address)


async def test_a_missing_folder(tmp_path: Path) -> None:
    await refuse(tmp_path / "none" / "ledger.db", LedgerUnavailable, "there is no folder")


async def test_a_folder_in_its_place(tmp_path: Path) -> None:
    await refuse(tmp_path, LedgerUnavailable, "is not a file")


async def test_a_pipe_in_its_place(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    await refuse(tmp_path / "pipe", LedgerUnavailable, "is not a file")


async def test_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "none")
    await refuse(tmp_path / "link", LedgerUnavailable, "is not a file")


async def test_a_name_that_no_file_has(tmp_path: Path) -> None:
    for name in ("n\0l", "n" * 5000):
        with pytest.raises(LedgerUnavailable):
            async with open_sqlite_ledger(tmp_path / name):
                pytest.fail("it was opened")


async def test_special_names_of_sqlite_are_plain_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory"):
        async with open_sqlite_ledger(name) as ledger:
            await ledger.append(T, [entry("one")], after=0)
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize("content", [b"x", b"%PDF-1.7" * 1000, bytes(8192)])
async def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    await refuse(path, LedgerUnavailable, "is not a Boyd ledger")
    assert path.read_bytes() == content
    assert names_in(tmp_path) == ["notes.txt"]


async def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    edit(path, "create table thread(name)", "pragma user_version = 1")
    before = path.read_bytes()
    await refuse(path, LedgerUnavailable, "database of another program")
    assert path.read_bytes() == before


async def test_a_newer_format(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    edit(path, "pragma user_version = 2")
    await refuse(path, LedgerUnavailable, "has ledger format 2")


def no_access(_path: object, _mode: int) -> bool:
    return False


async def test_a_file_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    path.chmod(0o400)
    if os.geteuid() == 0:  # whom no mode stops
        monkeypatch.setattr(os, "access", no_access)
    await refuse(path, LedgerUnavailable, "may not be read and written")


async def test_a_disk_that_has_become_read_only(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with open_sqlite_ledger(path) as ledger:
        assert isinstance(ledger, sqlite.SqliteLedger)
        ledger._tables._db.rows("pragma query_only = on")
        with pytest.raises(LedgerUnavailable, match="cannot be used: it is read-only"):
            await ledger.append(T, [entry("one")], after=0)


async def test_a_full_disk_stores_all_or_nothing(tmp_path: Path) -> None:
    async with open_sqlite_ledger(tmp_path / "ledger.db") as ledger:
        assert isinstance(ledger, sqlite.SqliteLedger)
        await ledger.append(T, [entry("one")], after=0)
        ledger._tables._db.rows("pragma max_page_count = 20")
        big = [entry(f"big {n}", bytes(40_000)) for n in range(3)]
        with pytest.raises(LedgerUnavailable, match="no room left on its disk"):
            await ledger.append(T, big, after=1)
        assert await ids_of(ledger, T) == ["one"]
        assert await ledger.append(T, [entry("two")], after=1) == 2
        ledger._tables._db.rows("pragma max_page_count = 1000000")
        assert await ledger.append(T, big, after=2) == 5


async def test_a_second_ledger_in_this_process_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Closing a plainly opened file would drop them; another process could fold the WAL away."""
    path = tmp_path / "ledger.db"
    script = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\ndb.execute('select count(*) from entry').fetchall()\n"
        "db.close()\n"
    )
    async with open_sqlite_ledger(path) as first:
        await first.append(T, [entry("one")], after=0)
        async with open_sqlite_ledger(path) as second:
            await second.append(T, [entry("two")], after=1)
        await trio.run_process([sys.executable, "-c", script, str(path)])
        assert (tmp_path / "ledger.db-wal").exists()
        await first.append(T, [entry("three")], after=2)
    async with open_sqlite_ledger(path) as ledger:
        assert await ids_of(ledger, T) == ["one", "two", "three"]
