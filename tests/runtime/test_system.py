"""`open_system`: a block that leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorStopped,
    Context,
    Ref,
    RemoteFailure,
    Replies,
    Supervision,
    SystemClosed,
    UnknownActor,
    message,
    open_system,
    receives,
)
from boyd.runtime.ref import homes
from boyd.runtime.testing import assert_no_leaks, cancel_at_each_checkpoint
from tests.runtime.stage import Add, Door, Fail, Hold, Note, Recorder


@message("t.ping")
class Ping(Replies[int]):
    """Bounces between two actors `left` times."""

    other: Ref[Ping]
    left: int


class Pong(Actor[Ping]):
    """Tells on."""

    door: Door

    @receives
    async def ping(self, ping: Ping, ctx: Context) -> int:
        self.door.log.append(ping.left)
        if ping.left:
            ping.other.tell(Ping(other=ctx.ref, left=ping.left - 1))
        return ping.left


class Stuck(Actor[Hold]):
    """Its handler goes on until it is cancelled, and its farewell takes a while."""

    door: Door
    farewell: float = 0.0

    @receives
    async def hold(self, hold: Hold, ctx: Context) -> str:
        try:
            await trio.sleep(10_000)
        finally:
            self.door.log.append("cancelled")
        return ""

    async def stopped(self, ctx: Context) -> None:
        self.door.log.append("stopping")
        await trio.sleep(self.farewell)
        self.door.log.append("stopped")


# ---------------------------------------------------------------- the end of the block
async def test_d40_a_normal_end_finishes_accepted_mail() -> None:
    door = Door()
    async with open_system() as system:
        left, right = await system.spawn(Pong, door), await system.spawn(Pong, door)
        left.tell(Ping(other=right, left=50))
    assert door.log == list(reversed(range(51)))


async def test_d40_the_drain_has_a_limit_then_comes_the_grace_then_the_kill() -> None:
    door, began = Door(), trio.current_time()
    async with open_system(drain=3, grace=2) as system:
        (await system.spawn(Stuck, door)).tell(Hold())
        await wait_all_tasks_blocked()
    assert trio.current_time() - began == 5
    assert door.log == ["cancelled"]


async def test_p7_many_stuck_actors_share_one_grace() -> None:
    began = trio.current_time()
    async with open_system(drain=3, grace=2) as system:
        for _ in range(20):
            (await system.spawn(Stuck, Door())).tell(Hold())
        await wait_all_tasks_blocked()
    assert trio.current_time() - began == 5


async def test_d40_an_exception_skips_the_drain_and_leaves_in_a_group() -> None:
    door, began = Door(), trio.current_time()
    with pytest.RaisesGroup(KeyError):
        async with open_system(grace=2) as system:
            ref = await system.spawn(Recorder, door)
            ref.tell(Hold())
            ref.tell(Note(n=1))
            await door.entered.wait()
            nothing: dict[str, int] = {}
            nothing["x"]
    assert trio.current_time() - began == 2
    assert door.log == ["started 1", "hold 0", "held 0"]


async def test_a_block_inside_an_except_clause_still_drains() -> None:
    door = Door()
    try:
        raise ValueError
    except ValueError:
        async with open_system() as system:
            (await system.spawn(Recorder, door)).tell(Note(n=1))
    assert 1 in door.log


@pytest.mark.parametrize("how", ["from outside", "its own scope"])
async def test_a_cancel_unwinds_the_block_first_and_then_stops_the_actors(how: str) -> None:
    door = Door()
    began = trio.current_time()
    with trio.CancelScope() as scope:
        async with open_system(grace=3) as system:
            ref = await system.spawn(Recorder, door)
            try:
                ref.tell(Hold())
                ref.tell(Note(n=1))
                await wait_all_tasks_blocked()
                (scope if how == "from outside" else system.cancel_scope).cancel()
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(1)
                door.log.append("unwound")
                door.opened.set()  # the message in hand is finished, others are not
    assert trio.current_time() - began == 1
    assert door.log == ["started 1", "hold 0", "unwound", "held 0", "stopped"]


@pytest.mark.parametrize("stuck", [0, 1, 10])
async def test_p7_after_a_cancel_stuck_actors_have_the_grace_and_no_more(stuck: int) -> None:
    door = Door()
    began = trio.current_time()
    with trio.move_on_after(1):
        async with open_system(grace=0.5) as system:
            for _ in range(stuck):
                (await system.spawn(Stuck, door)).tell(Hold())
            await trio.sleep_forever()
    assert trio.current_time() - began == (1.5 if stuck else 1)
    assert door.log == ["cancelled"] * stuck


async def test_an_error_at_the_root_stops_the_others_in_order() -> None:
    door = Door()
    with pytest.RaisesGroup(ValueError):
        async with open_system() as system:
            other = await system.spawn(Recorder, door)
            other.tell(Hold())
            await door.entered.wait()
            failing = await system.spawn(Recorder, Door(), supervision=Supervision(restarts=0))
            failing.tell(Fail())
            try:
                await trio.sleep_forever()
            finally:
                door.opened.set()
    assert door.log == ["started 1", "hold 0", "held 0", "stopped"]


async def test_a_system_cancelled_at_any_moment_leaves_nothing() -> None:
    async def scenario() -> None:
        async with open_system() as system:
            parent = await system.spawn(Recorder, Door())
            assert await parent.ask(Add()) == 1
            async with system.open_subscription("a/*", Note) as notes:
                system.publish("a/b", Note(n=1))
                await notes.receive()

    async def check() -> None:
        assert homes == {}

    with assert_no_leaks():
        assert await cancel_at_each_checkpoint(scenario, check) > 10


async def test_after_the_block_everything_is_closed_and_nothing_hangs() -> None:
    async with open_system(name="shop") as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        inbox = system.open_inbox(Note)
    with pytest.raises(ActorStopped):
        ref.tell(Note(n=1))
    with pytest.raises(SystemClosed, match="the system shop has ended"):
        await system.spawn(Recorder, Door())
    with pytest.raises(SystemClosed):
        system.spawn_nowait(Recorder, Door())
    with pytest.raises(SystemClosed):
        await system.sleep(1)
    with pytest.raises(trio.EndOfChannel):
        await inbox.receive()
    with pytest.raises(UnknownActor):
        system.lookup("/acc", Add)
    await system.wait_stopped()
    await system.stop()
    assert system.statistics().state == "stopped"


async def test_to_stay_a_program_waits_until_the_system_is_stopped() -> None:
    door, left = Door(), False
    async with trio.open_nursery() as nursery:

        async def stay() -> None:
            nonlocal left
            async with open_system() as system:
                nursery.start_soon(stop_later, system.stop)
                await system.spawn(Recorder, door)
                await system.wait_stopped()
            left = True

        async def stop_later(stop: Callable[[], Awaitable[None]]) -> None:
            await trio.sleep(3)
            assert not left
            await stop()

        nursery.start_soon(stay)
    assert left
    assert door.log == ["started 1", "stopped"]


async def test_ctrl_c_passes_through_untouched() -> None:
    class Interrupted(Actor[Note]):
        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            raise KeyboardInterrupt

    with pytest.RaisesGroup(KeyboardInterrupt):
        async with open_system() as system:
            (await system.spawn(Interrupted)).tell(Note(n=1))
            await trio.sleep_forever()


async def test_d7_settling_does_not_poll() -> None:
    class Steps(trio.abc.Instrument):
        count = 0

        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            self.count += 1

    door, steps = Door(), Steps()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door)
        ref.tell(Hold())
        await door.entered.wait()
        trio.lowlevel.add_instrument(steps)
        await system.settle(1000)
        trio.lowlevel.remove_instrument(steps)
        assert steps.count < 10
        door.opened.set()
        began = trio.current_time()
        await system.settle(1000)
        assert trio.current_time() == began
        assert system.busy.now == 0


# ---------------------------------------------------------------- names and refs
async def test_actors_are_found_by_path() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        assert system.lookup("/acc", Add) == ref
        with pytest.raises(UnknownActor, match="no living actor at /other"):
            system.lookup("/other", Add)
        for act in (system.crash, system.kill):
            with pytest.raises(UnknownActor):
                act("/other")
        assert await system.lookup("/acc", Add).ask(Add()) == 1


async def test_an_actor_without_a_name_is_called_after_its_factory() -> None:
    async with open_system() as system:
        first = await system.spawn(Recorder, Door())
        second = await system.spawn(lambda: Recorder(Door()))
        assert first.path == f"/recorder-{first.incarnation}"
        assert second.path == f"/actor-{second.incarnation}"


@pytest.mark.parametrize("name", ["", "a/b", "a b", "a\n", "x" * 129, "é"])
async def test_some_names_are_none(name: str) -> None:
    async with open_system() as system:
        with pytest.raises(ValueError, match="no name for an actor"):
            await system.spawn(Recorder, Door(), name=name)


@message("t.carry")
class Carry(Replies[tuple[Ref[Note], dict[str, list[Ref[Note] | None]]]]):
    """Refs, also within."""

    one: Ref[Note]
    more: dict[str, list[Ref[Note] | None]]


class Carrier(Actor[Carry]):
    """Tells all that it is sent, and sends it back."""

    @receives
    async def carry(
        self, carry: Carry, ctx: Context
    ) -> tuple[Ref[Note], dict[str, list[Ref[Note] | None]]]:
        for n, ref in enumerate([carry.one, *(r for refs in carry.more.values() for r in refs)]):
            if ref is not None:
                ref.tell(Note(n=n))
        return carry.one, carry.more


async def test_refs_travel_within_messages_and_replies() -> None:
    doors = [Door() for _ in range(3)]
    async with open_system() as system:
        a, b, c = [await system.spawn(Recorder, door) for door in doors]
        carrier = await system.spawn(Carrier)
        one, more = await carrier.ask(Carry(one=a, more={"x": [b, None], "y": [c, a]}))
        assert (one, more) == (a, {"x": [b, None], "y": [c, a]})
        assert hash(one) == hash(a)
        await system.settle(1)
        system.crash(a.path)
        await system.settle(5)
        one.tell(Note(n=100))  # a ref that has travelled survives a restart
    assert doors[0].log == ["started 1", 0, 4, "started 2", 100, "stopped"]
    assert doors[1].log[1:2] == [1]


async def test_a_ref_to_a_dead_actor_travels_and_is_dead_also_when_the_name_lives_again() -> None:
    async with open_system() as system:
        carrier = await system.spawn(Carrier)
        dead = await system.spawn(Recorder, Door(), name="acc")
        await system.stop_actor(dead)
        alive = await system.spawn(Recorder, Door(), name="acc")
        with system.open_inbox(Carry) as inbox:
            inbox.ref.tell(Carry(one=dead, more={}))
            got = (await inbox.receive()).one
        assert got == dead
        assert got != alive
        with pytest.raises(ActorStopped, match="/acc has stopped"):
            got.tell(Note(n=1))
        with pytest.raises(ActorStopped):
            await got.send(Note(n=1))
        with pytest.raises(ActorStopped):
            got.statistics()
        with pytest.raises(RemoteFailure, match="ActorStopped: /acc has stopped"):
            await carrier.ask(Carry(one=dead, more={}))


async def test_a_ref_of_one_system_keeps_its_home_in_another() -> None:
    """Paths and incarnations are the same in both; the ref is not."""
    doors = Door(), Door()
    async with open_system() as one, open_system() as two:
        mine = await one.spawn(Recorder, doors[0], name="acc")
        yours = await two.spawn(Recorder, doors[1], name="acc")
        assert mine != yours
        carrier = await two.spawn(Carrier)
        got, _ = await carrier.ask(Carry(one=mine, more={"x": [yours]}))
        assert got == mine
        await one.settle(1)
        await two.settle(1)
        assert (doors[0].log, doors[1].log) == (["started 1", 0], ["started 1", 1])
        await two.stop_actor(mine)  # whichever system is asked
        with pytest.raises(ActorStopped):
            mine.tell(Note(n=1))


async def test_a_ref_out_of_another_process_is_dead() -> None:
    from boyd.runtime.codec import codec_for

    async with open_system() as system:
        ref = await system.spawn(Recorder, Door())
        codec = codec_for(Ref[Note])
        tree = codec.to_tree(ref)
        assert codec.from_tree(tree) is ref
        with pytest.raises(ActorStopped):
            codec.from_tree(["ffffffffffffffff-1", *tree[1:]]).tell(Note(n=1))


# ---------------------------------------------------------------- one at a time
async def test_exclusive_blocks_take_turns_first_come_first_served() -> None:
    async with open_system() as system:
        log: list[int] = []

        async def turn(n: int) -> None:
            async with system.exclusive("thread"):
                log.append(n)
                await trio.sleep(1)
                log.append(n)

        async with trio.open_nursery() as nursery:
            for n in range(5):
                nursery.start_soon(turn, n)
                await wait_all_tasks_blocked()
            async with system.exclusive("another"):
                assert log == [0]
        assert log == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


async def test_exclusive_turns_survive_a_cancel_at_any_moment() -> None:
    async with open_system() as system:
        inside = 0

        async def turn() -> None:
            nonlocal inside
            async with system.exclusive("thread"):
                inside += 1
                assert inside == 1
                try:
                    await trio.sleep(1)
                finally:
                    inside -= 1

        async def scenario() -> None:
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(turn)

        async def check() -> None:
            assert inside == 0
            with trio.fail_after(0.5):
                async with system.exclusive("thread"):
                    pass

        assert await cancel_at_each_checkpoint(scenario, check) > 6


async def test_an_exclusive_block_that_fails_lets_the_next_one_in() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        entered = trio.Event()

        async def second() -> None:
            async with system.exclusive("x"):
                entered.set()

        async def first() -> None:
            async with system.exclusive("x"):
                nursery.start_soon(second)
                await wait_all_tasks_blocked()
                raise ValueError("mine")

        with pytest.raises(ValueError, match="mine"):
            await first()
        await entered.wait()


# ---------------------------------------------------------------- channels, threads, time
async def test_a_channel_is_pumped_into_an_actor_and_waits_for_room() -> None:
    from boyd.runtime import Mailbox

    door = Door()
    send, receive = trio.open_memory_channel[Note](0)
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await system.spawn(Recorder, door, mailbox=Mailbox(size=2))
        nursery.start_soon(system.pump, receive, ref)
        async with send:
            for n in range(50):
                await send.send(Note(n=n))
    assert door.log[1:-1] == list(range(50))


async def test_p7_blocking_work_is_waited_for_also_when_cancelled() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), list[str]()

    def block() -> str:
        begun.set()
        go_on.wait(10)
        ended.append("done")
        return "done"

    async with open_system() as system, trio.open_nursery() as nursery:
        nursery.start_soon(system.offload, block)
        while not begun.is_set():
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
        go_on.set()
    assert ended == ["done"]


async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        woken: list[float] = []
        began = trio.current_time()

        async def sleeper(seconds: float) -> None:
            await system.sleep(seconds)
            woken.append(trio.current_time() - began)

        for seconds in (3.0, 1.0, 2.0, 0.0):
            nursery.start_soon(sleeper, seconds)
        with trio.move_on_after(0.5):
            await system.sleep(100)
    assert woken == [0.0, 1.0, 2.0, 3.0]


async def test_d39_a_system_inside_an_actor_of_another_is_a_system_of_its_own() -> None:
    @message("t.inside")
    class Inside(Replies[str]):
        pass

    class Outer(Actor[Inside]):
        @receives
        async def inside(self, inside: Inside, ctx: Context) -> str:
            async with open_system(name="inner") as inner:
                door = Door()
                ref = await inner.spawn(Recorder, door)
                ref.tell(Note(n=1))
                assert await ref.ask(Add()) == 1
                return inner.name

    async with open_system() as system:
        ref = await system.spawn(Outer, supervision=Supervision(restarts=0))
        assert await ref.ask(Inside()) == "inner"
