"""One actor's life: its start, one handler at a time, its stop."""

from __future__ import annotations

import gc
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorStopped,
    AskTimeout,
    Context,
    Mailbox,
    NameTaken,
    Ref,
    Replies,
    Supervision,
    SupervisorDecided,
    TaskDispatcher,
    message,
    open_system,
    receives,
)
from boyd.runtime.seams import Seams
from boyd.runtime.system import SUPERVISION_TOPIC
from boyd.runtime.testing import cancel_at_each_checkpoint
from tests.runtime.stage import Add, Door, Fail, Hold, Note, Recorder


@message("t.overlap")
class Overlap(Replies[int]):
    """Replies how many handlers ran at the same time at most."""


class Overlapping(Actor[Overlap]):
    """Would see it if two handlers ran at once."""

    inside: int = 0
    most: int = 0

    @receives
    async def overlap(self, overlap: Overlap, ctx: Context) -> int:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await trio.sleep(1)
        self.inside -= 1
        return self.most


class Failing(Actor[Note | Add]):
    """Fails in `started()` as often as the door's log is shorter than `times`."""

    door: Door
    times: int

    async def started(self, ctx: Context) -> None:
        self.door.log.append(ctx.epoch)
        await trio.lowlevel.checkpoint()
        if len(self.door.log) <= self.times:
            raise ConnectionError("not yet")

    async def stopped(self, ctx: Context) -> None:
        self.door.log.append("stopped")

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        self.door.log.append(f"note {note.n}")

    @receives
    async def add(self, add: Add, ctx: Context) -> int:
        return add.amount


# ---------------------------------------------------------------- handling
async def test_one_handler_runs_at_a_time_also_across_awaits() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await system.spawn(Overlapping)
        answers: list[int] = []

        async def ask() -> None:
            answers.append(await ref.ask(Overlap()))

        for _ in range(5):
            nursery.start_soon(ask)
        await trio.sleep(10)
        assert answers == [1] * 5


async def test_d8_no_handler_runs_inside_its_caller() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door)
        ref.tell(Note(n=1))
        assert door.log == ["started 1"]


async def test_a_busy_actor_lets_others_go_after_a_batch() -> None:
    class Other(Actor[Note]):
        door: Door

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            self.door.log.append("other")

    door = Door()
    seams = Seams(dispatcher=lambda: TaskDispatcher(batch=10))
    async with open_system(seams=seams) as system:
        busy, other = await system.spawn(Recorder, door), await system.spawn(Other, door)
        for n in range(100):
            busy.tell(Note(n=n))
        other.tell(Note(n=0))
        await system.settle(1)
    assert door.log.index("other") <= 22


async def test_each_handler_has_a_copy_of_its_own() -> None:
    @message("t.parts")
    class Parts:
        parts: list[int]

    class Taker(Actor[Parts]):
        door: Door

        @receives
        async def take(self, parts: Parts, ctx: Context) -> None:
            self.door.log.append(list(parts.parts))
            parts.parts.append(99)

    door, parts = Door(), Parts(parts=[1])
    async with open_system() as system:
        refs = [await system.spawn(Taker, door) for _ in range(2)]
        for ref in refs:
            ref.tell(parts)
        parts.parts.append(2)  # after it was sent
        await system.settle(1)
    assert door.log == [[1], [1]]
    assert parts.parts == [1, 2]


# ---------------------------------------------------------------- starting
async def test_spawn_returns_when_started_has_and_raises_what_it_raises() -> None:
    door = Door()
    async with open_system() as system:
        with pytest.raises(ConnectionError, match="not yet"):
            await system.spawn(Failing, door, 1, name="flaky")
        assert system.paths() == ()
        assert door.log == [1]  # `stopped()` is for who has started
        await system.spawn(Failing, door, 1, name="flaky")
        assert door.log == [1, 1]


async def test_a_failed_start_is_no_decision_of_a_supervisor() -> None:
    async with (
        open_system() as system,
        system.open_subscription(SUPERVISION_TOPIC, SupervisorDecided) as decided,
    ):
        with pytest.raises(ConnectionError):
            await system.spawn(Failing, Door(), 100)
        with pytest.raises(trio.WouldBlock):
            decided.receive_nowait()


