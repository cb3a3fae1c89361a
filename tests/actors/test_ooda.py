"""OODA: observe, orient in parallel, decide once, act; and again, with what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Unpack

import attrs
import pytest
import trio

from boyd.actors.conversation.artifacts import Event
from boyd.actors.events import ToolFinished, ToolStarted
from boyd.actors.ooda.act import ACTIONS
from boyd.actors.ooda.agent import Ooda
from boyd.actors.ooda.current import current_cycle
from boyd.actors.ooda.cycle import (
    ActionResult,
    Cycle,
    CycleComplete,
    Decision,
    NodeDone,
    PhaseStarted,
)
from boyd.actors.ooda.products import read_products
from boyd.actors.runs.run import Run
from boyd.actors.tools.define import tool
from boyd.actors.tools.spec import Call, Effect
from boyd.runtime import Context, Entry, Lease, open_memory_ledger, open_system
from boyd.runtime.codec import codec_for
from boyd.runtime.ledger import AnyTip
from boyd.runtime.ledger.memory import _MemoryLedger

from .ooda_story import OodaOptions, Sample, View, as_it_is, decided, first_reading, make_ooda
from .stories import decisions, entries_of, events_of


@attrs.define
class Log:
    """A definition that writes down what each phase was given, and when it began and ended."""

    cycles: int = 3
    seen: list[tuple[str, object]] = attrs.field(factory=list[tuple[str, object]])
    spans: dict[str, tuple[float, float]] = attrs.field(factory=dict[str, tuple[float, float]])
    wait: float = 0.0

    def ooda(self, **options: Unpack[OodaOptions[list[str]]]) -> Ooda[str, list[str]]:
        async def observe(given: str, cycle: Cycle, ctx: Context) -> str:
            self.seen.append(("observe", (cycle.number, cycle.actions)))
            return f"{given}{cycle.number}"

        def facet(name: str, wait: float) -> Callable[[str, Cycle, Context], Awaitable[str]]:
            async def read(sample: str, cycle: Cycle, ctx: Context) -> str:
                begun = ctx.now()
                self.seen.append((name, sample))
                await ctx.sleep(wait)
                self.spans[f"{name} {cycle.number}"] = (begun, ctx.now())
                return f"{name}({sample})"

            read.__name__ = name
            return read

        async def merge(readings: Sequence[str], sample: str) -> list[str]:
            self.seen.append(("synthesize", tuple(readings)))
            return [*readings, sample]

        async def decide(view: list[str], cycle: Cycle) -> Decision:
            self.seen.append(("decide", (len(cycle.history), cycle.guidance)))
            calls = [do.call(what=view[-1])] if cycle.number != 2 else []
            return Decision(
                calls=calls, why=f"cycle {cycle.number}", stop=cycle.number == self.cycles
            )

        @tool(effect=Effect.ONCE)
        async def do(ctx: Context, what: str) -> str:
            """Do."""
            current = await current_cycle(ctx, list[str])
            self.seen.append(("act", (what, current.number, current.view[-1])))
            return f"did {what}"

        return Ooda(
            observe=observe,
            facets=[
                facet("one", 3 * self.wait),
                facet("two", self.wait),
                facet("three", 2 * self.wait),
            ],
            synthesize=merge,
            decide=decide,
            tools=[do],
            **options,
        )


async def test_g12_g16_g25_the_phases_of_each_cycle_run_in_order_with_feedback() -> None:
    log = Log()
    result = await log.ooda(guidance=["be bold"]).run("x")
    names = [name for name, _ in log.seen]
    cycle = ["observe", "one", "two", "three", "synthesize", "decide"]
    assert [name for name in names if name not in ("one", "two", "three")] == [
        *["observe", "synthesize", "decide", "act"],
        *["observe", "synthesize", "decide"],  # no calls is an empty act, and the loop goes on
        *["observe", "synthesize", "decide", "act"],
    ]
    assert set(names) == {*cycle, "act"}
    observed = [given for name, given in log.seen if name == "observe"]
    first = ActionResult(call=Call("do", {"what": "x1"}), status="done", content="did x1")
    assert observed == [(1, ()), (2, (first,)), (3, ())]
    assert [given for name, given in log.seen if name == "act"] == [
        ("x1", 1, "x1"),
        ("x3", 3, "x3"),
    ]
    assert [given for name, given in log.seen if name == "decide"] == [
        (n, ("be bold",)) for n in range(3)
    ]
    assert result.output == ["one(x3)", "two(x3)", "three(x3)", "x3"]


async def test_g13_facets_run_in_parallel_and_are_merged_once_in_declared_order(
    autojump_clock: trio.abc.Clock,
) -> None:
    log = Log(cycles=1, wait=1.0)
    begun = trio.current_time()
    await log.ooda().run("x")
    starts = [begin for begin, _ in log.spans.values()]
    ends = [end for _, end in log.spans.values()]
    assert max(starts) < min(ends)
    assert trio.current_time() - begun == pytest.approx(3.0)
    merged = [given for name, given in log.seen if name == "synthesize"]
    assert merged == [("one(x1)", "two(x1)", "three(x1)")]


async def test_g23_decide_is_called_once_a_cycle() -> None:
    log = Log(cycles=7)
    await log.ooda().run("x")
    assert [name for name, _ in log.seen].count("decide") == 7


async def test_g14_max_cycles_is_exact() -> None:
    for limit in (1, 4):
        log = Log(cycles=100)
        await log.ooda(max_cycles=limit).run("x")
        assert [name for name, _ in log.seen].count("observe") == limit


async def test_g_h_the_default_is_25_cycles() -> None:
    log = Log(cycles=1000)
    await log.ooda().run("x")
    assert [name for name, _ in log.seen].count("observe") == 25


async def test_g14_until_ends_it_after_act_and_no_tool_runs_later() -> None:
    log = Log(cycles=100)
    await log.ooda(until=lambda view: view[-1] == "x3").run("x")
    assert [name for name, _ in log.seen].count("observe") == 3
    assert log.seen[-1] == ("act", ("x3", 3, "x3"))


async def starts_of(run: Run[View]) -> list[float]:
    """When each cycle began, read to the end."""
    return [
        trio.current_time()
        async for event in run
        if isinstance(event, PhaseStarted) and event.phase == "observe"
    ]


async def test_g14_every_is_from_start_to_start_also_where_a_cycle_takes_longer(
    autojump_clock: trio.abc.Clock,
) -> None:
    begun = trio.current_time()
    story = make_ooda(cycles=4, seconds=1.0, every=10.0, max_cycles=None)
    async with story.ooda.open_run("a") as run:
        starts = await starts_of(run)
    assert [at - begun for at in starts] == pytest.approx([0.0, 10.0, 20.0, 30.0])
    begun = trio.current_time()
    slow = make_ooda(cycles=3, seconds=4.0, every=10.0, max_cycles=None)
    async with slow.ooda.open_run("a") as run:
        starts = await starts_of(run)
    assert [at - begun for at in starts] == pytest.approx([0.0, 24.0, 48.0])  # 4 + 8 + 4 + 4 + 4


@pytest.mark.parametrize("at", [2.0, 7.0])
async def test_g14_every_keeps_its_beat_over_a_crash(
    at: float, autojump_clock: trio.abc.Clock
) -> None:
    """In the middle of a cycle it goes on at once; between two it waits for the beat."""
    story = make_ooda(cycles=3, seconds=0.5, every=10.0, max_cycles=None)
    begun = trio.current_time()
    async with open_system() as system, trio.open_nursery() as nursery:

        async def crash() -> None:
            await trio.sleep(at)
            system.crash("/scout")

        nursery.start_soon(crash)
        async with story.ooda.open_run("a", system=system) as run:
            starts = await starts_of(run)
    assert [at - begun for at in starts] == pytest.approx([0.0, 10.0, 20.0])


async def test_g17_the_thread_holds_the_products_of_every_cycle() -> None:
    story = make_ooda(cycles=3, seconds=0.0)
    async with open_system() as system:
        result = await story.ooda.run("a", system=system, thread="t")
        ledger = system.ledger
        kinds = {"observe": Sample, "synthesize": View, "decide": Decision}
        made, read = await read_products(ledger, "t", kinds)
        nodes = [e.message() for e in await entries_of(ledger, "t") if e.kind == "boyd.node_done"]
        assert await read_products(ledger, "t", kinds, after=read) == ([], read)
    assert [(one.cycle, one.phase) for one in made] == [
        (n, phase) for n in (1, 2, 3) for phase in kinds
    ]
    samples, views, chosen = ([one.value for one in made[n::3]] for n in range(3))
    assert samples == [Sample("a", n) for n in (1, 2, 3)]
    assert views[-1] == result.output == View("a", 3, 6)
    assert [one.why for one in chosen] == ["total 1", "total 3", "total 6"]
    acted = [one for one in nodes if isinstance(one, NodeDone) and one.node == "act"]
    actions: list[tuple[ActionResult, ...]] = [ACTIONS.decode(one.product) for one in acted]
    assert [one.content for one in actions[2]] == ["reported 3", "paid a-3"]
    assert len(nodes) == 3 * 6


async def test_there_is_one_append_for_each_frontier() -> None:
    appends: list[list[str]] = []
    story = make_ooda(cycles=1, seconds=0.0)
    async with open_memory_ledger() as ledger:
        plain = ledger.append

        async def append(
            thread: str,
            entries: Sequence[Entry],
            /,
            *,
            after: int | AnyTip,
            lease: Lease | None = None,
        ) -> int:
            appends.append([one.id for one in entries])
            return await plain(thread, entries, after=after, lease=lease)

        ledger.append = append  # type: ignore[method-assign]
        async with open_system(ledger=ledger) as system:
            await story.ooda.run("a", system=system, thread="t")
    nodes = [batch for batch in appends if "@" in batch[0]]
    assert nodes == [
        ["t@1.observe"],
        ["t@1.facet-total", "t@1.facet-minus"],
        ["t@1.synthesize"],
        ["t@1.decide"],
        ["t@1.act"],
    ]


async def test_events_tell_each_phase_once_and_each_cycle() -> None:
    story = make_ooda(cycles=2, seconds=0.0)
    async with story.ooda.open_run("a") as run:
        events = await events_of(run)
    phases = [(one.cycle, one.phase) for one in events if isinstance(one, PhaseStarted)]
    assert phases == [
        (cycle, phase) for cycle in (1, 2) for phase in ("observe", "orient", "decide", "act")
    ]
    done = [one for one in events if isinstance(one, CycleComplete)]
    assert [(one.agent, one.cycle, one.decision.why) for one in done] == [
        ("scout", 1, "total 1"),
        ("scout", 2, "total 3"),
    ]
    kinds: list[type[Event]] = [type(one) for one in events if "Tool" in type(one).__name__]
    assert kinds.count(ToolStarted) == kinds.count(ToolFinished) == 4


async def test_history_is_bounded() -> None:
    lengths: list[int] = []

    async def observe(cycle: Cycle) -> int:
        lengths.append(len(cycle.history))
        assert [past.number for past in cycle.history] == list(
            range(cycle.number - len(cycle.history), cycle.number)
        )
        return cycle.number

    async def decide(n: int) -> Decision:
        return Decision(stop=n == 6)

    ooda: Ooda[None, int] = Ooda(
        observe=observe, facets=[as_it_is], synthesize=first_reading, decide=decide, remember=3
    )
    await ooda.run(None)
    assert lengths == [0, 1, 2, 3, 3, 3]


async def test_g_a_act_may_be_replaced() -> None:
    done: list[str] = []

    async def act(decision: Decision, view: View) -> list[str]:
        done.append(f"{decision.why} of {view.source}")
        return [call.tool for call in decision.calls]

    story = make_ooda(cycles=2, seconds=0.0, act=act)
    async with open_system() as system:
        await story.ooda.run("a", system=system, thread="t")
        acted, _ = await read_products(system.ledger, "t", {"act": list[str]})
    assert done == ["total 1 of a", "total 3 of a"]
    assert [one.value for one in acted] == [["report", "pay"]] * 2
    assert story.effects == {}


async def test_bad_calls_of_a_decision_fail_by_themselves() -> None:
    wrong = [Call("nothing"), Call("report", {"n": "x"})]
    ooda = decided(*wrong, tools=make_ooda().ooda.tools)
    async with ooda.open_run(None) as run:
        [done] = [event async for event in run if isinstance(event, CycleComplete)]
    assert [one.status for one in done.actions] == ["failed", "failed"]
    assert "there is no tool 'nothing'" in done.actions[0].content


async def test_what_came_of_many_loud_actions_fits_into_one_entry() -> None:
    @tool(effect=Effect.PURE)
    async def shout(n: int) -> str:
        """Shout."""
        return "x" * 49_000

    ooda = decided(*[shout.call(n=n) for n in range(40)], tools=[shout])
    async with ooda.open_run(None) as run:
        [done] = [event async for event in run if isinstance(event, CycleComplete)]
    assert 9_000 < len(done.actions[39].content) < 10_500


# ------------------------------------------------------------------ memory
@pytest.mark.parametrize("phase", ["observe", "facet-total", "decide"])
@pytest.mark.parametrize("at", [n / 2 for n in range(1, 26)])
async def test_what_a_phase_remembers_is_rebuilt_exactly_after_a_crash(
    phase: str, at: float, autojump_clock: trio.abc.Clock
) -> None:
    """Also between its product and the append of it: each phase of the story checks what it remembers."""
    story = make_ooda(cycles=3)
    async with open_system() as system:
        async with trio.open_nursery() as nursery:

            async def crash() -> None:
                await trio.sleep(at)
                system.crash(f"/scout/{phase}")

            nursery.start_soon(crash)
            result = await story.ooda.run("a", system=system, thread="t")
        while not (decided := await decisions(system.ledger)):
            await system.sleep(0.01)
    assert result.output == View("a", 3, 6)
    assert [one.path for one in decided] == [f"/scout/{phase}"]


@pytest.mark.parametrize("at", [n / 2 for n in range(0, 26, 3)])
async def test_what_a_phase_remembers_is_rebuilt_exactly_in_a_new_system(
    at: float, autojump_clock: trio.abc.Clock
) -> None:
    async with open_memory_ledger() as ledger:
        async with open_system(ledger=ledger) as system:
            with trio.move_on_after(at):
                await make_ooda(cycles=3).ooda.run("a", system=system, thread="t")
        async with open_system(ledger=ledger) as system:
            if await ledger.tip("t"):
                result = await make_ooda(cycles=3).ooda.resume("t", system=system)
                assert result.output == View("a", 3, 6)


async def test_a_crash_behind_the_last_act_does_not_add_a_cycle(
    autojump_clock: trio.abc.Clock,
) -> None:
    """`stop` was decided and acted upon; only the end was not written down."""
    story = make_ooda(cycles=2, seconds=0.0)
    async with open_memory_ledger() as ledger:
        async with open_system(ledger=ledger) as system:
            await story.ooda.run("a", system=system, thread="t")
        assert isinstance(ledger, _MemoryLedger)
        kept = ledger._threads["t"].entries
        assert kept[-1].kind == "boyd.run_finished"
        del ledger._threads["t"].by_id[kept.pop().id]
        async with open_system(ledger=ledger) as system:
            result = await make_ooda(cycles=2, seconds=0.0).ooda.resume("t", system=system)
            assert result.output == View("a", 2, 3)
        kinds = [entry.kind for entry in await entries_of(ledger, "t")]
    assert kinds.count("boyd.node_done") == 12


async def test_a_resume_needs_an_input_that_has_no_wire_form_again() -> None:
    class Handle:
        """No wire form."""

    class Observe:
        def __init__(self, handle: Handle) -> None:
            self.handle = handle

        async def __call__(self) -> int:
            return 1

    async def decide(_n: int) -> Decision:
        return Decision(stop=True)

    ooda: Ooda[Handle, int] = Ooda(
        observe=Observe, facets=[as_it_is], synthesize=first_reading, decide=decide, name="handler"
    )
    async with open_system() as system:
        await ooda.run(Handle(), system=system, thread="t")
        with pytest.raises(ValueError, match="handler needs its input to go on"):
            await ooda.resume("t", system=system)
        assert (await ooda.resume("t", system=system, given=Handle())).output == 1


async def test_products_of_a_definition_that_has_changed_are_left_alone(
    autojump_clock: trio.abc.Clock,
) -> None:
    """A facet that was taken out, and one that is new: the cycle at hand makes what it lacks."""
    log = Log(cycles=2, wait=1.0)
    async with open_memory_ledger() as ledger:
        async with open_system(ledger=ledger) as system:
            with trio.move_on_after(4.5):
                await log.ooda().run("x", system=system, thread="t")
        async with open_system(ledger=ledger) as system:
            result = await make_like(log).run("x", system=system, thread="t")
    assert result.output == ["one(x2)", "four(x2)", "x2"]


def make_like(log: Log) -> Ooda[str, list[str]]:
    async def observe(given: str, cycle: Cycle) -> str:
        return f"{given}{cycle.number}"

    async def one(sample: str) -> str:
        return f"one({sample})"

    async def four(sample: str) -> str:
        return f"four({sample})"

    async def merge(readings: Sequence[str], sample: str) -> list[str]:
        return [*readings, sample]

    async def decide(view: list[str], cycle: Cycle) -> Decision:
        return Decision(stop=cycle.number >= log.cycles)

    return Ooda(observe=observe, facets=[one, four], synthesize=merge, decide=decide)


def test_decisions_and_cycles_travel() -> None:
    codec = codec_for(Cycle)
    cycle = Cycle(number=3, guidance=("x",))
    assert codec.decode_foreign(codec.encode(cycle)) == cycle
    assert Cycle(number=1).actions == ()
