"""What a tool is to everybody but its author: a name, a schema, two axes of caution, and a call."""

from __future__ import annotations

import enum

import attrs

from boyd.runtime.errors import BoydError

__all__ = ["Call", "Effect", "Risk", "ToolError", "ToolSpec"]


class Effect(enum.Enum):
    """What a resume may do with a call whose result is unknown."""

    PURE = enum.auto()
    """Run it again, any number of times."""
    IDEMPOTENT = enum.auto()
    """Run it again with the same key."""
    ONCE = enum.auto()
    """Never run it again: ask."""


class Risk(enum.Enum):
    """What a gate may do with a call before it runs."""

    READ = enum.auto()
    """Let it pass."""
    WRITE = enum.auto()
    """Let it pass, unless tainted text led to it."""
    DANGEROUS = enum.auto()
    """Ask a person, or refuse."""


@attrs.frozen
class Call:
    """A tool call whose arguments are a plain tree of JSON values."""

    tool: str
    arguments: dict[str, object] = attrs.field(factory=dict[str, object])
    id: str = ""


@attrs.frozen(kw_only=True)
class ToolSpec:
    """What a model is told of a tool.

    Attributes:
        schema: JSON Schema (2020-12) of its arguments, always an object.
    """

    name: str
    description: str
    schema: dict[str, object]


class ToolError(BoydError):
    """Raised by a tool to tell the model what went wrong; the run goes on."""
