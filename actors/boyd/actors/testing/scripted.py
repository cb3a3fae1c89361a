"""A model that says what a test wrote down.

It streams as a real adapter does: in several pieces, with ids, usage and a stop
reason, and with the same errors.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import attrs
import trio

from boyd.actors.conversation.artifacts import (
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from boyd.actors.providers.errors import ModelError, is_retryable
from boyd.actors.providers.protocol import Request, Streamed
from boyd.actors.providers.stream import FetchChannel
from boyd.actors.tools.spec import Call
from boyd.runtime.failure import failure

__all__ = ["Reply", "ScriptExhausted", "ScriptedModel", "calls", "fails", "says"]

PIECE: Final = 8
"""Characters in one text delta."""

FILLER: Final = "The answer is not here yet. "


@failure("boyd.ScriptExhausted")
class ScriptExhausted(ModelError):
    """A test's model was asked once more than its script has replies."""


@attrs.frozen(kw_only=True)
class Reply:
    """One scripted answer. Write it with `says`, `calls` or `fails`."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call | ToolCall, ...] = ()
    error: ModelError | None = None


Script: TypeAlias = Reply | Callable[[Request], Reply]


def says(text: str, /, *, reasoning: str = "") -> Reply:
    """An answer in words."""
    return Reply(text=text, reasoning=reasoning)


def calls(*wanted: Call | ToolCall, text: str = "") -> Reply:
    """An answer that asks for tools: `calls(weather.call(city="Utrecht"))`.

    A `ToolCall` has raw arguments, for what no sane model would write.
    """
    return Reply(text=text, calls=wanted)


def fails(
    status: int, /, *, after: int = 0, message: str = "", retry_after: float | None = None
) -> Reply:
    """An answer that ends in an error.

    Args:
        status: as of HTTP.
        after: how many characters of text arrive first.
    """
    text = (FILLER * (after // len(FILLER) + 1))[:after]
    said = message or f"the script fails with {status}"
    error = ModelError(
        f"scripted: {said}",
        code=f"http_{status}",
        status=status,
        retry_after=retry_after,
        partial=text,
        retryable=is_retryable(status),
    )
    return Reply(text=text, error=error)


class ScriptedModel:
    """A provider that gives the replies of its script in order, whoever asks.

    A reply may be a function of the request, to answer what was asked.

    Attributes:
        requests: everything that was asked, in order.
    """

    def __init__(self, *replies: Script, name: str = "scripted") -> None:
        self._script = replies
        self._name = name
        self._calls = 0
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """`scripted`, unless it was given another."""
        return self._name

    @property
    def left(self) -> int:
        """How many replies have not been used."""
        return max(len(self._script) - len(self.requests), 0)

    @asynccontextmanager
    async def open_stream(
        self, request: Request, /
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[Streamed]]:
        """As `Provider.open_stream`.

        Raises:
            ScriptExhausted: the script is over.
        """
        reply = self._next(request)
        await trio.lowlevel.checkpoint()
        if reply.error is not None and not reply.text:
            raise _again(reply.error)
        items = self._items(request, reply)

        async def fetch() -> list[Streamed] | None:
            await trio.lowlevel.checkpoint()
            item = next(items, None)
            if item is None and reply.error is not None:
                raise _again(reply.error)
            return None if item is None else [item]

        channel = FetchChannel(fetch)
        try:
            yield channel
        finally:
            channel.close()

    def _next(self, request: Request) -> Reply:
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._script):
            last = request.turns[-1] if request.turns else None
            asked = f"; the last turn was {last.role}: {last.text[:80]!r}" if last else ""
            count = len(self._script)
            has = f"has {count} {'reply' if count == 1 else 'replies'}"
            raise ScriptExhausted(
                f"{self._name}: the script {has}, and this was request {number + 1}{asked}",
                code="script_exhausted",
            )
        reply = self._script[number]
        return reply if isinstance(reply, Reply) else reply(request)

    def _items(self, request: Request, reply: Reply) -> Iterator[Streamed]:
        for piece in _pieces(reply.reasoning):
            yield ReasoningDelta(text=piece)
        for piece in _pieces(reply.text):
            yield TextDelta(text=piece)
        if reply.error is not None:
            return
        written = 0
        for index, wanted in enumerate(reply.calls):
            raw = wanted.arguments if isinstance(wanted, ToolCall) else json.dumps(wanted.arguments)
            name = wanted.name if isinstance(wanted, ToolCall) else wanted.tool
            yield ToolCallDelta(index=index, id=wanted.id or self._call_id(), name=name)
            for piece in _pieces(raw):
                yield ToolCallDelta(index=index, arguments=piece)
            written += len(raw)
        yield StopReason(reason="tool_use" if reply.calls else "stop")
        yield Usage(
            input_tokens=sum(len(turn.text) for turn in request.turns) // 4 + 1,
            output_tokens=(len(reply.text) + len(reply.reasoning) + written) // 4 + 1,
        )

    def _call_id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _again(error: ModelError) -> ModelError:
    """A fresh one each time: a raised exception collects tracebacks."""
    return ModelError(
        str(error),
        code=error.code,
        status=error.status,
        retry_after=error.retry_after,
        partial=error.partial,
        retryable=error.retryable,
    )