async def test_without_waiting_a_failed_start_is_a_crash_and_mail_waits_for_the_next_life() -> None:
    door = Door()
    async with open_system() as system:
        ref = system.spawn_nowait(Failing, door, 2)
        ref.tell(Note(n=7))
        await system.settle(5)
        assert door.log == [1, 2, 3, "note 7"]


async def test_an_error_of_the_factory_is_raised_at_the_spawn() -> None:
    def broken() -> Recorder:
        raise OSError("no such thing")

    async with open_system() as system:
        with pytest.raises(OSError, match="no such thing"):
            await system.spawn(broken)
        with pytest.raises(OSError, match="no such thing"):
            system.spawn_nowait(broken, name="x")
        await system.spawn(Recorder, Door(), name="x")


async def test_a_cancelled_spawn_leaves_no_actor() -> None:
    class Starting(Actor[Note]):
        async def started(self, ctx: Context) -> None:
            await trio.sleep(1)
            await ctx.spawn(Recorder, Door())

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    async with open_system() as system:
        done = False

        async def scenario() -> None:
            nonlocal done
            done = False
            await system.spawn(Starting)
            done = True

        async def check() -> None:
            await wait_all_tasks_blocked()
            assert len(system.paths()) == (2 if done else 0)
            await system.stop()

        assert await cancel_at_each_checkpoint(scenario, check) >= 3


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_an_actor_that_is_stopped_before_it_has_started_says_so_to_its_spawner(
    how: str,
) -> None:
    class Slow(Actor[Note]):
        async def started(self, ctx: Context) -> None:
            ctx.stop() if how == "stop" else ctx.system.kill("/slow")
            await trio.sleep(1)

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    async with open_system() as system:
        if how == "kill":
            with pytest.raises(ActorStopped, match="/slow was stopped before it had started"):
                await system.spawn(Slow, name="slow")
        else:
            ref = await system.spawn(Slow, name="slow")
            await wait_all_tasks_blocked()
            with pytest.raises(ActorStopped):
                ref.tell(Note(n=1))


async def test_a_crash_while_it_starts_is_the_spawners_news() -> None:
    class Slow(Actor[Note]):
        async def started(self, ctx: Context) -> None:
            await trio.sleep(1)

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    async with open_system() as system, trio.open_nursery() as nursery:

        async def spawn() -> None:
            with pytest.raises(KeyError):
                await system.spawn(Slow, name="slow")

        nursery.start_soon(spawn)
        await wait_all_tasks_blocked()
        system.crash("/slow", KeyError("x"))


async def test_a_name_is_taken_while_its_actor_lives() -> None:
    async with open_system() as system:
        first = await system.spawn(Recorder, Door(), name="acc")
        with pytest.raises(NameTaken, match="/acc is alive already"):
            await system.spawn(Recorder, Door(), name="acc")
        await system.stop_actor(first)
        second = await system.spawn(Recorder, Door(), name="acc")
        assert first != second
        with pytest.raises(ActorStopped):
            first.tell(Note(n=1))


async def test_an_ending_life_has_no_more_children() -> None:
    class Late(Actor[Note]):
        door: Door

        async def stopped(self, ctx: Context) -> None:
            try:
                await ctx.spawn(Recorder, Door())
            except ActorStopped as error:
                self.door.log.append(str(error))

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    door = Door()
    async with open_system() as system:
        await system.stop_actor(await system.spawn(Late, door, name="late"))
        assert system.paths() == ()
    assert door.log == ["life 1 of /late is over, and begins nothing more"]


# ---------------------------------------------------------------- stopping
async def test_a_stop_finishes_the_message_in_hand_and_no_other() -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await system.spawn(Recorder, door)
        ref.tell(Hold())
        ref.tell(Note(n=1))
        await door.entered.wait()
        nursery.start_soon(system.stop_actor, ref)
        await wait_all_tasks_blocked()
        door.opened.set()
        await wait_all_tasks_blocked()
        assert door.log == ["started 1", "hold 0", "held 0", "stopped"]
        assert system.dead_letters == {"stopped": 1}


