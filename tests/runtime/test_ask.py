"""Ask: exactly one outcome, within a deadline, and never a wait for oneself."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorCrashed,
    ActorStopped,
    AskCycle,
    AskTimeout,
    Context,
    MailboxFull,
    NotAccepted,
    Ref,
    RemoteFailure,
    Replies,
    Supervision,
    Terminated,
    message,
    open_system,
    receives,
)
from boyd.runtime.testing import cancel_at_each_checkpoint
from tests.runtime.stage import Add, Door, Fail, Hold, Note, Recorder, Refuse, Refused


@message("t.relay")
class Relay(Replies[str]):
    """Ask each of the rest in turn; replies how the last ask ended, and when."""

    rest: tuple[Ref[Relay], ...]
    within: float | None = None
    scope: float | None = None


@message("t.wrong")
class Wrong(Replies[dict[str, int]]):
    """Its handler breaks its promise."""


@message("t.slow", within=120.0)
class Slow(Replies[float]):
    """A request that is long by nature; replies when it was handled."""

    seconds: float


@message("t.inherit")
class Inherit(Replies[float]):
    """Asks `Slow` of another actor."""

    of: Ref[Slow]
    seconds: float


class Relayer(Actor[Relay | Wrong | Slow | Inherit]):
    """Asks on."""

    @receives
    async def relay(self, relay: Relay, ctx: Context) -> str:
        if not relay.rest:
            return "end"
        first, *rest = relay.rest
        return await first.ask(Relay(rest=tuple(rest)), within=relay.within)

    @receives
    async def wrong(self, wrong: Wrong, ctx: Context) -> dict[str, int]:
        return {"a": "no number"}  # type: ignore[dict-item]  # pyright: ignore[reportReturnType]

    @receives
    async def slow(self, slow: Slow, ctx: Context) -> float:
        await ctx.sleep(slow.seconds)
        return ctx.now()

    @receives
    async def inherit(self, inherit: Inherit, ctx: Context) -> float:
        return await inherit.of.ask(Slow(seconds=inherit.seconds))


@attrs.define
class Asked:
    """What became of an ask that ran beside the test."""

    outcome: object = None


async def asking(asked: Asked, ask: Callable[[], Awaitable[object]]) -> None:
    """Run `ask` and keep its outcome."""
    try:
        asked.outcome = await ask()
    except Exception as error:  # noqa: BLE001
        asked.outcome = error


async def test_p4_a_reply_comes_back_in_its_own_type() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door())
        assert await ref.ask(Add(amount=2)) == 2
        assert await ref.ask(Add(amount=3)) == 5


async def test_p4_a_registered_failure_is_an_answer_and_the_actor_goes_on() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door())
        await ref.ask(Add())
        with pytest.raises(Refused, match="refused: too late") as caught:
            await ref.ask(Refuse(why="too late"))
        assert (caught.value.why, caught.value.code, caught.value.tries) == ("too late", "t.no", 3)
        assert isinstance(caught.value.__cause__, Refused)  # the live one, for its traceback
        assert await ref.ask(Add()) == 2
        assert ref.statistics().restarts == 0


async def test_p4_any_other_error_is_a_crash_and_arrives_as_a_remote_failure() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        await ref.ask(Add())
        with pytest.raises(RemoteFailure, match="ValueError: boom") as caught:
            await ref.ask(Fail())
        assert caught.value.type == "ValueError"
        assert caught.value.__notes__ == ["in actor /acc, 1st crash in 30 s, handling Fail"]
        assert isinstance(caught.value.__cause__, ValueError)
        assert await ref.ask(Add()) == 1  # a fresh life


async def test_what_befell_the_target_is_not_taken_for_what_befell_the_ask() -> None:
    """A handler that crashes with MailboxFull got it from somebody else: its asker must not send again."""

    @message("t.pass_on")
    class PassOn(Replies[None]):
        to: Ref[Note]

    class Middle(Actor[PassOn]):
        @receives
        async def pass_on(self, order: PassOn, ctx: Context) -> None:
            order.to.tell(Note(n=1))

    async with open_system() as system:
        gone = await system.spawn(Recorder, Door(), name="gone")
        middle = await system.spawn(Middle)
        await system.stop_actor(gone)
        with pytest.raises(RemoteFailure) as caught:
            await middle.ask(PassOn(to=gone))
        assert caught.value.type == "ActorStopped"


async def test_a_reply_that_does_not_fit_its_type_is_a_crash_that_says_so() -> None:
    async with open_system() as system:
        ref = await system.spawn(Relayer, name="relayer")
        with pytest.raises(RemoteFailure) as caught:
            await ref.ask(Wrong())
        assert str(caught.value) == (
            "TypeError: /relayer answered Wrong with a value that does not fit: "
            "dict[str, int]['a']: expected int, got str"
        )
        assert ref.statistics().restarts == 1


async def test_a_message_without_a_reply_cannot_be_asked() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door())
        with pytest.raises(NotAccepted, match=r"Note declares no reply.*Replies\[\.\.\.\]"):
            await ref.ask(Note(n=1))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_nobody_answers_at_an_inbox() -> None:
    async with open_system() as system:
        with (
            system.open_inbox(Add) as inbox,
            pytest.raises(NotAccepted, match="is an Inbox, and nobody answers there"),
        ):
            await inbox.ref.ask(Add())


async def test_a_message_that_can_be_asked_can_be_told() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door())
        ref.tell(Add(amount=5))
        assert await ref.ask(Add(amount=1)) == 6


# ---------------------------------------------------------------- deadlines
async def test_d1_no_ask_is_without_a_deadline() -> None:
    async with open_system(ask_timeout=7.0) as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        began = trio.current_time()
        with pytest.raises(AskTimeout) as caught:
            await ref.ask(Hold())
        assert trio.current_time() - began == 7.0
        assert isinstance(caught.value, trio.TooSlowError)
        system.kill("/acc")


async def test_the_timeout_says_how_long_it_waited_and_behind_what() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, name="acc")
        ref.tell(Hold())
        await door.entered.wait()
        for n in range(412):
            ref.tell(Note(n=n))
        with pytest.raises(AskTimeout) as caught:
            await ref.ask(Add(), within=2.0)
        assert str(caught.value) == (
            "/acc did not answer Add within 2.0 s: it waited 2.0 s behind 412 messages"
        )
        door.opened.set()


async def test_the_timeout_says_when_it_is_still_being_handled() -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await system.spawn(Relayer, name="acc")
        asked = Asked()
        nursery.start_soon(asking, asked, lambda: ref.ask(Slow(seconds=1.5)))
        await wait_all_tasks_blocked()
        with pytest.raises(AskTimeout) as caught:
            await ref.ask(Slow(seconds=100), within=2.0)
        assert str(caught.value) == (
            "/acc did not answer Slow within 2.0 s: "
            "it waited 1.5 s behind 0 messages and is still being handled"
        )
        system.kill("/acc")
        assert door.log == []


async def test_within_tightens_and_never_loosens() -> None:
    async with open_system(ask_timeout=5.0) as system:
        for within, waited in ((2.0, 2.0), (60.0, 5.0)):
            ref = await system.spawn(Recorder, Door())
            began = trio.current_time()
            with pytest.raises(AskTimeout):
                await ref.ask(Hold(), within=within)
            assert trio.current_time() - began == waited
            system.kill(ref.path)


async def test_a_message_may_have_a_limit_of_its_own() -> None:
    async with open_system(ask_timeout=5.0) as system:
        ref = await system.spawn(Relayer)
        assert await ref.ask(Slow(seconds=100)) == trio.current_time()
        began = trio.current_time()
        with pytest.raises(AskTimeout):
            await ref.ask(Slow(seconds=130))
        assert trio.current_time() - began == 120
        system.kill(ref.path)


async def test_d1_a_callers_cancel_scope_moves_on_instead() -> None:
    async with open_system(ask_timeout=5.0) as system:
        ref = await system.spawn(Recorder, Door())
        with trio.move_on_after(3) as scope:
            await ref.ask(Hold())
        assert scope.cancelled_caught
        system.kill(ref.path)


async def test_an_ask_with_no_time_left_is_not_sent() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        with pytest.raises(AskTimeout, match="/acc was not asked Add: there was no time left"):
            await ref.ask(Add(), within=0)
        assert await ref.ask(Add()) == 1


@pytest.mark.parametrize("how", ["within", "scope"])
async def test_p15_nested_asks_inherit_what_is_left(how: str) -> None:
    door = Door()
    async with open_system() as system:
        slow, middle = await system.spawn(Relayer, name="slow"), await system.spawn(Relayer)
        began = trio.current_time()
        if how == "within":
            with pytest.raises(AskTimeout):
                await middle.ask(Inherit(of=slow, seconds=50), within=4)
        else:
            with trio.move_on_after(4):
                await middle.ask(Inherit(of=slow, seconds=50))
        await wait_all_tasks_blocked()
        assert trio.current_time() - began == 4
        # The one in the middle ran out of its asker's time: that is no crash of its own.
        assert middle.statistics().handled == 1
        assert middle.statistics().restarts == 0
        assert system.dead_letters == {"late": 1}
        system.kill("/slow")
        assert door.log == []


async def test_an_ask_of_its_own_that_times_out_early_is_a_crash_of_the_handler() -> None:
    async with open_system() as system:
        first, second = await system.spawn(Relayer), await system.spawn(Recorder, Door())

        @message("t.hurry")
        class Hurry(Replies[str]):
            of: Ref[Hold]

        class Hasty(Actor[Hurry]):
            @receives
            async def hurry(self, hurry: Hurry, ctx: Context) -> str:
                return await hurry.of.ask(Hold(), within=1)

        hasty = await system.spawn(Hasty)
        with pytest.raises(AskTimeout):
            await hasty.ask(Hurry(of=second), within=10)
        assert hasty.statistics().restarts == 1
        system.kill(second.path)
        assert first.statistics().restarts == 0


# ---------------------------------------------------------------- withdrawn and late
async def test_an_ask_whose_asker_has_left_is_not_handled() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door)
        ref.tell(Hold())
        await door.entered.wait()
        with trio.move_on_after(1):
            await ref.ask(Add(amount=100))
        door.opened.set()
        assert await ref.ask(Add(amount=1)) == 1
        assert system.dead_letters == {"withdrawn": 1}


async def test_p4_a_late_reply_is_counted_and_dropped() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door)
        with pytest.raises(AskTimeout):
            await ref.ask(Hold(), within=1)
        door.opened.set()
        await system.settle(1)
        assert ref.statistics().handled == 1
        assert system.dead_letters == {"late": 1}
        assert await ref.ask(Add()) == 1


async def test_an_ask_cancelled_at_any_moment_leaves_both_sides_whole() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door())

        async def scenario() -> None:
            for _ in range(3):
                await ref.ask(Add())

        async def check() -> None:
            await system.settle(1)
            total = ref.statistics().handled
            assert await ref.ask(Add()) == total + 1
            assert not len(system.deadlines)

        assert await cancel_at_each_checkpoint(scenario, check) >= 6


async def test_a_reply_and_a_cancel_at_one_moment_have_one_outcome() -> None:
    """The reply that was given before the cancel is delivered; the cancel comes at the next checkpoint."""
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await system.spawn(Recorder, door)
        asked = Asked()
        scope = trio.CancelScope()

        async def ask() -> str:
            with scope:
                return await ref.ask(Hold())
            return "cancelled"

        nursery.start_soon(asking, asked, ask)
        await door.entered.wait()
        door.opened.set()
        await trio.lowlevel.cancel_shielded_checkpoint()
        scope.cancel()
        await wait_all_tasks_blocked()
        assert asked.outcome in ("held 0", "cancelled")
        late = system.dead_letters.get("late", 0)
        assert late == (asked.outcome == "cancelled")


# ---------------------------------------------------------------- stopped
@pytest.mark.parametrize("end", ["stop", "kill", "crash"])
async def test_p4_when_the_target_ends_every_asker_learns_it_at_once(end: str) -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        calm = Supervision(restarts=0, significant=False)
        ref = await system.spawn(Recorder, door, name="acc", supervision=calm)
        asked = [Asked() for _ in range(3)]
        for one in asked:
            nursery.start_soon(asking, one, lambda: ref.ask(Hold()))
        await door.entered.wait()
        began = trio.current_time()
        match end:
            case "stop":
                nursery.start_soon(system.stop_actor, ref)
                await wait_all_tasks_blocked()
                door.opened.set()
            case "kill":
                system.kill("/acc")
            case _:
                system.crash("/acc")
        await wait_all_tasks_blocked()
        assert trio.current_time() == began
        outcomes = [one.outcome for one in asked]
        first = {"stop": "held 0", "kill": ActorStopped, "crash": ActorCrashed}[end]
        ended_first = [o for o in outcomes if o == first or type(o) is first]
        assert len(ended_first) == (3 if end == "kill" else 1)
        stopped = [o for o in outcomes if isinstance(o, ActorStopped)]
        assert len(stopped) == (3 if end == "kill" else 2)
        assert "stopped before it answered Hold" in " ".join(map(str, stopped))


async def test_asks_survive_a_restart_of_their_target() -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await system.spawn(Recorder, door, name="acc")
        ref.tell(Hold())
        await door.entered.wait()
        asked = Asked()
        nursery.start_soon(asking, asked, lambda: ref.ask(Add()))
        await wait_all_tasks_blocked()
        system.crash("/acc")
        await wait_all_tasks_blocked()
        assert asked.outcome == 1


async def test_an_ask_that_waits_when_its_system_ends_has_an_outcome() -> None:
    asked, door = Asked(), Door()
    async with trio.open_nursery() as nursery, open_system(drain=0, grace=1) as system:
        ref = await system.spawn(Recorder, door)
        nursery.start_soon(asking, asked, lambda: ref.ask(Hold()))
        await door.entered.wait()
    assert isinstance(asked.outcome, ActorStopped)


# ---------------------------------------------------------------- cycles
@pytest.mark.parametrize("others", [0, 1, 2])
async def test_p4_an_ask_that_would_wait_for_itself_is_refused_at_once(others: int) -> None:
    async with open_system() as system:
        desk = await system.spawn(Relayer, name="desk")
        rest = [await system.spawn(Relayer, name=f"other-{n}") for n in range(others)]
        way = " -> ".join(["/desk", *(f"/other-{n}" for n in range(others)), "/desk"])
        began = trio.current_time()
        with pytest.raises(
            RemoteFailure, match=re.escape(f"AskCycle: {way} would wait for itself")
        ):
            await desk.ask(Relay(rest=(*rest, desk)))
        assert trio.current_time() == began
        assert await desk.ask(Relay(rest=())) == "end"


async def test_p4_two_asks_that_began_independently_do_not_wait_for_each_other() -> None:
    @message("t.both")
    class Both(Replies[str]):
        other: Ref[Both]
        first: bool

    class Twin(Actor[Both]):
        door: Door

        @receives
        async def both(self, both: Both, ctx: Context) -> str:
            if both.first:
                await self.door.opened.wait()
                try:
                    return await both.other.ask(Both(other=ctx.ref, first=False))
                except AskCycle:
                    return "cycle"
            return "reached"

    async with open_system() as system, trio.open_nursery() as nursery:
        door = Door()
        left, right = await system.spawn(Twin, door), await system.spawn(Twin, door)
        one, two = Asked(), Asked()
        nursery.start_soon(asking, one, lambda: left.ask(Both(other=right, first=True)))
        nursery.start_soon(asking, two, lambda: right.ask(Both(other=left, first=True)))
        await wait_all_tasks_blocked()
        door.opened.set()
        await wait_all_tasks_blocked()
        assert sorted([str(one.outcome), str(two.outcome)]) == ["cycle", "reached"]


async def test_background_work_may_ask_whoever_asks_its_actor() -> None:
    """Nothing waits for an errand, so it cannot be part of a cycle."""

    @message("t.begin")
    class Begin(Replies[None]):
        of: Ref[Add]

    @message("t.found")
    class Found:
        total: int

    class Worker(Actor[Begin | Found | Add]):
        door: Door

        @receives
        async def begin(self, begin: Begin, ctx: Context) -> None:
            async def work() -> Found:
                return Found(total=await begin.of.ask(Add()))

            ctx.start_soon(work)

        @receives
        async def found(self, found: Found, ctx: Context) -> None:
            self.door.log.append(found.total)

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            return 7

    door = Door()
    async with open_system() as system:
        worker = await system.spawn(Worker, door)
        await worker.ask(Begin(of=worker))
        await wait_all_tasks_blocked()
    assert door.log == [7]


# ---------------------------------------------------------------- several systems
async def test_an_actor_of_one_system_asks_one_of_another() -> None:
    async with open_system(name="one") as one, open_system(name="two") as two:
        away = await one.spawn(Relayer, name="same")
        home = await two.spawn(Relayer, name="same")
        assert away != home
        assert await home.ask(Relay(rest=(away,))) == "end"
        began = trio.current_time()
        assert await home.ask(Inherit(of=away, seconds=3)) == began + 3
        with pytest.raises(RemoteFailure, match="would wait for itself"):
            await home.ask(Relay(rest=(away, home)))


async def test_an_actor_outlived_by_another_system_is_dead_there() -> None:
    door = Door()
    async with open_system() as survivor:
        watcher = await survivor.spawn(Recorder, door)
        async with open_system() as system:
            ref = await system.spawn(Recorder, Door(), name="short")
            post = survivor.find_post(watcher.path, watcher.incarnation)
            assert post is not None
            survivor.watch(post, ref)
        with pytest.raises(ActorStopped):
            ref.tell(Note(n=1))
        await survivor.settle(1)
        assert "/short stopped" in door.log
        survivor.watch(post, ref)
        await survivor.settle(1)
        assert door.log.count("/short stopped") == 2
        assert Terminated in post.accepted


async def test_a_full_mailbox_is_an_outcome_of_ask() -> None:
    from boyd.runtime import Mailbox

    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, mailbox=Mailbox(size=1))
        ref.tell(Hold())
        await door.entered.wait()
        ref.tell(Note(n=1))
        with pytest.raises(MailboxFull):
            await ref.ask(Add())
        assert ref.statistics().rejected == 1
        door.opened.set()
