"""The actor behind a tool: one call at a time, in parallel with every other tool."""

from __future__ import annotations

from typing import Any

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.tools.define import Tool
from boyd.actors.tools.invoke import invoke
from boyd.actors.tools.spec import Effect
from boyd.runtime import Actor, Context, Replies, Supervision, message, receives

__all__ = ["InvokeTool", "ToolActor", "tool_supervision"]

_HOUR = 3600.0


@message("boyd.invoke_tool", within=_HOUR)
class InvokeTool(Replies[ToolResult]):
    """Make one call. Its own time limit is the tool's `timeout`."""

    call: ToolCall


class ToolActor(Actor[InvokeTool]):
    """Makes the calls of one tool."""

    tool: Tool[..., Any]

    @receives
    async def invoke(self, request: InvokeTool, ctx: Context) -> ToolResult:
        return await invoke(self.tool, request.call, ctx)


def tool_supervision(tool: Tool[..., Any]) -> Supervision:
    """A tool that was made to crash in a call is called again, unless its effect must happen at most once."""
    again = 0 if tool.effect is Effect.ONCE else 1
    return Supervision(redeliver=again, significant=False, shutdown=1.0)
