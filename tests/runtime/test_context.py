"""What a handler can do, beside sending to refs that it holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorStopped,
    AskCycle,
    AskTimeout,
    Context,
    EncodeError,
    Headers,
    Mailbox,
    NameTaken,
    NotAccepted,
    Ref,
    Replies,
    Supervision,
    current_context,
    message,
    open_system,
    receives,
)
from boyd.runtime.post import current_headers
from boyd.runtime.testing import seeded_seams
from boyd.runtime.timers import next_time
from tests.runtime.stage import Add, Door, Hold, Note, Recorder


@message("t.do")
class Do(Replies[None]):
    """Run the actor's `what`."""


@message("t.odd")
class Odd:
    """With a field that can hold anything."""

    value: object


class Doer(Actor[Do | Note | Add | Odd | Hold]):
    """Does what the test says, with a context in hand."""

    door: Door
    what: Callable[[Context], Awaitable[object]]

    @receives
    async def do(self, do: Do, ctx: Context) -> None:
        await self.what(ctx)

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        self.door.log.append(note.n)

    @receives
    async def odd(self, odd: Odd, ctx: Context) -> None:
        self.door.log.append(odd.value)

    @receives
    async def add(self, add: Add, ctx: Context) -> int:
        return add.amount

    @receives
    async def hold(self, hold: Hold, ctx: Context) -> str:
        self.door.entered.set()
        await self.door.opened.wait()
        return ""


# ---------------------------------------------------------------- who, when, how often
async def test_a_handler_knows_its_actor_the_sender_and_the_time() -> None:
    seen: list[object] = []

    async def look(ctx: Context) -> None:
        seen.extend([ctx.ref, ctx.sender, ctx.epoch, ctx.attempt, ctx.now() - began])
        assert ctx.system is system
        assert 0 <= ctx.random.random() < 1

    async def pass_on(ctx: Context) -> None:
        await first.ask(Do())

    async with open_system() as system:
        began = trio.current_time()
        first = await system.spawn(Doer, Door(), look)
        await first.ask(Do())
        assert seen == [first, None, 1, 1, 0]
        seen.clear()
        second = await system.spawn(Doer, Door(), pass_on)
        await trio.sleep(3)
        await second.ask(Do())
        assert seen == [first, second, 1, 1, 3]


async def test_headers_travel_with_all_that_a_handler_sends() -> None:
    seen: list[object] = []

    async def look(ctx: Context) -> None:
        seen.append((ctx.headers.thread, dict(ctx.headers.labels)))

    async def pass_on(ctx: Context) -> None:
        await leaf.ask(Do())
        ctx.headers = Headers(thread="t/2", labels={"origin": "web"})
        await leaf.ask(Do())
        ctx.start_soon(leaf.ask, Do())
        async with ctx.open_nursery() as nursery:
            nursery.start_soon(leaf.ask, Do())

    async with open_system() as system:
        leaf = await system.spawn(Doer, Door(), look)
        middle = await system.spawn(Doer, Door(), pass_on)
        token = current_headers.set(Headers(thread="t/1"))
        await middle.ask(Do())
        current_headers.reset(token)
        await system.settle(1)
        await leaf.ask(Do())
    assert seen == [("t/1", {}), *[("t/2", {"origin": "web"})] * 3, ("", {})]


async def test_an_actor_belongs_to_the_run_that_it_was_started_for() -> None:
    """Its hooks send with the headers of its spawner, in each life; its handlers with those of their messages."""
    seen: list[object] = []

    class Telling(Actor[Note | Add]):
        to: Ref[Do]

        async def started(self, ctx: Context) -> None:
            await self.to.send(Do())

        async def stopped(self, ctx: Context) -> None:
            await self.to.send(Do())

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            await self.to.send(Do())
            raise ValueError

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            return 0

    async def look(ctx: Context) -> None:
        seen.append(ctx.headers.thread)

    async def act(ctx: Context) -> None:
        ctx.headers = Headers(thread="run")
        children.append(await ctx.spawn(Telling, leaf))

    children: list[Ref[Note | Add]] = []
    async with open_system() as system:
        leaf = await system.spawn(Doer, Door(), look)
        parent = await system.spawn(Doer, Door(), act)
        await parent.ask(Do())
        children[0].tell(Note(n=1))
        await system.settle(5)
        await system.stop_actor(children[0])
        await system.settle(5)
    assert seen == ["run", "", "run", "run"]


