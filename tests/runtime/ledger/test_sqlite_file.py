"""The file of a SQLite ledger: what is made, what is refused, what is found damaged."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import trio

from boyd.runtime.errors import LedgerCorrupt, LedgerError, LedgerUnavailable
from boyd.runtime.ledger import Durability, open_ledger, open_sqlite_ledger, sqlite
from boyd.runtime.testing import assert_no_leaks
from boyd.runtime.testing.ledger_conformance import entry, ids_of

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


# ------------------------------------------------------------------------ made
async def test_a_new_file_is_its_owners_alone_and_leaves_no_wal(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    old = os.umask(0)
    try:
        async with open_sqlite_ledger(path) as ledger:
            await ledger.append(T, [entry("one")], after=0)
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
            assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
    finally:
        os.umask(old)
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.db"]


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
        "trio.run(main)\nassert 'apsw' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


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
    assert list(tmp_path.iterdir()) == [path]


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


async def test_a_file_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    path.chmod(0o400)
    if os.geteuid() == 0:  # whom no mode stops
        monkeypatch.setattr(os, "access", lambda *_: False)
    await refuse(path, LedgerUnavailable, "may not be read and written")


async def test_a_disk_that_has_become_read_only(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with open_sqlite_ledger(path) as ledger:
        assert isinstance(ledger, sqlite.SqliteLedger)
        ledger._tables._db.rows("pragma query_only = on")
        with pytest.raises(LedgerUnavailable, match="ledger.db cannot be used: it is read-only"):
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


async def test_a_locked_file_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_WAIT", 0.1)
    path = tmp_path / "ledger.db"
    async with open_sqlite_ledger(path) as ledger:
        with closing(apsw.Connection(str(path))) as other:
            other.execute("begin immediate")
            with pytest.raises(LedgerUnavailable, match=f"{path} is locked by another process"):
                await ledger.append(T, [entry("one")], after=0)
            other.execute("commit")
        assert await ledger.append(T, [entry("one")], after=0) == 1


async def test_a_locked_file_keeps_nobody_from_leaving(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    begun = trio.current_time()
    with closing(apsw.Connection(str(path))) as other:
        with trio.move_on_after(0.2):
            async with open_sqlite_ledger(path) as ledger, trio.open_nursery() as nursery:
                other.execute("begin immediate")

                async def caller() -> None:
                    with pytest.raises(LedgerError):
                        await ledger.append(T, [entry("one")], after=0)

                nursery.start_soon(caller)
        other.execute("rollback")
    assert trio.current_time() - begun < 5


# --------------------------------------------------------------------- damaged
@pytest.mark.parametrize(
    "damage",
    [
        "update entry set body = x'00' where seq = 3",
        "update entry set kind = 'test.else' where seq = 3",
        "update entry set id = 'else' where seq = 3",
        "update entry set at = at + 1 where seq = 3",
        "update entry set chain = x'00' where seq = 3",
        "delete from entry where seq = 3",
        "update entry set seq = 9 where seq = 5",
        "delete from entry where seq = 1",
    ],
)
async def test_a_changed_entry_is_found_when_it_is_read(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    edit(path, damage)
    async with open_sqlite_ledger(path) as ledger:
        with pytest.raises(LedgerCorrupt, match=str(path)):
            await ledger.read(T)
        assert await ledger.append("another", [entry("one")], after=0) == 1


async def test_a_fork_sees_damage_in_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    async with open_sqlite_ledger(path) as ledger:
        await ledger.fork(T, at=3, to="fork")
        await ledger.append("fork", [entry("own")], after=3)
    edit(path, "update entry set body = x'00' where seq = 2")
    async with open_sqlite_ledger(path) as ledger:
        with pytest.raises(LedgerCorrupt):
            await ledger.read("fork")
        assert [e.id for e in await ledger.read("fork", after=2)] == ["2", "own"]


@pytest.mark.parametrize(
    "damage",
    [
        "update thread set parent = key",
        "update thread set parent = 99, forked_at = 2 where parent is not null",
        "update thread set forked_at = 99 where parent is not null",
    ],
)
async def test_a_fork_with_a_broken_parent_is_found(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    async with open_sqlite_ledger(path) as ledger:
        await ledger.fork(T, at=2, to="fork")
    edit(path, damage)
    async with open_sqlite_ledger(path) as ledger:
        with pytest.raises(LedgerCorrupt):
            await ledger.read("fork")


async def test_values_of_the_wrong_type_are_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    async with open_sqlite_ledger(path) as ledger:
        await ledger.acquire(T, owner="me")
    with closing(sqlite3.connect(path)) as db:
        # As an attacker would: the columns' types are changed, values set, and changed back.
        db.execute("pragma writable_schema = on")
        db.execute("update sqlite_schema set sql = replace(sql, 'STRICT', '')")
        db.commit()
    edit(
        path,
        "update entry set body = 7, kind = x'00' where seq = 2",
        "update lease set token = 'one'",
        "update thread set name = x'00', forked_at = 'x'",
        f"insert into thread(name, at, pos, forked_at) values('{T}', 'soon', 0, 0)",
    )
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma writable_schema = on")
        db.execute(
            "update sqlite_schema set sql = sql || 'STRICT' where type = 'table' and sql like '%) '"
        )
        db.commit()
    async with open_sqlite_ledger(path) as ledger:
        with pytest.raises(LedgerCorrupt):
            await ledger.threads()
        with pytest.raises(LedgerCorrupt):
            await ledger.acquire(T, owner="me")


async def test_a_page_of_noise_is_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await fill(path, 500)
    content = bytearray(path.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 2048] = os.urandom(2048)
    path.write_bytes(content)
    with pytest.raises(LedgerCorrupt, match=str(path)):
        async with open_sqlite_ledger(path) as ledger:
            await ledger.read(T)


@pytest.mark.parametrize(
    "change",
    [
        "create trigger t after insert on entry begin delete from entry; end",
        "drop index entry_id",
        "alter table entry add column extra text",
    ],
)
async def test_tables_that_boyd_did_not_make_are_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    edit(path, change)
    await refuse(path, LedgerCorrupt, "other tables")


async def test_a_table_of_the_users_own_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await fill(path)
    edit(path, "create table notes(text)", "create index by_kind on entry(kind)")
    async with open_sqlite_ledger(path) as ledger:
        assert len(await ledger.read(T)) == 5


async def test_a_second_ledger_in_this_process_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Closing a plainly opened file would drop them, and another process could fold the WAL away."""
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
