"""A Chat Completions server over real HTTP, whose answers a test writes down byte for byte.

    async with open_chat_server(streams("Hello", " there"), status(503)) as server:
        model = OpenAI("test", base_url=server.base_url)

Each request takes the next answer. `server.requests` holds what was asked,
`server.hung_up` is set when a client closed its connection in mid-answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypedDict, Unpack

import attrs
import trio

__all__ = [
    "DONE",
    "Answer",
    "ChatServer",
    "asks_for",
    "chunk",
    "event",
    "events",
    "open_chat_server",
    "status",
    "streams",
    "usage",
    "whole",
]

DONE = b"data: [DONE]\n\n"


def chunk(
    delta: dict[str, Any] | None = None, *, finish: str | None = None, **more: object
) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event({"id": "c1", "object": "chat.completion.chunk", "choices": [choice], **more})


def event(data: object) -> bytes:
    """Any data as one event."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def usage(prompt: int = 10, completion: int = 5, **more: object) -> bytes:
    """The usage chunk that ends a stream."""
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, **more}
    return event({"id": "c1", "choices": [], "usage": counted})


@attrs.frozen(kw_only=True)
class Answer:
    """What one request gets.

    Attributes:
        pieces: the body, sent piece by piece, each in a segment of its own.
        chunked: with chunked framing, so that an early end shows; else the end of the
            connection is the end of the body.
        cut: close the connection after the pieces, without a proper end.
        stall: after the pieces, send nothing more and wait for the client to hang up.
        trickle: after the pieces, send a byte of a comment that never ends, every so many seconds.
    """

    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[bytes, ...] = ()
    chunked: bool = True
    cut: bool = False
    stall: bool = False
    trickle: float | None = None


class AnswerOptions(TypedDict, total=False):
    """What may be otherwise with a stream; see `Answer`."""

    chunked: bool
    cut: bool
    stall: bool
    trickle: float


def events(*pieces: bytes, **options: Unpack[AnswerOptions]) -> Answer:
    """A stream of exactly these bytes."""
    return Answer(pieces=pieces, **options)


def streams(*texts: str, **options: Unpack[AnswerOptions]) -> Answer:
    """A whole answer in words, a delta each."""
    deltas = [chunk({"content": text}) for text in texts]
    return events(*deltas, chunk(finish="stop"), usage(), DONE, **options)


def asks_for(*calls: tuple[str, dict[str, Any]], **options: Unpack[AnswerOptions]) -> Answer:
    """A whole answer that asks for tools by name and arguments, streamed in halves."""
    pieces: list[bytes] = []
    for index, (name, arguments) in enumerate(calls):
        raw = json.dumps(arguments)
        first = {"index": index, "id": f"call_{name}_{index}", "type": "function"}
        function = {"name": name, "arguments": raw[: len(raw) // 2]}
        pieces.append(chunk({"tool_calls": [{**first, "function": function}]}))
        rest = {"index": index, "function": {"arguments": raw[len(raw) // 2 :]}}
        pieces.append(chunk({"tool_calls": [rest]}))
    return events(*pieces, chunk(finish="tool_calls"), usage(), DONE, **options)


def whole(
    body: object,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: tuple[tuple[str, str], ...] = (),
) -> Answer:
    """One JSON document instead of a stream."""
    pieces = (json.dumps(body).encode(),)
    return Answer(status=status, content_type=content_type, headers=headers, pieces=pieces)


def status(code: int, message: str = "no", *headers: tuple[str, str]) -> Answer:
    """A refusal."""
    return whole({"error": {"message": message}}, status=code, headers=headers)


class ChatServer:
    """What a test sees of the server."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.port = 0
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.hung_up = trio.Event()
        self.open_connections = 0

    @property
    def base_url(self) -> str:
        """For `OpenAI(..., base_url=)`."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, stream: trio.SocketStream) -> None:
        """One connection, one request."""
        self.open_connections += 1
        try:
            async with stream:
                await self._answer(stream)
        except* trio.BrokenResourceError:
            self.hung_up.set()
        finally:
            self.open_connections -= 1

    async def _answer(self, stream: trio.SocketStream) -> None:
        head, body = await _read_request(stream)
        if head is None:
            return
        self.headers.append(head)
        self.requests.append(json.loads(body))
        answer = self._answers.pop(0) if self._answers else status(500, "no answer is left")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, stream, nursery.cancel_scope)
            await _send(stream, answer)
            nursery.cancel_scope.cancel()

    async def _watch(self, stream: trio.SocketStream, scope: trio.CancelScope) -> None:
        try:
            while await stream.receive_some(1):
                pass
        except trio.BrokenResourceError:
            pass
        self.hung_up.set()
        scope.cancel()


async def _read_request(stream: trio.SocketStream) -> tuple[dict[str, str] | None, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        more = await stream.receive_some(65536)
        if not more:
            return None, b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    start, *lines = head.decode("latin-1").split("\r\n")
    fields = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    fields["target"] = start.split(" ")[1]
    while len(body) < int(fields.get("content-length", "0")):
        more = await stream.receive_some(65536)
        if not more:
            return None, b""
        body += more
    return fields, body


async def _send(stream: trio.SocketStream, answer: Answer) -> None:
    lines = [f"HTTP/1.1 {answer.status} X", f"Content-Type: {answer.content_type}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    lines.append("Transfer-Encoding: chunked" if answer.chunked else "Connection: close")
    await stream.send_all("\r\n".join([*lines, "", ""]).encode())
    for piece in answer.pieces:
        await _send_piece(stream, answer, piece)
        await trio.lowlevel.checkpoint()
    while answer.trickle is not None:
        await trio.sleep(answer.trickle)
        await _send_piece(stream, answer, b":")
    if answer.stall:
        await trio.sleep_forever()
    if answer.chunked and not answer.cut:
        await stream.send_all(b"0\r\n\r\n")


async def _send_piece(stream: trio.SocketStream, answer: Answer, piece: bytes) -> None:
    framed = b"%x\r\n%s\r\n" % (len(piece), piece) if answer.chunked else piece
    if piece:
        await stream.send_all(framed)


@asynccontextmanager
async def open_chat_server(*answers: Answer) -> AsyncGenerator[ChatServer]:
    """A server on a free port of 127.0.0.1, for as long as the block runs."""
    server = ChatServer(answers)
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, server.serve, 0, host="127.0.0.1")
        listeners: list[trio.SocketListener] = await nursery.start(serve)
        server.port = listeners[0].socket.getsockname()[1]
        yield server
        nursery.cancel_scope.cancel()
