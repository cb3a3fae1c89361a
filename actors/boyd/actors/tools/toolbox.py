"""The tools of one run, as actors: one each, and more while one tool has several calls to make."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import attrs

from boyd.actors.events import Call
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.actor import InvokeTool, ToolActor, tool_supervision
from boyd.actors.tools.define import AnyTool
from boyd.runtime import Context, Gate, Ref

__all__ = ["MOST_AT_ONCE", "Toolbox", "check_tools", "open_toolbox"]

MOST_AT_ONCE = 16
"""Calls of one tool that run in parallel; more wait their turn."""


@attrs.define(eq=False)
class _Worker:
    """One actor of a tool, and how many calls it has to make.

    Attributes:
        there: opened once it lives.
    """

    there: Gate
    load: int = 0
    ref: Ref[InvokeTool] | None = None


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
    _workers: Mapping[str, list[_Worker]] = attrs.field(alias="workers")

    def path(self, tool: str) -> str:
        """Where the tool lives."""
        return f"{self.ctx.ref.path}/{_name(tool, 1)}"

    @asynccontextmanager
    async def lend(self, name: str) -> AsyncGenerator[Ref[InvokeTool]]:
        """An actor of a tool, for one call: an idle one if there is one or may be one more."""
        workers = self._workers[name]
        worker = min(workers, key=lambda one: one.load)
        if worker.load and len(workers) < MOST_AT_ONCE:
            worker = _Worker(Gate(self.ctx.system.dispatcher))
            workers.append(worker)
            worker.load += 1
            await _start(worker, self.ctx, self.spec, self.tools[name], len(workers))
        else:
            worker.load += 1
            await worker.there.wait()
        assert worker.ref is not None, "it is there"
        try:
            yield worker.ref
        finally:
            worker.load -= 1


async def open_toolbox(
    ctx: Context, spec: RunSpec, tools: Sequence[AnyTool], *, waits: bool
) -> Toolbox:
    """Spawn an actor for each tool, under the actor of `ctx`."""
    workers = {tool.name: [_Worker(Gate(ctx.system.dispatcher))] for tool in tools}
    for tool in tools:
        await _start(workers[tool.name][0], ctx, spec, tool, 1)
    named = {tool.name: tool for tool in tools}
    return Toolbox(spec=spec, tools=named, waits=waits, ctx=ctx, workers=workers)


def _name(tool: str, number: int) -> str:
    return f"tool-{tool}.{number}" if number > 1 else f"tool-{tool}"


async def _start(worker: _Worker, ctx: Context, spec: RunSpec, tool: AnyTool, number: int) -> None:
    name, supervision = _name(tool.name, number), tool_supervision(tool)
    worker.ref = await ctx.spawn(ToolActor, tool, spec, name=name, supervision=supervision)
    worker.there.open()


def check_tools(tools: Sequence[AnyTool]) -> tuple[AnyTool, ...]:
    """Raises ValueError where a name is used twice, so that a model could not say which one it means."""
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two tools are called {name!r}")
    return tuple(tools)
