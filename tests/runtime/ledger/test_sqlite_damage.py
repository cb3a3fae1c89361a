"""A SQLite ledger that is not what was appended: found when it is read, never passed on."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from boyd.runtime.errors import LedgerCorrupt
from boyd.runtime.ledger import open_sqlite_ledger
from boyd.runtime.testing.ledger_conformance import entry
from tests.runtime.ledger.files import T, edit, fill, refuse


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
