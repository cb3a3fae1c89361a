"""Actors that hear topics."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
import trio.testing

from boyd.runtime import (
    Actor,
    Context,
    Headers,
    Mailbox,
    MailboxFull,
    Overflow,
    Replies,
    Supervision,
    message,
    open_system,
    receives,
)
from boyd.runtime.post import current_headers
from tests.runtime.stage import Add, Note


@message("t.hearing.do")
class Do(Replies[int]):
    """Do something with a topic."""

    what: str
    topic: str = "news/today"


class Hearer(Actor[Note | Do]):
    log: list[int]
    topics: tuple[str, ...] = ("news/*",)
    slow: trio.Event | None = None

    async def started(self, ctx: Context) -> None:
        for topic in self.topics:
            ctx.subscribe(topic)

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        if self.slow is not None:
            await self.slow.wait()
        self.log.append(note.n)

    @receives
    async def do(self, do: Do, ctx: Context) -> int:
        match do.what:
            case "publish":
                ctx.publish(do.topic, Note(n=100))
            case "echo":
                ctx.subscribe(do.topic, echo=True)
            case "unsubscribe":
                ctx.unsubscribe(do.topic)
                ctx.unsubscribe(do.topic)
            case _:
                raise ValueError(do.what)
        return 0


async def test_an_actor_hears_what_it_accepts_of_a_topic_in_order_until_it_stops() -> None:
    log: list[int] = []
    async with open_system() as system:
        ref = await system.spawn(Hearer, log)
        for n in range(5):
            system.publish("news/today", Note(n=n))
            system.publish("news/today", Add())  # it has no method for that
            system.publish("weather/today", Note(n=-1))
        await system.settle(1)
        assert log == [0, 1, 2, 3, 4]
        await system.stop_actor(ref)
        assert not system.is_heard("news/today")
        system.publish("news/today", Note(n=9))
        assert system.dead_letters == {}


async def test_it_hears_on_after_a_restart_and_once_though_it_subscribes_again() -> None:
    log: list[int] = []
    async with open_system() as system:
        ref = await system.spawn(Hearer, log)
        ref.tell(Do(what="crash"))
        system.publish("news/today", Note(n=1))
        await system.settle(5)
        assert ref.statistics().restarts == 1
        system.publish("news/today", Note(n=2))
        await system.settle(5)
    assert log == [1, 2]


@pytest.mark.parametrize(("what", "heard"), [("", []), ("echo", [100])])
async def test_it_hears_itself_only_when_it_asks_for_that(what: str, heard: list[int]) -> None:
    log: list[int] = []
    async with open_system() as system:
        ref = await system.spawn(Hearer, log, ("news/today",))
        if what:
            await ref.ask(Do(what=what))
        await ref.ask(Do(what="publish"))
        await system.settle(1)
        assert log == heard


async def test_it_can_stop_hearing() -> None:
    log: list[int] = []
    async with open_system() as system:
        ref = await system.spawn(Hearer, log, ("news/today", "news/**"))
        await ref.ask(Do(what="unsubscribe"))
        system.publish("news/today", Note(n=1))
        await system.settle(1)
        assert log == [1], "heard once, by the other pattern"


@pytest.mark.parametrize(
    ("overflow", "kept", "reason"),
    [
        (Overflow.REJECT, [0, 1, 2], "full"),
        (Overflow.DROP_NEWEST, [0, 1, 2], "dropped"),
        (Overflow.DROP_OLDEST, [0, 4, 5], "dropped"),
    ],
)
async def test_what_finds_no_room_is_a_dead_letter_and_the_publisher_never_waits(
    overflow: Overflow, kept: list[int], reason: str
) -> None:
    log: list[int] = []
    slow = trio.Event()
    async with open_system() as system:
        mailbox = Mailbox(size=2, overflow=overflow)
        ref = await system.spawn(Hearer, log, ("news",), slow, mailbox=mailbox)
        system.publish("news", Note(n=0))
        await trio.testing.wait_all_tasks_blocked()
        for n in range(1, 6):
            system.publish("news", Note(n=n))
        slow.set()
        await system.settle(1)
        statistics = ref.statistics()
        assert (statistics.rejected, statistics.dropped) == ((3, 0) if reason == "full" else (0, 3))
        assert system.dead_letters == {reason: 3}
    assert log == kept


async def test_a_stopped_hearer_over_its_budget_hears_nothing_more() -> None:
    log: list[int] = []
    async with open_system() as system:
        calm = Supervision(restarts=0, significant=False)
        ref = await system.spawn(Hearer, log, supervision=calm)
        ref.tell(Do(what="crash"))
        await system.settle(1)
        assert not system.is_heard("news/today")


# ---------------------------------------------------------------- filters and policies
class Picky(Actor[Note]):
    """Hears what `where` holds for."""

    log: list[int]
    where: Callable[[Headers], bool]

    async def started(self, ctx: Context) -> None:
        ctx.subscribe("news/*", where=self.where)

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        self.log.append(note.n)


async def test_a_filter_on_headers_chooses_what_an_actor_and_a_channel_hear() -> None:
    log: list[int] = []

    def of_mine(headers: Headers) -> bool:
        return headers.labels.get("run") == "mine"

    async with (
        open_system() as system,
        system.open_subscription("news/*", Note, where=of_mine) as news,
    ):
        await system.spawn(Picky, log, of_mine)
        for n, run in enumerate(["mine", "other", "mine"]):
            token = current_headers.set(Headers(labels={"run": run}))
            system.publish("news/today", Note(n=n))
            current_headers.reset(token)
        await system.settle(1)
        assert [news.receive_nowait().n for _ in range(2)] == [0, 2]
        with pytest.raises(trio.WouldBlock):
            news.receive_nowait()
    assert log == [0, 2]


async def test_a_filter_that_fails_is_reported_and_fails_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[int] = []

    def broken(headers: Headers) -> bool:
        raise KeyError(headers.thread)

    async with open_system() as system:
        await system.spawn(Picky, log, broken, name="picky")
        await system.spawn(Hearer, log)
        system.publish("news/today", Note(n=1))
        await system.settle(1)
        assert system.dead_letters == {}
    assert log == [1]
    assert "/picky: its filter failed on t.note" in caplog.text


@pytest.mark.parametrize(
    ("overflow", "kept", "dead"),
    [
        (None, [0, 1, 2], {"full": 2}),
        (Overflow.REJECT, [0, 1, 2], {"full": 2}),
        (Overflow.DROP_NEWEST, [0, 1, 2], {"dropped": 2}),
        (Overflow.DROP_OLDEST, [0, 3, 4], {"dropped": 2}),
    ],
)
async def test_a_subscription_has_a_lag_policy_of_its_own(
    overflow: Overflow | None, kept: list[int], dead: dict[str, int]
) -> None:
    log: list[int] = []
    opened = trio.Event()

    class Slow(Hearer):
        async def started(self, ctx: Context) -> None:
            ctx.subscribe("news/*", overflow=overflow)

    async with open_system() as system:
        ref = await system.spawn(Slow, log, (), opened, mailbox=Mailbox(size=2))
        system.publish("news/today", Note(n=0))
        await trio.testing.wait_all_tasks_blocked()  # in hand
        for n in range(1, 5):
            system.publish("news/today", Note(n=n))
        with pytest.raises(MailboxFull):
            ref.tell(Note(n=9))  # the mailbox's own policy is what it was
        opened.set()
        await system.settle(1)
        assert system.dead_letters == dead
    assert log == kept
