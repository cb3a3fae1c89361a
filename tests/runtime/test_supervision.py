"""Crashes: the decision, the next life, the budget, and the way up."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorCrashed,
    ActorStopped,
    Context,
    Headers,
    Mailbox,
    NotAccepted,
    Ref,
    RemoteFailure,
    Replies,
    Restart,
    Supervision,
    SupervisorDecided,
    Terminated,
    message,
    open_memory_ledger,
    open_system,
    receives,
)
from boyd.runtime.post import current_headers
from boyd.runtime.restart import Directive, next_restart
from boyd.runtime.supervision import DeadLetter
from boyd.runtime.system import DEAD_TOPIC, SUPERVISION_TOPIC
from boyd.runtime.testing import seeded_seams
from tests.runtime.stage import Add, Door, Fail, Hold, Note, Recorder

CALM = Supervision(restarts=1000, per=1.0)


@message("t.have_child")
class HaveChild(Replies[Ref[Add | Fail | Note | Hold]]):
    """Spawns a recorder as a child."""

    name: str
    restarts: int = 3
    significant: bool = True


class Parent(Actor[HaveChild | Note | Hold]):
    """Has children; the log tells of its own lives."""

    door: Door
    child: Door

    async def started(self, ctx: Context) -> None:
        self.door.log.append(f"parent {ctx.epoch}")

    async def stopped(self, ctx: Context) -> None:
        self.door.log.append("parent stopped")

    @receives
    async def have_child(self, have: HaveChild, ctx: Context) -> Ref[Add | Fail | Note | Hold]:
        supervision = Supervision(restarts=have.restarts, significant=have.significant)
        return await ctx.spawn(Recorder, self.child, name=have.name, supervision=supervision)

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        self.door.log.append(note.n)

    @receives
    async def hold(self, hold: Hold, ctx: Context) -> str:
        self.door.entered.set()
        await self.door.opened.wait()
        return "held"


# ---------------------------------------------------------------- the next life
async def test_p6_a_crashed_actor_has_a_new_life_behind_the_same_ref_with_its_mail() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        assert await ref.ask(Add(amount=5)) == 5
        ref.tell(Fail())
        for n in range(3):
            ref.tell(Note(n=n))
        assert await ref.ask(Add(amount=1)) == 1  # fresh state
        assert system.lookup("/acc", Add) == ref
    assert door.log == ["started 1", "fail boom", "started 2", 0, 1, 2, "stopped"]


async def test_p2_the_message_in_hand_is_a_dead_letter_and_its_asker_learns_the_error() -> None:
    async with (
        open_system() as system,
        system.open_subscription(DEAD_TOPIC, DeadLetter) as dead,
    ):
        ref = await system.spawn(Recorder, Door(), name="acc")
        with pytest.raises(RemoteFailure):
            await ref.ask(Fail())
        letter = await dead.receive()
        assert (letter.path, letter.kind, letter.reason) == ("/acc", "t.fail", "crashed")
        assert system.dead_letters == {"crashed": 1}
        assert ref.statistics().crashed == 1


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_a_message_in_hand_is_redelivered_as_often_as_declared(times: int) -> None:
    door = Door()
    async with open_system() as system:
        supervision = Supervision(redeliver=times, restarts=10)
        ref = await system.spawn(Recorder, door, supervision=supervision)
        ref.tell(Fail())
        ref.tell(Note(n=1))
        await system.settle(60)
        assert door.log.count("fail boom") == times + 1
        assert door.log[-1] == 1  # and mail behind it keeps its place
        assert system.dead_letters == {"crashed": 1}
        assert ref.statistics().crashed == 1


async def test_a_redelivered_ask_is_answered_once() -> None:
    class Flaky(Actor[Add]):
        door: Door

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            self.door.log.append(ctx.attempt)
            if ctx.attempt < 3:
                raise ValueError("not yet")
            return ctx.attempt

    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Flaky, door, supervision=Supervision(redeliver=5))
        assert await ref.ask(Add()) == 3
        assert system.dead_letters == {}
    assert door.log == [1, 2, 3]


async def test_a_redelivered_ask_whose_asker_has_left_is_withdrawn() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc", supervision=Supervision(redeliver=5))
        with trio.move_on_after(1):
            await ref.ask(Hold())
        system.crash("/acc")
        await system.settle(5)
        assert system.dead_letters == {"crashed": 1}
        assert door.log.count("hold 0") == 1


async def test_a_restart_stops_the_children_and_waits_for_them() -> None:
    door, child = Door(), Door()
    async with open_system() as system:
        ref = await system.spawn(Parent, door, child, name="parent")
        for name in ("first", "second"):
            await ref.ask(HaveChild(name=name))
        system.crash("/parent")
        await wait_all_tasks_blocked()
        assert system.paths() == ("/parent",)
        assert child.log == ["started 1", "started 1", "stopped", "stopped"]
        assert door.log == ["parent 1", "parent 2"]
        await ref.ask(HaveChild(name="first"))  # the name is free again


async def test_a_restart_cancels_timers_and_background_tasks_and_waits_for_their_end() -> None:
    class Busy(Actor[Note | Add]):
        door: Door

        async def started(self, ctx: Context) -> None:
            self.door.log.append(f"started {ctx.epoch}")
            if ctx.epoch == 1:
                ctx.start_timer("tick", Note(n=1), after=5)
                ctx.start_soon(self.work)

        async def work(self) -> None:
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(1)
                self.door.log.append("work ended")

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            self.door.log.append(note.n)

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            raise ValueError

    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Busy, door)
        await wait_all_tasks_blocked()
        ref.tell(Add())
        await trio.sleep(10)
        assert door.log == ["started 1", "work ended", "started 2"]


async def test_a_fired_timer_of_an_earlier_life_does_not_arrive_in_the_next() -> None:
    class Timed(Actor[Note | Hold]):
        door: Door

        async def started(self, ctx: Context) -> None:
            if ctx.epoch == 1:
                ctx.start_timer("tick", Note(n=1), after=1)

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            self.door.log.append(note.n)

        @receives
        async def hold(self, hold: Hold, ctx: Context) -> str:
            await trio.sleep(2)  # the timer fires into the mailbox meanwhile
            raise ValueError

    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Timed, door)
        ref.tell(Hold())
        await system.settle(10)
        await trio.sleep(10)
    assert door.log == []


async def test_an_error_while_a_restart_builds_the_actor_is_a_crash_too() -> None:
    built = 0

    def build() -> Recorder:
        nonlocal built
        built += 1
        if built == 2:
            raise OSError("no disk")
        return Recorder(Door())

    async with (
        open_system() as system,
        system.open_subscription(SUPERVISION_TOPIC, SupervisorDecided) as decided,
    ):
        ref = await system.spawn(build)
        ref.tell(Fail())
        assert await ref.ask(Add()) == 1
        assert [(await decided.receive()).error for _ in range(2)] == ["ValueError", "OSError"]
        assert built == 3


# ---------------------------------------------------------------- the decision
@given(
    restarts=st.integers(0, 5),
    per=st.floats(0.1, 100),
    gaps=st.lists(st.floats(0, 50), min_size=1, max_size=30),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_p6_the_budget_is_a_sliding_window(
    restarts: int, per: float, gaps: list[float], jitter: float
) -> None:
    supervision, now = Supervision(restarts=restarts, per=per), 0.0
    times: list[float] = []
    crashes: tuple[float, ...] = ()
    for gap in gaps:
        now += gap
        times.append(now)
        decision = next_restart(supervision, ValueError(), crashes, now, jitter)
        crashes = decision.crashes
        within = sum(now - at < per for at in times)
        assert (decision.verdict is Directive.RESTART) == (within <= restarts)
        assert decision.verdict in (Directive.RESTART, Directive.ESCALATE)
        assert len(crashes) == within
        assert 0 <= decision.delay <= 2
        if within == 1:
            assert decision.delay == 0  # the first restart is immediate


async def test_p6_one_crash_more_than_the_budget_escalates_and_older_ones_are_forgotten() -> None:
    door = Door()
    calm = Supervision(restarts=2, per=30, significant=False)
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, supervision=calm)
        for _ in range(6):
            ref.tell(Fail())
            await trio.sleep(16)
        assert ref.statistics().restarts == 6
        for _ in range(2):
            ref.tell(Fail())
            await trio.sleep(1)
        with pytest.raises(ActorStopped):
            ref.tell(Note(n=1))


async def test_p6_at_the_root_the_original_error_leaves_the_system_with_a_note() -> None:
    door = Door()
    with pytest.RaisesGroup(ValueError) as caught:
        async with open_system() as system:
            ref = await system.spawn(Recorder, door, name="acc")
            for _ in range(4):
                ref.tell(Fail())
            await trio.sleep_forever()
    (error,) = caught.value.exceptions
    assert str(error) == "boom"
    assert error.__notes__ == ["in actor /acc, 4th crash in 30 s, handling Fail"]
    assert door.log.count("fail boom") == 4


async def test_a_used_up_budget_fails_the_parent_which_restarts() -> None:
    door, child = Door(), Door()
    async with (
        open_system() as system,
        system.open_subscription(SUPERVISION_TOPIC, SupervisorDecided) as decided,
    ):
        ref = await system.spawn(Parent, door, child, name="parent")
        kid = await ref.ask(HaveChild(name="kid", restarts=0))
        kid.tell(Fail())
        await wait_all_tasks_blocked()
        assert door.log == ["parent 1", "parent 2"]
        first, second = await decided.receive(), await decided.receive()
        assert (first.path, first.verdict, first.crash, first.budget) == (
            "/parent/kid",
            "escalate",
            1,
            0,
        )
        assert (second.path, second.verdict, second.error) == ("/parent", "restart", "ValueError")


async def test_an_error_that_goes_all_the_way_up_says_where_it_has_been() -> None:
    with pytest.RaisesGroup(ValueError) as caught:
        async with open_system() as system:
            supervision = Supervision(restarts=0)
            ref = await system.spawn(Parent, Door(), Door(), name="parent", supervision=supervision)
            kid = await ref.ask(HaveChild(name="kid", restarts=0))
            kid.tell(Fail())
            await trio.sleep_forever()
    assert caught.value.exceptions[0].__notes__ == [
        "in actor /parent/kid, 1st crash in 30 s, handling Fail",
        "in actor /parent, 1st crash in 30 s",
    ]


async def test_an_insignificant_actor_over_its_budget_just_stops() -> None:
    door, child = Door(), Door()
    async with open_system() as system:
        ref = await system.spawn(Parent, door, child, name="parent")
        kid = await ref.ask(HaveChild(name="kid", restarts=0, significant=False))
        with pytest.raises(RemoteFailure):
            await kid.ask(Fail())
        await wait_all_tasks_blocked()
        assert system.paths() == ("/parent",)
        assert door.log == ["parent 1"]


async def test_a_temporary_actor_is_not_restarted() -> None:
    door = Door()
    async with open_system() as system:
        supervision = Supervision(restart=Restart.TEMPORARY)
        ref = await system.spawn(Recorder, door, name="acc", supervision=supervision)
        ref.tell(Fail())
        ref.tell(Note(n=1))
        await wait_all_tasks_blocked()
        assert system.paths() == ()
        assert system.dead_letters == {"crashed": 1, "stopped": 1}
    assert door.log == ["started 1", "fail boom", "stopped"]


async def test_a_factory_may_make_another_class_and_mail_for_the_old_one_is_unhandled() -> None:
    class Old(Actor[Fail | Note | Add]):
        @receives
        async def fail(self, _fail: Fail, _ctx: Context) -> int:
            raise ValueError("boom")

        @receives
        async def note(self, _note: Note, _ctx: Context) -> None: ...

        @receives
        async def add(self, _add: Add, _ctx: Context) -> int:
            return 1

    class New(Actor[Hold]):
        @receives
        async def hold(self, _hold: Hold, _ctx: Context) -> str:
            return "new"

    kinds: list[Callable[[], Actor[Any]]] = [Old, New]

    def make() -> Actor[Any]:
        return kinds.pop(0)()

    async with open_system() as system:
        ref: Ref[Any] = await system.spawn(make, name="acc")
        ref.tell(Fail())
        ref.tell(Note(n=1))
        with pytest.raises(NotAccepted, match="/acc is a New now and has no method for Add"):
            await ref.ask(Add())
        with pytest.raises(NotAccepted, match="is a New and accepts Hold, not Note"):
            ref.tell(Note(n=2))
        assert await ref.ask(Hold()) == "new"
        assert system.dead_letters == {"crashed": 1, "unhandled": 2}


# ---------------------------------------------------------------- directives and kinds of restart
class Grave(ValueError):
    """A kind of ValueError."""


@given(
    declared=st.dictionaries(
        st.sampled_from([Exception, ValueError, Grave, KeyError]), st.sampled_from(Directive)
    ),
    error=st.sampled_from([ValueError(), Grave(), KeyError(), OSError()]),
    restart=st.sampled_from(Restart),
    lively=st.booleans(),
)
def test_a_directive_of_the_nearest_class_counts_before_everything_else(
    declared: dict[type[Exception], Directive], error: Exception, restart: Restart, lively: bool
) -> None:
    supervision = Supervision(restart=restart, directives=declared, restarts=1)
    nearest = next((declared[one] for one in type(error).__mro__ if one in declared), None)
    decision = next_restart(supervision, error, (), 0.0, 0.5, lively=lively)
    if nearest is None:
        temporary = restart is Restart.TEMPORARY
        assert decision.verdict is (Directive.STOP if temporary else Directive.RESTART)
    elif nearest is Directive.RESUME and not lively:
        assert decision.verdict is Directive.RESTART
    else:
        assert decision.verdict is nearest
    assert decision.crashes == (() if decision.verdict is Directive.RESUME else (0.0,))


async def test_a_crash_that_is_resumed_keeps_state_children_timers_and_mail_and_loses_the_message() -> (
    None
):
    door = Door()
    supervision = Supervision(directives={ValueError: Directive.RESUME}, restarts=0, redeliver=5)
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc", supervision=supervision)
        assert await ref.ask(Add(amount=2)) == 2
        for n in range(10):
            ref.tell(Fail(text="again"))
            ref.tell(Note(n=n))
        with pytest.raises(RemoteFailure, match="again"):
            await ref.ask(Fail(text="again"))
        assert await ref.ask(Add()) == 3
        assert ref.statistics().restarts == 0
        assert system.dead_letters == {"crashed": 11}
    assert door.log == [
        "started 1",
        *[one for n in range(10) for one in ("fail again", n)],
        "fail again",
        "stopped",
    ]


async def test_a_crash_from_outside_can_be_resumed_too() -> None:
    door = Door()
    supervision = Supervision(directives={Exception: Directive.RESUME})
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc", supervision=supervision)
        await ref.ask(Add(amount=2))
        ref.tell(Hold())
        await door.entered.wait()
        ref.tell(Note(n=1))
        system.crash("/acc")
        assert await ref.ask(Add()) == 3
    assert door.log == ["started 1", "hold 0", "held 0", 1, "stopped"]


async def test_a_crash_in_started_cannot_be_resumed_and_is_a_restart() -> None:
    lives: list[int] = []

    class Slow(Actor[Note]):
        async def started(self, ctx: Context) -> None:
            lives.append(ctx.epoch)
            if ctx.epoch < 3:
                raise ValueError("not yet")

        @receives
        async def note(self, _note: Note, _ctx: Context) -> None: ...

    async with open_system() as system:
        supervision = Supervision(directives={ValueError: Directive.RESUME})
        system.spawn_nowait(Slow, name="slow", supervision=supervision)
        await system.settle(5)
        assert system.paths() == ("/slow",)
    assert lives == [1, 2, 3]


@pytest.mark.parametrize("directive", [Directive.STOP, Directive.ESCALATE])
async def test_a_crash_can_end_an_actor_or_its_system_though_there_is_budget_left(
    directive: Directive,
) -> None:
    door = Door()
    supervision = Supervision(directives={ValueError: directive}, significant=False)
    ended: list[tuple[str, ...]] = []

    async def run() -> None:
        async with open_system() as system:
            ref = await system.spawn(Recorder, door, name="acc", supervision=supervision)
            ref.tell(Fail())
            await system.settle(5)
            ended.append(system.paths())

    if directive is Directive.STOP:
        await run()
        assert ended == [()]
    else:
        with pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="boom")):
            await run()
    assert door.log == ["started 1", "fail boom", "stopped"]


@message("t.finish")
class Finish:
    """Its handler stops its actor."""


class Finisher(Actor[Finish | Note]):
    door: Door

    async def started(self, ctx: Context) -> None:
        self.door.log.append(f"started {ctx.epoch}")

    @receives
    async def finish(self, _finish: Finish, ctx: Context) -> None:
        ctx.stop()
        self.door.log.append("finished")

    @receives
    async def note(self, note: Note, _ctx: Context) -> None:
        self.door.log.append(note.n)


@pytest.mark.parametrize("restart", list(Restart), ids=lambda one: one.name)
async def test_only_a_permanent_actor_that_stops_itself_is_started_again(restart: Restart) -> None:
    door = Door()
    async with open_system() as system:
        supervision = Supervision(restart=restart)
        ref = await system.spawn(Finisher, door, name="acc", supervision=supervision)
        ref.tell(Finish())
        ref.tell(Note(n=1))
        await system.settle(5)
        if restart is Restart.PERMANENT:
            assert door.log == ["started 1", "finished", "started 2", 1]
            await system.stop_actor(ref)
        else:
            assert door.log == ["started 1", "finished"]
        assert system.paths() == ()


async def test_a_permanent_actor_that_stops_itself_for_ever_uses_up_its_budget() -> None:
    door = Door()
    supervision = Supervision(restart=Restart.PERMANENT, restarts=2, significant=False)
    async with open_system() as system:
        ref = await system.spawn(Finisher, door, name="acc", supervision=supervision)
        for _ in range(5):
            ref.tell(Finish())
        await system.settle(5)
        assert system.paths() == ()
        assert system.dead_letters == {"stopped": 2}
    assert door.log == [one for n in (1, 2, 3) for one in (f"started {n}", "finished")]


def test_directives_are_by_class_of_exception() -> None:
    with pytest.raises(TypeError, match="by class of exception, not 'ValueError'"):
        Supervision(directives={"ValueError": Directive.STOP})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]


async def test_decisions_are_published_and_stand_in_the_ledger() -> None:
    async with (
        open_memory_ledger() as ledger,
        open_system(name="shop", ledger=ledger) as system,
        system.open_subscription(SUPERVISION_TOPIC, SupervisorDecided) as decided,
    ):
        ref = await system.spawn(Recorder, Door(), name="acc", supervision=Supervision(redeliver=1))
        ref.tell(Fail(text="why"))
        await system.settle(10)
        published = [await decided.receive(), await decided.receive()]
        await trio.sleep(1)
        stored = [entry.message() for entry in await ledger.read("shop/supervision")]
    assert stored == published
    expected = SupervisorDecided(
        path="/acc",
        kind="Recorder",
        epoch=1,
        verdict="restart",
        crash=1,
        budget=3,
        error="ValueError",
        message="why",
        handling="Fail",
        redelivered=True,
    )
    assert published[0] == expected
    assert (published[1].epoch, published[1].crash, published[1].redelivered) == (2, 2, False)


async def test_a_decision_about_an_actor_of_a_run_stands_in_the_thread_of_the_run() -> None:
    async with open_memory_ledger() as ledger, open_system(name="shop", ledger=ledger) as system:
        token = current_headers.set(Headers(thread="run-1"))
        await system.spawn(Recorder, Door(), name="acc")
        current_headers.reset(token)
        system.crash("/acc")  # between messages
        await system.settle(5)
        await trio.sleep(1)
        assert len(await ledger.read("run-1/supervision")) == 1


async def test_the_last_decision_is_written_even_when_it_ends_the_system() -> None:
    async with open_memory_ledger() as ledger:
        with pytest.RaisesGroup(ValueError):
            async with open_system(name="shop", ledger=ledger) as system:
                ref = await system.spawn(Recorder, Door(), supervision=Supervision(restarts=0))
                ref.tell(Fail())
                await trio.sleep_forever()
        (entry,) = await ledger.read("shop/supervision")
        decided = entry.message()
        assert isinstance(decided, SupervisorDecided)
        assert decided.verdict == "escalate"


async def test_a_ledger_that_fails_does_not_stop_supervision() -> None:
    async with open_memory_ledger() as ledger:
        closed = ledger
    async with open_system(ledger=closed) as system:
        ref = await system.spawn(Recorder, Door())
        ref.tell(Fail())
        assert await ref.ask(Add()) == 1


@pytest.mark.parametrize(
    "error",
    [
        ValueError("\udcff is no text"),
        ValueError("x" * 3_000_000),
        OSError(2, "No such file", "\udcff.txt"),
        KeyError(2**70),
    ],
    ids=["surrogate", "huge", "path", "big integer"],
)
async def test_no_error_text_breaks_its_supervisor(error: Exception) -> None:
    class Odd(Actor[Add | Note]):
        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            raise error

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            vars(error)["fields"] = {"big": 2**70, "text": "\udcff", "huge": "x" * 2_000_000}
            raise error

    async with open_memory_ledger() as ledger:
        async with open_system(name="odd", ledger=ledger) as system:
            ref = await system.spawn(Odd)
            with pytest.raises(RemoteFailure):
                await ref.ask(Add())
            ref.tell(Note(n=1))
            await system.settle(10)
        assert len(await ledger.read("odd/supervision")) == 2


async def test_an_error_that_cannot_be_shown_does_not_break_its_supervisor() -> None:
    class Secretive(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    class Odd(Actor[Add]):
        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            error = Secretive()
            error.__notes__ = "not a list"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
            raise error

    async with open_system() as system:
        ref = await system.spawn(Odd)
        with pytest.raises(RemoteFailure, match="its text cannot be shown"):
            await ref.ask(Add())


# ---------------------------------------------------------------- crashes from outside
async def test_a_crash_from_outside_is_a_crash_like_any_other() -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await system.spawn(Recorder, door, name="acc")

        async def ask() -> None:
            with pytest.raises(ActorCrashed, match="/acc was made to crash"):
                await ref.ask(Hold())

        nursery.start_soon(ask)
        await door.entered.wait()
        system.crash("/acc")
        await system.settle(5)
        assert door.log == ["started 1", "hold 0", "held 0", "started 2"]
        assert system.dead_letters == {"crashed": 1}


async def test_a_crash_between_messages_loses_none() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        system.crash("/acc", KeyError("idle"))
        ref.tell(Note(n=1))
        await system.settle(5)
        assert door.log == ["started 1", "started 2", 1]
        assert system.dead_letters == {}


async def test_a_crash_before_the_first_life_is_a_crash_of_it() -> None:
    door = Door()
    async with open_system() as system:
        ref = system.spawn_nowait(Recorder, door, name="acc")
        system.crash("/acc")
        ref.tell(Note(n=1))
        await system.settle(5)
        assert ref.statistics().restarts == 1
        assert door.log[-1] == 1


async def test_a_crash_while_backing_off_is_no_second_one() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        ref.tell(Fail())
        ref.tell(Fail())
        await wait_all_tasks_blocked()
        assert ref.statistics().state == "backing off"
        for _ in range(10):
            system.crash("/acc")
        await system.settle(5)
        assert ref.statistics().restarts == 2


async def test_a_crash_while_stopping_does_not_undo_the_stop() -> None:
    class Slow(Actor[Note]):
        door: Door

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

        async def stopped(self, ctx: Context) -> None:
            self.door.entered.set()
            await trio.sleep(1)
            self.door.log.append("stopped")

    door = Door()
    async with open_system() as system:
        await system.spawn(Slow, door, name="slow")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(system.stop)
            await door.entered.wait()
            system.crash("/slow")
    assert door.log == ["stopped"]


async def test_a_crash_in_the_last_message_does_not_start_another_life() -> None:
    door = Door()

    class Last(Actor[Note]):
        async def started(self, ctx: Context) -> None:
            door.log.append(f"started {ctx.epoch}")

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            ctx.stop()
            raise ValueError("last words")

    async with (
        open_system() as system,
        system.open_subscription(SUPERVISION_TOPIC, SupervisorDecided) as decided,
    ):
        ref = await system.spawn(Last, supervision=Supervision(restarts=0))
        ref.tell(Note(n=1))
        assert (await decided.receive()).verdict == "stop"
        await wait_all_tasks_blocked()
        assert system.paths() == ()
    assert door.log == ["started 1"]


async def test_a_stop_while_backing_off_takes_no_back_off() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc", supervision=Supervision(restarts=9))
        for _ in range(7):
            ref.tell(Fail())
        await trio.sleep(1.6)
        assert ref.statistics().state == "backing off"
        lives, began = ref.statistics().restarts, trio.current_time()
        await system.stop_actor(ref)
        assert trio.current_time() == began
        assert door.log.count("fail boom") == lives + 1
        assert not any(one == f"started {lives + 2}" for one in door.log)


async def test_an_error_in_its_cleanup_does_not_bring_a_killed_actor_back() -> None:
    for grouped in (False, True):
        door = Door()

        class Stubborn(Actor[Hold]):
            @receives
            async def hold(self, hold: Hold, ctx: Context) -> str:
                try:
                    if grouped:  # noqa: B023
                        async with ctx.open_nursery() as nursery:
                            nursery.start_soon(self.fail_when_cancelled)
                            await trio.sleep(10_000)
                    await trio.sleep(10_000)
                finally:
                    if not grouped:  # noqa: B023
                        raise ValueError("in cleanup")
                return ""

            async def fail_when_cancelled(self) -> None:
                try:
                    await trio.sleep_forever()
                finally:
                    raise ValueError("in cleanup")

            async def started(self, ctx: Context) -> None:
                door.log.append(ctx.epoch)  # noqa: B023

        async with open_system() as system:
            ref = await system.spawn(Stubborn, name="acc")
            ref.tell(Hold())
            await wait_all_tasks_blocked()
            system.kill("/acc")
            await wait_all_tasks_blocked()
            assert system.paths() == ()
        assert door.log == [1]


async def test_a_failing_cleanup_under_an_outside_cancel_does_not_leave_the_system() -> None:
    class Stubborn(Actor[Hold]):
        @receives
        async def hold(self, hold: Hold, ctx: Context) -> str:
            async with ctx.open_nursery() as nursery:
                nursery.start_soon(self.fail_when_cancelled)
                await trio.sleep_forever()

        async def fail_when_cancelled(self) -> None:
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("in cleanup")

    with trio.move_on_after(1) as scope:
        async with open_system() as system:
            (await system.spawn(Stubborn)).tell(Hold())
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_background_work_that_fails_is_a_crash() -> None:
    class Worker(Actor[Note | Add]):
        door: Door

        async def started(self, ctx: Context) -> None:
            self.door.log.append(f"started {ctx.epoch}")

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            async def work() -> None:
                await trio.sleep(1)
                raise ValueError("in the background")

            ctx.start_soon(work)

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            return 1

    door = Door()
    async with (
        open_system() as system,
        system.open_subscription(SUPERVISION_TOPIC, SupervisorDecided) as decided,
    ):
        ref = await system.spawn(Worker, door)
        ref.tell(Note(n=1))
        assert (await decided.receive()).message == "in the background"
        assert await ref.ask(Add()) == 1
    assert door.log == ["started 1", "started 2"]


# ---------------------------------------------------------------- watching
class Watcher(Actor[Note | Terminated | HaveChild]):
    """Watches what it is sent, and writes down what it learns."""

    door: Door
    target: Ref[Note]
    times: int = 1

    async def started(self, ctx: Context) -> None:
        if ctx.epoch == 1:
            for _ in range(self.times):
                ctx.watch(self.target)

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        if note.n < 0:
            raise ValueError
        self.door.log.append(note.n)

    @receives
    async def ended(self, end: Terminated, ctx: Context) -> None:
        kind = end.failure.type if end.failure else ""
        self.door.log.append((end.ref.path, end.reason, kind))

    @receives
    async def have(self, have: HaveChild, ctx: Context) -> Ref[Add | Fail | Note | Hold]:
        raise NotImplementedError


@pytest.mark.parametrize("times", [1, 2])
async def test_a_watch_gives_exactly_one_terminated(times: int) -> None:
    door = Door()
    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        await system.spawn(Watcher, door, target, times)
        await system.stop_actor(target)
        await system.settle(1)
    assert door.log == [("/target", "stopped", "")]


async def test_d9_a_watch_stands_once_also_where_each_life_watches_again() -> None:
    door = Door()

    class Faithful(Watcher):
        async def started(self, ctx: Context) -> None:
            ctx.watch(self.target)

    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        watcher = await system.spawn(Faithful, door, target)
        watcher.tell(Note(n=-1))  # it crashes, and lives again
        await system.settle(2)
        watcher.tell(Note(n=-1))
        await system.stop_actor(target)  # its end waits in the mailbox when the next life watches
        await system.settle(2)
        assert watcher.statistics().restarts == 2
    assert door.log == [("/target", "stopped", "")]


async def test_d9_after_a_terminated_was_handled_a_dead_ref_may_be_watched_anew() -> None:
    door = Door()

    class Again(Watcher):
        @receives
        async def ended(self, end: Terminated, ctx: Context) -> None:
            self.door.log.append(end.ref.path)
            if len(self.door.log) < 3:
                ctx.watch(self.target)

    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        await system.spawn(Again, door, target)
        await system.stop_actor(target)
        await system.settle(1)
    assert door.log == ["/target"] * 3


@pytest.mark.parametrize("again", ["watch", "unwatch"])
async def test_d9_a_terminated_that_was_put_aside_is_still_to_come(again: str) -> None:
    log: list[str] = []

    class Patient(Actor[Note | Terminated]):
        target: Ref[Note]
        calm: bool = False

        async def started(self, ctx: Context) -> None:
            ctx.watch(self.target)

        @receives
        async def note(self, note: Note, ctx: Context) -> None:
            (ctx.watch if again == "watch" else ctx.unwatch)(self.target)
            self.calm = True
            ctx.unstash_all()

        @receives
        async def ended(self, end: Terminated, ctx: Context) -> None:
            if self.calm:
                log.append(end.ref.path)
            else:
                ctx.stash()

    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        ref = await system.spawn(Patient, target)
        await system.stop_actor(target)
        await system.settle(1)
        assert log == []
        ref.tell(Note(n=1))
        await system.settle(1)
        assert system.dead_letters == {}
    assert log == (["/target"] if again == "watch" else [])


async def test_watches_leave_nothing_behind_whoever_ends_first() -> None:
    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        post = system.find_post(target.path, target.incarnation)
        assert post is not None
        watchers = [await system.spawn(Watcher, Door(), target) for _ in range(50)]
        assert len(post.watchers or ()) == 50
        for watcher in watchers[:49]:
            await system.stop_actor(watcher)
        assert [one.ref for one in post.watchers or ()] == watchers[49:]
        last = system.find_post(watchers[49].path, watchers[49].incarnation)
        assert last is not None
        assert list(last.watched or ()) == [post]
        await system.stop_actor(target)
        assert last.watched is None
        assert post.watchers is None


@pytest.mark.parametrize("when", ["before its end", "in the mailbox", "never watched"])
async def test_a_watch_that_is_taken_back_tells_nothing(when: str) -> None:
    door = Door()

    class Fickle(Actor[Note | Hold | Terminated]):
        target: Ref[Note]

        async def started(self, ctx: Context) -> None:
            if when != "never watched":
                ctx.watch(self.target)

        @receives
        async def note(self, _note: Note, ctx: Context) -> None:
            ctx.unwatch(self.target)
            ctx.unwatch(self.target)

        @receives
        async def hold(self, _hold: Hold, _ctx: Context) -> str:
            await door.opened.wait()
            return ""

        @receives
        async def terminated(self, end: Terminated, _ctx: Context) -> None:
            door.log.append(end.reason)

    async with open_system() as system:
        target = await system.spawn(Recorder, Door())
        ref = await system.spawn(Fickle, target)
        if when == "in the mailbox":
            ref.tell(Hold())
            ref.tell(Note(n=1))
            await wait_all_tasks_blocked()
            await system.stop_actor(target)
        else:
            ref.tell(Note(n=1))
            await system.settle(1)
            await system.stop_actor(target)
        door.opened.set()
        await system.settle(1)
        assert ref.statistics().queued == 0
    assert door.log == []


async def test_a_watch_of_a_dead_ref_answers_at_once() -> None:
    door = Door()
    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        await system.stop_actor(target)
        await system.spawn(Recorder, Door(), name="target")  # another one of that name
        await system.spawn(Watcher, door, target)
        await system.settle(1)
    assert door.log == [("/target", "stopped", "")]


async def test_terminated_tells_the_error_and_survives_a_restart_of_the_watcher() -> None:
    door = Door()
    async with open_system() as system:
        supervision = Supervision(restarts=0, significant=False)
        target = await system.spawn(Recorder, Door(), name="target", supervision=supervision)
        watcher = await system.spawn(Watcher, door, target, mailbox=Mailbox(size=1))
        watcher.tell(Note(n=-1))
        await system.settle(1)
        target.tell(Fail())
        await system.settle(1)
    assert door.log == [("/target", "crashed", "ValueError")]


async def test_d6_terminated_comes_after_the_last_message_of_the_target() -> None:
    class Chatty(Actor[Note]):
        to: Door
        refs: list[Ref[Note]]

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

        async def stopped(self, ctx: Context) -> None:
            for n in range(3):
                self.refs[0].tell(Note(n=n))

    for seed in range(20):
        door, refs = Door(), list[Ref[Note]]()
        async with open_system(seams=seeded_seams(seed)) as system:
            target = await system.spawn(Chatty, door, refs, name="target")
            watcher = await system.spawn(Watcher, door, target)
            refs.append(watcher)
            await system.stop_actor(target)
            await system.settle(1)
        assert door.log == [0, 1, 2, ("/target", "stopped", "")]


async def test_a_restart_is_no_end_for_watchers() -> None:
    door = Door()
    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        await system.spawn(Watcher, door, target)
        target.tell(Fail())
        await system.settle(1)
        assert door.log == []
        system.kill("/target")
        await system.settle(1)
    assert door.log == [("/target", "stopped", "")]


async def test_who_has_no_method_for_terminated_cannot_watch() -> None:
    class Blind(Actor[Note]):
        target: Ref[Note]

        async def started(self, ctx: Context) -> None:
            ctx.watch(self.target)

        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

    async with open_system() as system:
        target = await system.spawn(Recorder, Door())
        with pytest.raises(
            NotAccepted, match="Blind cannot watch: it has no @receives method for Terminated"
        ):
            await system.spawn(Blind, target)
        with (
            system.open_inbox(Note) as inbox,
            pytest.raises(NotAccepted, match="does not accept Terminated"),
        ):
            system.watch(inbox, target)


async def test_an_inbox_can_watch_and_be_watched() -> None:
    door = Door()
    async with open_system() as system:
        target = await system.spawn(Recorder, Door(), name="target")
        with system.open_inbox(Terminated) as inbox:
            system.watch(inbox, target)
            await system.spawn(Watcher, door, inbox.ref)
            await system.settle(1)
            assert door.log == []
            system.kill("/target")
            assert (await inbox.receive()).ref == target
        await system.settle(1)
        assert door.log == [(inbox.path, "stopped", "")]


def test_jitter_spreads_the_back_off() -> None:
    rng = random.Random(1)
    crashes = (0.0, 0.1, 0.2)
    calm = Supervision(restarts=10)
    delays = {next_restart(calm, ValueError(), crashes, 0.3, rng.random()).delay for _ in range(50)}
    assert len(delays) == 50
    assert all(0.1 <= delay <= 0.2 for delay in delays)


def test_a_user_chooses_how_long_restarts_back_off() -> None:
    crashes = tuple(float(n) / 1000 for n in range(8))
    patient = Supervision(restarts=100, backoff=1.0, backoff_max=10.0)
    delays = [
        next_restart(patient, ValueError(), crashes[:n], 0.3, 0.999999).delay for n in range(8)
    ]
    assert delays == pytest.approx([0, 1, 2, 4, 8, 10, 10, 10], rel=1e-5)
    at_once = Supervision(restarts=5000, backoff=0.0)
    many = tuple(n / 1e6 for n in range(4000))
    assert next_restart(at_once, ValueError(), many, 0.3, 0.5).delay == 0.0
    most = Supervision(restarts=5000)
    assert next_restart(most, ValueError(), many, 0.3, 0.5).delay == 1.5  # and does not overflow


def test_the_back_off_begins_anew_after_a_quiet_window() -> None:
    calm = Supervision(per=30.0)
    assert next_restart(calm, ValueError(), (0.0, 1.0), 31.5, 0.5).delay == 0.0


@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_a_back_off_that_is_no_span_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="backoff"):
        Supervision(backoff=value)
    with pytest.raises(ValueError, match="backoff_max"):
        Supervision(backoff_max=value)
