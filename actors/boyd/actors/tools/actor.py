"""The actor behind a tool: it makes one call at a time, in parallel with every other actor."""

from __future__ import annotations

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.runs.place import Place, enter_call
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.invoke import invoke
from boyd.actors.tools.progress import error_result
from boyd.actors.tools.spec import Effect
from boyd.runtime import (
    Actor,
    ActorCrashed,
    ActorStopped,
    AskTimeout,
    Context,
    Ref,
    RemoteFailure,
    Replies,
    Supervision,
    message,
    receives,
)

__all__ = ["InvokeTool", "ToolActor", "perform", "tool_supervision"]

_HOUR = 3600.0


@message("boyd.invoke_tool", within=_HOUR)
class InvokeTool(Replies[ToolResult]):
    """Make one call. Its own time limit is the tool's `timeout`.

    Attributes:
        key: names the call within its thread.
    """

    call: ToolCall
    key: str = ""


class ToolActor(Actor[InvokeTool]):
    """Makes calls of one tool, for one run or for nobody's."""

    tool: AnyTool
    spec: RunSpec | None = None

    async def started(self, ctx: Context) -> None:
        if self.spec is not None:
            ctx.headers = self.spec.headers

    @receives
    async def invoke(self, request: InvokeTool, ctx: Context) -> ToolResult:
        enter_call(request.key)
        if self.spec is not None:
            Place(self.spec, f"{self.tool.name}.{request.key}").enter()
        result = await invoke(self.tool, request.call, ctx)
        await ctx.system.dispatcher.enter()  # the tool may have waited for something of its own
        return result


def tool_supervision(tool: AnyTool) -> Supervision:
    """A tool that was made to crash in a call is called again, unless its effect must happen at most once."""
    again = 0 if tool.effect is Effect.ONCE else 1
    return Supervision(redeliver=again, significant=False, shutdown=0.0)


async def perform(tool: Ref[InvokeTool], call: ToolCall, key: str) -> ToolResult:
    """Ask a tool's actor; what befalls the actor is a result that says so."""
    try:
        return await tool.ask(InvokeTool(call=call, key=key))
    except (ActorCrashed, RemoteFailure) as error:
        return error_result(call, f"the tool crashed and may have had effects: {error}")
    except (ActorStopped, AskTimeout) as error:
        return error_result(call, f"the tool did not answer: {error}")
