"""One connection to one SQLite file; the only user of apsw.

Everything here runs in a worker thread, one call at a time for a connection.
SQLite's errors become ours, each one plain sentence that names the file.
"""

# apsw's stubs name a type that Python 3.11 does not have:
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn, cast

import apsw

from boyd.runtime.errors import LedgerCorrupt, LedgerUnavailable
from boyd.runtime.ledger.protocol import MAX_BODY, Durability

__all__ = ["Busy", "CommitUnknown", "Database", "Row", "Value", "prepare_file"]

APPLICATION_ID: Final = 0x426F7964  # "Boyd"
SCHEMA_VERSION: Final = 1

_HEADER: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
_USER_VERSION: Final = slice(60, 64)
_APPLICATION_ID: Final = slice(68, 72)

Value = None | int | float | str | bytes
Row = tuple[Value, ...]


class Busy(Exception):  # caught and tried again; never leaves the store
    """Another process holds the lock; nothing happened."""


class CommitUnknown(Exception):  # becomes an OutcomeUnknown for each caller
    """The disk failed in the middle of a commit."""


def prepare_file(path: str) -> None:
    """Make the file, private to its owner, or be sure that it is a ledger before it is touched.

    Raises:
        Busy: another process is using it just now.
        LedgerUnavailable: it is not ours, or it cannot be made.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        _check_header(path, _read_header(path))
    except FileNotFoundError:
        raise LedgerUnavailable(f"{path}: there is no folder {Path(path).parent}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LedgerUnavailable(f"{path} cannot be made: {reason}") from None


def _read_header(path: str) -> bytes:
    file_path = Path(path)
    if not file_path.is_file():
        raise LedgerUnavailable(f"{path} is not a file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise LedgerUnavailable(f"{path} cannot be used: it may not be read and written")
    # Through SQLite: closing a file that was opened plainly would drop the
    # locks that other connections of this process hold on it.
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
    try:
        file = apsw.VFSFile("", path, [flags, 0])
        try:
            # SQLite itself takes a file of one byte for an empty one.
            return file.xRead(min(_HEADER, file_path.stat().st_size), 0)
        finally:
            file.xClose()
    except apsw.Error as error:
        _translate(path, error)


def _check_header(path: str, header: bytes) -> None:
    # The creating transaction writes the application id before anything else
    # can be in the file, so an empty file is the only other one that is ours.
    if not header:
        return
    if not header.startswith(_MAGIC) or len(header) < _HEADER:
        raise LedgerUnavailable(f"{path} is not a Boyd ledger; it was left as it is")
    if int.from_bytes(header[_APPLICATION_ID]) != APPLICATION_ID:
        raise LedgerUnavailable(
            f"{path} is a database of another program, not a Boyd ledger; it was left as it is"
        )
    _check_version(path, int.from_bytes(header[_USER_VERSION]))


def _check_version(path: str, version: object) -> None:
    if version != SCHEMA_VERSION:
        raise LedgerUnavailable(
            f"{path} has ledger format {version}; this Boyd reads format {SCHEMA_VERSION} only"
        )


def _statements(schema: str) -> list[str]:
    lines = (" ".join(statement.split()) for statement in schema.split(";"))
    return [line for line in lines if line]


class Database:
    """A connection, in autocommit mode outside `writing`.

    Args:
        schema: the statements that make a new file's tables, each ended by a semicolon.
        durability: of what it commits; None for a connection that only reads.

    Raises:
        Busy: another process is just making the file.
        LedgerUnavailable, LedgerCorrupt: it cannot be used.
    """

    def __init__(self, path: str, schema: str, durability: Durability | None) -> None:
        self.path = path
        try:
            self._connection = apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE)
        except (apsw.Error, ValueError) as error:
            _translate(path, error)
        ready = False
        try:
            self._set_up(schema, durability)
            ready = True
        finally:
            if not ready:
                self.close()

    def _set_up(self, schema: str, durability: Durability | None) -> None:
        # The file may come from anybody: its schema must not run functions.
        self.rows("pragma trusted_schema = off")
        self.rows("pragma cell_size_check = on")
        # A body that long was never appended; reading it would fill the memory.
        self._connection.limit(apsw.SQLITE_LIMIT_LENGTH, 2 * MAX_BODY)
        if durability is None:
            self.rows("pragma query_only = on")
            return
        self.rows(f"pragma synchronous = {durability.value}")
        self.rows("pragma fullfsync = on")  # macOS: through the drive's cache too
        if not self.rows("select 1 from sqlite_schema"):
            self._create(schema)
        _check_version(self.path, self._one("pragma user_version"))
        self._check_schema(schema)
        if self._one("pragma journal_mode = wal") != "wal":
            raise LedgerUnavailable(
                f"{self.path} is on a disk without shared memory, which SQLite's WAL needs"
            )

    def _create(self, schema: str) -> None:
        # With a rollback journal, so that the header is in the file itself from
        # the first commit on; WAL comes after.
        with self.writing():
            if self.rows("select 1 from sqlite_schema"):
                return  # another process was faster
            for statement in _statements(schema):
                self.rows(statement)
            self.rows(f"pragma application_id = {APPLICATION_ID}")
            self.rows(f"pragma user_version = {SCHEMA_VERSION}")

    def _check_schema(self, schema: str) -> None:
        found = self.rows("select type, sql from sqlite_schema where sql is not null")
        missing = set(_statements(schema)).difference(
            " ".join(str(sql).split()) for _, sql in found
        )
        if missing or any(kind == "trigger" for kind, _ in found):
            raise LedgerCorrupt(f"{self.path} has other tables than a Boyd ledger")

    def _one(self, sql: str) -> Value:
        rows = self.rows(sql)
        return rows[0][0] if rows and rows[0] else None

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Everything that one statement returns."""
        try:
            return cast("list[Row]", self._connection.execute(sql, values).fetchall())
        except apsw.Error as error:
            _translate(self.path, error)

    def each(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """One statement for each row of values."""
        try:
            self._connection.executemany(sql, rows)
        except apsw.Error as error:
            _translate(self.path, error)

    def data_version(self) -> Value:
        """A number that changes when another connection has committed."""
        return self._one("pragma data_version")

    @contextmanager
    def writing(self) -> Generator[None]:
        """A transaction that holds the write lock from its start; undone when the block raises.

        Raises:
            Busy: another process holds the lock.
            CommitUnknown: the disk failed while committing.
        """
        self._undo()
        self.rows("begin immediate")
        try:
            yield
            self._commit()
        finally:
            self._undo()

    def _commit(self) -> None:
        try:
            self._connection.execute("commit")
        except (apsw.FullError, apsw.BusyError) as error:
            _translate(self.path, error)  # the commit mark was not written
        except apsw.Error as error:
            raise CommitUnknown(str(error)) from error

    def _undo(self) -> None:
        # SQLite undoes by itself after some errors; a second try happens before
        # the next transaction.
        with suppress(apsw.Error):
            if self._connection.in_transaction:
                self._connection.execute("rollback")

    def close(self) -> None:
        """The last one to close a file folds its WAL into it."""
        self._connection.close(force=True)


def _translate(path: str, error: apsw.Error | ValueError) -> NoReturn:
    """Raise what a caller of the ledger should see."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            raise Busy(path) from error
        case (
            apsw.CorruptError()
            | apsw.NotADBError()
            | apsw.ConstraintError()
            | apsw.FormatError()
            | apsw.TooBigError()
        ):
            raise LedgerCorrupt(f"{path} is damaged: {error}") from error
        case apsw.FullError():
            reason = "no room left on its disk"
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            reason = "it is read-only"
        case apsw.CantOpenError():
            reason = "it, or its folder, cannot be opened"
        case apsw.IOError():
            reason = f"its disk fails ({error})"
        case _:
            reason = str(error)
    raise LedgerUnavailable(f"{path} cannot be used: {reason}") from error