async def test_background_work_keeps_the_headers_that_it_began_with() -> None:
    seen: list[str] = []

    async def work(ctx: Context) -> None:
        ctx.headers = Headers(thread="first")

        async def later() -> Note:
            await trio.sleep(1)
            seen.append(ctx.headers.thread)
            ctx.headers = Headers(thread="own")
            return Note(n=1)

        ctx.start_soon(later)

    async def look(ctx: Context) -> None:
        ctx.headers = Headers(thread="second")

    class Listening(Doer):
        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            seen.append(ctx.headers.thread)

    async with open_system() as system:
        does = [work, look]

        async def do_next(ctx: Context) -> None:
            await does.pop(0)(ctx)

        ref = await system.spawn(Listening, Door(), do_next)
        await ref.ask(Do())
        await ref.ask(Do())
        await trio.sleep(2)
    assert seen == ["first", "own"]


async def test_a_task_knows_whose_it_is() -> None:
    seen: list[object] = []

    async def look(_ctx: Context) -> None:
        found = current_context()
        seen.append(found.ref if found else None)

    async with open_system() as system:
        assert current_context() is None
        ref = await system.spawn(Doer, Door(), look)
        await ref.ask(Do())
        assert seen == [ref]
        assert current_context() is None


# ---------------------------------------------------------------- work beside the mailbox
async def test_the_result_of_background_work_is_told_to_the_actor() -> None:
    door = Door()

    async def begin(ctx: Context) -> None:
        async def work(n: int) -> Note:
            await trio.sleep(n)
            return Note(n=n)

        for n in (3, 1, 2):
            ctx.start_soon(work, n)

    async with open_system() as system:
        ref = await system.spawn(Doer, door, begin)
        await ref.ask(Do())
        await trio.sleep(5)
    assert door.log == [1, 2, 3]


async def test_a_result_finds_room_in_a_full_mailbox() -> None:
    door = Door()

    async def begin(ctx: Context) -> None:
        async def work() -> Note:
            await trio.sleep(1)
            return Note(n=1)

        ctx.start_soon(work)

    async with open_system() as system:
        ref = await system.spawn(Doer, door, begin, mailbox=Mailbox(size=1))
        await ref.ask(Do())
        ref.tell(Hold())
        await door.entered.wait()
        ref.tell(Note(n=0))
        await trio.sleep(2)
        door.opened.set()
        await system.settle(1)
    assert door.log == [0, 1]


async def test_a_result_that_the_actor_does_not_accept_is_a_crash() -> None:
    @message("t.unwanted")
    class Unwanted:
        pass

    async def begin(ctx: Context) -> None:
        async def work() -> Unwanted:
            return Unwanted()

        ctx.start_soon(work)

    async with open_system() as system:
        ref = await system.spawn(Doer, Door(), begin)
        await ref.ask(Do())
        await wait_all_tasks_blocked()
        assert ref.statistics().restarts == 1


async def test_background_work_neither_holds_the_mailbox_nor_inherits_a_deadline() -> None:
    door = Door()

    async def begin(ctx: Context) -> None:
        async def work() -> None:
            try:
                await other.ask(Hold())
            except AskTimeout:
                door.log.append(trio.current_time() - began)

        ctx.start_soon(work)

    async with open_system(ask_timeout=20) as system:
        other = await system.spawn(Recorder, Door())
        ref = await system.spawn(Doer, door, begin)
        began = trio.current_time()
        await ref.ask(Do(), within=1)
        assert await ref.ask(Add(amount=4)) == 4
        await trio.sleep(30)
        system.kill(other.path)
    assert door.log == [20]