async def test_an_actor_stops_itself_after_the_message_in_hand() -> None:
    class Once(Actor[Add]):
        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            ctx.stop()
            return add.amount

    async with open_system() as system:
        ref = await system.spawn(Once)
        assert await ref.ask(Add(amount=3)) == 3
        await wait_all_tasks_blocked()
        assert system.paths() == ()


async def test_a_stop_becomes_a_kill_after_the_shutdown_time() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, supervision=Supervision(shutdown=2))
        ref.tell(Hold())
        await door.entered.wait()
        began = trio.current_time()
        await system.stop_actor(ref)
        assert trio.current_time() - began == 2
        assert door.log == ["started 1", "hold 0", "held 0"]  # no farewell after a kill
        assert system.dead_letters == {"stopped": 1}


async def test_a_kill_waits_for_nothing() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        ref.tell(Hold())
        for n in range(500):
            ref.tell(Note(n=n))
        await door.entered.wait()
        system.kill("/acc")
        system.kill("/acc")
        await wait_all_tasks_blocked()
        assert system.paths() == ()
        assert door.log == ["started 1", "hold 0", "held 0"]
        assert system.dead_letters == {"stopped": 501}


async def test_a_kill_reaches_children_and_their_background_work() -> None:
    @message("t.grow")
    class Grow(Replies[Ref["Grow"]]):
        depth: int

    class Tree(Actor[Grow]):
        door: Door

        @receives
        async def grow(self, grow: Grow, ctx: Context) -> Ref[Grow]:
            ctx.start_soon(self.work)
            child = await ctx.spawn(Tree, self.door, name="child")
            if grow.depth:
                await child.ask(Grow(depth=grow.depth - 1))
            return child

        async def work(self) -> None:
            try:
                await trio.sleep_forever()
            finally:
                self.door.log.append("work ended")

    door = Door()
    async with open_system() as system:
        root = await system.spawn(Tree, door, name="root")
        await root.ask(Grow(depth=2))
        await wait_all_tasks_blocked()
        assert len(system.paths()) == 4
        began = trio.current_time()
        system.kill("/root")
        await wait_all_tasks_blocked()
        assert trio.current_time() == began
        assert system.paths() == ()
        assert door.log == ["work ended"] * 3


async def test_a_shielded_handler_is_reported_and_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Shielded(Actor[Hold]):
        @receives
        async def hold(self, hold: Hold, ctx: Context) -> str:
            with trio.CancelScope(shield=True):
                await trio.sleep(10)
            return "done"

    async with open_system() as system:
        ref = await system.spawn(Shielded, name="mule", supervision=Supervision(shutdown=1))
        ref.tell(Hold())
        await wait_all_tasks_blocked()
        began = trio.current_time()
        await system.stop_actor(ref)
        assert trio.current_time() - began == 10
    assert "/mule was killed and goes on, shielded from cancellation" in caplog.text


async def test_a_kill_in_the_middle_of_a_polite_stop_hurries_it() -> None:
    class Lingering(Actor[Note]):
        door: Door

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

        async def stopped(self, ctx: Context) -> None:
            try:
                await trio.sleep(3)
                self.door.log.append("lingered")
            finally:
                self.door.log.append("left")

    class Above(Actor[Note]):
        door: Door

        async def started(self, ctx: Context) -> None:
            await ctx.spawn(Lingering, self.door)

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    for kind in (Lingering, Above):
        door = Door()
        async with open_system() as system, trio.open_nursery() as nursery:
            ref = await system.spawn(kind, door, name="slow")
            nursery.start_soon(system.stop_actor, ref)
            await trio.sleep(1)
            began = trio.current_time()
            system.kill("/slow")
            await wait_all_tasks_blocked()
            assert trio.current_time() == began
            assert system.paths() == ()
        assert door.log == ["left"]


