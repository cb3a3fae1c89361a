"""Each kind of actor, killed by path at each moment of a run: the run ends as if nothing had been."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import attrs
import msgpack
import pytest
import trio

from boyd.actors.agent import Agent
from boyd.actors.runs.runnable import Runnable
from boyd.actors.testing import says
from boyd.runtime import SupervisorDecided, System, open_memory_ledger, open_system
from boyd.runtime.testing import wire_spy

from .ooda_story import deciding_model, make_ooda, make_swarm
from .stories import (
    Effects,
    Thoughtful,
    asks_for,
    decisions,
    fixed_seams,
    make_tools,
    played,
    told,
)

Told = dict[str, list[tuple[str, str, bytes]]]
MOST_RUNS = 120
"""With a crash each, in every scene."""


@attrs.frozen
class Ending:
    """What a run came to."""

    output: object
    told: Told
    effects: Effects
    decided: list[SupervisorDecided]
    paths: set[str]
    seconds: float


@attrs.frozen
class Scene:
    """A run that can be made again and again, from new."""

    definition: Runnable[Any, Any]
    given: object
    effects: Callable[[], Effects]


def agent_scene() -> Scene:
    tools = make_tools()
    model = played(
        asks_for(tools.look.call(at="x"), tools.note.call(text="y"), turn="a", text="I look."),
        asks_for(tools.pay.call(order="7"), turn="b"),
        says("All done and paid."),
    )
    return Scene(Agent(Thoughtful(model), tools=tools.all), "go", lambda: tools.effects)


def ooda_scene() -> Scene:
    story = make_ooda(cycles=3)
    return Scene(story.ooda, "a", lambda: story.effects)


def model_scene() -> Scene:
    story = make_ooda(decider=Agent(Thoughtful(deciding_model()), name="decider"), max_cycles=3)
    return Scene(story.ooda, "a", lambda: story.effects)


def swarm_scene() -> Scene:
    swarm, stories = make_swarm()

    def effects() -> Effects:
        return sum((story.effects for story in stories), Effects())

    return Scene(swarm, None, effects)


async def play(scene: Scene, path: str = "", at: float = math.inf) -> Ending:
    """Run it; `at` seconds after its beginning the actor at `path` is made to crash, if it is there."""
    paths: set[str] = set()
    async with open_memory_ledger() as ledger:
        async with (
            open_system(ledger=ledger, seams=fixed_seams()) as system,
            trio.open_nursery() as nursery,
        ):
            begun = trio.current_time()

            async def kill() -> None:
                await trio.sleep(at)
                if path in system.paths():
                    system.crash(path)

            async with scene.definition.open_run(scene.given, system=system, thread="t") as run:
                nursery.start_soon(kill)
                async for _ in run:
                    paths.update(system.paths())
            seconds = trio.current_time() - begun
            nursery.cancel_scope.cancel()
            assert system.paths() == ()
        return Ending(
            run.result.output,
            await told(ledger),
            scene.effects(),
            await decisions(ledger),
            paths,
            seconds,
        )


def facts(entries: Told) -> dict[str, object]:
    """What must not depend on who crashed when: turns and products in order; of the shared thread, its facts.

    A lead reads its blackboard as news comes, so how many cycles it takes is not among it.
    """
    found: dict[str, object] = {}
    for thread, its in entries.items():
        if thread == "t/lead":
            continue
        kept = [one for one in its if one[0] not in ("boyd.tool_intent", "boyd.tool_outcome")]
        found[thread] = set(kept) if "t/lead" in entries and thread == "t" else kept
    return found


def without_results(entries: Told) -> dict[str, object]:
    """Ids only of what depends on the result of a ONCE tool, whose outcome is unknown after a crash."""

    def blank(one: tuple[str, str, bytes]) -> tuple[str, str, bytes]:
        depends = one[1].endswith((".act", "=", "#outcome")) or b"pay" in one[2]
        return (one[0], one[1], b"") if depends else one

    return facts({thread: [blank(one) for one in its] for thread, its in entries.items()})


def unknown_outcomes(entries: Told) -> int:
    """How many results say that a call may have had its effect."""
    return sum(
        b"may have had" in body
        for its in entries.values()
        for kind, id_, body in its
        if kind == "boyd.turn" or id_.endswith(".act")
    )


def crash_moments(seconds: float, paths: int, which: int) -> list[float]:
    """In the middle of things, and at the very moments when one ends and the next begins; other ones for each path."""
    moments = [quarter / 4 for quarter in range(int(seconds * 4) + 1)]
    step = max(1, len(moments) * paths // MOST_RUNS)
    return moments[which % step :: step]


SCENES = [agent_scene, ooda_scene, model_scene, swarm_scene]
KINDS = {
    "agent_scene": {"", "step", "provider", "tool-look", "tool-note", "tool-pay"},
    "ooda_scene": {
        "", "approvals", "observe", "facet-total", "facet-minus", "synthesize", "decide", "act",
        "tool-report", "tool-pay",
    },
    "model_scene": {
        "", "approvals", "observe", "facet-total", "facet-minus", "synthesize", "decide", "step",
        "provider", "act", "tool-report", "tool-pay",
    },
    "swarm_scene": {
        "", "approvals", "scout-0", "scout-1", "lead", "observe", "facet-total", "facet-minus",
        "facet-same", "synthesize", "decide", "act", "tool-report", "tool-pay",
    },
}  # fmt: skip


@pytest.mark.parametrize("make", SCENES, ids=lambda one: one.__name__)
async def test_d3_there_is_an_actor_for_each_step_provider_tool_phase_facet_and_node(
    make: Callable[[], Scene], autojump_clock: trio.abc.Clock
) -> None:
    ending = await play(make())
    names = {path.split("/")[-1] if path.count("/") > 1 else "" for path in ending.paths}
    assert names == KINDS[make.__name__]


@pytest.mark.parametrize("make", SCENES, ids=lambda one: one.__name__)
async def test_d2_every_hop_is_msgpack_that_decodes(
    make: Callable[[], Scene], autojump_clock: trio.abc.Clock
) -> None:
    plain = cast("Any", msgpack)  # it has no types
    scene = make()
    async with open_system(seams=fixed_seams()) as system:
        with wire_spy(system) as hops:
            await scene.definition.run(scene.given, system=system, thread="t")
        actors = {hop.receiver.split("/")[-1] for hop in hops}
        assert {"", *actors} >= KINDS[make.__name__] - {""}
        for hop in hops:
            tree: object = plain.unpackb(hop.body, strict_map_key=True)
            assert plain.packb(tree) == hop.body, hop.name


@pytest.mark.slow
@pytest.mark.parametrize("make", SCENES, ids=lambda one: one.__name__)
async def test_d3_whoever_crashes_and_whenever_the_run_ends_the_same(
    make: Callable[[], Scene], autojump_clock: trio.abc.Clock
) -> None:
    """Same output, same turns and facts, nothing twice; the supervisor's decision is in the ledger."""
    plain = await play(make())
    assert plain.decided == []
    assert set(plain.effects.values()) == {1}
    hit: set[str] = set()
    for number, path in enumerate(sorted(plain.paths)):
        for at in crash_moments(plain.seconds, len(plain.paths), number):
            ending = await play(make(), path, at)
            where = f"{path} at {at}"
            assert ending.output == plain.output, where
            assert without_results(ending.told) == without_results(plain.told), where
            unknown = unknown_outcomes(ending.told)
            if not unknown:
                assert facts(ending.told) == facts(plain.told), where
            for effect, times in plain.effects.items():
                once = effect.startswith("pay")
                assert ending.effects[effect] <= times or not once, f"{effect} twice: {where}"
                assert ending.effects[effect] >= times or (once and unknown), (
                    f"no {effect}: {where}"
                )
            if ending.decided:
                hit.add(path)
                first, *others = [one.path for one in ending.decided]
                assert first == path, where
                waited_for_it = all(path.startswith(f"{one}/") for one in others)
                assert waited_for_it, where
                assert {one.verdict for one in ending.decided} == {"restart"}, where
    assert hit == plain.paths