async def test_an_actor_spawned_by_background_work_is_none_itself() -> None:
    """Its handlers have deadlines and cycles like any other's."""
    door = Door()

    async def begin(ctx: Context) -> None:
        async def work() -> None:
            child = await ctx.spawn(Doer, door, slow, name="child")
            with pytest.raises(AskTimeout):
                await child.ask(Do(), within=2)

        ctx.start_soon(work)

    async def slow(ctx: Context) -> None:
        try:
            await other.ask(Hold())
        finally:
            door.log.append(trio.current_time() - began)

    async with open_system() as system:
        other = await system.spawn(Recorder, Door())
        ref = await system.spawn(Doer, door, begin)
        began = trio.current_time()
        await ref.ask(Do())
        await trio.sleep(10)
        system.kill(other.path)
    assert door.log == [2]


async def test_a_stopped_actor_has_no_background_work() -> None:
    door = Door()

    async def begin(ctx: Context) -> None:
        async def work() -> None:
            try:
                await trio.sleep_forever()
            finally:
                door.log.append("ended")

        ctx.start_soon(work)

    async with open_system() as system:
        ref = await system.spawn(Doer, door, begin)
        await ref.ask(Do())
        await wait_all_tasks_blocked()
        await system.stop_actor(ref)
        assert door.log == ["ended"]


async def test_work_that_does_not_end_is_reported_and_does_not_hold_up_the_stop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def begin(ctx: Context) -> None:
        async def work() -> None:
            with trio.CancelScope(shield=True):
                await trio.sleep(50)

        ctx.start_soon(work)

    async with open_system() as system:
        ref = await system.spawn(Doer, Door(), begin, name="doer")
        await ref.ask(Do())
        await wait_all_tasks_blocked()
        began = trio.current_time()
        await system.stop_actor(ref)
        assert trio.current_time() - began <= 10
    assert "/doer: 1 background tasks do not end" in caplog.text


async def test_work_that_ends_when_it_is_cancelled_is_never_reported_however_short_the_stop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def begin(ctx: Context) -> None:
        ctx.start_soon(trio.sleep_forever)

    async with open_system() as system:
        hasty = Supervision(shutdown=0.0)
        for _ in range(50):
            await (await system.spawn(Doer, Door(), begin, supervision=hasty)).ask(Do())
        await wait_all_tasks_blocked()
    assert caplog.text == ""


async def test_a_nursery_of_a_handler_ends_with_its_tasks_and_inherits_the_deadline() -> None:
    log: list[object] = []

    async def fan_out(ctx: Context) -> None:
        async with ctx.open_nursery() as nursery:
            for n in range(3):
                nursery.start_soon(work, n)
        log.append("all")

    async def work(n: int) -> None:
        with pytest.raises(AskTimeout):
            await others[n].ask(Hold())
        log.append(n)

    async with open_system() as system:
        others = [await system.spawn(Recorder, Door()) for _ in range(3)]
        ref = await system.spawn(Doer, Door(), fan_out)
        with pytest.raises(AskTimeout):
            await ref.ask(Do(), within=3)
        await wait_all_tasks_blocked()
        assert sorted(log[:3], key=str) == [0, 1, 2]
        assert log[3] == "all"
        for other in others:
            system.kill(other.path)


@pytest.mark.parametrize("seed", [None, *range(5)])
async def test_the_tasks_of_a_handler_begin_in_the_order_of_their_start(seed: int | None) -> None:
    """Whoever counts its own work finds it again in a later life, whatever the dispatcher."""
    order: list[int] = []

    async def fan_out(ctx: Context) -> None:
        async with ctx.open_nursery() as nursery:
            for n in range(6):
                nursery.start_soon(note, n)
        for n in range(6, 12):
            ctx.start_soon(note, n)

    async def note(n: int) -> None:
        order.append(n)

    for _ in range(5):
        order.clear()
        seams = None if seed is None else seeded_seams(seed)
        async with open_system(seams=seams) as system:
            await (await system.spawn(Doer, Door(), fan_out)).ask(Do())
            await system.sleep(1)
        assert order == list(range(12))