async def test_a_farewell_is_bounded_and_its_errors_are_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Rude(Actor[Note]):
        seconds: float

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

        async def stopped(self, ctx: Context) -> None:
            await trio.sleep(self.seconds)
            raise ValueError("and another thing")

    async with open_system() as system:
        await system.stop_actor(await system.spawn(Rude, 0.0, name="rude"))
        await system.spawn(Rude, 100.0, name="long", supervision=Supervision(shutdown=1))
        began = trio.current_time()
        await system.stop()
        assert trio.current_time() - began == 1
    assert "/rude: stopped() failed" in caplog.text


async def test_children_stop_before_their_parent_last_started_first() -> None:
    class Named(Actor[Note]):
        log: list[object]
        name: str
        children: tuple[str, ...] = ()

        async def started(self, ctx: Context) -> None:
            for name in self.children:
                await ctx.spawn(Named, self.log, name, name=name)

        async def stopped(self, ctx: Context) -> None:
            self.log.append(self.name)

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    log: list[object] = []
    async with open_system() as system:
        await system.spawn(Named, log, "a", ("a1", "a2"))
        await system.spawn(Named, log, "b", ("b1", "b2", "b3"))
    assert log == ["b3", "b2", "b1", "b", "a2", "a1", "a"]


async def test_a_handler_may_stop_its_own_actor_and_its_own_system() -> None:
    class Admin(Actor[Note | Hold]):
        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            await ctx.system.stop()

        @receives
        async def hold(self, hold: Hold, ctx: Context) -> str:
            await ctx.system.stop_actor(ctx.ref)
            return "good-bye"

    async with open_system() as system:
        began = trio.current_time()
        assert await (await system.spawn(Admin)).ask(Hold()) == "good-bye"
        (await system.spawn(Admin)).tell(Note(n=0))
        await system.wait_stopped()
        await wait_all_tasks_blocked()
        assert system.paths() == ()
        assert trio.current_time() == began


async def test_a_refs_actor_is_freed_though_the_ref_is_kept() -> None:
    import gc
    import weakref

    async with open_system() as system:
        door = Door()
        ref = await system.spawn(Recorder, door)
        state = weakref.ref(door)
        await system.stop_actor(ref)
        del door
        gc.collect()
        assert state() is None
        assert ref.path


# ---------------------------------------------------------------- seen from outside
async def test_statistics_and_tree_tell_what_an_actor_does() -> None:
    door = Door()
    async with open_system(name="shop") as system:
        ref = await system.spawn(Recorder, door, name="acc", mailbox=Mailbox(size=5))
        ref.tell(Fail())
        ref.tell(Note(n=0))
        ref.tell(Hold())
        ref.tell(Note(n=1))
        await door.entered.wait()
        await trio.sleep(2)
        seen = ref.statistics()
        assert (seen.path, seen.kind, seen.state, seen.handling) == (
            "/acc",
            "Recorder",
            "running",
            "Hold",
        )
        assert (seen.queued, seen.capacity, seen.handled) == (1, 5, 1)
        assert (seen.crashed, seen.restarts, seen.oldest) == (1, 1, 2.0)
        assert system.tree().splitlines() == [
            "/  shop, running",
            "  acc  Recorder, running, in Hold, 1 waiting, 1 restarts",
        ]
        door.opened.set()


@message("t.large")
class Large:
    """Worth noticing where it is kept."""

    text: str


class Reader(Actor[Large]):
    """Keeps nothing of what it reads."""

    @receives
    async def read(self, large: Large, _ctx: Context) -> None: ...


async def test_an_idle_actor_keeps_nothing_of_the_message_that_it_handled_last() -> None:
    async with open_system() as system:
        ref = await system.spawn(Reader)
        ref.tell(Large(text="x"))
        await system.settle(1)
        assert [one for one in gc.get_objects() if type(one) is Large] == []


