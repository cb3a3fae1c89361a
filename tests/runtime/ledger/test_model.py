"""Random programs of commands leave a ledger as they leave a dict of lists."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import attrs
import pytest
import trio
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from boyd.runtime.errors import IdConflict, LeaseHeld, LeaseLost, SequenceConflict
from boyd.runtime.ledger import (
    ANY,
    AnyTip,
    Durability,
    Entry,
    Lease,
    Ledger,
    LedgerRefused,
    memory,
    open_memory_ledger,
    open_sqlite_ledger,
)
from boyd.runtime.ledger.rules import new_entries

Fact = tuple[str, str, bytes]
"""Kind, id and body."""

THREADS = st.sampled_from(["a", "b", "c"])
FACTS = st.tuples(
    st.sampled_from(["odd", "even"]),
    st.integers(0, 12).map(str),
    st.sampled_from([b"", b"x", b"y"]),
)


@attrs.frozen
class Append:
    thread: str
    facts: Sequence[Fact]
    behind: int | None
    """How far `after` is from the tip; None for ANY."""
    fenced: bool


@attrs.frozen
class Read:
    thread: str
    after: int
    limit: int
    kinds: Sequence[str]


@attrs.frozen
class Fork:
    thread: str
    at: int
    to: str


@attrs.frozen
class Acquire:
    pass


@attrs.frozen
class Release:
    pass


@attrs.frozen
class Reopen:
    pass


Command = Append | Read | Fork | Acquire | Release | Reopen

COMMANDS = st.one_of(
    st.builds(
        Append,
        THREADS,
        st.lists(FACTS, max_size=4),
        st.sampled_from([None, 0, 0, 0, 1, -1, 3]),
        st.booleans(),
    ),
    st.builds(
        Read,
        THREADS,
        st.integers(0, 12),
        st.integers(1, 6),
        st.lists(st.sampled_from(["odd", "even"]), max_size=2),
    ),
    st.builds(Fork, THREADS, st.integers(0, 8), THREADS),
    st.just(Acquire()),
    st.just(Release()),
    st.just(Reopen()),
)


@attrs.define
class Model:
    """What a ledger should hold, as plainly as it can be said."""

    threads: dict[str, list[Fact]] = attrs.field(factory=dict[str, list[Fact]])
    parents: dict[str, tuple[str, int]] = attrs.field(factory=dict[str, tuple[str, int]])
    order: list[str] = attrs.field(factory=list[str])
    token: int = 0
    held: bool = False

    def append(self, step: Append, after: int | AnyTip, token: int | None) -> int | type[Exception]:
        if token is not None and not (self.held and token == self.token):
            return LeaseLost
        thread = self.threads.get(step.thread, [])
        new: list[Fact] = []
        for fact in step.facts:
            same = [old for old in (*thread, *new) if old[1] == fact[1]]
            if same and same[0] != fact:
                return IdConflict
            if not same:
                new.append(fact)
        if (new or not step.facts) and after is not ANY and after != len(thread):
            return SequenceConflict
        if new:
            self.threads[step.thread] = [*thread, *new]
            self.touch(step.thread)
        return len(thread) + len(new)

    def fork(self, step: Fork) -> str | type[Exception]:
        if step.at > len(self.threads[step.thread]):
            return LedgerRefused
        if step.to in self.threads:
            same = self.parents.get(step.to) == (step.thread, step.at)
            return step.to if same else LedgerRefused
        self.threads[step.to] = self.threads[step.thread][: step.at]
        self.parents[step.to] = (step.thread, step.at)
        self.touch(step.to)
        return step.to

    def touch(self, thread: str) -> None:
        self.order = [thread, *(name for name in self.order if name != thread)]


class Run:
    """One program, on a ledger and on the model beside it."""

    def __init__(self) -> None:
        self.model = Model()
        self.leases: list[Lease] = []

    async def step(self, ledger: Ledger, step: Command) -> None:
        match step:
            case Append():
                await self.append(ledger, step)
            case Read(thread, after, limit, kinds):
                page = await ledger.read(thread, after=after, limit=limit, kinds=kinds)
                facts = enumerate(self.model.threads.get(thread, []), start=1)
                wanted = [(n, *f) for n, f in facts if n > after and (not kinds or f[0] in kinds)]
                assert [(e.seq, e.kind, e.id, e.body) for e in page] == wanted[:limit]
            case Fork(thread, at, to):
                if thread in self.model.threads:
                    wanted_name = self.model.fork(step)
                    assert await outcome(lambda: ledger.fork(thread, at=at, to=to)) == wanted_name
            case Acquire():
                got = await outcome(lambda: ledger.acquire("run", owner="me", ttl=1e6))
                assert (got is LeaseHeld) == self.model.held
                if isinstance(got, Lease):
                    self.model.held = True
                    self.model.token += 1
                    assert got.token == self.model.token
                    self.leases.append(got)
            case Release():
                for lease in self.leases[-1:]:
                    await ledger.release(lease)
                    self.model.held = False
            case Reopen():
                pass

    async def append(self, ledger: Ledger, step: Append) -> None:
        tip = len(self.model.threads.get(step.thread, []))
        after = ANY if step.behind is None else tip - step.behind
        lease = self.leases[0] if step.fenced and self.leases else None
        entries = [Entry(kind=kind, id=name, body=body) for kind, name, body in step.facts]
        wanted = self.model.append(step, after, lease.token if lease else None)
        got = await outcome(lambda: ledger.append(step.thread, entries, after=after, lease=lease))
        assert got == wanted

    async def compare(self, ledger: Ledger) -> None:
        listed = await ledger.threads()
        assert [info.thread for info in listed] == self.model.order
        for info in listed:
            facts = self.model.threads[info.thread]
            entries = await ledger.read(info.thread)
            assert [(e.kind, e.id, e.body) for e in entries] == facts
            assert [e.seq for e in entries] == list(range(1, len(facts) + 1))
            assert info.tip == await ledger.tip(info.thread) == len(facts)


async def outcome(call: Callable[[], Awaitable[object]]) -> object:
    """What it returned, or the class of what it raised."""
    try:
        return await call()
    except (SequenceConflict, IdConflict, LeaseHeld, LeaseLost, LedgerRefused) as error:
        return type(error)


async def run_program(
    opener: Callable[[], AbstractAsyncContextManager[Ledger]], program: Sequence[Command]
) -> None:
    run = Run()
    rest = list(program)
    while True:
        async with opener() as ledger:
            await run.compare(ledger)
            while rest and not isinstance(step := rest.pop(0), Reopen):
                await run.step(ledger, step)
            await run.compare(ledger)
        if not rest:
            return


PROGRAMS = st.lists(COMMANDS, max_size=40)
IN_MEMORY = PROGRAMS.map(lambda program: [s for s in program if not isinstance(s, Reopen)])


@settings(max_examples=max(200, settings().max_examples))
@given(IN_MEMORY)
def test_the_memory_ledger_is_the_model(program: Sequence[Command]) -> None:
    trio.run(run_program, open_memory_ledger, program)


@pytest.mark.slow
@settings(max_examples=max(100, settings().max_examples))
@given(PROGRAMS)
def test_the_sqlite_ledger_is_the_model(program: Sequence[Command]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        trio.run(
            run_program, lambda: open_sqlite_ledger(path, durability=Durability.NORMAL), program
        )


Known = Callable[[str], tuple[str, bytes] | None]
NewEntries = Callable[..., Sequence[Entry]]


def forget_the_tip(
    thread: str, entries: Sequence[Entry], *, after: object, tip: int, known: Known
) -> Sequence[Entry]:
    return new_entries(thread, entries, after=ANY, tip=tip, known=known)


def forget_the_ids(
    thread: str, entries: Sequence[Entry], *, after: int | AnyTip, tip: int, known: Known
) -> Sequence[Entry]:
    return new_entries(thread, entries, after=after, tip=tip, known=lambda _: None)


def be_one_behind(
    thread: str, entries: Sequence[Entry], *, after: int | AnyTip, tip: int, known: Known
) -> Sequence[Entry]:
    return new_entries(thread, entries, after=after, tip=max(tip - 1, 0), known=known)


def lose_the_fourth(
    thread: str, entries: Sequence[Entry], *, after: int | AnyTip, tip: int, known: Known
) -> Sequence[Entry]:
    return new_entries(thread, entries, after=after, tip=tip, known=known)[:3]


@pytest.mark.parametrize("mutant", [forget_the_tip, forget_the_ids, be_one_behind, lose_the_fourth])
def test_a_planted_fault_is_found(mutant: NewEntries, monkeypatch: pytest.MonkeyPatch) -> None:
    @settings(max_examples=200, phases=[Phase.generate], database=None)
    @given(IN_MEMORY)
    def check(program: Sequence[Command]) -> None:
        trio.run(run_program, open_memory_ledger, program)

    monkeypatch.setattr(memory, "new_entries", mutant)
    with pytest.raises(AssertionError):
        check()