async def test_d8_the_tasks_of_a_handlers_nursery_go_on_in_the_dispatchers_order() -> None:
    async def order_of(seed: int) -> tuple[int, ...]:
        order: list[int] = []

        async def fan_out(ctx: Context) -> None:
            async with ctx.open_nursery() as nursery:
                for n in range(5):
                    nursery.start_soon(note, n, ctx)

        async def note(n: int, ctx: Context) -> None:
            await ctx.sleep(1)
            order.append(n)

        async with open_system(seams=seeded_seams(seed)) as system:
            await (await system.spawn(Doer, Door(), fan_out)).ask(Do())
        return tuple(order)

    orders = [await order_of(seed) for seed in range(12)]
    assert orders == [await order_of(seed) for seed in range(12)]
    assert len(set(orders)) > 6


# ---------------------------------------------------------------- timers
async def test_a_timer_is_told_after_its_time_and_starting_it_again_replaces_it() -> None:
    door = Door()

    async def begin(ctx: Context) -> None:
        ctx.start_timer("a", Note(n=1), after=1)
        ctx.start_timer("b", Note(n=2), after=2)
        ctx.start_timer("a", Note(n=3), after=3)
        ctx.start_timer("c", Note(n=4), after=1)
        ctx.cancel_timer("c")
        ctx.cancel_timer("c")

    async with open_system() as system:
        ref = await system.spawn(Doer, door, begin)
        await ref.ask(Do())
        await trio.sleep(10)
        assert len(system.deadlines) == 0
    assert door.log == [2, 3]


async def test_a_replaced_timer_does_not_arrive_even_out_of_the_mailbox() -> None:
    door = Door()

    async def begin(ctx: Context) -> None:
        ctx.start_timer("a", Note(n=1), after=1)
        ctx.start_timer("b", Note(n=2), after=1)
        await trio.sleep(2)  # both have fired into the mailbox
        ctx.start_timer("a", Note(n=3), after=1)
        ctx.cancel_timer("b")

    async with open_system() as system:
        ref = await system.spawn(Doer, door, begin)
        await ref.ask(Do())
        await trio.sleep(10)
    assert door.log == [3]


async def test_d6_a_timer_finds_room_and_keeps_its_place() -> None:
    door = Door()

    async def begin(ctx: Context) -> None:
        ctx.start_timer("a", Note(n=1), after=1)

    async with open_system() as system:
        ref = await system.spawn(Doer, door, begin, mailbox=Mailbox(size=1))
        await ref.ask(Do())
        ref.tell(Hold())
        await door.entered.wait()
        ref.tell(Note(n=0))
        await trio.sleep(2)
        assert ref.statistics().queued == 2
        door.opened.set()
        await ref.send(Note(n=2))
        await system.settle(1)
    assert door.log == [0, 1, 2]


async def test_a_repeating_timer_keeps_its_grid_until_it_is_cancelled() -> None:
    door = Door()
    began = trio.current_time()

    class Ticker(Actor[Note | Do]):
        async def started(self, ctx: Context) -> None:
            ctx.start_timer("tick", Note(n=1), after=2, repeat=True)

        @receives
        async def note(self, _note: Note, ctx: Context) -> None:
            door.log.append(ctx.now() - began)
            if len(door.log) == 2:
                await ctx.sleep(5)  # over two of its times

        @receives
        async def do(self, _do: Do, ctx: Context) -> None:
            ctx.cancel_timer("tick")

    async with open_system() as system:
        ref = await system.spawn(Ticker)
        await trio.sleep(13)
        await ref.ask(Do())
        await trio.sleep(10)
        assert len(system.deadlines) == 0
    assert door.log == [2, 4, 9, 10, 12]


@given(st.floats(0, 1e6), st.floats(0.01, 1e3), st.floats(0, 1e6))
def test_the_next_time_of_a_timer_is_the_first_on_its_grid(
    last: float, every: float, late: float
) -> None:
    now = last + late
    following = next_time(last, every, now)
    assert following > last
    assert following > now or following == pytest.approx(now)
    assert following - every <= now or following - every == pytest.approx(now)


