"""What an actor puts aside comes back in order, and is never lost without a word."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorStopped,
    AskTimeout,
    Context,
    Mailbox,
    Replies,
    StashFull,
    Supervision,
    message,
    open_system,
    receives,
)
from boyd.runtime.testing import seeded_seams


@message("t.stash.work")
class Work(Replies[int]):
    n: int


@message("t.stash.turn")
class Turn:
    """Open or closed; when it opens, all that was put aside is wanted."""

    is_open: bool
    fail: bool = False


class Shop(Actor[Work | Turn]):
    """Works when it is open, and puts work aside when it is not."""

    done: list[int]
    is_open: bool = False

    @receives
    async def work(self, work: Work, ctx: Context) -> int:
        if not self.is_open:
            ctx.stash()
            return -1
        await ctx.sleep(0)
        self.done.append(work.n)
        return work.n

    @receives
    async def turn(self, turn: Turn, ctx: Context) -> None:
        if turn.is_open:
            ctx.unstash_all()
        self.is_open = turn.is_open
        if turn.fail:
            raise ValueError("boom")


@settings(deadline=None)
@given(st.lists(st.sampled_from(["work", "open", "close", "crash"]), max_size=40), st.integers(0))
def test_every_message_is_handled_once_in_order_of_arrival_whatever_is_put_aside(
    steps: list[str], seed: int
) -> None:
    """The model: a shop that works through a list while it is open. A crash closes it, and keeps its list."""
    done: list[int] = []
    waiting: list[int] = []
    wanted: list[int] = []
    is_open = False

    async def main() -> None:
        nonlocal is_open
        async with open_system(seams=seeded_seams(seed)) as system:
            calm = Supervision(restarts=1000)
            ref = await system.spawn(Shop, done, supervision=calm)
            for n, step in enumerate(steps):
                match step:
                    case "work":
                        ref.tell(Work(n=n))
                        (wanted if is_open else waiting).append(n)
                    case "crash":
                        ref.tell(Turn(is_open=False, fail=True))
                        is_open = False
                    case _:
                        is_open = step == "open"
                        ref.tell(Turn(is_open=is_open))
                        if is_open:
                            wanted.extend(waiting)
                            waiting.clear()
            await system.settle(1000)
            assert done == wanted
            crashes = steps.count("crash")
            assert system.dead_letters == ({"crashed": crashes} if crashes else {})
        lost = system.dead_letters.get("stopped", 0)
        assert lost == len(waiting)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def test_an_ask_that_is_put_aside_is_answered_when_it_is_handled() -> None:
    done: list[int] = []
    async with open_system() as system:
        ref = await system.spawn(Shop, done)
        got: list[int] = []

        async def ask(n: int) -> None:
            got.append(await ref.ask(Work(n=n)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 7)
            await wait_all_tasks_blocked()
            assert got == []
            assert ref.statistics().handled == 0
            ref.tell(Turn(is_open=True))
        assert got == done == [7]


async def test_an_asker_that_has_left_is_not_worked_for() -> None:
    done: list[int] = []
    async with open_system() as system:
        ref = await system.spawn(Shop, done)
        with pytest.raises(AskTimeout, match="did not answer Work"):
            await ref.ask(Work(n=1), within=1)
        ref.tell(Turn(is_open=True))
        await system.settle(1)
        assert done == []
        assert system.dead_letters == {"withdrawn": 1}


async def test_a_stop_tells_the_asker_of_what_was_put_aside() -> None:
    async with open_system() as system:
        ref = await system.spawn(Shop, list[int](), name="shop")
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(ActorStopped, match="/shop stopped before it answered Work"):
                    await ref.ask(Work(n=1))

            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            await system.stop_actor(ref)
        assert system.dead_letters == {"stopped": 1}


async def test_the_stash_is_bounded_and_the_message_too_many_crashes_its_handler() -> None:
    async with open_system() as system:
        roomy = Mailbox(size=1000)
        ref = await system.spawn(
            Shop, list[int](), mailbox=roomy, supervision=Supervision(restarts=0, significant=False)
        )
        for n in range(256):
            ref.tell(Work(n=n))
        await system.settle(1)
        with pytest.raises(StashFull, match="has put 256 messages aside"):
            await ref.ask(Work(n=256))


async def test_without_a_message_in_hand_there_is_nothing_to_put_aside() -> None:
    class Eager(Actor[Turn]):
        async def started(self, ctx: Context) -> None:
            ctx.stash()

        @receives
        async def turn(self, _turn: Turn, _ctx: Context) -> None: ...

    async with open_system() as system:
        with pytest.raises(LookupError, match="no message in hand"):
            await system.spawn(Eager)
