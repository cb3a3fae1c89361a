"""A SQLite ledger whose statements fail and whose callers are cancelled, each in turn."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw
import pytest
import trio

from boyd.runtime.errors import LedgerCorrupt, LedgerError, LedgerUnavailable, OutcomeUnknown
from boyd.runtime.ledger import ANY, Durability, Ledger, open_sqlite_ledger, sqlite
from boyd.runtime.ledger.sqlite import SqliteLedger
from boyd.runtime.ledger.sqlite_database import Database
from boyd.runtime.ledger.sqlite_threads import SCHEMA
from boyd.runtime.seams import Seams
from boyd.runtime.testing import cancel_at_each_checkpoint
from boyd.runtime.testing.ledger_conformance import entry, ids_of
from tests.runtime.ledger.files import T, names_in


class FailingStatement:
    """Makes the k-th statement that the ledger executes fail, once."""

    def __init__(self, ledger: Ledger, error: Callable[[], Exception]) -> None:
        assert isinstance(ledger, SqliteLedger)
        self.error = error
        self.arm(0)
        self.connections = [ledger._tables._db._connection, ledger._reader._connection]
        for connection in self.connections:
            connection.exec_trace = self.trace

    def arm(self, k: int, only: str = "") -> None:
        """Fail the k-th statement from now on, of all or of those with `only` in them."""
        self.left, self.only, self.failed = k, only, False

    def trace(self, _cursor: object, statement: str, _values: object) -> bool:
        if self.left and self.only in statement:
            self.left -= 1
            if not self.left:
                self.failed = True
                raise self.error()
        return True

    def open_transactions(self) -> list[bool]:
        return [connection.in_transaction for connection in self.connections]


ERRORS = [apsw.FullError, apsw.IOError, apsw.CorruptError, apsw.ReadOnlyError, apsw.BusyError]


@pytest.mark.parametrize("error", ERRORS)
async def test_whatever_statement_fails_the_error_is_typed_and_trying_again_works(
    tmp_path: Path, error: Callable[[], Exception]
) -> None:
    async with open_sqlite_ledger(tmp_path / "l.db", durability=Durability.NORMAL) as ledger:
        await ledger.append(T, [entry("zero"), entry("one")], after=0)
        lease = await ledger.acquire("run", owner="me", ttl=3600)
        faults = FailingStatement(ledger, error)

        async def acquire_and_release() -> None:
            await ledger.release(await ledger.acquire("run 2", owner="me", ttl=0.000_001))

        operations: list[Callable[[], Awaitable[object]]] = [
            lambda: ledger.append(T, [entry("two"), entry("three")], after=2, lease=lease),
            lambda: ledger.append("new", [entry("one")], after=0),
            lambda: ledger.fork(T, at=2, to="fork"),
            lambda: ledger.append("fork", [entry("zero"), entry("x")], after=ANY),
            lambda: ledger.read("fork"),
            lambda: ledger.read(T, kinds=["test.fact"]),
            lambda: ledger.tip("fork"),
            ledger.threads,
            lambda: ledger.renew(lease),
            acquire_and_release,
            lambda: ledger.release(lease),
        ]
        for operation in operations:
            await each_statement_fails(faults, operation)
        assert await ids_of(ledger) == ["zero", "one", "two", "three"]
        assert await ids_of(ledger, "new") == ["one"]
        assert await ids_of(ledger, "fork") == ["zero", "one", "x"]


async def each_statement_fails(
    faults: FailingStatement, operation: Callable[[], Awaitable[object]]
) -> None:
    for k in range(1, 100):
        faults.arm(k)
        try:
            await operation()
        except (LedgerUnavailable, LedgerCorrupt, OutcomeUnknown):
            assert faults.failed
        assert faults.open_transactions() == [False, False]
        if not faults.failed:
            faults.arm(0)
            assert k > 1
            return
    pytest.fail("it never ended")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(apsw.IOError, OutcomeUnknown), (apsw.FullError, LedgerUnavailable)],
)
async def test_of_a_commit_that_fails_only_a_full_disk_says_what_became_of_it(
    tmp_path: Path, error: Callable[[], Exception], outcome: type[LedgerError]
) -> None:
    async with open_sqlite_ledger(tmp_path / "l.db") as ledger:
        await ledger.append(T, [entry("one")], after=0)
        faults = FailingStatement(ledger, error)
        faults.arm(1, only="commit")
        with pytest.raises(outcome) as caught:
            await ledger.append(T, [entry("two"), entry("three")], after=1)
        if isinstance(caught.value, OutcomeUnknown):
            assert caught.value.ids == ("two", "three")
        assert await ledger.append(T, [entry("two"), entry("three")], after=1) == 3


async def test_a_cancel_at_any_step_tears_no_append(tmp_path: Path) -> None:
    """Cancelled means absent, returned means present, unknown is settled by appending again."""
    rounds = 0
    async with open_sqlite_ledger(tmp_path / "l.db", durability=Durability.NORMAL) as ledger:
        assert isinstance(ledger, SqliteLedger)
        done: list[str] = []
        begun: list[str] = []
        unknown: list[str] = []

        async def scenario() -> None:
            nonlocal rounds
            rounds += 1
            done.clear()
            begun.clear()
            unknown.clear()
            thread = f"{T} {rounds}"
            for n in range(3):
                batch = [entry(f"{n}.a"), entry(f"{n}.b")]
                begun.append(str(n))
                try:
                    await ledger.append(thread, batch, after=2 * n)
                except OutcomeUnknown:
                    unknown.append(str(n))
                    raise
                done.append(str(n))

        async def check() -> None:
            thread = f"{T} {rounds}"
            stored = await ids_of(ledger, thread)
            acked = [f"{n}.{x}" for n in done for x in "ab"]
            assert not unknown, "a commit took more than a second"
            assert stored == acked
            for n in begun:
                await ledger.append(thread, [entry(f"{n}.a"), entry(f"{n}.b")], after=ANY)
            assert await ids_of(ledger, thread) == [f"{n}.{x}" for n in begun for x in "ab"]
            assert not ledger._tables._db._connection.in_transaction

        assert await cancel_at_each_checkpoint(scenario, check, limit=200) > 5


async def test_cancels_at_random_moments_lose_nothing_and_add_nothing(tmp_path: Path) -> None:
    chance = random.Random(7)
    done: set[str] = set()
    unknown: set[str] = set()
    async with open_sqlite_ledger(tmp_path / "l.db") as ledger:

        async def caller(name: int) -> None:
            for n in range(25):
                id = f"{name}.{n}"  # noqa: A001
                with trio.move_on_after(chance.uniform(0, 0.004)):
                    try:
                        await ledger.append(T, [entry(id)], after=ANY)
                        done.add(id)
                    except OutcomeUnknown:
                        unknown.add(id)

        async with trio.open_nursery() as nursery:
            for name in range(8):
                nursery.start_soon(caller, name)
        stored = await ids_of(ledger)
    assert len(stored) == len(set(stored))
    assert done <= set(stored) <= done | unknown
    assert 0 < len(done) < 200


async def test_a_cancel_at_any_step_of_opening_and_closing_leaves_a_ledger(tmp_path: Path) -> None:
    count = 0

    async def scenario() -> None:
        nonlocal count
        count += 1
        (tmp_path / str(count)).mkdir()
        async with (
            open_sqlite_ledger(tmp_path / str(count) / "ledger.db") as ledger,
            ledger.open_follow(T) as entries,
        ):
            await ledger.append(T, [entry("one")], after=0)
            assert (await entries.receive()).id == "one"

    async def check() -> None:
        path = tmp_path / str(count) / "ledger.db"
        async with open_sqlite_ledger(path) as ledger:
            assert await ids_of(ledger) in ([], ["one"])
        assert names_in(path.parent) == ["ledger.db"]

    assert await cancel_at_each_checkpoint(scenario, check, limit=300) > 10


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Somebody else holds the write lock of a file."""
    # A ledger's own connection: two SQLite libraries in one process do not see each other.
    other = Database(str(path), SCHEMA, Durability.NORMAL)
    with other.writing():
        yield
    other.close()


