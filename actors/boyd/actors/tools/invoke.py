"""One call, from what the model wrote to what it is told. Only a cancel comes out of it."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection
from typing import Final, cast

import attrs
import trio

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.conversation.texts import without_halves
from boyd.actors.tools.arguments import ArgumentsError, parse_arguments
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.results import capped, result_text
from boyd.actors.tools.spec import Call, ToolError
from boyd.runtime.context import Context

__all__ = ["Ready", "invoke", "prepare"]

MOST_NAMES: Final = 20
LONGEST_ERROR: Final = 2_000


@attrs.frozen(kw_only=True)
class Ready:
    """A call whose arguments have passed the tool's schema.

    Attributes:
        call: with parsed arguments: what a gate looks at, and a person approves.
    """

    tool: AnyTool
    call: Call

    async def run(self, ctx: Context | None) -> ToolResult:
        """Run it within the tool's own time-out.

        Whatever goes wrong becomes an error result. A cancel from outside
        passes through, also when the tool swallowed it.
        """
        result: ToolResult | None = None
        with trio.move_on_after(self.tool.timeout) as scope:
            result = await self._attempt(ctx)
        await trio.lowlevel.checkpoint_if_cancelled()
        if result is None or (scope.cancel_called and self.tool.is_async):
            late = f"did not finish within {self.tool.timeout:g} s; it may have had effects"
            return _failed(self.call, f"{self.tool.name} {late}")
        return result

    async def _attempt(self, ctx: Context | None) -> ToolResult:
        name = self.tool.name
        try:
            value = await self.tool.run(self.tool.typed(self.call.arguments), ctx)
        except ToolError as error:
            return _failed(self.call, str(error) or f"{name} failed")
        except _stray_cancellations():
            return _failed(self.call, f"{name} failed: something under it was cancelled")
        except Exception as error:  # noqa: BLE001  # the tool boundary: the model gets it as a result
            return _failed(self.call, f"{name} failed: {_said(error)}")
        try:
            content = result_text(value)
        except TypeError as error:
            return _failed(self.call, f"{name} ran, but what it returned cannot be told: {error}")
        return ToolResult(call_id=self.call.id, content=capped(content))


def prepare(
    tool: AnyTool | None, call: ToolCall | Call, *, known: Collection[str] = ()
) -> Ready | ToolResult:
    """Check a call before anything of it happens; the error result if it cannot be made.

    Args:
        tool: the tool of the name that the call mentions; None if there is none.
        known: the names that there are, for the error text.
    """
    name = call.name if isinstance(call, ToolCall) else call.tool
    if tool is None or tool.name != name:
        return _failed(call, _unknown(name, known or ([tool.name] if tool else [])))
    try:
        arguments = (
            parse_arguments(call.arguments) if isinstance(call, ToolCall) else dict(call.arguments)
        )
    except ArgumentsError as error:
        return _failed(call, f"{name} was not called, because of its arguments: {error}")
    problems = tool.problems(arguments)
    if problems:
        return _failed(
            call, f"{name} was not called, because of its arguments: {'; '.join(problems)}"
        )
    return Ready(tool=tool, call=Call(name, arguments, call.id))


async def invoke(
    tool: AnyTool | None, call: ToolCall | Call, ctx: Context | None, *, known: Collection[str] = ()
) -> ToolResult:
    """`prepare`, then run: always one result with the id of the call."""
    ready = prepare(tool, call, known=known)
    if isinstance(ready, ToolResult):
        await trio.lowlevel.checkpoint()
        return ready
    return await ready.run(ctx)


def _failed(call: ToolCall | Call, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, content=capped(without_halves(text)), is_error=True)


def _unknown(name: str, known: Collection[str]) -> str:
    if not known:
        return f"there is no tool {name!r:.80}, nor any other"
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    listed = sorted(known)[:MOST_NAMES]
    more = f" and {len(known) - len(listed)} more" if len(known) > len(listed) else ""
    return f"there is no tool {name!r:.80}.{hint} There are: {', '.join(listed)}{more}"


def _said(error: Exception) -> str:
    if isinstance(error, ExceptionGroup):
        parts = cast("ExceptionGroup[Exception]", error).exceptions
        return "; ".join(_said(one) for one in parts)[:LONGEST_ERROR]
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text}"[:LONGEST_ERROR] if text else name


def _stray_cancellations() -> tuple[type[BaseException], ...]:
    """asyncio's, if a library brought asyncio in: no Trio task is ever cancelled by it."""
    asyncio = sys.modules.get("asyncio")
    return () if asyncio is None else (cast("type[BaseException]", asyncio.CancelledError),)
