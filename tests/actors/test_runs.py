"""Runs: their threads, their turn, their errors, their end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.budget import Budget, BudgetExceeded
from boyd.actors.conversation.artifacts import Event, TextDelta
from boyd.actors.events import ErrorEvent, Lifecycle, TurnComplete
from boyd.actors.ooda.agent import Ooda
from boyd.actors.ooda.cycle import Decision
from boyd.actors.patterns.react import ReAct, StepLimit
from boyd.actors.providers.errors import ModelError
from boyd.actors.runs.result import RunUnfinished
from boyd.actors.runs.spec import thread_topic
from boyd.actors.testing import ScriptedModel, calls, fails, says
from boyd.runtime import (
    ActorCrashed,
    LeaseHeld,
    LeaseLost,
    RemoteFailure,
    UnknownThread,
    open_memory_ledger,
    open_system,
)
from boyd.runtime.ledger.memory import _MemoryLedger
from boyd.runtime.testing import assert_no_leaks

from .ooda_story import make_ooda
from .stories import SlowModel, entries_of, events_of, make_tools, turns_of


async def test_d41_a_result_that_is_asked_for_too_soon_says_what_to_do() -> None:
    async with Agent(ScriptedModel(says("hi"))).open_run("go") as run:
        with pytest.raises(RunUnfinished) as caught:
            _ = run.result
        assert isinstance(caught.value, RuntimeError)
        assert str(caught.value) == (
            "this run is still going: finish the loop, or await run.wait()"
        )
        assert (await run.wait()).output == "hi"
        assert run.result.output == "hi"
        assert [event async for event in run] == []


def test_a_run_needs_nothing_but_trio() -> None:
    result = trio.run(Agent(ScriptedModel(says("hi"))).run, "go")
    assert (result.output, result.status) == ("hi", "done")


async def test_a_run_without_a_thread_has_a_new_one_each_time() -> None:
    agent = Agent(ScriptedModel(says("one"), says("two")), name="desk")
    async with open_system() as system:
        first = await agent.run("go", system=system)
        second = await agent.run("go", system=system)
    assert first.thread != second.thread
    assert first.thread.startswith("desk-")


# ------------------------------------------------------------------ whose turn it is
async def test_runs_of_one_thread_wait_their_turn_first_come_first_served(
    autojump_clock: trio.abc.Clock,
) -> None:
    tools = make_tools()
    model = ScriptedModel(
        *[reply for n in range(5) for reply in (calls(tools.look.call(at=str(n))), says(str(n)))]
    )
    agent = Agent(model, tools=tools.all)
    ended: list[str] = []
    async with open_system() as system:

        async def one(given: str) -> None:
            ended.append((await agent.run(given, system=system, thread="t")).output)

        async with trio.open_nursery() as nursery:
            for n in range(5):
                nursery.start_soon(one, f"question {n}")
                await trio.testing.wait_all_tasks_blocked()
        asked = [turn.text for turn in await turns_of(system.ledger, "t") if turn.role == "user"]
    assert asked == [f"question {n}" for n in range(5)]
    assert ended == ["0", "1", "2", "3", "4"]


async def test_a_run_that_waits_its_turn_can_be_cancelled(autojump_clock: trio.abc.Clock) -> None:
    agent = Agent(SlowModel())
    async with (
        open_system() as system,
        agent.open_run("one", system=system, thread="t") as first,
    ):
        with trio.move_on_after(1) as scope:
            await agent.run("two", system=system, thread="t")
        assert scope.cancelled_caught
        first.cancel()
    async with open_system() as system:
        assert (await Agent(ScriptedModel(says("hi"))).run("x", system=system)).output == "hi"


async def test_runs_of_different_threads_do_not_wait_for_each_other(
    autojump_clock: trio.abc.Clock,
) -> None:
    begun = trio.current_time()
    async with open_system() as system, trio.open_nursery() as nursery:
        for n in range(20):
            tools = make_tools()
            model = ScriptedModel(calls(tools.look.call(at="x")), says("done"))
            agent = Agent(model, tools=tools.all)
            nursery.start_soon(
                lambda agent=agent, n=n: agent.run("go", system=system, thread=f"t{n}")  # type: ignore[misc]
            )
    assert trio.current_time() - begun == pytest.approx(1.0)


async def test_d12_a_thread_leased_by_another_system_is_refused_plainly() -> None:
    agent = Agent(SlowModel())
    async with (
        open_memory_ledger() as ledger,
        open_system(ledger=ledger) as one,
        open_system(ledger=ledger) as two,
        agent.open_run("go", system=one, thread="t"),
    ):
        with pytest.raises(LeaseHeld, match=r"^t is being run by "):
            async with agent.open_run("go", system=two, thread="t"):
                raise AssertionError("it was refused")
        # Somebody else's thread is free.
        assert (
            await Agent(ScriptedModel(says("hi"))).run("go", system=two, thread="u")
        ).output == "hi"


async def test_d12_a_run_whose_lease_was_taken_over_stops_and_writes_no_more(
    autojump_clock: trio.abc.Clock,
) -> None:
    agent = Agent(SlowModel())
    async with open_memory_ledger() as ledger, open_system(ledger=ledger) as system:

        async def be_robbed() -> None:
            async with agent.open_run("go", system=system, thread="t", buffer=1) as run:
                async for event in run:
                    if isinstance(event, TextDelta):
                        break
                assert isinstance(ledger, _MemoryLedger)
                assert ledger._leases["t"].token == 1
                assert run._spec.lease is not None
                await ledger.release(run._spec.lease)
                await ledger.acquire("t", owner="somebody else")
                await trio.sleep_forever()

        with pytest.raises(LeaseLost):
            await be_robbed()
        assert [turn.role for turn in await turns_of(ledger, "t")] == ["user"]


# ------------------------------------------------------------------ errors leave as they are
class Oops(Exception):
    """A user's own."""


