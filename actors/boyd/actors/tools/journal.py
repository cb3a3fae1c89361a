"""The journal of effects that must not happen twice.

Intent is written before a call of a ONCE tool is made, its outcome after.
A resume finds an outcome and uses it; an intent alone means that the call may
have had its effect, so it is not made again. Calls of other tools are written
down only where a dispatch stops half-way, so that a resume need not repeat them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from boyd.actors.conversation.artifacts import ToolResult
from boyd.actors.runs.spec import RunSpec
from boyd.runtime import Ledger, message

__all__ = [
    "UNKNOWN_OUTCOME",
    "Journal",
    "ToolIntent",
    "ToolOutcome",
    "intent_id",
    "read_journal",
    "write_intent",
    "write_outcomes",
]

UNKNOWN_OUTCOME = "unknown outcome: this call was begun before a crash and may have had its effect; it was not repeated"
_PAGE = 500


@message("boyd.tool_intent")
class ToolIntent:
    """A call is about to be made.

    Attributes:
        by: who makes it, where more than one could.
    """

    key: str
    tool: str
    by: str = ""


@message("boyd.tool_outcome")
class ToolOutcome:
    """A call was made; this is its result, for good."""

    key: str
    result: ToolResult


@attrs.frozen(kw_only=True)
class Journal:
    """What is written of some calls.

    Attributes:
        results: by key.
        begun: who began the calls that have no result, by key.
    """

    results: Mapping[str, ToolResult] = attrs.field(factory=dict[str, ToolResult])
    begun: Mapping[str, str] = attrs.field(factory=dict[str, str])


async def read_journal(ledger: Ledger, thread: str, keys: Collection[str]) -> Journal:
    """What the thread says of the calls of these keys."""
    begun: dict[str, str] = {}
    results: dict[str, ToolResult] = {}
    after = 0
    while True:
        kinds = ("boyd.tool_intent", "boyd.tool_outcome")
        page = await ledger.read(thread, after=after, limit=_PAGE, kinds=kinds)
        for entry in page:
            match entry.message():
                case ToolIntent(key=key, by=by) if key in keys:
                    begun[key] = by
                case ToolOutcome(key=key, result=result) if key in keys:
                    results[key] = result
                case _:
                    pass
        if len(page) < _PAGE:
            open_ones = {key: by for key, by in begun.items() if key not in results}
            return Journal(results=results, begun=open_ones)
        after = page[-1].seq


def intent_id(key: str) -> str:
    """The entry id of an intent: one for each call, whoever makes it."""
    return f"{key}#intent"


async def write_intent(spec: RunSpec, key: str, tool: str) -> None:
    """Record that a call will be made now."""
    await spec.append(ToolIntent(key=key, tool=tool), ids=(intent_id(key),))


async def write_outcomes(spec: RunSpec, results: Mapping[str, ToolResult]) -> None:
    """Record the one result of each call, by key."""
    if results:
        outcomes = [ToolOutcome(key=key, result=result) for key, result in results.items()]
        await spec.append(*outcomes, ids=tuple(f"{key}#outcome" for key in results))
