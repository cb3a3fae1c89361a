"""Typed pieces of content, and the fragments in which a model streams them.

An *artifact* is complete and may be stored in a turn. A *delta* is a fragment:
observers see it, `accumulate` merges it, no ledger ever holds it. Both are
events and messages. A kind of your own is an `@message("your.tag")` class with
one of the two bases.
"""

from __future__ import annotations

from typing import TypeAlias

from boyd.runtime.messages import message

__all__ = [
    "Artifact",
    "Delta",
    "Event",
    "Image",
    "Reasoning",
    "ReasoningDelta",
    "StopReason",
    "StoredArtifact",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolCallDelta",
    "ToolResult",
    "Usage",
]


class Event:
    """What the observers of a run see."""

    __slots__ = ()


class Artifact(Event):
    """A complete piece of content."""

    __slots__ = ()


class Delta(Event):
    """A streamed fragment: seen at once, merged later, never stored."""

    __slots__ = ()


@message("boyd.text")
class Text(Artifact):
    """Words, from anybody."""

    text: str


@message("boyd.reasoning")
class Reasoning(Artifact):
    """What a model thought before it answered. It is not sent back to a model."""

    text: str


@message("boyd.tool_call")
class ToolCall(Artifact):
    """A model asks for a tool.

    Attributes:
        arguments: the raw text that the model wrote; it may be anything.
    """

    id: str
    name: str
    arguments: str


@message("boyd.tool_result")
class ToolResult(Artifact):
    """What a model is told of one of its calls."""

    call_id: str
    content: str
    is_error: bool = False


@message("boyd.image")
class Image(Artifact):
    """A picture by its URL (`https:` or `data:`)."""

    url: str


@message("boyd.usage")
class Usage(Artifact):
    """What one request took, as the provider counted it. None is unknown, never zero.

    Attributes:
        cache_read_tokens: the part of `input_tokens` that came from a prompt cache.
        reasoning_tokens: the part of `output_tokens` that was reasoning.
        cost: in US dollars, where the provider says it.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


@message("boyd.stop_reason")
class StopReason(Artifact):
    """Why a model stopped: `stop`, `length`, `tool_use`, `refusal` or `other`."""

    reason: str


@message("boyd.text_delta")
class TextDelta(Delta):
    """Some more text."""

    text: str


@message("boyd.reasoning_delta")
class ReasoningDelta(Delta):
    """Some more reasoning."""

    text: str


@message("boyd.tool_call_delta")
class ToolCallDelta(Delta):
    """A fragment of a tool call, as the wire had it: nothing in it can be relied upon.

    Attributes:
        index: which call of the turn it says it belongs to; None if it does not say.
    """

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


StoredArtifact: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Image | Usage | StopReason
"""What a turn may hold."""
