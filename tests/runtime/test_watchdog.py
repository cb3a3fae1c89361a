"""What is seen of a system that does not go on."""

from __future__ import annotations

import logging
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    Context,
    HeldLoop,
    OldMail,
    Ref,
    Replies,
    Seams,
    StuckHandler,
    message,
    open_system,
    open_watchdog,
    receives,
)
from boyd.runtime.watchdog import WATCHDOG_TOPIC
from tests.runtime.stage import Door, Hold, Note, Recorder

NEWS = HeldLoop | StuckHandler | OldMail


@message("t.watchdog.order")
class Order(Replies[str]):
    """Needs the bank."""


class Shop(Actor[Order | Note]):
    """Waits for its bank."""

    bank: Ref[Hold]

    @receives
    async def order(self, order: Order, ctx: Context) -> str:
        return await self.bank.ask(Hold())  # a line to be found again

    @receives
    async def note(self, note: Note, ctx: Context) -> None: ...


class Timer:
    """Real time, as the test wants it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Hog(Actor[Note]):
    """Runs for `n` seconds of the timer without a checkpoint."""

    timer: Timer

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        self.timer.now += note.n
        await trio.lowlevel.checkpoint()


async def test_d18_a_handler_that_holds_the_loop_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    timer = Timer()
    async with (
        open_system(seams=Seams(timer=timer)) as system,
        system.open_subscription(WATCHDOG_TOPIC, NEWS) as news,
        open_watchdog(system, loop=2.0),
    ):
        hog = await system.spawn(Hog, timer, name="hog")
        for seconds in (1, 3, 2):
            hog.tell(Note(n=seconds))
            await system.settle(1)
        await trio.sleep(5)
        told = [news.receive_nowait() for _ in range(2)]
        with pytest.raises(trio.WouldBlock):
            news.receive_nowait()
    assert told == [HeldLoop(path="/hog", handling="Note", seconds=n) for n in (3.0, 2.0)]
    assert "/hog held the loop for 3.00 s in Note" in caplog.text


async def test_d18_long_steps_of_others_and_of_errands_are_told_apart() -> None:
    timer = Timer()

    class Errands(Hog):
        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            ctx.start_soon(self.work)

        async def work(self) -> None:
            self.timer.now += 5

    async with (
        open_system() as other,
        open_system(seams=Seams(timer=timer)) as system,
        system.open_subscription(WATCHDOG_TOPIC, NEWS) as news,
        open_watchdog(system, loop=2.0),
    ):
        (await other.spawn(Hog, timer, name="of-another-system")).tell(Note(n=9))
        await other.settle(1)
        timer.now += 9  # the test's own step
        await trio.lowlevel.checkpoint()
        (await system.spawn(Errands, timer, name="e")).tell(Note(n=0))
        await trio.sleep(3)
        assert news.receive_nowait() == HeldLoop(path="/e", handling="", seconds=5.0)
        with pytest.raises(trio.WouldBlock):
            news.receive_nowait()


async def test_d18_a_stuck_handler_is_told_of_once_with_the_place_in_the_code() -> None:
    door = Door()
    async with (
        open_system(ask_timeout=1000) as system,
        system.open_subscription(WATCHDOG_TOPIC, NEWS) as news,
        open_watchdog(system, stuck=10.0, mail=500.0),
    ):
        bank = await system.spawn(Recorder, door, name="bank")
        shop = await system.spawn(Shop, bank, name="shop")
        shop.tell(Order())
        await trio.sleep(100)
        told = {one.path: one for one in (news.receive_nowait(), news.receive_nowait())}
        with pytest.raises(trio.WouldBlock):
            news.receive_nowait()
        first = told["/shop"]
        assert isinstance(first, StuckHandler)
        assert first.handling == "Order"
        assert 10 <= first.seconds <= 11
        assert first.where[-1].endswith(
            "in order: return await self.bank.ask(Hold())  # a line to be found again"
        )
        assert first.where[-1].startswith("test_watchdog.py:")
        door.opened.set()
        await system.settle(1)
        door.opened = trio.Event()
        shop.tell(Order())  # stuck again, with another message
        await trio.sleep(100)
        assert {news.receive_nowait().path for _ in range(2)} == {"/bank", "/shop"}
        door.opened.set()


async def test_d18_old_mail_is_told_of_until_it_is_gone_and_comes_again() -> None:
    door = Door()
    async with (
        open_system() as system,
        system.open_subscription(WATCHDOG_TOPIC, NEWS) as news,
        open_watchdog(system, mail=10.0, stuck=500.0),
    ):
        ref = await system.spawn(Recorder, door, name="slow")
        for _ in range(2):
            ref.tell(Hold())
            ref.tell(Note(n=1))
            ref.tell(Note(n=2))
            await trio.sleep(30)
            one = news.receive_nowait()
            assert isinstance(one, OldMail)
            assert (one.path, one.queued) == ("/slow", 2)
            assert 10 <= one.seconds <= 11
            with pytest.raises(trio.WouldBlock):
                news.receive_nowait()
            door.opened.set()
            await trio.sleep(5)
            door.opened = trio.Event()
        door.opened.set()


async def test_a_watchdog_leaves_nothing_behind_and_sees_nothing_in_a_healthy_system(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_system(seams=Seams(timer=lambda: 0.0)) as system:
        async with open_watchdog(system):
            ref = await system.spawn(Recorder, Door(), name="well")
            for n in range(100):
                ref.tell(Note(n=n))
                await trio.sleep(1)
        assert trio.lowlevel.current_statistics().tasks_living > 0
    assert "boyd.watchdog" not in caplog.text
    assert "well" not in caplog.text


async def test_a_watchdog_with_a_span_that_is_none_is_refused() -> None:
    nan = float("nan")
    async with open_system() as system:
        for name, open_it in (
            ("loop", partial(open_watchdog, system, loop=nan)),
            ("stuck", partial(open_watchdog, system, stuck=nan)),
            ("mail", partial(open_watchdog, system, mail=-1)),
            ("every", partial(open_watchdog, system, every=0)),
        ):
            with pytest.raises(ValueError, match=name):
                async with open_it():
                    raise AssertionError


async def test_a_dump_says_who_waits_for_whom_where_and_behind_what() -> None:
    door = Door()
    async with open_system(name="bazaar") as system:
        bank = await system.spawn(Recorder, door, name="bank")
        shop = await system.spawn(Shop, bank, name="shop")
        idle = await system.spawn(Recorder, Door(), name="idle")
        system.suspend("/idle")
        await wait_all_tasks_blocked()
        shop.tell(Order())
        for n in range(3):
            shop.tell(Note(n=n))
        shop.tell(Order())
        idle.tell(Note(n=1))
        await trio.sleep(2)
        lines = system.dump().splitlines()
        assert system.place_of("/nobody") == []
        door.opened.set()
    assert lines[0] == "bazaar: 2 busy, 3 tasks of actors"
    shop_at = lines.index("  shop  Shop, running, in Order sent 2.0 s ago")
    assert lines[shop_at + 1] == "      4 wait, the oldest 2.0 s: 3 Note, 1 Order"
    assert lines[shop_at + 2] == "      waits for /bank"
    assert "in order: return await self.bank.ask(Hold())" in lines[shop_at + 3]
    assert "  bank  Recorder, running, in Hold sent 2.0 s ago" in lines
    assert "  idle  Recorder, suspended" in lines
    assert lines[-1] == "dead letters: none"
