"""The frontier executor: what comes of it does not depend on who is first."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import pytest
import trio

from boyd.actors.graph.frontier import Plan, Products, next_frontier, run_frontiers
from boyd.runtime import Actor, Context, Replies, message, open_system, receives

R = TypeVar("R")

DIAMOND = Plan({"a": (), "b": ("a",), "c": ("a",), "d": ("a",), "e": ("c", "b"), "f": ("d", "e")})


@message
class Do(Replies[None]):
    """Run the test's work inside an actor, where fan-out is."""


async def inside(work: Callable[[Context], Awaitable[None]]) -> None:
    """Run `work` in a handler; raise what it raises, as it is."""
    failed: list[BaseException] = []

    class Doer(Actor[Do]):
        @receives
        async def do(self, _do: Do, ctx: Context) -> None:
            try:
                await work(ctx)
            except Exception as error:  # noqa: BLE001  # raised again below
                failed.append(error)

    async with open_system() as system:
        await (await system.spawn(Doer)).ask(Do())
    if failed:
        raise failed[0]


async def run(
    plan: Plan, waits: Mapping[str, float], done: Products | None = None
) -> tuple[Products, list[list[str]]]:
    """The products and the commits of a run in which each node takes its time."""
    products: Products = {}
    commits: list[list[str]] = []

    async def work(ctx: Context) -> None:
        async def perform(node: str, inputs: tuple[bytes, ...]) -> bytes:
            await ctx.sleep(waits[node])
            return node.encode() + b"(" + b",".join(inputs) + b")"

        async def commit(made: Mapping[str, bytes]) -> None:
            commits.append(list(made))

        products.update(await run_frontiers(plan, done or {}, perform, commit, ctx))

    await inside(work)
    return products, commits


async def test_g3_a_hundred_finishing_orders_come_to_the_same(
    autojump_clock: trio.abc.Clock,
) -> None:
    """G-j, decision 21: merged in declared order, one commit for each frontier."""
    chance = random.Random(3)
    for _ in range(100):
        waits = {node: chance.random() for node in DIAMOND.needs}
        products, commits = await run(DIAMOND, waits)
        assert products["f"] == b"f(d(a()),e(c(a()),b(a())))"
        assert list(products) == list("abcdef")
        assert commits == [["a"], ["b", "c", "d"], ["e"], ["f"]]


async def test_g2_all_nodes_of_a_frontier_run_at_the_same_time(
    autojump_clock: trio.abc.Clock,
) -> None:
    begun = trio.current_time()
    await run(DIAMOND, dict.fromkeys(DIAMOND.needs, 1.0))
    assert trio.current_time() - begun == pytest.approx(4.0)


async def test_g9_what_is_done_is_not_done_again(autojump_clock: trio.abc.Clock) -> None:
    done = {"a": b"A", "c": b"C"}
    products, commits = await run(DIAMOND, dict.fromkeys(DIAMOND.needs, 0.0), done)
    assert commits == [["b", "d"], ["e"], ["f"]]
    assert products["f"] == b"f(d(A),e(C,b(A)))"


async def test_g_i_the_first_failure_cancels_its_siblings_and_leaves_as_it_is(
    autojump_clock: trio.abc.Clock,
) -> None:
    cancelled: list[str] = []
    commits: list[Mapping[str, bytes]] = []

    async def work(ctx: Context) -> None:
        async def perform(node: str, _inputs: tuple[bytes, ...]) -> bytes:
            if node == "c":
                await ctx.sleep(1)
                raise ZeroDivisionError(node)
            try:
                await ctx.sleep(0 if node == "a" else 100)
            except trio.Cancelled:
                cancelled.append(node)
                raise
            return b""

        async def commit(made: Mapping[str, bytes]) -> None:
            commits.append(made)

        await run_frontiers(DIAMOND, {}, perform, commit, ctx)

    begun = trio.current_time()
    with pytest.raises(ZeroDivisionError, match="c"):
        await inside(work)
    assert trio.current_time() - begun == pytest.approx(1.0)
    assert sorted(cancelled) == ["b", "d"]
    assert [list(made) for made in commits] == [["a"]]  # nothing of a half-made frontier


def test_g1_a_plan_that_cannot_run_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="node 'b' needs 'x', which does not exist"):
        Plan({"a": (), "b": ("x",)})
    with pytest.raises(ValueError, match="these nodes need each other: b, c"):
        Plan({"a": (), "b": ("c",), "c": ("b",)})


def test_the_next_frontier_is_in_declared_order() -> None:
    assert next_frontier(DIAMOND, set()) == ("a",)
    assert next_frontier(DIAMOND, {"a"}) == ("b", "c", "d")
    assert next_frontier(DIAMOND, {"a", "c", "b"}) == ("d", "e")
    assert next_frontier(DIAMOND, set("abcdef")) == ()