async def test_a_timer_that_would_never_pause_is_refused() -> None:
    async def begin(ctx: Context) -> None:
        with pytest.raises(ValueError, match="would never pause"):
            ctx.start_timer("a", Note(n=1), after=0, repeat=True)

    async with open_system() as system:
        await (await system.spawn(Doer, Door(), begin)).ask(Do())


async def test_a_timer_fails_when_it_is_started_and_not_when_it_fires() -> None:
    @message("t.stranger")
    class Stranger:
        pass

    async def begin(ctx: Context) -> None:
        with pytest.raises(NotAccepted):
            ctx.start_timer("a", Stranger(), after=1)
        with pytest.raises(EncodeError):
            ctx.start_timer("a", Odd(value=print), after=1)

    async with open_system() as system:
        await (await system.spawn(Doer, Door(), begin)).ask(Do())


async def test_a_timer_carries_the_headers_of_the_handler_that_started_it() -> None:
    seen: list[object] = []

    async def begin(ctx: Context) -> None:
        ctx.headers = Headers(thread="t/1")
        ctx.start_timer("a", Note(n=1), after=1)

    class Timed(Doer):
        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            seen.extend([ctx.headers.thread, ctx.sender == ctx.ref])

    async with open_system() as system:
        await (await system.spawn(Timed, Door(), begin)).ask(Do())
        await trio.sleep(2)
    assert seen == ["t/1", True]


# ---------------------------------------------------------------- publishing, spawning
async def test_a_handler_publishes_and_has_children() -> None:
    async def act(ctx: Context) -> None:
        child = await ctx.spawn(Recorder, Door(), name="kid")
        assert child.path == "/doer/kid"
        ctx.publish("news/today", Note(n=await child.ask(Add(amount=8))))

    async with (
        open_system() as system,
        system.open_subscription("news/*", Note) as news,
    ):
        await (await system.spawn(Doer, Door(), act, name="doer")).ask(Do())
        assert (await news.receive()).n == 8


async def test_sleeping_in_a_handler_holds_the_mailbox() -> None:
    door = Door()

    async def nap(ctx: Context) -> None:
        await ctx.sleep(5)
        door.log.append("woke")

    async with open_system() as system:
        ref = await system.spawn(Doer, door, nap)
        ref.tell(Do())
        ref.tell(Note(n=1))
        await system.settle(10)
    assert door.log == ["woke", 1]


# ---------------------------------------------------------------- for one life

BEGINNINGS: dict[str, Callable[[Context], object]] = {
    "spawn": lambda ctx: ctx.spawn(Recorder, Door()).send(None),
    "start_soon": lambda ctx: ctx.start_soon(trio.sleep_forever),
    "start_timer": lambda ctx: ctx.start_timer("key", Note(n=1), after=0),
    "watch": lambda ctx: ctx.watch(ctx.ref),
    "subscribe": lambda ctx: ctx.subscribe("news"),
    "stash": lambda ctx: ctx.stash(),
}


@pytest.mark.parametrize("what", BEGINNINGS)
async def test_the_context_of_a_life_that_is_over_begins_nothing(what: str) -> None:
    kept: list[Context] = []
    door = Door()

    async def keep(ctx: Context) -> None:
        kept.append(ctx)

    async with open_system() as system:
        ref = await system.spawn(Doer, door, keep)
        await ref.ask(Do())
        system.crash(ref.path)
        await system.settle(1)
        await ref.ask(Do())
        old, new = kept
        assert (old.epoch, new.epoch) == (1, 2)
        ref.tell(Hold())
        await door.entered.wait()
        with pytest.raises(ActorStopped, match=r"life 1 of /doer-1 is over, and begins nothing"):
            BEGINNINGS[what](old)
        door.opened.set()
        await system.settle(1)
        assert door.log == []
        assert system.paths() == (ref.path,)


