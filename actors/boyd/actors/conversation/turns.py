"""A turn: what one party says at once, appended whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from boyd.actors.conversation.artifacts import StoredArtifact, Text, ToolCall, ToolResult
from boyd.runtime.messages import message

__all__ = ["Role", "Turn", "text_turn"]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@message("boyd.turn")
class Turn:
    """An atomic batch of artifacts by one party."""

    id: str
    role: Role
    artifacts: tuple[StoredArtifact, ...] = ()

    @property
    def text(self) -> str:
        """Its text artifacts, joined as they came."""
        return "".join(one.text for one in self.artifacts if isinstance(one, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in it, in order."""
        return tuple(one for one in self.artifacts if isinstance(one, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in it, in order."""
        return tuple(one for one in self.artifacts if isinstance(one, ToolResult))


def text_turn(role: Role, *texts: str, id: str) -> Turn:  # noqa: A002  # the field's name
    """A turn that says `texts`."""
    return Turn(id=id, role=role, artifacts=tuple(_texts(texts)))


def _texts(texts: Iterable[str]) -> Iterable[Text]:
    return (Text(text=text) for text in texts)
