"""What has come of the calls of one turn or one decision, readable at any moment."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.conversation.turns import Turn
from boyd.actors.events import Pending

__all__ = ["OpenCalls", "Progress", "error_result"]


@attrs.define(eq=False)
class Progress:
    """Where each call of one dispatch is, by its place among them.

    Attributes:
        results: of calls that have one.
        pending: calls that wait for a person, or were passed by until one answers.
        begun: calls that a tool was asked to make.
        why_not: what is said of calls that never began.
    """

    results: dict[int, ToolResult] = attrs.field(factory=dict[int, ToolResult])
    pending: dict[int, Pending] = attrs.field(factory=dict[int, Pending])
    begun: set[int] = attrs.field(factory=set[int])
    why_not: str = "everything was cancelled before this call began"

    def in_order(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """One result for each call: its own, or words that say why it has none."""
        return [self.results.get(n) or self._missing(n, call) for n, call in enumerate(calls)]

    def _missing(self, n: int, call: ToolCall) -> ToolResult:
        if n in self.begun:
            stopped = "this call was stopped before it had a result; it may have had effects"
            return error_result(call, f"cancelled: {stopped}")
        return error_result(call, f"not run: {self.why_not}")


@attrs.frozen(kw_only=True, eq=False)
class OpenCalls:
    """The calls of a turn, while they are not answered in its thread."""

    turn: Turn
    progress: Progress = attrs.field(factory=Progress)

    @property
    def place(self) -> str:
        """What names the dispatch of these calls within the thread, as its journal does."""
        return self.turn.id.rpartition("#")[2]

    @property
    def keys(self) -> list[str]:
        """The journal's key of each call."""
        return [f"{self.place}.{n}" for n in range(len(self.turn.calls))]

    def answer(self) -> Turn:
        """The tool turn that answers each call once, in call order."""
        results = tuple(self.progress.in_order(self.turn.calls))
        return Turn(id=f"{self.turn.id}=", role="tool", artifacts=results)

    def outcomes(self) -> dict[str, ToolResult]:
        """The results that there are, by the keys of the journal."""
        return {self.keys[n]: result for n, result in sorted(self.progress.results.items())}


def error_result(call: ToolCall, text: str) -> ToolResult:
    """A result that tells the model what went wrong."""
    return ToolResult(call_id=call.id, content=text, is_error=True)
