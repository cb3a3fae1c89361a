"""Children that are restarted together: who, in what order, and within what time."""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorCrashed,
    Context,
    Gate,
    Replies,
    Restart,
    Strategy,
    Supervision,
    SupervisorDecided,
    System,
    message,
    open_system,
    receives,
)
from boyd.runtime.siblings import affected
from boyd.runtime.testing import seeded_seams

NAMES = ("a", "b", "c", "d", "e")


@message("t.siblings.fail")
class Fail:
    """Its handler raises."""


@message("t.siblings.echo")
class Echo(Replies[int]):
    n: int


@message("t.siblings.wait")
class Wait(Replies[int]):
    """Its handler takes so many seconds, of which it may shield itself."""

    seconds: float


@attrs.define(eq=False)
class World:
    """What happened to whom, in order, and who lives now.

    Attributes:
        start: seconds that a life takes to begin.
        together: who comes later in the family may not live while one begins again.
        failing: names whose next lives fail to begin, and how many of them.
    """

    log: list[str] = attrs.field(factory=list[str])
    alive: set[str] = attrs.field(factory=set[str])
    start: float = 0.0
    together: bool = True
    failing: dict[str, int] = attrs.field(factory=dict[str, int])


class Child(Actor[Fail | Echo | Wait]):
    name: str
    world: World

    async def started(self, ctx: Context) -> None:
        await ctx.sleep(self.world.start)
        if ctx.epoch > 1 and self.world.failing.get(self.name, 0):
            self.world.failing[self.name] -= 1
            raise ValueError("cannot begin")
        later = NAMES[NAMES.index(self.name) + 1 :]
        if self.world.together and ctx.epoch > 1:
            assert not self.world.alive & set(later), "who comes later waits"
        living = Gate(ctx.system.dispatcher)
        ctx.start_soon(self.live, living)
        await living.wait()

    async def live(self, living: Gate) -> None:
        assert self.name not in self.world.alive
        self.world.alive.add(self.name)
        self.world.log.append(f"+{self.name}")
        living.open()
        try:
            await trio.sleep_forever()
        finally:
            self.world.alive.remove(self.name)
            self.world.log.append(f"-{self.name}")

    @receives
    async def fail(self, _fail: Fail, _ctx: Context) -> None:
        raise ValueError("boom")

    @receives
    async def echo(self, echo: Echo, _ctx: Context) -> int:
        return echo.n

    @receives
    async def wait(self, wait: Wait, ctx: Context) -> int:
        await ctx.sleep(wait.seconds)
        return 1


class Parent(Actor[Fail]):
    world: World
    kinds: Sequence[Restart]

    async def started(self, ctx: Context) -> None:
        for name, kind in zip(NAMES, self.kinds, strict=False):
            supervision = Supervision(restart=kind)
            await ctx.spawn(Child, name, self.world, name=name, supervision=supervision)

    @receives
    async def fail(self, _fail: Fail, _ctx: Context) -> None:
        raise ValueError("boom")


async def family(
    system: System, world: World, strategy: Strategy, kinds: Sequence[Restart]
) -> None:
    supervision = Supervision(strategy=strategy, significant=False)
    await system.spawn(Parent, world, kinds, name="p", supervision=supervision)


# ---------------------------------------------------------------- who
@given(st.lists(st.integers(), min_size=1, unique=True), st.data())
def test_who_is_restarted_follows_from_the_strategy_and_the_order_of_start(
    children: list[int], data: st.DataObject
) -> None:
    crashed = data.draw(st.sampled_from(children))
    assert affected(children, crashed, Strategy.ONE_FOR_ONE) == [crashed]
    assert affected(children, crashed, Strategy.ONE_FOR_ALL) == children
    rest = affected(children, crashed, Strategy.REST_FOR_ONE)
    assert rest[0] == crashed
    assert children[len(children) - len(rest) :] == rest


@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda one: one.name)
@pytest.mark.parametrize("crashed", range(4))
async def test_p6_siblings_end_in_reverse_order_and_begin_in_order(
    strategy: Strategy, crashed: int
) -> None:
    world = World(together=strategy is not Strategy.ONE_FOR_ONE)
    kinds = [Restart.TRANSIENT, Restart.PERMANENT, Restart.TRANSIENT, Restart.TRANSIENT]
    async with open_system() as system:
        await family(system, world, strategy, kinds)
        refs = [system.lookup(f"/p/{name}", Echo) for name in NAMES[:4]]
        world.log.clear()
        system.crash(f"/p/{NAMES[crashed]}")
        answers = [await ref.ask(Echo(n=n)) for n, ref in enumerate(refs)]
        assert answers == [0, 1, 2, 3], "the same refs reach them"
        wanted = list(affected(NAMES[:4], NAMES[crashed], strategy))
        others = [name for name in reversed(wanted) if name != NAMES[crashed]]
        assert world.log == [
            f"-{NAMES[crashed]}",
            *[f"-{name}" for name in others],
            *[f"+{name}" for name in wanted],
        ]
        entries = await system.ledger.read("boyd/supervision")
        (decided,) = [entry.message() for entry in entries]
        assert isinstance(decided, SupervisorDecided)
        assert decided.others == tuple(f"/p/{name}" for name in wanted if name != NAMES[crashed])


async def test_a_temporary_sibling_just_ends() -> None:
    world = World()
    kinds = [Restart.TRANSIENT, Restart.TEMPORARY, Restart.TRANSIENT]
    async with open_system() as system:
        await family(system, world, Strategy.ONE_FOR_ALL, kinds)
        system.crash("/p/c")
        await system.settle(10)
        assert system.paths() == ("/p", "/p/a", "/p/c")


