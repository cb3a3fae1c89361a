"""The frontier executor: all nodes that are ready run in parallel; one append for each frontier.

A frontier is the set of nodes whose needs are met. Its products are merged in
the order in which the plan declares the nodes, never in the order in which
they finish, and stand in the ledger before the next frontier begins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import attrs

from boyd.actors.runs.parallel import in_parallel
from boyd.runtime import Context

__all__ = ["Plan", "Products", "next_frontier", "run_frontiers"]

Products: TypeAlias = dict[str, bytes]
"""What each node has made so far, encoded, by its name."""


@attrs.frozen
class Plan:
    """Nodes in declared order, each with the nodes whose products it is given.

    Raises:
        ValueError: a node needs one that does not exist, or nodes need each other in a ring.
    """

    needs: Mapping[str, Sequence[str]]

    def __attrs_post_init__(self) -> None:
        done: set[str] = set()
        for node, needed in self.needs.items():
            unknown = [one for one in needed if one not in self.needs]
            if unknown:
                raise ValueError(f"node {node!r} needs {unknown[0]!r}, which does not exist")
        while len(done) < len(self.needs):
            frontier = next_frontier(self, done)
            if not frontier:
                ring = ", ".join(sorted(set(self.needs) - done))
                raise ValueError(f"these nodes need each other: {ring}")
            done.update(frontier)


def next_frontier(plan: Plan, done: Collection[str]) -> tuple[str, ...]:
    """The nodes that are not done and whose needs are, in declared order."""
    return tuple(
        node
        for node, needed in plan.needs.items()
        if node not in done and all(one in done for one in needed)
    )


async def run_frontiers(
    plan: Plan,
    done: Products,
    perform: Callable[[str, tuple[bytes, ...]], Awaitable[bytes]],
    commit: Callable[[Mapping[str, bytes]], Awaitable[None]],
    ctx: Context,
    *,
    enter: Callable[[Sequence[str]], Awaitable[None]] | None = None,
) -> Products:
    """Run `plan` from `done`, which a resume has read from the ledger, to its end.

    `enter(nodes)` is told of a frontier before it begins, `perform(node,
    inputs)` makes one product, `commit(products)` writes a frontier down. The
    first failure cancels the rest of its frontier, of which nothing is
    committed, and is raised as it is.
    """
    products = dict(done)
    while frontier := next_frontier(plan, products):
        if enter is not None:
            await enter(frontier)
        made: Products = {}

        async def one(node: str, made: Products = made) -> None:
            inputs = tuple(products[needed] for needed in plan.needs[node])
            made[node] = await perform(node, inputs)

        await in_parallel(ctx, [partial(one, node) for node in frontier])
        # In declared order, whoever was first.
        merged = {node: made[node] for node in frontier}
        await commit(merged)
        products.update(merged)
    return products
