"""The tools of one run, as actors: one each, and more while one tool has several calls to make."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import attrs

from boyd.actors.events import Call
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.actor import InvokeTool, ToolActor, tool_supervision
from boyd.actors.tools.define import AnyTool
from boyd.runtime import Context, Ref

__all__ = ["MOST_AT_ONCE", "Toolbox", "check_tools", "open_toolbox"]

MOST_AT_ONCE = 16
"""Calls of one tool that run in parallel; more wait their turn."""


@attrs.define(eq=False)
class _Worker:
    """One actor of a tool, and how many calls it has to make."""

    ref: Ref[InvokeTool]
    load: int = 0


@attrs.define(eq=False)
class _Crew:
    """The actors of one tool.

    Attributes:
        size: how many there are or are about to be.
    """

    workers: list[_Worker]
    size: int = 1


@attrs.frozen(kw_only=True, eq=False)
class Toolbox:
    """What a dispatch makes its calls with.

    Attributes:
        tools: the definitions, by name.
        waits: a call that needs an approval holds the run until it is answered; else it is recorded and passed by.
        refusal: why a dangerous call is denied before anybody is asked to approve it; None asks.
        ctx: of the actor that they live under.
    """

    spec: RunSpec
    tools: Mapping[str, AnyTool]
    waits: bool
    ctx: Context
    refusal: Callable[[Call], str | None] | None = None
    _crews: Mapping[str, _Crew] = attrs.field(alias="crews")

    def path(self, tool: str) -> str:
        """Where the tool lives."""
        return self._crews[tool].workers[0].ref.path

    @asynccontextmanager
    async def lend(self, name: str) -> AsyncGenerator[Ref[InvokeTool]]:
        """An actor of a tool, for one call: an idle one if there is one or may be one more."""
        crew = self._crews[name]
        worker = min(crew.workers, key=lambda one: one.load)
        if worker.load and crew.size < MOST_AT_ONCE:
            crew.size += 1
            worker = _Worker(await _spawn(self.ctx, self.spec, self.tools[name], crew.size), 1)
            crew.workers.append(worker)
        else:
            worker.load += 1
        try:
            yield worker.ref
        finally:
            worker.load -= 1


async def open_toolbox(
    ctx: Context, spec: RunSpec, tools: Sequence[AnyTool], *, waits: bool
) -> Toolbox:
    """Spawn an actor for each tool, under the actor of `ctx`."""
    crews = {tool.name: _Crew([_Worker(await _spawn(ctx, spec, tool, 1))]) for tool in tools}
    named = {tool.name: tool for tool in tools}
    return Toolbox(spec=spec, tools=named, waits=waits, ctx=ctx, crews=crews)


async def _spawn(ctx: Context, spec: RunSpec, tool: AnyTool, number: int) -> Ref[InvokeTool]:
    name = f"tool-{tool.name}.{number}" if number > 1 else f"tool-{tool.name}"
    return await ctx.spawn(ToolActor, tool, spec, name=name, supervision=tool_supervision(tool))


def check_tools(tools: Sequence[AnyTool]) -> tuple[AnyTool, ...]:
    """Raises ValueError where a name is used twice, so that a model could not say which one it means."""
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two tools are called {name!r}")
    return tuple(tools)
