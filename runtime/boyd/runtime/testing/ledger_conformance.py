"""What every ledger does, whatever its store: run each of `CHECKS` against a new, empty ledger.

For example:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_ledger(check: Check) -> None:
        async with open_my_ledger() as ledger:
            await check(ledger)
"""

# The numbers of a check are its point:
# ruff: noqa: PLR2004

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import pytest
import trio
import trio.testing

from boyd.runtime.errors import (
    IdConflict,
    LeaseHeld,
    LeaseLost,
    SequenceConflict,
    UnknownThread,
)
from boyd.runtime.ledger import (
    ANY,
    MAX_APPEND,
    MAX_BODY,
    MAX_ENTRIES,
    MAX_NAME,
    Entry,
    Ledger,
    LedgerRefused,
)

__all__ = ["CHECKS", "Check", "entry", "ids_of"]

Check = Callable[[Ledger], Awaitable[None]]

T: Final = "a thread"


def entry(id: str, body: bytes = b"body", *, kind: str = "test.fact") -> Entry:  # noqa: A002
    """An entry to append."""
    return Entry(kind=kind, body=body, id=id)


async def ids_of(ledger: Ledger, thread: str = T) -> list[str]:
    """Its ids in order, once its numbers are known to be dense."""
    entries = await ledger.read(thread, limit=100_000)
    assert [e.seq for e in entries] == list(range(1, len(entries) + 1))
    assert await ledger.tip(thread) == len(entries)
    return [e.id for e in entries]


async def an_unknown_thread_is_empty(ledger: Ledger) -> None:
    assert await ledger.tip(T) == 0
    assert list(await ledger.read(T)) == []
    assert list(await ledger.threads()) == []


async def entries_come_back_as_they_were_numbered_from_one(ledger: Ledger) -> None:
    bodies = [b"", b"\0\xff", bytes(MAX_BODY)]
    batch = [entry(f"id {n}", body, kind=f"kind.{n}") for n, body in enumerate(bodies)]
    assert await ledger.append(T, batch, after=0) == len(bodies)
    back = await ledger.read(T)
    assert [(e.seq, e.kind, e.id, e.body) for e in back] == [
        (n, e.kind, e.id, e.body) for n, e in enumerate(batch, start=1)
    ]
    assert all(e.at > 0 for e in back)


async def a_stale_append_changes_nothing(ledger: Ledger) -> None:
    await ledger.append(T, [entry("one")], after=0)
    for after in (0, 2, -1, 1 << 80):
        with pytest.raises(SequenceConflict) as caught:
            await ledger.append(T, [entry("two"), entry("three")], after=after)
        assert (caught.value.expected, caught.value.actual) == (after, 1)
    assert await ids_of(ledger) == ["one"]


async def an_empty_append_only_compares(ledger: Ledger) -> None:
    assert await ledger.append(T, [], after=0) == 0
    assert await ledger.append(T, [], after=ANY) == 0
    with pytest.raises(SequenceConflict):
        await ledger.append(T, [], after=1)
    assert list(await ledger.threads()) == []


async def any_appends_at_the_end(ledger: Ledger) -> None:
    assert await ledger.append(T, [entry("one")], after=ANY) == 1
    assert await ledger.append(T, [entry("two")], after=ANY) == 2
    assert await ids_of(ledger) == ["one", "two"]


async def appending_again_changes_nothing_and_succeeds(ledger: Ledger) -> None:
    batch = [entry("one"), entry("two")]
    await ledger.append(T, batch, after=0)
    await ledger.append(T, [entry("three")], after=2)
    assert await ledger.append(T, batch, after=0) == 3
    assert await ledger.append(T, batch[1:], after=99) == 3
    assert await ledger.append(T, [entry("four"), entry("four")], after=3) == 4
    assert await ids_of(ledger) == ["one", "two", "three", "four"]


async def of_a_partly_known_batch_the_new_is_added(ledger: Ledger) -> None:
    await ledger.append(T, [entry("one"), entry("two")], after=0)
    mixed = [entry("two"), entry("three"), entry("one"), entry("four")]
    with pytest.raises(SequenceConflict):
        await ledger.append(T, mixed, after=0)
    assert await ledger.append(T, mixed, after=ANY) == 4
    assert await ids_of(ledger) == ["one", "two", "three", "four"]


async def other_content_under_a_known_id_is_refused_whole(ledger: Ledger) -> None:
    await ledger.append(T, [entry("one")], after=0)
    for twin in (entry("one", b"else"), entry("one", kind="test.else")):
        with pytest.raises(IdConflict) as caught:
            await ledger.append(T, [entry("two"), twin], after=1)
        assert (caught.value.thread, caught.value.id) == (T, "one")
    with pytest.raises(IdConflict):
        await ledger.append(T, [entry("x", b"1"), entry("x", b"2")], after=1)
    assert await ids_of(ledger) == ["one"]
    assert await ledger.append("another thread", [entry("one", b"else")], after=0) == 1


