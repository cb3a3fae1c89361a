"""Leaving a run: nothing of it is alive, its transcript is valid, and it can go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from boyd.actors.agent import Agent
from boyd.actors.conversation.artifacts import Event, TextDelta
from boyd.actors.conversation.transcript import check_transcript, repair_view
from boyd.actors.events import ToolFinished, ToolStarted
from boyd.actors.testing import says
from boyd.actors.tools.define import tool
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import ActorStopped, Context, Seams, open_memory_ledger, open_system
from boyd.runtime.testing import (
    assert_no_leaks,
    cancel_at_each_checkpoint,
    seeded_seams,
)

from .stories import (
    Effects,
    SlowModel,
    asks_for,
    make_tools,
    played,
    results_in,
    turns_of,
    unanswered,
)

# ------------------------------------------------------------------ B39


async def leave_by_break(agent: Agent) -> None:
    async with agent.open_run("go", buffer=4) as run:
        async for event in run:
            if isinstance(event, TextDelta):
                break


async def leave_by_exception(agent: Agent) -> None:
    async def read() -> None:
        async with agent.open_run("go", buffer=4) as run:
            async for event in run:
                if isinstance(event, TextDelta):
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # as it is: not in a group
        await read()


async def leave_by_cancel(agent: Agent) -> None:
    with trio.CancelScope() as scope:
        async with agent.open_run("go", buffer=4) as run:
            async for event in run:
                if isinstance(event, TextDelta):
                    scope.cancel()
    assert scope.cancelled_caught


async def leave_by_timeout(agent: Agent) -> None:
    with trio.move_on_after(1) as scope:
        async with agent.open_run("go", buffer=4) as run:
            async for event in run:
                if isinstance(event, TextDelta):
                    await trio.sleep(10)
    assert scope.cancelled_caught


LEAVING = [leave_by_break, leave_by_exception, leave_by_cancel, leave_by_timeout]


@pytest.mark.parametrize("leave", LEAVING, ids=lambda one: one.__name__)
async def test_b39_leaving_with_a_full_buffer_leaves_nothing_alive(
    leave: Callable[[Agent], Awaitable[None]], autojump_clock: trio.abc.Clock
) -> None:
    model = SlowModel()
    begun = trio.current_time()
    with assert_no_leaks():
        await leave(Agent(model))
    assert model.open == 0
    assert model.sent < 60
    assert trio.current_time() - begun <= 1.0


async def test_b39_ten_runs_at_once_are_left_at_once(autojump_clock: trio.abc.Clock) -> None:
    models = [SlowModel() for _ in range(10)]
    with assert_no_leaks():
        async with open_system() as system, trio.open_nursery() as nursery:

            async def one(n: int) -> None:
                with trio.move_on_after(n / 10):
                    async with Agent(models[n]).open_run("go", system=system, buffer=1) as run:
                        async for event in run:
                            if isinstance(event, TextDelta):
                                await trio.sleep_forever()

            for n in range(10):
                nursery.start_soon(one, n)
    assert [model.open for model in models] == [0] * 10
    assert trio.current_time() < 3


async def test_n9_a_slow_reader_holds_the_model_back_and_loses_nothing(
    autojump_clock: trio.abc.Clock,
) -> None:
    model = SlowModel(300)
    ahead = 0
    async with Agent(model).open_run("go", buffer=8) as run:
        read: list[str] = []
        async for event in run:
            if isinstance(event, TextDelta):
                read.append(event.text)
                await trio.sleep(0.001)
                ahead = max(ahead, model.sent - len(read))
    assert read == [f"{n} " for n in range(1, 301)]
    assert ahead <= 8 + 16 + 4


async def test_reading_on_after_a_cancel_says_that_it_was_stopped() -> None:
    async with Agent(SlowModel()).open_run("go") as run:
        async for event in run:
            if isinstance(event, TextDelta):
                break
        run.cancel()
        with pytest.raises(ActorStopped):
            await run.wait()
        run.cancel()


# ------------------------------------------------------------------ B15


@tool(effect=Effect.PURE, risk=Risk.READ)
async def quick(n: int) -> str:
    """Quick."""
    return f"quick {n}"


@tool(effect=Effect.PURE, risk=Risk.READ)
async def forever(ctx: Context) -> str:
    """Never."""
    await ctx.sleep(1e9)
    return "never"


async def test_b15_a_cancel_while_tools_run_leaves_each_call_one_result(
    autojump_clock: trio.abc.Clock,
) -> None:
    wanted = [quick.call(n=1), forever.call(), *[forever.call()] * 20, quick.call(n=2)]
    agent = Agent(played(asks_for(*wanted, turn="a"), says("well")), tools=[quick, forever])
    async with open_system() as system:
        async with agent.open_run("go", system=system, thread="t") as run:
            finished = 0
            async for event in run:
                finished += isinstance(event, ToolFinished)
                if finished == 2:
                    break
        assert system.paths() == ()
        turns = await turns_of(system.ledger, "t")
        assert check_transcript(turns) == ()
        results = results_in(turns)
        assert [one.call_id for one in results] == [f"a{n}" for n in range(len(wanted))]
        assert (results[0].content, results[-1].content) == ("quick 1", "quick 2")
        assert results[1].content == (
            "cancelled: this call was stopped before it had a result; it may have had effects"
        )
        # Then somebody says something else: the next request is valid as it stands.
        result = await agent.run("never mind", system=system, thread="t")
        assert result.output == "well"
        assert [turn.role for turn in await turns_of(system.ledger, "t")][-3:] == [
            "tool",
            "user",
            "assistant",
        ]


async def test_b15_a_cancel_before_any_call_began_says_not_run() -> None:
    tools = make_tools()
    agent = Agent(played(asks_for(tools.pay.call(order="7"), turn="a")), tools=tools.all)
    async with open_system() as system:
        async with agent.open_run("go", system=system, thread="t", buffer=1) as run:
            async for event in run:
                assert not isinstance(event, ToolStarted), "it was to be left before"
                if type(event).__name__ == "StopReason":
                    await trio.testing.wait_all_tasks_blocked()
                    break
        turns = await turns_of(system.ledger, "t")
    # Left while the turn was not yet whole, or while its calls had not begun: either way it is valid.
    assert unanswered(turns) == []
    assert tools.effects == {}


async def test_b15_a_new_message_behind_a_crash_answers_the_open_calls_first() -> None:
    """After kill -9 history is not repaired, but nothing is said behind an open call either."""
    tools = make_tools()
    wanted = [tools.pay.call(order="7"), tools.look.call(at="x")]
    agent = Agent(played(asks_for(*wanted, turn="a"), says("well")), tools=tools.all)
    async with open_memory_ledger() as ledger:
        async with (
            open_system(ledger=ledger) as system,
            agent.open_run("go", system=system, thread="t") as run,
        ):
            async for event in run:
                if isinstance(event, ToolStarted):
                    run._spec.inflight.transcripts.clear()  # as if the process were gone
                    break
        async with open_system(ledger=ledger) as system:
            assert unanswered(await turns_of(ledger, "t")) == ["a0", "a1"]
            assert (await agent.run("never mind", system=system, thread="t")).output == "well"
        turns = await turns_of(ledger, "t")
    assert check_transcript(turns) == ()
    assert ["may have had effects" in one.content for one in results_in(turns)] == [True, False]


# ------------------------------------------------------------------ everywhere


def three_steps() -> tuple[Agent, Effects]:
    tools = make_tools(seconds=0.0)
    model = played(
        asks_for(
            tools.look.call(at="x"), tools.note.call(text="y"), turn="a", text="First I look."
        ),
        asks_for(tools.pay.call(order="7"), turn="b"),
        says("Done."),
    )
    return Agent(model, tools=tools.all), tools.effects


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seams", "every"), [(Seams(), 1), (seeded_seams(1), 5)], ids=["trio", "seeded"]
)
async def test_cancelled_at_every_checkpoint_the_transcript_is_valid_and_the_run_goes_on(
    seams: Seams, every: int
) -> None:
    """P8, P11, B15: also the cancel that falls into a commit, a tool or the end."""
    async with open_memory_ledger() as ledger:
        number = 0
        paid: list[int] = []

        async def scenario() -> None:
            nonlocal number
            number += 1
            agent, effects = three_steps()
            paid.append(0)
            with assert_no_leaks():
                try:
                    async with open_system(ledger=ledger, seams=seams) as system:
                        await agent.run("go", system=system, thread=f"t{number}")
                finally:
                    paid[-1] = effects["pay 7"]

        async def check() -> None:
            thread = f"t{number}"
            turns = await turns_of(ledger, thread)
            assert check_transcript(repair_view(turns)) == ()
            assert unanswered(turns) == []
            assert check_transcript(turns) == ()
            if not turns:
                return
            agent, effects = three_steps()
            async with open_system(ledger=ledger, seams=seams) as system:
                result = await agent.resume(thread, system=system)
            assert result.output == "Done."
            assert paid[-1] + effects["pay 7"] <= 1

        places = await cancel_at_each_checkpoint(scenario, check, every=every)
    assert places > 100


async def test_b41_a_tool_that_swallows_its_cancel_does_not_turn_it_into_a_success(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool
    async def stubborn(ctx: Context) -> str:
        """Stubborn."""
        try:
            await ctx.sleep(1e9)
        except BaseException:  # noqa: BLE001  # what such code does
            return "all went well"
        return ""

    agent = Agent(played(asks_for(stubborn.call(), turn="a")), tools=[stubborn])
    events: list[Event] = []
    async with open_system() as system:
        async with agent.open_run("go", system=system, thread="t") as run:
            async for event in run:
                events.append(event)
                if isinstance(event, ToolStarted):
                    await trio.testing.wait_all_tasks_blocked()
                    break
        [result] = results_in(await turns_of(system.ledger, "t"))
    assert result.is_error
    assert "may have had effects" in result.content
