"""The journal of effects that must not happen twice.

Intent is written before a call of a ONCE tool is made, its outcome after.
A resume finds an outcome and uses it; an intent alone means that the call may
have had its effect, so it is not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from boyd.actors.conversation.artifacts import ToolResult
from boyd.actors.runs.spec import RunSpec
from boyd.runtime.messages import message

__all__ = [
    "UNKNOWN_OUTCOME",
    "ToolIntent",
    "ToolOutcome",
    "read_journal",
    "write_intents",
    "write_outcome",
]

UNKNOWN_OUTCOME = "unknown outcome: this call was begun before a crash and may have had its effect; it was not repeated"


@message("boyd.tool_intent")
class ToolIntent:
    """A call is about to be made."""

    key: str
    tool: str


@message("boyd.tool_outcome")
class ToolOutcome:
    """A call was made; this is its result, for good."""

    key: str
    result: ToolResult


async def read_journal(
    spec: RunSpec, keys: Iterable[str]
) -> tuple[Mapping[str, ToolResult], frozenset[str]]:
    """Recorded results by key, and keys of calls that were begun and have none."""
    wanted = set(keys)
    begun: set[str] = set()
    results: dict[str, ToolResult] = {}
    after = 0
    while True:
        page = await spec.system.ledger.read(
            spec.thread, after=after, limit=500, kinds=("boyd.tool_intent", "boyd.tool_outcome")
        )
        for entry in page:
            match entry.message():
                case ToolIntent(key=key) if key in wanted:
                    begun.add(key)
                case ToolOutcome(key=key, result=result) if key in wanted:
                    results[key] = result
                case _:
                    pass
        if len(page) < 500:  # noqa: PLR2004  # the page size above
            return results, frozenset(begun - results.keys())
        after = page[-1].seq


async def write_intents(spec: RunSpec, intents: Mapping[str, str]) -> None:
    """Record that the calls of these keys (to tool names) will be made now."""
    if intents:
        messages = [ToolIntent(key=key, tool=tool) for key, tool in intents.items()]
        await spec.append(*messages, ids=tuple(f"{key}#intent" for key in intents))


async def write_outcome(spec: RunSpec, key: str, result: ToolResult) -> None:
    """Record the one result of a call."""
    await spec.append(ToolOutcome(key=key, result=result), ids=(f"{key}#outcome",))