async def test_a_crash_is_decided_in_the_threads_own_supervision_thread(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with open_system() as system:
        scene = ooda_scene()
        async with scene.definition.open_run("a", system=system, thread="t") as run:
            async for event in run:
                if type(event).__name__ == "CycleComplete":
                    system.crash("/scout/facet-total")
                    break
            await run.wait()
        async with system.ledger.open_follow("t/supervision") as followed:
            await followed.receive()
        entries = await system.ledger.read("t/supervision")
    [decided] = [entry.message() for entry in entries]
    assert isinstance(decided, SupervisorDecided)
    assert (decided.path, decided.verdict, decided.error) == (
        "/scout/facet-total",
        "restart",
        "ActorCrashed",
    )


@pytest.mark.parametrize("make", SCENES, ids=lambda one: one.__name__)
async def test_an_actor_that_is_killed_before_it_has_begun_costs_nothing(
    make: Callable[[], Scene], autojump_clock: trio.abc.Clock
) -> None:
    """Its spawner learns of it, and starts over."""
    plain = await play(make())
    for path in sorted(plain.paths):
        scene = make()
        async with open_system() as system:
            killed = False

            def kill(path: str = path, system: System = system) -> None:
                nonlocal killed
                if not killed and path in system.paths():
                    killed = True
                    system.crash(path)

            class Instrument(trio.abc.Instrument):
                def after_task_step(self, task: trio.lowlevel.Task) -> None:
                    kill()

            instrument = Instrument()
            trio.lowlevel.add_instrument(instrument)
            try:
                result = await scene.definition.run(scene.given, system=system, thread="t")
            finally:
                trio.lowlevel.remove_instrument(instrument)
        assert killed
        assert result.output == plain.output, path
        assert scene.effects() == plain.effects, path
