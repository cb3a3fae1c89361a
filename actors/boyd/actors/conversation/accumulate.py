"""Deltas to artifacts: pure, with the flush rules of the step.

Each kind of delta grows one block, calls one block each. Blocks are flushed in
the order in which they began: before any artifact that is complete by itself,
and at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import Literal

from boyd.actors.conversation.artifacts import (
    Artifact,
    Delta,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from boyd.actors.conversation.calls import CallAssembly, OpenCall

__all__ = ["Accumulator"]

Key = Literal["text", "reasoning"] | OpenCall


class Accumulator:
    """Merges one turn's stream.

    Args:
        new_id: makes an id for a call that came without one, or with one in use.
        tools: names of the tools that were offered, for names that come in pieces.
        taken: call ids that stand in the thread already.
    """

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        tools: Collection[str] = (),
        taken: Container[str] = (),
    ) -> None:
        self._new_id = new_id
        self._tools = tools
        self._taken = taken
        self._given: set[str] = set()
        self._said: list[str] = []
        self._begin()

    @property
    def partial(self) -> str:
        """All text of the turn so far."""
        return "".join(self._said)

    def add(self, item: Artifact | Delta) -> list[Artifact]:
        """Take the next item; the artifacts that it completes, itself last if it is one.

        A delta of a foreign kind completes nothing and is kept out of the turn.
        """
        match item:
            case TextDelta():
                self._said.append(item.text)
                self._grow("text", self._text, item.text)
            case ReasoningDelta():
                self._grow("reasoning", self._reasoning, item.text)
            case ToolCallDelta():
                self._order.setdefault(self._calls.add(item))
            case Artifact():
                return [*self.finish(), self._own(item)]
            case _:
                pass
        return []

    def finish(self) -> list[Artifact]:
        """Flush: the blocks so far. The next delta begins new ones."""
        blocks = [block for key in self._order if (block := self._block(key)) is not None]
        self._begin()
        return blocks

    def abandon(self) -> list[Artifact]:
        """Flush after a failure: text and reasoning, but no call, for none is known to be whole."""
        return [block for block in self.finish() if not isinstance(block, ToolCall)]

    def _begin(self) -> None:
        self._order: dict[Key, None] = {}
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls = CallAssembly(self._tools)

    def _grow(self, key: Key, pieces: list[str], text: str) -> None:
        if text:
            self._order.setdefault(key)
            pieces.append(text)

    def _block(self, key: Key) -> Artifact | None:
        if key == "text":
            return Text(text="".join(self._text))
        if key == "reasoning":
            return Reasoning(text="".join(self._reasoning))
        assert isinstance(key, OpenCall)
        if key.is_phantom:
            return None
        name = self._calls.name_of(key)
        return ToolCall(id=self._unique(key.id), name=name, arguments=key.arguments)

    def _own(self, item: Artifact) -> Artifact:
        if isinstance(item, Text):
            self._said.append(item.text)
        if isinstance(item, ToolCall):
            return ToolCall(id=self._unique(item.id), name=item.name, arguments=item.arguments)
        return item

    def _unique(self, call_id: str) -> str:
        while not call_id or call_id in self._given or call_id in self._taken:
            call_id = self._new_id()
        self._given.add(call_id)
        return call_id