async def reading_goes_by_page_and_by_kind(ledger: Ledger) -> None:
    kinds = ["odd", "even"]
    batch = [entry(str(n), kind=kinds[n % 2]) for n in range(10)]
    await ledger.append(T, batch, after=0)
    assert [e.seq for e in await ledger.read(T, after=3, limit=4)] == [4, 5, 6, 7]
    assert [e.seq for e in await ledger.read(T, after=9)] == [10]
    assert list(await ledger.read(T, after=10)) == []
    assert list(await ledger.read(T, after=1 << 80)) == []
    assert [e.seq for e in await ledger.read(T, after=2, limit=2, kinds=["even"])] == [4, 6]
    assert len(await ledger.read(T, kinds=["even", "odd"])) == 10
    assert list(await ledger.read(T, kinds={"none"})) == []
    with pytest.raises(LedgerRefused):
        await ledger.read(T, limit=0)


async def what_is_over_a_limit_is_refused(ledger: Ledger) -> None:
    half, whole = bytes(MAX_BODY // 2 + 1), bytes(MAX_BODY)
    for batch in (
        [entry("long", whole + b"1")],
        [entry(str(n)) for n in range(MAX_ENTRIES + 1)],
        [entry(str(n), half) for n in range(2 * MAX_APPEND // MAX_BODY)],
        [entry("")],
        [entry("i" * (MAX_NAME + 1))],
        [entry("one", kind="")],
        [entry("\ud800")],
        [entry("one", kind="nul\0")],
    ):
        with pytest.raises(LedgerRefused):
            await ledger.append(T, [entry("first"), *batch], after=0)
    assert await ledger.append(T, [entry(str(n)) for n in range(MAX_ENTRIES)], after=0)


async def hostile_names_are_kept_apart_or_refused(ledger: Ledger) -> None:
    names = ["../x", "a/b", "a_b", "A_B", "a b", "a b ", "é", "e\u0301", "%", "'; --", "1", "1.0"]
    for name in names:
        await ledger.append(name, [entry(f"of {name}")], after=0)
    for name in names:
        assert await ids_of(ledger, name) == [f"of {name}"]
    assert {info.thread for info in await ledger.threads()} == set(names)
    for name in ("", "n\0", "\udc80", "n" * (MAX_NAME + 1)):
        with pytest.raises(LedgerRefused):
            await ledger.append(name, [entry("one")], after=0)
        with pytest.raises(LedgerRefused):
            await ledger.read(name)
        with pytest.raises(LedgerRefused):
            await ledger.acquire(name, owner="me")


async def following_gives_history_then_what_comes(ledger: Ledger) -> None:
    await ledger.append(T, [entry(str(n)) for n in range(300)], after=0)

    async def appender() -> None:
        for n in range(300, 400, 2):
            await ledger.append(T, [entry(str(n)), entry(str(n + 1))], after=ANY)

    seen: list[Entry] = []
    async with ledger.open_follow(T, after=5, size=4) as entries, trio.open_nursery() as nursery:
        nursery.start_soon(appender)
        while len(seen) < 395:
            seen.append(await entries.receive())
    assert [e.seq for e in seen] == list(range(6, 401))
    assert [e.id for e in seen] == [str(n) for n in range(5, 400)]


async def a_thread_can_be_followed_before_it_is_there(ledger: Ledger) -> None:
    async with ledger.open_follow(T) as entries, trio.open_nursery() as nursery:
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(lambda: ledger.append(T, [entry("one")], after=0))
        assert (await entries.receive()).id == "one"


async def a_fork_begins_alike_and_goes_its_own_way(ledger: Ledger) -> None:
    await ledger.append(T, [entry(n) for n in "abcd"], after=0)
    fork = await ledger.fork(T, at=2)
    await ledger.append(T, [entry("e")], after=4)
    await ledger.append(fork, [entry("c", b"else"), entry("x")], after=2)
    deep = await ledger.fork(fork, at=3, to="deep")
    shallow = await ledger.fork(deep, at=1)
    await ledger.append(deep, [entry("y")], after=3)
    assert await ids_of(ledger) == list("abcde")
    assert await ids_of(ledger, fork) == list("abcx")
    assert await ids_of(ledger, deep) == list("abcy")
    assert await ids_of(ledger, shallow) == ["a"]
    assert [e.body for e in await ledger.read(deep, after=1, limit=2)] == [b"body", b"else"]
    assert await ledger.append(deep, [entry("a"), entry("b")], after=0) == 4
    with pytest.raises(IdConflict):
        await ledger.append(deep, [entry("a", b"else")], after=ANY)
    listed = {info.thread: (info.parent, info.forked_at) for info in await ledger.threads()}
    assert listed == {T: (None, 0), fork: (T, 2), "deep": (fork, 3), shallow: ("deep", 1)}


async def a_fork_that_cannot_be_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UnknownThread):
        await ledger.fork(T, at=0)
    await ledger.append(T, [entry("a")], after=0)
    await ledger.append("taken", [entry("a")], after=0)
    for at, to in ((2, None), (-1, None), (1 << 80, None), (1, "taken"), (1, T)):
        with pytest.raises(LedgerRefused):
            await ledger.fork(T, at=at, to=to)
    assert await ledger.fork(T, at=1, to="fork") == "fork"
    assert await ledger.fork(T, at=1, to="fork") == "fork"
    with pytest.raises(LedgerRefused):
        await ledger.fork(T, at=0, to="fork")
    assert await ledger.fork(T, at=0, to="empty") == "empty"
    assert await ids_of(ledger, "empty") == []


async def threads_are_listed_by_their_last_append(ledger: Ledger) -> None:
    for name in ("one", "two", "three", "four"):
        await ledger.append(name, [entry("a")], after=0)
    await ledger.append("two", [entry("b")], after=1)
    await ledger.fork("one", at=1, to="fork")
    wanted = ["fork", "two", "four", "three", "one"]
    listed = await ledger.threads()
    assert [info.thread for info in listed] == wanted
    assert [info.tip for info in listed] == [1, 2, 1, 1, 1]
    paged: list[str] = []
    cursor: str | None = None
    while page := await ledger.threads(limit=2, after_cursor=cursor):
        paged += [info.thread for info in page]
        cursor = page[-1].cursor
    assert paged == wanted
    for forged in ("", "x", "1.x", "1.1.1", "9" * 40 + ".1"):
        with pytest.raises(LedgerRefused):
            await ledger.threads(after_cursor=forged)


async def racing_appenders_leave_one_dense_sequence(ledger: Ledger) -> None:
    async def appender(name: int) -> None:
        for n in range(20):
            while True:
                tip = await ledger.tip(T)
                try:
                    await ledger.append(T, [entry(f"{name}.{n}")], after=tip)
                except SequenceConflict:
                    continue
                break

    async with trio.open_nursery() as nursery:
        for name in range(3):
            nursery.start_soon(appender, name)
    ids = await ids_of(ledger)
    assert len(ids) == 60
    for name in range(3):
        assert [i for i in ids if i.startswith(f"{name}.")] == [f"{name}.{n}" for n in range(20)]


async def a_cancelled_append_changes_nothing(ledger: Ledger) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await ledger.append(T, [entry("one")], after=0)
    assert scope.cancelled_caught
    assert await ledger.tip(T) == 0


async def one_lease_at_a_time(ledger: Ledger) -> None:
    first = await ledger.acquire(T, owner="first", ttl=60)
    with pytest.raises(LeaseHeld) as caught:
        await ledger.acquire(T, owner="second")
    assert caught.value.owner == "first"
    assert 50 < caught.value.left <= 60
    assert await ledger.renew(first) == first
    await ledger.acquire("another thread", owner="second")
    await ledger.release(first)
    await ledger.release(first)
    second = await ledger.acquire(T, owner="second")
    assert second.token > first.token
    await ledger.release(first)
    with pytest.raises(LeaseHeld):
        await ledger.acquire(T, owner="third")
    with pytest.raises(LeaseLost):
        await ledger.renew(first)
    assert list(await ledger.threads()) == []
    for ttl in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(LedgerRefused):
            await ledger.acquire("third", owner="me", ttl=ttl)


async def a_lost_lease_fences_its_writer(ledger: Ledger) -> None:
    first = await ledger.acquire(T, owner="first")
    await ledger.append("child", [entry("one")], after=0, lease=first)
    await ledger.release(first)
    second = await ledger.acquire(T, owner="second")
    for after in (1, ANY):
        with pytest.raises(LeaseLost):
            await ledger.append("child", [entry("two")], after=after, lease=first)
    with pytest.raises(LeaseLost):
        await ledger.append("child", [entry("one")], after=0, lease=first)
    await ledger.append("child", [entry("three")], after=1, lease=second)
    assert await ids_of(ledger, "child") == ["one", "three"]


CHECKS: Final[tuple[Check, ...]] = (
    an_unknown_thread_is_empty,
    entries_come_back_as_they_were_numbered_from_one,
    a_stale_append_changes_nothing,
    an_empty_append_only_compares,
    any_appends_at_the_end,
    appending_again_changes_nothing_and_succeeds,
    of_a_partly_known_batch_the_new_is_added,
    other_content_under_a_known_id_is_refused_whole,
    reading_goes_by_page_and_by_kind,
    what_is_over_a_limit_is_refused,
    hostile_names_are_kept_apart_or_refused,
    following_gives_history_then_what_comes,
    a_thread_can_be_followed_before_it_is_there,
    a_fork_begins_alike_and_goes_its_own_way,
    a_fork_that_cannot_be_is_refused,
    threads_are_listed_by_their_last_append,
    racing_appenders_leave_one_dense_sequence,
    a_cancelled_append_changes_nothing,
    one_lease_at_a_time,
    a_lost_lease_fences_its_writer,
)
"""Each starts from an empty ledger."""
