"""When a provider will take a list of turns, and the nearest view that it takes.

The ledger is never repaired; what is sent is. A *view* is valid for every wire
format when call ids are unique, each call is followed at once by exactly one
result, no result stands alone, artifacts stand in turns of their role, and
nothing is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from boyd.actors.conversation.artifacts import (
    Image,
    StoredArtifact,
    Text,
    ToolCall,
    ToolResult,
)
from boyd.actors.conversation.turns import Turn
from boyd.runtime.errors import BoydError

__all__ = [
    "INTERRUPTED",
    "Problem",
    "TranscriptInvalid",
    "check_transcript",
    "repair_view",
    "require_transcript",
]

INTERRUPTED = "interrupted: this call did not finish; it may have had effects"
"""What a model is told of a call whose result was never recorded."""


@attrs.frozen
class Problem:
    """One reason why a provider may refuse a transcript."""

    turn: str
    text: str

    def __str__(self) -> str:
        return f"turn {self.turn}: {self.text}"


class TranscriptInvalid(BoydError, ValueError):
    """A transcript that a provider would refuse."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


def check_transcript(turns: Sequence[Turn]) -> tuple[Problem, ...]:
    """Everything that is wrong with `turns` as a view; () if a provider will take it."""
    return tuple(_problems(turns))


def require_transcript(turns: Sequence[Turn]) -> None:
    """Raises TranscriptInvalid, which lists what is wrong."""
    problems = check_transcript(turns)
    if problems:
        raise TranscriptInvalid(problems)


def repair_view(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The nearest valid view of `turns`; `turns` itself where it is valid.

    A missing result becomes an error result that says so, a late one moves up
    to its call, one without call and what is empty is left out, and a call id
    that was used before gets a new name.
    """
    return tuple(turns) if not check_transcript(turns) else tuple(_repaired(turns))


def _problems(turns: Sequence[Turn]) -> Iterator[Problem]:
    seen: set[str] = set()
    waiting: dict[str, Turn] = {}
    for turn in turns:
        yield from _misplaced(turn)
        if turn.role != "tool":
            yield from _unanswered(waiting)
            waiting = {}
        if turn.role == "assistant":
            for call in turn.calls:
                if not call.id:
                    yield Problem(turn.id, "a tool call has no id")
                elif call.id in seen:
                    yield Problem(turn.id, f"call id {call.id} is used twice")
                seen.add(call.id)
                waiting[call.id] = turn
        elif turn.role == "tool":
            for result in turn.results:
                if waiting.pop(result.call_id, None) is None:
                    yield Problem(
                        turn.id, f"result for {result.call_id or '(no id)'} answers no open call"
                    )
    yield from _unanswered(waiting)


def _unanswered(waiting: dict[str, Turn]) -> Iterator[Problem]:
    for call_id, turn in waiting.items():
        yield Problem(turn.id, f"call {call_id} has no result right after it")


def _belongs(artifact: StoredArtifact, turn: Turn) -> bool:
    if isinstance(artifact, ToolCall):
        return turn.role == "assistant"
    if isinstance(artifact, ToolResult):
        return turn.role == "tool"
    if isinstance(artifact, Image):
        return turn.role in ("user", "tool")
    return turn.role != "tool" or not isinstance(artifact, Text)


def _misplaced(turn: Turn) -> Iterator[Problem]:
    for artifact in turn.artifacts:
        if not _belongs(artifact, turn):
            yield Problem(
                turn.id, f"a {type(artifact).__name__} has no place in a {turn.role} turn"
            )
        elif isinstance(artifact, Text) and not artifact.text.strip():
            yield Problem(turn.id, "a text is empty")
    if not _says_something(turn):
        yield Problem(turn.id, "the turn is empty")


def _says_something(turn: Turn) -> bool:
    if turn.role == "tool":
        return bool(turn.results)
    return any(isinstance(one, (Text, ToolCall, Image)) for one in turn.artifacts)


@attrs.define(eq=False)
class _Names:
    """Call ids of the view, each given once."""

    used: set[str] = attrs.field(factory=set[str])

    def unique(self, wanted: str) -> str:
        name, number = wanted or "call", 2
        while name in self.used or not name:
            name, number = f"{wanted or 'call'}-{number}", number + 1
        self.used.add(name)
        return name


def _repaired(turns: Sequence[Turn]) -> Iterator[Turn]:
    names = _Names()
    taken: set[tuple[int, int]] = set()  # results that moved to their call: turn, place
    for at, original in enumerate(turns):
        turn = _without_noise(original)
        if turn.role == "tool" or not _says_something(turn):
            continue  # results come with their calls
        if not turn.calls:
            yield turn
            continue
        results = tuple(_find_result(call, at, turns, taken) for call in turn.calls)
        fresh = [names.unique(call.id) for call in turn.calls]
        yield _renamed(turn, fresh)
        answers = tuple(
            ToolResult(call_id=name, content=result.content, is_error=result.is_error)
            for result, name in zip(results, fresh, strict=True)
        )
        yield Turn(id=f"{turn.id}.results", role="tool", artifacts=answers)


def _without_noise(turn: Turn) -> Turn:
    kept = tuple(
        one
        for one in turn.artifacts
        if _belongs(one, turn) and not (isinstance(one, Text) and not one.text.strip())
    )
    return Turn(id=turn.id, role=turn.role, artifacts=kept)


def _find_result(
    call: ToolCall, at: int, turns: Sequence[Turn], taken: set[tuple[int, int]]
) -> ToolResult:
    """The first result for `call` after turn `at`, before another turn asks under the same id."""
    for number in range(at + 1, len(turns)):
        turn = turns[number]
        if turn.role == "tool":
            for place, artifact in enumerate(turn.artifacts):
                if isinstance(artifact, ToolResult) and artifact.call_id == call.id:
                    if (number, place) in taken:
                        continue
                    taken.add((number, place))
                    return artifact
        elif turn.role == "assistant" and any(one.id == call.id for one in turn.calls):
            break
    return ToolResult(call_id=call.id, content=INTERRUPTED, is_error=True)


def _renamed(turn: Turn, names: Sequence[str]) -> Turn:
    fresh = iter(names)
    artifacts = tuple(
        ToolCall(id=next(fresh), name=one.name, arguments=one.arguments)
        if isinstance(one, ToolCall)
        else one
        for one in turn.artifacts
    )
    return Turn(id=turn.id, role=turn.role, artifacts=artifacts)
