"""What a model back end is: a request in, a stream of deltas and artifacts out."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

import attrs
import trio

from boyd.actors.conversation.artifacts import Artifact, Delta
from boyd.actors.conversation.turns import Turn
from boyd.actors.tools.spec import ToolSpec

__all__ = ["Provider", "Request", "Streamed"]

Streamed: TypeAlias = Delta | Artifact


@attrs.frozen(kw_only=True)
class Request:
    """One request to a model.

    Attributes:
        model: the provider's own name of the model; "" for the provider's default.
        turns: a valid view (`check_transcript`).
    """

    model: str = ""
    turns: tuple[Turn, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None


class Provider(Protocol):
    """A model back end.

    A channel that ends normally has delivered a whole answer. One that does
    not raises `ModelError` once, from `receive` or from entering the block.
    """

    @property
    def name(self) -> str:
        """Kind and model, such as `openai:gpt-5-mini`; for people, prices and the ledger."""
        ...

    def open_stream(
        self, request: Request, /
    ) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[Streamed]]:
        """Ask, and receive the answer piece by piece.

        Leaving the block, by whatever way, closes the connection before
        control returns. A slow reader holds the model back.
        """
        ...