async def test_the_context_of_a_life_that_is_over_ends_nothing_of_the_next() -> None:
    kept: list[Context] = []
    door = Door()

    async def keep(ctx: Context) -> None:
        kept.append(ctx)
        ctx.subscribe("news")
        ctx.start_timer("tick", Note(n=1), after=5)
        ctx.headers = Headers(thread=f"life {ctx.epoch}")

    async with open_system() as system:
        ref = await system.spawn(Doer, door, keep)
        await ref.ask(Do())
        system.crash(ref.path)
        await system.settle(1)
        await ref.ask(Do())
        old, new = kept
        ref.tell(Hold())
        await door.entered.wait()
        assert old.sender is None
        assert old.headers == Headers()
        assert old.attempt == 1
        old.headers = Headers(thread="stolen")
        assert new.headers.thread != "stolen"
        old.cancel_timer("tick")
        old.unsubscribe("news")
        old.unstash_all()
        old.stop()
        door.opened.set()
        await system.settle(1)
        system.publish("news", Note(n=2))
        await system.settle(1)
        assert door.log == [2]
        assert ref.statistics().state == "running"
        await trio.sleep(6)
        assert door.log == [2, 1]


async def test_work_that_outlives_its_life_has_that_lifes_context() -> None:
    said: list[object] = []
    go = trio.Event()

    async def outlive() -> None:
        ctx = current_context()
        assert ctx is not None
        with trio.CancelScope(shield=True):
            await go.wait()
        late = current_context()
        assert late is not None
        try:
            late.start_timer("key", Note(n=1), after=0)
        except ActorStopped as error:
            said.append(str(error))

    async def begin(ctx: Context) -> None:
        ctx.start_soon(outlive)

    async with open_system() as system:
        supervision = Supervision(shutdown=0)
        ref = await system.spawn(Doer, Door(), begin, supervision=supervision)
        await ref.ask(Do())
        await wait_all_tasks_blocked()
        system.crash(ref.path)
        await trio.sleep(5)
        assert ref.statistics().restarts == 1
        go.set()
        await trio.sleep(1)
    assert said == ["life 1 of /doer-1 is over, and begins nothing more"]


# ---------------------------------------------------------------- children that begin
async def test_a_child_that_asks_its_waiting_parent_learns_the_cycle_at_once() -> None:
    door = Door()

    class Child(Actor[Note]):
        parent: Ref[Add]

        async def started(self, ctx: Context) -> None:
            await self.parent.ask(Add())

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    async def bear(ctx: Context) -> None:
        try:
            await ctx.spawn(Child, ctx.ref, name="child")
        except AskCycle as error:
            door.log.append(str(error))

    async with open_system() as system:
        began = trio.current_time()
        ref = await system.spawn(Doer, door, bear, name="a")
        await ref.ask(Do())
        assert trio.current_time() == began
        assert await ref.ask(Add(amount=3)) == 3  # who has borne it waits for nobody now
    assert door.log == ["/a -> /a/child -> /a would wait for itself; tell instead"]


async def test_the_name_of_a_cancelled_spawn_is_free_again_at_once() -> None:
    class Slow(Actor[Note]):
        seconds: float

        async def started(self, ctx: Context) -> None:
            try:
                await trio.sleep(self.seconds)
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(0.1)

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    async with open_system() as system:
        with trio.move_on_after(1) as scope:
            await system.spawn(Slow, 60, name="slow")
        assert scope.cancelled_caught
        ref = await system.spawn(Slow, 0, name="slow")
        assert system.paths() == (ref.path,)


async def test_a_cancelled_spawn_waits_no_longer_than_a_second_for_what_holds_on() -> None:
    class Stubborn(Actor[Note]):
        async def started(self, ctx: Context) -> None:
            with trio.CancelScope(shield=True):
                await trio.sleep(30)

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    async with open_system() as system:
        began = trio.current_time()
        with trio.move_on_after(1):
            await system.spawn(Stubborn, name="stubborn")
        assert trio.current_time() == began + 2
        with pytest.raises(NameTaken):
            await system.spawn(Stubborn, name="stubborn")