async def test_mail_waits_through_a_restart_with_siblings_and_the_message_in_hand_is_finished() -> (
    None
):
    world = World()
    async with open_system() as system:
        await family(system, world, Strategy.ONE_FOR_ALL, [Restart.TRANSIENT] * 2)
        ref = system.lookup("/p/b", Wait)
        got: list[int] = []

        async def ask() -> None:
            got.append(await ref.ask(Wait(seconds=1)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            system.crash("/p/a")
        assert got == [1, 1]
        assert system.dead_letters == {}


async def test_a_sibling_that_does_not_end_in_time_is_cancelled_and_its_asker_told() -> None:
    world = World()
    async with open_system() as system:
        await family(system, world, Strategy.ONE_FOR_ALL, [Restart.TRANSIENT] * 2)
        ref = system.lookup("/p/b", Wait)
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(ActorCrashed, match="restarted with its siblings"):
                    await ref.ask(Wait(seconds=20))

            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            begun = trio.current_time()
            system.crash("/p/a")
        assert trio.current_time() - begun == pytest.approx(5.0)
        await system.settle(10)
        assert world.alive == {"a", "b"}


async def test_their_crashes_use_up_one_budget_and_then_fail_the_parent() -> None:
    world = World()
    async with open_system() as system:
        await family(system, world, Strategy.REST_FOR_ONE, [Restart.TRANSIENT] * 3)
        for name in ("a", "b", "c"):
            system.crash(f"/p/{name}")
            await system.settle(10)
        assert system.lookup("/p", Fail).statistics().restarts == 0
        system.crash("/p/c")
        await system.settle(10)
        assert system.lookup("/p", Fail).statistics().restarts == 1
        assert world.alive == {"a", "b", "c"}


async def test_a_sibling_that_cannot_begin_again_has_them_all_tried_again() -> None:
    world = World(failing={"b": 2})
    async with open_system() as system:
        await family(system, world, Strategy.ONE_FOR_ALL, [Restart.TRANSIENT] * 3)
        world.log.clear()
        system.crash("/p/c")
        await system.settle(30)
        assert world.alive == {"a", "b", "c"}
        assert world.log == [
            *("-c", "-b", "-a"),
            *("+a", "-a", "+a", "-a"),
            *("+a", "+b", "+c"),
        ]


async def test_actors_at_the_top_follow_the_strategy_of_the_system() -> None:
    world = World()
    async with open_system(strategy=Strategy.ONE_FOR_ALL) as system:
        for name in NAMES:
            await system.spawn(Child, name, world, name=name)
        world.log.clear()
        system.crash("/c")
        await system.settle(10)
        assert world.log == ["-c", "-e", "-d", "-b", "-a", "+a", "+b", "+c", "+d", "+e"]


@pytest.mark.parametrize("how", ["stop_actor", "kill", "parent", "system"])
@pytest.mark.parametrize("after", range(8))
async def test_an_end_in_the_middle_of_a_restart_leaves_nobody_behind(how: str, after: int) -> None:
    world = World(start=0.5)
    async with open_system() as system:
        await family(system, world, Strategy.ONE_FOR_ALL, [Restart.TRANSIENT] * 3)
        system.crash("/p/b")
        await trio.sleep(after / 4)
        match how:
            case "kill":
                system.kill("/p/a")
            case "stop_actor":
                await system.stop_actor(system.lookup("/p/c", Echo))
            case "parent":
                await system.stop_actor(system.lookup("/p", Fail))
            case _:
                await system.stop()
        await system.settle(30)
        left = {"kill": {"b", "c"}, "stop_actor": {"a", "b"}}.get(how, set())
        assert world.alive == left
    assert world.alive == set()


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    strategy=st.sampled_from([Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE]),
    start=st.sampled_from([0.0, 0.3]),
)
def test_p6_in_a_storm_of_crashes_nobody_begins_before_those_that_come_first_or_beside_later_ones(
    seed: int, strategy: Strategy, start: float
) -> None:
    """`Child.started` asserts the order; here, that all live at the end, and each once."""
    rng = random.Random(seed)
    world = World(start=start)

    async def main() -> None:
        async with open_system(seams=seeded_seams(seed)) as system:
            supervision = Supervision(strategy=strategy, significant=False, restarts=1000)
            await system.spawn(Patient, world, len(NAMES), name="p", supervision=supervision)
            for _ in range(rng.randrange(1, 12)):
                path = f"/p/{rng.choice(NAMES)}"
                if path in system.paths():
                    system.crash(path)
                await trio.sleep(rng.choice([0.0, 0.1, 0.5, 1.0]))
            await system.settle(100)
            assert world.alive == set(NAMES)
            assert system.lookup("/p", Fail).statistics().restarts == 0
        assert world.alive == set()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


class Patient(Actor[Fail]):
    world: World
    count: int

    async def started(self, ctx: Context) -> None:
        for name in NAMES[: self.count]:
            supervision = Supervision(restarts=1000)
            await ctx.spawn(Child, name, self.world, name=name, supervision=supervision)

    @receives
    async def fail(self, _fail: Fail, _ctx: Context) -> None:
        raise ValueError("boom")


async def test_a_sibling_whose_first_life_just_begins_is_restarted_too() -> None:
    world = World()
    async with open_system(strategy=Strategy.ONE_FOR_ALL) as system:
        await system.spawn(Child, "a", world, name="a")
        world.start = 1.0
        system.spawn_nowait(Child, "b", world, name="b")
        await trio.sleep(0.5)
        system.crash("/a")
        await system.settle(30)
        assert world.alive == {"a", "b"}
        assert world.log == ["+a", "-a", "+b", "-b", "+a", "+b"]
