"""Swarms: members and a lead on one shared thread."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.events import Approve
from boyd.actors.ooda.cycle import CycleComplete
from boyd.actors.providers.errors import ModelError
from boyd.actors.swarm.blackboard import Blackboard
from boyd.actors.swarm.swarm import (
    MemberFinished,
    MemberRestarted,
    Swarm,
    SwarmChanged,
    SwarmStarted,
)
from boyd.actors.testing import ScriptedModel, fails, says
from boyd.actors.tools.define import tool
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import (
    Context,
    EncodeError,
    IdConflict,
    LeaseLost,
    message,
    open_memory_ledger,
    open_system,
)

from .ooda_story import Found, Sight, make_swarm
from .stories import (
    Thoughtful,
    asks_for,
    decisions,
    entries_of,
    events_of,
    make_tools,
    played,
    turns_of,
)

OWN_NAMES = (
    "lead",
    "lead.2",
    "lead.10",
    "start",
    "members",
    "finished",
    "finished.2",
    "approvals",
    "supervision",
)


async def test_members_and_lead_meet_on_the_shared_thread(autojump_clock: trio.abc.Clock) -> None:
    swarm, _ = make_swarm(members=3, cycles=4)
    async with open_system() as system:
        result = await swarm.run(None, system=system, thread="t")
        facts = [entry.message() for entry in await entries_of(system.ledger, "t")]
        threads = {info.thread for info in await system.ledger.threads()}
    assert result.output == Sight(0, 3 * (1 + 2 + 3 + 4), ("scout-0", "scout-1", "scout-2"))
    assert threads == {"t", "t/lead", "t/scout-0", "t/scout-1", "t/scout-2"}
    assert facts[1] == SwarmStarted(members=("scout-0", "scout-1", "scout-2"))
    found = [fact for fact in facts if isinstance(fact, Found)]
    assert len({(fact.source, fact.n) for fact in found}) == len(found) == 12
    finished = [fact for fact in facts if isinstance(fact, MemberFinished)]
    assert {one.member for one in finished if one.failure is None} == {
        "scout-0",
        "scout-1",
        "scout-2",
    }


async def test_members_work_at_the_same_time(autojump_clock: trio.abc.Clock) -> None:
    begun = trio.current_time()
    swarm, _ = make_swarm(members=1, cycles=2)
    await swarm.run(None)
    alone = trio.current_time() - begun
    begun = trio.current_time()
    swarm, _ = make_swarm(members=8, cycles=2)
    await swarm.run(None)
    assert trio.current_time() - begun == pytest.approx(alone)


async def test_who_has_finished_is_stopped_and_the_others_go_on(
    autojump_clock: trio.abc.Clock,
) -> None:
    quick, _ = make_swarm(members=1, cycles=1)
    slow, _ = make_swarm(members=2, cycles=5)
    swarm = Swarm(
        members={"scout-0": quick.members["scout-0"], "scout-1": slow.members["scout-1"]},
        lead=slow.lead,
        name="swarm",
    )
    async with open_system() as system, swarm.open_run(None, system=system, thread="t") as run:
        [paths] = [
            set(system.paths())
            async for event in run
            if isinstance(event, MemberFinished) and event.member == "scout-0"
        ]
    assert "/swarm/scout-0" not in paths
    assert "/swarm/scout-1/observe" in paths


async def test_a_member_that_fails_is_a_fact_and_the_others_go_on(
    autojump_clock: trio.abc.Clock,
) -> None:
    swarm, _ = make_swarm(members=2, cycles=2)
    broken = Agent(ScriptedModel(fails(400)), name="broken")
    mixed = Swarm(
        members={"scout-0": swarm.members["scout-0"], "broken": broken.on("go")}, lead=swarm.lead
    )
    async with open_memory_ledger() as ledger:
        async with (
            open_system(ledger=ledger) as system,
            mixed.open_run(None, system=system, thread="t") as run,
        ):
            events = await events_of(run)
        assert run.result.output.finished == ("broken", "scout-0")
        [bad] = [e for e in events if isinstance(e, MemberFinished) and e.failure is not None]
        assert (bad.member, bad.failure and bad.failure.code) == ("broken", "http_400")
        # A resume tries who failed again; who has finished has.
        good = broken.using(ScriptedModel(says("ok"))).on("go")
        mended = Swarm(
            members={"scout-0": swarm.members["scout-0"], "broken": good}, lead=swarm.lead
        )
        before = await entries_of(ledger, "t/scout-0")
        async with open_system(ledger=ledger) as system:
            await mended.resume("t", system=system)
        assert await entries_of(ledger, "t/scout-0") == before
        assert [turn.text for turn in await turns_of(ledger, "t/broken")] == ["go", "ok"]


async def test_a_member_that_fails_before_a_kill_is_waited_for_in_the_resume(
    autojump_clock: trio.abc.Clock,
) -> None:
    """Its old failure is not taken for its end."""
    swarm, _ = make_swarm(members=2, cycles=5)

    def mixed(broken: Agent) -> Swarm[Any]:
        members = {"scout-0": swarm.members["scout-0"], "broken": broken.on("go")}
        return Swarm(members=members, lead=swarm.lead)

    broken = Agent(ScriptedModel(fails(400)), name="broken")
    async with open_memory_ledger() as ledger:
        async with open_system(ledger=ledger) as system:
            with trio.move_on_after(10):
                await mixed(broken).run(None, system=system, thread="t")
        mended = broken.using(Thoughtful(ScriptedModel(says("ok"))))
        async with open_system(ledger=ledger) as system:
            result = await mixed(mended).resume("t", system=system)
        facts = [entry.message() for entry in await entries_of(ledger, "t")]
        assert result.output.finished == ("broken", "scout-0")
        assert [turn.text for turn in await turns_of(ledger, "t/broken")] == ["go", "ok"]
    told = [
        type(one).__name__
        for one in facts
        if isinstance(one, MemberFinished | MemberRestarted) and one.member == "broken"
    ]
    assert told == ["MemberFinished", "MemberRestarted", "MemberFinished"]


async def test_a_thread_is_not_resumed_by_a_swarm_of_other_members(
    autojump_clock: trio.abc.Clock,
) -> None:
    swarm, _ = make_swarm(members=2, cycles=5)
    fewer = Swarm(members={"scout-0": swarm.members["scout-0"]}, lead=swarm.lead)
    async with open_memory_ledger() as ledger:
        async with open_system(ledger=ledger) as system:
            with trio.move_on_after(5):
                await swarm.run(None, system=system, thread="t")
        async with open_system(ledger=ledger) as system:
            with pytest.raises(SwarmChanged, match="t is of the members scout-0, scout-1, and not"):
                await fewer.resume("t", system=system)
            assert (await swarm.resume("t", system=system)).output.total == 2 * 15
            with pytest.raises(SwarmChanged):
                await fewer.resume("t", system=system)


async def test_a_member_that_failed_is_not_tried_again_because_the_swarms_own_actor_crashes(
    autojump_clock: trio.abc.Clock,
) -> None:
    swarm, _ = make_swarm(members=2, cycles=5)
    model = ScriptedModel(fails(400), says("never"))
    mixed = Swarm(
        members={
            "scout-0": swarm.members["scout-0"],
            "broken": Agent(model, name="broken").on("go"),
        },
        lead=swarm.lead,
    )
    async with open_system() as system, mixed.open_run(None, system=system, thread="t") as run:
        async for event in run:
            if isinstance(event, MemberFinished) and event.member == "broken":
                await trio.sleep(3)
                system.crash("/swarm")
    assert run.result.output.finished == ("broken", "scout-0")
    assert len(model.requests) == 1


async def test_what_ends_the_lead_ends_the_swarm_as_it_is() -> None:
    swarm, _ = make_swarm()
    failing = Swarm(members=swarm.members, lead=Agent(ScriptedModel(fails(401))).on("go"))
    async with open_system() as system:
        with pytest.raises(ModelError) as caught:
            await failing.run(None, system=system, thread="t")
        assert system.paths() == ()
    assert caught.value.status == 401


async def test_an_agent_in_a_swarm_that_is_resumed_is_not_asked_again(
    autojump_clock: trio.abc.Clock,
) -> None:
    model = ScriptedModel(says("a fact"))
    agent = Agent(model, name="writer")
    swarm, _ = make_swarm(members=2, cycles=6)
    mixed = Swarm(
        members={"scout-0": swarm.members["scout-0"], "writer": agent.on("go")}, lead=swarm.lead
    )
    async with open_memory_ledger() as ledger:
        async with open_system(ledger=ledger) as system:
            with trio.move_on_after(10):
                await mixed.run(None, system=system, thread="t")
        async with open_system(ledger=ledger) as system:
            await mixed.resume("t", system=system)
        finished = [
            entry for entry in await entries_of(ledger, "t") if entry.kind == "boyd.member_finished"
        ]
    assert len(model.requests) == 1
    assert len(finished) == 2


async def test_a_finished_swarm_resumes_to_its_output() -> None:
    swarm, stories = make_swarm(seconds=0.0)
    async with open_system() as system:
        first = await swarm.run(None, system=system, thread="t")
        before = await entries_of(system.ledger, "t")
        assert (await swarm.resume("t", system=system)).output == first.output
        assert await entries_of(system.ledger, "t") == before
    assert all(set(story.effects.values()) == {1} for story in stories)


async def test_g_b_a_member_that_waits_for_an_answer_pauses_the_swarm(
    autojump_clock: trio.abc.Clock,
) -> None:
    tools = make_tools(risk=Risk.DANGEROUS)
    clerk = Agent(
        played(asks_for(tools.pay.call(order="7"), turn="a"), says("paid")),
        tools=tools.all,
        name="clerk",
    )
    swarm, _ = make_swarm(members=2, cycles=2)
    mixed = Swarm(
        members={"scout-0": swarm.members["scout-0"], "clerk": clerk.on("go")}, lead=swarm.lead
    )
    async with open_system() as system:
        paused = await mixed.run(None, system=system, thread="t")
        assert paused.status == "paused"
        assert [one.id for one in paused.pending] == ["t/clerk!1.0"]
        assert await mixed.pending("t", system=system) == paused.pending
        done = await mixed.resume("t", system=system, answers={"t/clerk!1.0": Approve()})
    assert done.output.finished == ("clerk", "scout-0")
    assert tools.effects == {"pay 7": 1}


async def test_an_approval_reaches_the_tool_of_the_member_that_asked(
    autojump_clock: trio.abc.Clock,
) -> None:
    """Also after that member has finished and its tools are gone."""
    from boyd.actors.events import Pending

    from .ooda_story import make_ooda

    story = make_ooda(cycles=1, risk=Risk.DANGEROUS)
    swarm, _ = make_swarm(members=2, cycles=5)
    mixed = Swarm(
        members={"scout-0": story.ooda.on("a"), "scout-1": swarm.members["scout-1"]},
        lead=swarm.lead,
    )
    async with open_system() as system, mixed.open_run(None, system=system, thread="t") as run:
        asked: Pending | None = None
        paid: list[int] = []
        async for event in run:
            if isinstance(event, Pending):
                asked = event
            if isinstance(event, MemberFinished) and event.member == "scout-0":
                assert asked is not None
                await run.answer(asked, Approve())
                paid.append(story.effects["pay a-1"])
    assert paid == [1]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "the swarm itself uses that name") for name in OWN_NAMES),
        *((name, "no name for an actor") for name in ("a/b", "")),
    ],
)
def test_names_that_a_member_cannot_have_are_refused(name: str, why: str) -> None:
    swarm, _ = make_swarm()
    with pytest.raises(ValueError, match=f"^(a member cannot be called )?{name!r}.* {why}"):
        Swarm(members={name: swarm.lead}, lead=swarm.lead)


@pytest.mark.parametrize("name", ["lead2", "lead.log", "leads", "finished.log", "starter"])
def test_names_that_only_look_like_the_swarms_own_are_taken(name: str) -> None:
    swarm, _ = make_swarm()
    assert list(Swarm(members={name: swarm.lead}, lead=swarm.lead).members) == [name]


def test_a_swarm_needs_members() -> None:
    swarm, _ = make_swarm()
    with pytest.raises(ValueError, match="at least one member"):
        Swarm(members={}, lead=swarm.lead)


async def test_the_crash_of_a_member_is_told_in_that_members_thread(
    autojump_clock: trio.abc.Clock,
) -> None:
    swarm, _ = make_swarm()
    async with open_system() as system:
        async with swarm.open_run(None, system=system, thread="t") as run:
            async for event in run:
                if isinstance(event, CycleComplete) and event.agent == "scout-1":
                    system.crash("/swarm/scout-1/observe")
                    break
            await run.wait()
        while not await decisions(system.ledger):
            await system.sleep(0.01)
        assert await system.ledger.tip("t/scout-1/supervision") == 1


# ------------------------------------------------------------------ the blackboard
@message("test.fact")
class Fact:
    n: int


@message
class Untagged:
    n: int


async def test_a_fact_is_posted_once_for_each_key() -> None:
    async with open_memory_ledger() as ledger:
        board = Blackboard(ledger, "t")
        assert await board.post(Fact(n=1), key="a") == 1
        assert await board.post(Fact(n=1), key="a") == 1
        assert await board.post(Fact(n=2), key="b") == 2
        with pytest.raises(IdConflict):
            await board.post(Fact(n=9), key="a")
        with pytest.raises(EncodeError, match="has no tag"):
            await board.post(Untagged(n=1), key="c")
        assert [(one.seq, one.fact) for one in await board.read()] == [
            (1, Fact(n=1)),
            (2, Fact(n=2)),
        ]
        assert [one.seq for one in await board.read("test.fact", after=1)] == [2]
        assert await board.read("other") == []


async def test_news_wake_who_waits_for_them() -> None:
    async with open_memory_ledger() as ledger, trio.open_nursery() as nursery:
        board = Blackboard(ledger, "t")
        await board.post(Fact(n=1), key="a")
        await board.wait_news(after=0)
        heard = trio.Event()

        async def wait() -> None:
            await board.wait_news(after=1)
            heard.set()

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert not heard.is_set()
        await board.post(Fact(n=2), key="b")
        await heard.wait()


async def test_alone_an_agents_blackboard_is_its_own_thread_and_is_fenced() -> None:
    boards: list[Blackboard] = []

    @tool(effect=Effect.PURE)
    async def look(ctx: Context) -> str:
        """Look."""
        boards.append(Blackboard.of(ctx))
        return "ok"

    agent = Agent(played(asks_for(look.call(), turn="a"), says("done")), tools=[look])
    async with open_system() as system:
        await agent.run("go", system=system, thread="t")
        [board] = boards
        assert board.thread == "t"
        with pytest.raises(LeaseLost):  # the run is over, and its lease was given back
            await board.post(Fact(n=1), key="a")


async def test_there_is_no_blackboard_outside_a_run() -> None:
    from boyd.runtime import Actor, Replies, receives

    @message("test.where")
    class Where(Replies[str]):
        pass

    class Desk(Actor[Where]):
        @receives
        async def where(self, where: Where, ctx: Context) -> str:
            with pytest.raises(LookupError, match="no blackboard outside a run"):
                Blackboard.of(ctx)
            return "nowhere"

    async with open_system() as system:
        assert await (await system.spawn(Desk)).ask(Where()) == "nowhere"
