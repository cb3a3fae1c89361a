"""Handlers by choice: those that may run within a chain of asks, and those that end with their asker."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorCrashed,
    ActorStopped,
    AskCycle,
    AskTimeout,
    Context,
    Headers,
    Mailbox,
    Ref,
    RemoteFailure,
    Replies,
    Supervision,
    System,
    message,
    open_system,
    receives,
)
from boyd.runtime.testing import seeded_seams
from tests.runtime.conftest import run_in_virtual_time
from tests.runtime.stage import Door, Note, Refused


@message("t.reentry.begin")
class Begin(Replies[int]):
    """Ask the partner, which asks back."""

    what: str = ""


@message("t.reentry.through")
class Through(Replies[int]):
    """Ask the first actor for what it knows."""

    what: str = ""
    back: Ref[Any] | None = None


@message("t.reentry.tell_me")
class TellMe(Replies[int]):
    """What do you know?"""

    what: str = ""


class First(Actor[Begin | TellMe | Note]):
    """Waits for its partner, and answers `TellMe` meanwhile."""

    door: Door
    partner: Ref[Begin | Through] | None = None
    known: int = 0

    @receives
    async def begin(self, begin: Begin, ctx: Context) -> int:
        self.known += 1
        to = self.partner
        assert to is not None
        try:
            if begin.what == "self":
                return await ctx.ref.ask(TellMe())
            return await to.ask(Through(what=begin.what, back=ctx.ref))
        finally:
            self.door.log.append("begun ends")

    @receives(reentrant=True)
    async def tell_me(self, ask: TellMe, ctx: Context) -> int:
        sender = ctx.sender.path if ctx.sender else ""
        self.door.log.append(f"tell {ask.what} from {sender} in {ctx.headers.thread}")
        match ask.what:
            case "crash":
                raise ValueError("inner")
            case "refuse":
                raise Refused("inner")
            case "hang":
                self.door.entered.set()
                await trio.sleep(1000)
            case "stash":
                try:
                    ctx.stash()
                except LookupError as error:
                    self.door.log.append(str(error))
            case "deep" if self.partner is not None:
                self.known += 10
                return await self.partner.ask(Through())  # its handler is not reentrant
            case _:
                pass
        return self.known

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        self.door.log.append(note.n)


class Second(Actor[Begin | Through]):
    """Asks back."""

    @receives
    async def begin(self, begin: Begin, ctx: Context) -> int:
        return 0

    @receives
    async def through(self, through: Through, ctx: Context) -> int:
        assert through.back is not None
        return 100 * await through.back.ask(TellMe(what=through.what))


async def pair(
    system: System, door: Door, supervision: Supervision | None = None
) -> Ref[Begin | TellMe | Note]:
    """The first of two that ask each other."""
    second = await system.spawn(Second, name="second")
    return await system.spawn(First, door, second, name="first", supervision=supervision)


# ---------------------------------------------------------------- reentrant
async def test_d8_a_reentrant_handler_answers_within_the_chain_that_waits_for_it() -> None:
    door = Door()
    async with open_system() as system:
        ref = await pair(system, door)
        began = trio.current_time()
        assert await ref.ask(Begin()) == 100
        assert trio.current_time() == began
        statistics = ref.statistics()
        assert (statistics.handled, statistics.crashed, statistics.queued) == (2, 0, 0)
        assert system.dead_letters == {}
    assert door.log == ["tell  from /second in ", "begun ends"]


async def test_d8_an_actor_may_ask_itself_where_the_handler_is_reentrant() -> None:
    async with open_system() as system:
        ref = await pair(system, Door())
        assert await ref.ask(Begin(what="self")) == 1


async def test_d8_outside_a_chain_a_reentrant_handler_takes_its_turn() -> None:
    door = Door()
    async with open_system() as system:
        ref = await pair(system, door)
        ref.tell(Note(n=1))
        ref.tell(TellMe(what="told"))
        ref.tell(Note(n=2))
        assert await ref.ask(TellMe(what="asked")) == 0
    assert door.log == [1, "tell told from  in ", 2, "tell asked from  in "]


async def test_d8_it_overtakes_the_mailbox_and_needs_no_room_in_it() -> None:
    door = Door()

    class Busy(First):
        @receives
        async def begin(self, begin: Begin, ctx: Context) -> int:
            ctx.ref.tell(Note(n=1))  # the mailbox is full now
            return await super().begin(begin, ctx)

    async with open_system() as system:
        second = await system.spawn(Second, name="second")
        ref = await system.spawn(Busy, door, second, name="first", mailbox=Mailbox(size=1))
        assert await ref.ask(Begin()) == 100
        await system.settle(1)
    assert door.log == ["tell  from /second in ", "begun ends", 1]


async def test_d8_each_handler_of_a_chain_must_be_reentrant() -> None:
    async with open_system() as system:
        ref = await pair(system, Door())
        with pytest.raises(RemoteFailure, match="/second -> /first -> /second would wait"):
            await ref.ask(Begin(what="deep"))
        assert await ref.ask(TellMe()) == 0  # a fresh life: nothing waits any more


async def test_d8_headers_and_time_of_the_chain_reach_a_reentrant_handler() -> None:
    from boyd.runtime.post import current_headers

    door = Door()
    async with open_system() as system:
        ref = await pair(system, door)
        token = current_headers.set(Headers(thread="run-1"))
        assert await ref.ask(Begin()) == 100
        current_headers.reset(token)
        began = trio.current_time()
        with pytest.raises(AskTimeout):
            await ref.ask(Begin(what="hang"), within=3)
        assert trio.current_time() == began + 3
        assert door.log[0] == "tell  from /second in run-1"


async def test_d8_what_came_in_a_chain_cannot_be_put_aside() -> None:
    door = Door()
    async with open_system() as system:
        ref = await pair(system, door)
        assert await ref.ask(Begin(what="stash")) == 100
    assert door.log[1] == "/first cannot put aside what its own ask waits for"


async def test_d8_an_answer_by_error_of_a_reentrant_handler_is_no_crash() -> None:
    door = Door()
    async with open_system() as system:
        ref = await pair(system, door)
        with pytest.raises(Refused):
            await ref.ask(Begin(what="refuse"))
        assert ref.statistics().restarts == 0


async def test_d8_a_crash_of_a_reentrant_handler_is_one_of_its_actor() -> None:
    door = Door()
    async with open_system() as system:
        ref = await pair(system, door)
        with pytest.raises((ActorCrashed, RemoteFailure)):
            await ref.ask(Begin(what="crash"))
        await system.settle(1)
        statistics = ref.statistics()
        assert statistics.restarts == 1
        assert statistics.crashed == 2  # it, and that which waited
        assert system.dead_letters == {"crashed": 3}  # and the partner's
        assert await ref.ask(TellMe()) == 0  # a fresh life


@pytest.mark.parametrize("how", ["crash", "kill"])
async def test_d8_a_reentrant_handler_ends_with_the_life_that_it_belongs_to(how: str) -> None:
    door = Door()
    async with open_system() as system:
        ref = await pair(system, door, supervision=Supervision(shutdown=0.5))
        outcomes: list[Exception] = []

        async def ask() -> None:
            try:
                await ref.ask(Begin(what="hang"))
            except (ActorCrashed, ActorStopped, RemoteFailure) as error:
                outcomes.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await door.entered.wait()
            (system.crash if how == "crash" else system.kill)("/first")
        await system.settle(1)
        assert len(outcomes) == 1
        assert isinstance(outcomes[0], ActorCrashed if how == "crash" else ActorStopped)
        assert system.find_post("/second", 1) is not None
        assert system.dead_letters == (
            {"crashed": 3} if how == "crash" else {"stopped": 2, "crashed": 1}
        )


# ---------------------------------------------------------------- cancellable
@message("t.reentry.work")
class Work(Replies[int]):
    """Long work."""

    n: int = 0


class Labourer(Actor[Work | Note]):
    """Works for ten seconds, or as long as somebody waits for it."""

    log: list[object] = attrs.field(factory=list[object])
    stubborn: bool = False

    @receives(cancellable=True)
    async def work(self, work: Work, ctx: Context) -> int:
        self.log.append(f"begin {work.n}")
        try:
            await trio.sleep(10)
        except trio.Cancelled:
            self.log.append(f"cancelled {work.n}")
            if not self.stubborn:
                raise
        return work.n

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        self.log.append(note.n)


@pytest.mark.parametrize("how", ["leave", "time"])
async def test_d8_a_cancellable_handler_ends_when_nobody_waits_for_it(how: str) -> None:
    log: list[object] = []
    async with open_system() as system:
        ref = await system.spawn(Labourer, log)
        ref.tell(Note(n=0))
        if how == "leave":
            with trio.move_on_after(2):
                await ref.ask(Work(n=1))
        else:
            with pytest.raises(AskTimeout):
                await ref.ask(Work(n=1), within=2)
        ref.tell(Note(n=2))
        began = trio.current_time()
        await system.settle(5)
        assert trio.current_time() == began
        assert await ref.ask(Work(n=3)) == 3
        assert ref.statistics().restarts == 0
        assert ref.statistics().handled == 4
        assert system.dead_letters == {}
    assert log == [0, "begin 1", "cancelled 1", 2, "begin 3"]


async def test_d8_a_told_message_of_a_cancellable_handler_has_nobody_who_leaves() -> None:
    log: list[object] = []
    async with open_system() as system:
        ref = await system.spawn(Labourer, log)
        ref.tell(Work(n=1))
        await system.settle(20)
    assert log == ["begin 1"]


async def test_d8_a_cancellable_handler_that_answers_all_the_same_is_late() -> None:
    log: list[object] = []
    async with open_system() as system:
        ref = await system.spawn(Labourer, log, *(True,))
        with trio.move_on_after(2):
            await ref.ask(Work(n=1))
        await system.settle(1)
        assert system.dead_letters == {"late": 1}
    assert log == ["begin 1", "cancelled 1"]


async def test_d8_a_handler_is_not_cancellable_unless_it_says_so() -> None:
    log: list[object] = []

    class Steady(Labourer):
        @receives
        async def work(self, work: Work, ctx: Context) -> int:
            self.log.append("begin")
            await trio.sleep(10)
            self.log.append("end")
            return 1

    async with open_system() as system:
        ref = await system.spawn(Steady, log)
        with trio.move_on_after(2):
            await ref.ask(Work())
        await system.settle(20)
        assert system.dead_letters == {"late": 1}
    assert log == ["begin", "end"]


async def test_d8_a_kill_ends_a_cancellable_handler_as_any_other() -> None:
    log: list[object] = []
    async with open_system() as system:
        ref = await system.spawn(Labourer, log, name="l")
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(ActorStopped, match="stopped while it handled Work"):
                    await ref.ask(Work())

            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            system.kill("/l")
    assert log == ["begin 0", "cancelled 0"]


# ---------------------------------------------------------------- chains of every form, under every order
@message("t.reentry.walk")
class Walk(Replies[int]):
    """Ask the first of `way`, which asks the next."""

    way: tuple[int, ...]


class Walker(Actor[Walk]):
    """Passes on. Half of them let themselves be entered again."""

    refs: list[Ref[Walk]]
    inside: Counter[str]

    @receives
    async def walk(self, walk: Walk, ctx: Context) -> int:
        return await go_on(self, walk, ctx)


class Reentrant(Walker):
    """Walks on beside itself."""

    @receives(reentrant=True)
    async def walk(self, walk: Walk, ctx: Context) -> int:
        return await go_on(self, walk, ctx)


async def go_on(me: Walker, walk: Walk, ctx: Context) -> int:
    """The sum of what all behind are."""
    me.inside[ctx.ref.path] += 1
    try:
        if not walk.way:
            return 1
        return 1 + await me.refs[walk.way[0]].ask(Walk(way=walk.way[1:]))
    except AskCycle as error:
        raise Refused("a cycle") from error  # an answer, so that nobody crashes
    finally:
        me.inside[ctx.ref.path] -= 1


@pytest.mark.slow
@given(
    ways=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=7), min_size=1, max_size=4),
    kinds=st.lists(st.booleans(), min_size=4, max_size=4),
    seed=st.integers(0, 1000),
)
def test_d8_chains_end_at_once_with_their_sum_or_with_a_cycle(
    ways: list[list[int]], kinds: list[bool], seed: int
) -> None:
    """No chain waits for its time-out: it gets through, or learns that it would wait for itself."""

    async def main() -> None:
        inside: Counter[str] = Counter()
        async with open_system(seams=seeded_seams(seed)) as system:
            refs: list[Ref[Walk]] = []
            for n, reentrant in enumerate(kinds):
                factory = Reentrant if reentrant else Walker
                refs.append(await system.spawn(factory, refs, inside, name=f"w{n}"))
            began = system.now()

            async def walk(way: list[int]) -> None:
                alone = len(ways) == 1
                turns_back = any(way.count(n) > 1 and not kinds[n] for n in way)
                try:
                    total = await refs[way[0]].ask(Walk(way=tuple(way[1:])))
                except Refused:
                    assert turns_back or not alone
                else:
                    assert total == len(way)
                    assert not turns_back

            async with trio.open_nursery() as nursery:
                for way in ways:
                    system.dispatcher.start_soon(nursery, lambda way=way: walk(way))  # type: ignore[misc]
            await system.settle(1)
            assert system.now() == began
            assert not any(inside.values())
            for ref in refs:
                post = system.find_post(ref.path, ref.incarnation)
                assert post is not None
                assert post.asking == []
            assert system.dead_letters == {}

    run_in_virtual_time(main)