async def test_a_locked_file_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_WAIT", 0.1)
    path = tmp_path / "l.db"
    async with open_sqlite_ledger(path) as ledger:
        with locked(path), pytest.raises(LedgerUnavailable, match=f"{path} is locked by another"):
            await ledger.append(T, [entry("one")], after=0)
        assert await ledger.append(T, [entry("one")], after=0) == 1


async def test_a_locked_file_keeps_nobody_from_leaving(tmp_path: Path) -> None:
    """The lock outlives the ledger; whoever waited for it is told the truth, that nobody knows."""
    path = tmp_path / "l.db"
    begun = trio.current_time()
    with ExitStack() as stack:
        with trio.move_on_after(0.2) as scope:
            async with open_sqlite_ledger(path) as ledger:
                stack.enter_context(locked(path))
                with pytest.raises(OutcomeUnknown):
                    await ledger.append(T, [entry("one")], after=0)
        assert scope.cancel_called
        assert trio.current_time() - begun < 5
    async with open_sqlite_ledger(path) as ledger:
        assert await ids_of(ledger) == []


async def test_b41_tools_that_hang_in_threads_hold_up_no_commit(tmp_path: Path) -> None:
    seams = Seams()
    release = threading.Event()

    def hang() -> None:
        release.wait()

    busy = int(trio.to_thread.current_default_thread_limiter().total_tokens)
    async with trio.open_nursery() as nursery:
        for _ in range(busy + 1):
            nursery.start_soon(seams.offload.run, hang)
        try:
            with trio.fail_after(5):
                async with open_sqlite_ledger(tmp_path / "l.db", seams=seams) as ledger:
                    assert await ledger.append(T, [entry("one")], after=0) == 1
                    assert await ids_of(ledger) == ["one"]
        finally:
            release.set()


LIMITED = """
import resource, signal, sys, trio
from boyd.runtime.ledger import Entry, open_sqlite_ledger
from boyd.runtime.errors import LedgerUnavailable, OutcomeUnknown

async def main() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with open_sqlite_ledger(sys.argv[1]) as ledger:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        for n in range(1000):
            entry = Entry(kind="test.fact", body=bytes(3000), id=str(n))
            try:
                await ledger.append("t", [entry], after=n)
            except (LedgerUnavailable, OutcomeUnknown) as error:
                print(type(error).__name__, flush=True)
                break
            print(n, flush=True)

trio.run(main)
"""


@pytest.mark.slow
async def test_a_disk_that_fails_in_mid_commit_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    command = [sys.executable, "-c", LIMITED, str(path)]
    child = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
    *acked, end = child.stdout.decode().split()
    assert end in ("OutcomeUnknown", "LedgerUnavailable"), child.stderr
    assert acked
    async with open_sqlite_ledger(path) as ledger:
        stored = await ids_of(ledger, "t")
        assert stored[: len(acked)] == acked
        assert len(stored) <= len(acked) + 1
        again = entry(str(len(acked)), bytes(3000))
        assert await ledger.append("t", [again], after=len(acked)) == len(acked) + 1
