"""Approvals: nothing dangerous without one, everything approved exactly once, whoever answers and when."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.events import Approve, Pending, Reject, ToolFinished, ToolStarted
from boyd.actors.ooda.cycle import CycleComplete
from boyd.actors.runs.result import RunPaused
from boyd.actors.testing import calls, says
from boyd.actors.tools.approvals import settle
from boyd.actors.tools.define import tool
from boyd.actors.tools.questions import UnknownQuestion, questions_of
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import (
    ActorStopped,
    Context,
    open_memory_ledger,
    open_sqlite_ledger,
    open_system,
)

from .ooda_story import decided, make_ooda
from .stories import (
    Tools,
    asks_for,
    entries_of,
    events_of,
    make_tools,
    played,
    raw_call,
    results_in,
    turns_of,
    unanswered,
)


def gated(seconds: float = 0.0) -> tuple[Agent, Tools]:
    """An agent that looks, notes and asks to pay, all in one turn."""
    tools = make_tools(seconds=seconds, risk=Risk.DANGEROUS)
    wanted = [tools.look.call(at="x"), tools.pay.call(order="7"), tools.note.call(text="y")]
    model = played(asks_for(*wanted, turn="a"), says("done"), says("again"))
    return Agent(model, tools=tools.all), tools


# ------------------------------------------------------------------ an agent waits
async def test_d36_under_open_run_it_waits_in_place_for_the_answer() -> None:
    agent, tools = gated()
    async with open_system() as system, agent.open_run("go", system=system, thread="t") as run:
        async for event in run:
            if isinstance(event, Pending):
                assert tools.effects["pay 7"] == 0
                assert event.id == "t!1.1"
                assert event.call is not None
                assert event.call.arguments == {"order": "7"}
                assert event.risk is Risk.DANGEROUS
                await run.answer(event, Approve())
        assert run.result.output == "done"
        assert tools.effects == {"look x": 1, "pay 7": 1, "note y": 1}
        results = results_in(await turns_of(system.ledger, "t"))
    assert [one.content for one in results] == ["x is fine", "paid 7", "noted y"]


async def test_m4_a_refusal_is_told_to_the_model() -> None:
    agent, tools = gated()
    async with open_system() as system, agent.open_run("go", system=system, thread="t") as run:
        async for event in run:
            if isinstance(event, Pending):
                await run.answer(event.id, Reject("over the limit"))
        [_, refused, _] = results_in(await turns_of(system.ledger, "t"))
    assert refused.content == "a person refused this call: over the limit"
    assert refused.is_error
    assert tools.effects["pay 7"] == 0


async def test_m4_a_person_may_change_the_arguments_and_they_are_checked() -> None:
    for arguments, paid in (({"order": "8"}, {"pay 8"}), ({"sum": 1}, set[str]())):
        agent, tools = gated()
        async with agent.open_run("go") as run:
            async for event in run:
                if isinstance(event, Pending):
                    await run.answer(event, Approve(dict(arguments)))
        assert {effect for effect in tools.effects if effect.startswith("pay")} == paid


async def test_g_b_under_run_it_pauses_and_goes_on_with_answers() -> None:
    agent, tools = gated()
    async with open_system() as system:
        paused = await agent.run("go", system=system, thread="t")
        assert paused.status == "paused"
        assert [one.id for one in paused.pending] == ["t!1.1"]
        with pytest.raises(RunPaused, match=r"t is paused until somebody answers t!1\.1"):
            _ = paused.output
        assert await agent.pending("t", system=system) == paused.pending
        still = await agent.resume("t", system=system)
        assert still.pending == paused.pending
        done = await agent.resume("t", system=system, answers={"t!1.1": Approve()})
        assert done.output == "done"
        assert await agent.pending("t", system=system) == ()
    # N4: nothing that was made before the question is made again after it.
    assert tools.effects == {"look x": 1, "pay 7": 1, "note y": 1}


async def test_g_b_leaving_the_block_at_a_question_leaves_the_thread_paused() -> None:
    agent, tools = gated()
    async with open_system() as system:
        async with agent.open_run("go", system=system, thread="t") as run:
            finished = 0
            async for event in run:
                finished += isinstance(event, ToolFinished)
                if finished == 2:
                    break
        assert unanswered(await turns_of(system.ledger, "t")) == ["a0", "a1", "a2"]
        [pending] = await agent.pending("t", system=system)
        done = await agent.resume("t", system=system, answers={pending.id: Approve()})
        assert done.output == "done"
    assert tools.effects == {"look x": 1, "pay 7": 1, "note y": 1}


async def test_b15_a_new_message_closes_what_was_waiting() -> None:
    agent, tools = gated()
    async with open_system() as system:
        await agent.run("go", system=system, thread="t")
        result = await agent.run("never mind", system=system, thread="t")
        assert result.output == "done"
        turns = await turns_of(system.ledger, "t")
        assert unanswered(turns) == []
        assert [one.content for one in results_in(turns)] == [
            "x is fine",
            "not run: the conversation went on without it",
            "noted y",
        ]
        assert await agent.pending("t", system=system) == ()
    assert tools.effects["pay 7"] == 0


async def test_answers_that_come_twice_count_once() -> None:
    agent, tools = gated()
    async with open_system() as system, agent.open_run("go", system=system, thread="t") as run:
        async for event in run:
            if isinstance(event, Pending):
                await run.answer(event, Approve())
                await run.answer(event, Reject("no, wait"))
                await run.answer(event, Approve())
        [question] = await questions_of(system.ledger, "t")
    assert question.answer == Approve()
    assert tools.effects["pay 7"] == 1


async def test_answering_without_reading_cannot_deadlock(autojump_clock: trio.abc.Clock) -> None:
    agent, _ = gated()
    with trio.fail_after(60):
        async with agent.open_run("go", buffer=1) as run, trio.open_nursery() as nursery:
            async for event in run:
                if isinstance(event, Pending):
                    async with trio.open_nursery() as many:
                        for _ in range(10):
                            many.start_soon(run.answer, event, Approve())
            nursery.cancel_scope.cancel()
        assert run.result.output == "done"


async def test_an_approval_by_another_process_is_picked_up_while_the_run_waits(
    tmp_path: Path,
) -> None:
    agent, tools = gated()
    path = tmp_path / "t.db"
    async with (
        open_system(ledger=f"sqlite:{path}") as system,
        agent.open_run("go", system=system, thread="t") as run,
    ):
        async for event in run:
            if isinstance(event, Pending):
                # Another connection to the file, as `boyd approve` has.
                async with open_sqlite_ledger(path) as ledger, open_system(ledger=ledger) as b:
                    assert await settle(b, event.id, Approve(), None) == "answered"
        assert run.result.output == "done"
    assert tools.effects["pay 7"] == 1


async def test_what_was_not_asked_and_runs_that_are_over_are_refused() -> None:
    agent, _ = gated()
    async with open_system() as system:
        async with agent.open_run("go", system=system, thread="t") as run:
            async for event in run:
                if isinstance(event, Pending):
                    for wrong in ("t!9.9", "other!1.1", "nonsense"):
                        with pytest.raises(UnknownQuestion):
                            await run.answer(wrong, Approve())
                    await run.answer(event, Approve())
            with pytest.raises(ActorStopped, match="the run of t is over: resume it with answers="):
                await run.answer("t!1.1", Approve())
        with pytest.raises(UnknownQuestion):
            await settle(system, "t!9.9", Approve(), None)


async def test_a_call_with_wrong_arguments_is_refused_before_anybody_is_asked() -> None:
    tools = make_tools(seconds=0.0, risk=Risk.DANGEROUS)
    wrong = calls(raw_call("pay", '{"order": 7}'))
    agent = Agent(played(wrong, says("done")), tools=tools.all)
    async with agent.open_run("go") as run:
        events = await events_of(run)
    assert not any(isinstance(event, Pending) for event in events)
    assert tools.effects == {}


async def test_p12_a_run_killed_while_it_waits_asks_the_same_and_acts_once(
    autojump_clock: trio.abc.Clock,
) -> None:
    agent, tools = gated(seconds=1.0)
    async with open_system() as system, agent.open_run("go", system=system, thread="t") as run:
        asked = 0
        async for event in run:
            if isinstance(event, Pending):
                asked += 1
                assert event.id == "t!1.1"
                if asked == 1:
                    system.crash("/agent")
                else:
                    await run.answer(event, Approve())
        assert run.result.output == "done"
    assert asked == 2
    assert tools.effects["pay 7"] == 1


# ------------------------------------------------------------------ an OODA agent passes by
async def test_d36_an_ooda_records_the_question_passes_by_and_acts_once_on_approval(
    autojump_clock: trio.abc.Clock,
) -> None:
    story = make_ooda(cycles=3, risk=Risk.DANGEROUS)
    async with open_system() as system:
        async with story.ooda.open_run("a", system=system, thread="t") as run:
            async for event in run:
                if isinstance(event, Pending) and event.id == "t!1.1":
                    await run.answer(event, Approve())
                    assert story.effects["pay a-1"] == 1  # made when this returns
                if isinstance(event, CycleComplete):
                    assert [one.status for one in event.actions] == ["done", "pending"]
        assert {name: n for name, n in story.effects.items() if name.startswith("pay")} == {
            "pay a-1": 1
        }
        questions = await questions_of(system.ledger, "t")
        assert [one.is_open for one in questions] == [False, True, True]
        assert questions[0].result is not None
        assert questions[0].result.content == "paid a-1"


async def test_d36_never_without_an_approval(autojump_clock: trio.abc.Clock) -> None:
    story = make_ooda(cycles=3, risk=Risk.DANGEROUS)
    async with open_system() as system:
        async with story.ooda.open_run("a", system=system, thread="t") as run:
            async for event in run:
                if isinstance(event, Pending):
                    await run.answer(event, Reject("no"))
        assert run.result.status == "done"
        assert not [name for name in story.effects if name.startswith("pay")]


@pytest.mark.parametrize("path", ["", "/act", "/approvals", "/approvals/tool-pay"])
@pytest.mark.parametrize("after", [0.0, 0.25, 0.75, 1.5])
async def test_d36_an_approved_call_survives_a_crash_of_anybody_and_is_made_once(
    path: str, after: float, autojump_clock: trio.abc.Clock
) -> None:
    story = make_ooda(cycles=2, risk=Risk.DANGEROUS)
    async with open_system() as system, trio.open_nursery() as nursery:

        async def crash() -> None:
            await trio.sleep(after)
            if f"/scout{path}" in system.paths():
                system.crash(f"/scout{path}")

        async with story.ooda.open_run("a", system=system, thread="t") as run:
            async for event in run:
                if isinstance(event, Pending) and event.id == "t!1.1":
                    nursery.start_soon(crash)
                    await run.answer(event, Approve())
        first, second = await questions_of(system.ledger, "t")
    assert second.is_open
    assert first.result is not None
    assert story.effects["pay a-1"] <= 1
    if not story.effects["pay a-1"] or first.result.is_error:
        assert "may have had" in first.result.content
    else:
        assert first.result.content == "paid a-1"


@pytest.mark.parametrize("effect", list(Effect), ids=lambda one: one.name)
async def test_d36_what_was_approved_and_made_is_not_made_by_an_act_that_starts_again(
    effect: Effect, autojump_clock: trio.abc.Clock
) -> None:
    """And what the cycle knows of it does not depend on the crash."""
    made = 0

    @tool(effect=effect, risk=Risk.DANGEROUS)
    async def drop(ctx: Context) -> str:
        """Drop."""
        nonlocal made
        made += 1
        return "dropped"

    @tool(effect=Effect.PURE)
    async def wait(ctx: Context) -> str:
        """Wait."""
        await ctx.sleep(10)
        return "waited"

    ooda = decided(wait.call(), drop.call(), tools=[wait, drop])
    async with open_system() as system, ooda.open_run(None, system=system, thread="t") as run:
        crashed = False
        async for event in run:
            if isinstance(event, Pending) and not crashed:
                crashed = True
                await run.answer(event, Approve())
                system.crash("/ooda/act")
            if isinstance(event, CycleComplete):
                assert [one.content for one in event.actions] == [
                    "waited",
                    "waits for an approval: t!1.1",
                ]
    assert made == 1


async def test_an_ooda_carries_out_the_answers_that_a_resume_brings(
    autojump_clock: trio.abc.Clock,
) -> None:
    story = make_ooda(cycles=4, risk=Risk.DANGEROUS)
    async with open_memory_ledger() as ledger:
        async with (
            open_system(ledger=ledger) as system,
            story.ooda.open_run("a", system=system, thread="t") as run,
        ):
            async for event in run:
                if isinstance(event, CycleComplete) and event.cycle == 2:
                    break
        async with open_system(ledger=ledger) as system:
            pending = await story.ooda.pending("t", system=system)
            assert [one.id for one in pending] == ["t!1.1", "t!2.1"]
            answers: dict[str, Approve | Reject] = {"t!1.1": Approve(), "t!2.1": Reject("no")}
            await story.ooda.resume("t", system=system, answers=answers)
        paid = {name for name in story.effects if name.startswith("pay")}
        assert paid == {"pay a-1"}


async def test_an_approval_by_another_process_is_carried_out_at_the_next_cycle(
    autojump_clock: trio.abc.Clock,
) -> None:
    story = make_ooda(cycles=4, risk=Risk.DANGEROUS)
    async with open_memory_ledger() as ledger, open_system(ledger=ledger) as system:
        async with story.ooda.open_run("a", system=system, thread="t") as run:
            async for event in run:
                if isinstance(event, Pending) and event.id == "t!1.1":
                    async with open_system(ledger=ledger) as other:
                        said = await settle(other, event.id, Approve(), None)
                    assert said == "approved; the tool is not at hand, so nothing was done"
        assert story.effects["pay a-1"] == 1


async def test_settle_makes_the_call_of_a_run_that_is_not_alive_once(
    autojump_clock: trio.abc.Clock,
) -> None:
    story = make_ooda(cycles=2, risk=Risk.DANGEROUS)
    async with open_memory_ledger() as ledger:
        async with open_system(ledger=ledger) as system:
            await story.ooda.run("a", system=system, thread="t")
        async with open_system(ledger=ledger) as system:
            said: list[str] = []

            async def answer() -> None:
                said.append(await settle(system, "t!1.1", Approve(), story.paid))

            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(answer)
            assert await settle(system, "t!2.1", Reject("no"), story.paid) == "refused"
            assert system.paths() == ()
    assert said.count("paid a-1") == 1
    assert story.effects["pay a-1"] == 1
    assert story.effects["pay a-2"] == 0


async def test_an_approved_tool_finds_the_blackboard_of_its_run() -> None:
    from boyd.actors.swarm.blackboard import Blackboard

    boards: list[str] = []

    @tool(effect=Effect.IDEMPOTENT, risk=Risk.DANGEROUS)
    async def block(ctx: Context) -> str:
        """Block."""
        boards.append(Blackboard.of(ctx).thread)
        return "blocked"

    ooda = decided(block.call(), tools=[block])
    async with open_system() as system:
        await ooda.run(None, system=system, thread="t")
        assert await settle(system, "t!1.0", Approve(), block) == "blocked"
        kinds = [entry.kind for entry in await entries_of(system.ledger, "t")]
    assert boards == ["t"]
    assert kinds[-3:] == ["boyd.answered", "boyd.tool_intent", "boyd.carried_out"]


async def test_endorse_denies_without_asking_anybody(autojump_clock: trio.abc.Clock) -> None:
    story = make_ooda(
        cycles=2, risk=Risk.DANGEROUS, endorse=lambda call, view: f"only text: {call.tool} {view.n}"
    )
    async with open_system() as system:
        async with story.ooda.open_run("a", system=system, thread="t") as run:
            events = await events_of(run)
        assert await questions_of(system.ledger, "t") == ()
    assert not any(isinstance(event, Pending) for event in events)
    done = [event for event in events if isinstance(event, CycleComplete)]
    assert [one.actions[1].content for one in done] == [
        "denied (DANGEROUS on tainted values): only text: pay 1",
        "denied (DANGEROUS on tainted values): only text: pay 2",
    ]
    started = [event.call.tool for event in events if isinstance(event, ToolStarted)]
    assert started == ["report", "report"]