# ---------------------------------------------------------------- suspended, and stopped behind the work
async def test_d5_a_suspended_actor_finishes_what_it_has_in_hand_and_goes_on_when_resumed() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        ref.tell(Hold())
        await door.entered.wait()
        for n in range(3):
            ref.tell(Note(n=n))
        system.suspend("/acc")
        system.suspend("/acc")
        door.opened.set()
        await system.settle(1)  # nobody is busy: it will handle nothing
        assert door.log == ["started 1", "hold 0", "held 0"]
        assert ref.statistics().state == "suspended"
        assert ref.statistics().queued == 3
        ref.tell(Note(n=3))
        await wait_all_tasks_blocked()
        assert ref.statistics().queued == 4
        system.resume("/acc")
        system.resume("/acc")
        await system.settle(1)
        assert door.log[3:] == [0, 1, 2, 3]
        assert ref.statistics().state == "running"


async def test_d5_suspended_in_the_midst_of_a_batch_it_handles_no_more_of_it() -> None:
    door = Door()

    class Brake(Recorder):
        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            self.door.log.append(note.n)
            if note.n == 1:
                ctx.system.suspend(ctx.ref.path)

    async with open_system() as system:
        ref = await system.spawn(Brake, door, name="acc")
        for n in range(4):
            ref.tell(Note(n=n))
        await system.settle(1)
        assert door.log == ["started 1", 0, 1]
        system.suspend("/acc")
        system.resume("/acc")
        await system.settle(1)
        assert door.log == ["started 1", 0, 1, 2, 3]


@pytest.mark.parametrize("how", ["stop", "kill", "crash", "leave"])
async def test_d5_a_suspended_actor_ends_like_any_other(how: str) -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        system.suspend("/acc")
        ref.tell(Note(n=1))
        await system.settle(1)
        match how:
            case "stop":
                await system.stop_actor(ref)
                assert door.log == ["started 1", "stopped"]
            case "kill":
                system.kill("/acc")
                await system.settle(1)
                assert door.log == ["started 1"]
            case "crash":
                system.crash("/acc")
                await trio.sleep(1)
                # It lives anew, and is still suspended.
                assert door.log == ["started 1", "started 2"]
                assert ref.statistics().state == "suspended"
                system.resume("/acc")
                await system.settle(1)
                assert door.log == ["started 1", "started 2", 1]
            case _:
                pass
    lost = 0 if how == "crash" else 1
    assert system.dead_letters == ({"stopped": 1} if lost else {})


async def test_an_ask_of_a_suspended_actor_runs_out_of_time() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        system.suspend("/acc")
        with pytest.raises(AskTimeout):
            await ref.ask(Add(), within=3)
        system.resume("/acc")
        assert await ref.ask(Add(amount=2)) == 2
        assert system.dead_letters == {"withdrawn": 1}


async def test_d5_drained_it_stops_behind_what_waits() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc", mailbox=Mailbox(size=4))
        ref.tell(Hold())
        await door.entered.wait()
        for n in range(4):
            ref.tell(Note(n=n))  # its mailbox is full: the mark takes no room
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(system.stop_actor, ref, drain=True))
            await wait_all_tasks_blocked()
            assert ref.statistics().state == "running"
            door.opened.set()
        with pytest.raises(ActorStopped):
            ref.tell(Note(n=9))
        assert system.dead_letters == {}
    assert door.log == ["started 1", "hold 0", "held 0", 0, 1, 2, 3, "stopped"]


async def test_d5_what_comes_behind_the_mark_of_a_drain_is_a_dead_letter() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        ref.tell(Hold())
        await door.entered.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(system.stop_actor, ref, drain=True))
            await wait_all_tasks_blocked()
            ref.tell(Note(n=1))
            door.opened.set()
        assert system.dead_letters == {"stopped": 1}
        await system.stop_actor(ref, drain=True)  # long since dead
    assert door.log == ["started 1", "hold 0", "held 0", "stopped"]


async def test_an_actor_that_drains_itself_does_not_wait_for_itself() -> None:
    door = Door()

    class Leaver(Recorder):
        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            self.door.log.append(note.n)
            if note.n == 0:
                await ctx.system.stop_actor(ctx.ref, drain=True)

    async with open_system() as system:
        ref = await system.spawn(Leaver, door, name="acc")
        for n in range(3):
            ref.tell(Note(n=n))
        await system.settle(1)
        assert system.paths() == ()
    assert door.log == ["started 1", 0, 1, 2, "stopped"]