async def broken_ooda() -> None:
    async def observe() -> int:
        return 1

    async def facet(n: int) -> int:
        raise Oops("facet")

    async def merge(readings: Sequence[int]) -> int:
        return 0

    async def decide(n: int) -> Decision:
        return Decision()

    ooda: Ooda[None, int] = Ooda(observe=observe, facets=[facet], synthesize=merge, decide=decide)
    await ooda.run(None)


async def broken_until() -> None:
    def until(_view: object) -> bool:
        raise Oops("until")

    await make_ooda(seconds=0.0, until=until).ooda.run("a")


@pytest.mark.parametrize(
    ("run", "error"),
    [
        (lambda: Agent(ScriptedModel(fails(400))).run("go"), ModelError),
        (lambda: Agent(ScriptedModel(says("x"))).run("go", budget=Budget(steps=0)), BudgetExceeded),
        (
            lambda: Agent(
                ScriptedModel(calls(make_tools().look.call(at="x"))), pattern=ReAct(max_turns=1)
            ).run("go"),
            StepLimit,
        ),
        (broken_ooda, RemoteFailure),
        (broken_until, RemoteFailure),
    ],
    ids=["ModelError", "BudgetExceeded", "StepLimit", "facet", "until"],
)
async def test_d40_errors_leave_run_unwrapped_also_out_of_a_private_system(
    run: Callable[[], Awaitable[object]], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        await run()
    assert type(caught.value) is error
    if error is RemoteFailure:
        cause: BaseException | None = caught.value
        while cause is not None and not isinstance(cause, Oops):
            cause = cause.__cause__
        assert isinstance(cause, Oops), "the user's own error is in the chain"


async def test_errors_leave_the_loop_and_every_later_read_says_the_same() -> None:
    async with Agent(ScriptedModel(fails(401))).open_run("go") as run:
        for _ in range(3):
            with pytest.raises(ModelError):
                await run.wait()
        with pytest.raises(RunUnfinished):
            _ = run.result


async def test_an_error_of_the_reader_leaves_as_it_is() -> None:
    async def read() -> None:
        async with Agent(ScriptedModel(says("x"))).open_run("go") as run:
            async for _ in run:
                raise Oops

    with assert_no_leaks(), pytest.raises(Oops):
        await read()


async def test_p6_a_run_that_crashes_too_often_fails_and_the_system_goes_on(
    autojump_clock: trio.abc.Clock,
) -> None:
    tools = make_tools(seconds=100.0)
    agent = Agent(ScriptedModel(*[calls(tools.look.call(at="x"))] * 9), tools=tools.all)
    async with open_system() as system, trio.open_nursery() as nursery:

        async def crash() -> None:
            while True:
                await trio.sleep(1)
                if "/agent" in system.paths():
                    system.crash("/agent")

        nursery.start_soon(crash)
        with pytest.raises(ActorCrashed) as caught:
            await agent.run("go", system=system, thread="t")
        assert caught.value.__notes__ == ["in actor /agent, 4th crash in 30 s, handling Begin"]
        nursery.cancel_scope.cancel()
        assert (await Agent(ScriptedModel(says("hi"))).run("go", system=system)).output == "hi"


# ------------------------------------------------------------------ the end
@pytest.mark.parametrize("how", ["done", "failed", "cancelled"])
async def test_c12_exactly_one_done_and_cancelled_only_before_it(how: str) -> None:
    model = ScriptedModel(fails(401)) if how == "failed" else ScriptedModel(says("hello there"))
    async with open_system() as system:
        seen: list[Event] = []
        kinds = Lifecycle | ErrorEvent | TurnComplete
        async with system.open_subscription(thread_topic("t"), kinds) as heard:
            try:
                async with Agent(model).open_run("go", system=system, thread="t", buffer=1) as run:
                    async for event in run:
                        if how == "cancelled" and isinstance(event, TextDelta):
                            break
            except ModelError:
                pass
            while heard.statistics().queued:
                seen.append(await heard.receive())
    phases = [one.phase for one in seen if isinstance(one, Lifecycle)]
    assert (
        phases
        == {
            "done": ["submitted", "streaming", "done"],
            "failed": ["submitted", "done"],
            "cancelled": ["submitted", "streaming", "cancelled", "done"],
        }[how]
    )
    assert sum(isinstance(one, ErrorEvent) for one in seen) == (how == "failed")


async def test_resuming_what_is_not_there_says_so() -> None:
    async with open_system() as system:
        with pytest.raises(UnknownThread, match="the ledger has no thread nowhere"):
            await Agent(ScriptedModel()).resume("nowhere", system=system)


async def test_a_finished_thread_resumes_to_its_answer_without_asking_anybody() -> None:
    model = ScriptedModel(says("42"))
    async with open_system() as system:
        await Agent(model).run("go", system=system, thread="t")
        assert (await Agent(model).resume("t", system=system)).output == "42"
        ooda = make_ooda(cycles=2, seconds=0.0)
        await ooda.ooda.run("a", system=system, thread="o")
        before = await entries_of(system.ledger, "o")
        assert (await ooda.ooda.resume("o", system=system)).output.n == 2
        assert await entries_of(system.ledger, "o") == before
    assert len(model.requests) == 1


async def test_the_same_words_again_behind_a_crash_are_no_second_question(
    autojump_clock: trio.abc.Clock,
) -> None:
    tools = make_tools()
    model = ScriptedModel(calls(tools.look.call(at="x")), says("fine"))
    agent = Agent(model, tools=tools.all)
    async with open_system() as system:
        with trio.move_on_after(0.5):
            await agent.run("go", system=system, thread="t")
        assert (await agent.run("go", system=system, thread="t")).output == "fine"
        roles = [turn.role for turn in await turns_of(system.ledger, "t")]
    assert roles == ["user", "assistant", "tool", "assistant"]


async def test_names_of_runs_in_one_system_do_not_meet() -> None:
    agent = Agent(SlowModel())
    async with (
        open_system() as system,
        agent.open_run("a", system=system),
        agent.open_run("b", system=system),
        agent.open_run("c", system=system),
    ):
        tops = [path for path in system.paths() if path.count("/") == 1]
    assert tops == ["/agent", "/agent-2", "/agent-3"]


async def test_the_events_of_a_run_can_be_read_with_the_smallest_buffer() -> None:
    async with Agent(ScriptedModel(says("x" * 100))).open_run("go", buffer=1) as run:
        assert len(await events_of(run)) == 20
