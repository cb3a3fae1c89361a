"""Actors that hear topics."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from boyd.runtime import (
    Actor,
    Context,
    Mailbox,
    Overflow,
    Replies,
    Supervision,
    message,
    open_system,
    receives,
)
from tests.runtime.stage import Add, Note

pytestmark = pytest.mark.usefixtures("autojump_clock")


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
