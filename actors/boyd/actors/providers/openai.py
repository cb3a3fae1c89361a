"""Chat Completions over HTTP, streamed: OpenAI and every compatible server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import trio

from boyd.actors.providers.base_url import check_base_url
from boyd.actors.providers.chat_request import chat_body
from boyd.actors.providers.chat_stream import ChatStream
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.failures import error_of_reply, read_body
from boyd.actors.providers.forbid import refuse_if_forbidden
from boyd.actors.providers.http import (
    Deadlines,
    OpenPost,
    Post,
    Reply,
    is_loopback,
    open_post,
    origin_of,
)
from boyd.actors.providers.protocol import Request, Streamed
from boyd.actors.providers.sse import Fault, ServerEvent, SseItem, SseParser
from boyd.actors.providers.stream import FetchChannel
from boyd.actors.secret import Secret
from boyd.runtime.seams import Seams

__all__ = ["OpenAI"]

BASE_URL: Final = "https://api.openai.com/v1"
KEY: Final = "OPENAI_API_KEY"
LARGEST_DOCUMENT: Final = 8 << 20


class OpenAI:
    """A model of OpenAI, or of any server that speaks Chat Completions.

    Args:
        model: its name, such as `gpt-5-mini`.
        base_url: of a compatible server, up to and including `/v1`.
        api_key: by default `OPENAI_API_KEY` of the environment, looked up when
            a request is made. It is not taken from the environment for plain
            http to another machine.
        deadlines: of one request.
        seams: the environment and the wall clock.
        post: how a request is sent, for tests.
    """

    def __init__(
        self,
        model: str,
        /,
        *,
        base_url: str | None = None,
        api_key: str | Secret | None = None,
        deadlines: Deadlines | None = None,
        seams: Seams | None = None,
        post: OpenPost = open_post,
    ) -> None:
        self._model = model
        self._base_url = base_url
        self._url = _completions_url(BASE_URL if base_url is None else base_url)
        self._key = Secret(api_key) if isinstance(api_key, str) else api_key
        self._deadlines = Deadlines() if deadlines is None else deadlines
        self._seams = Seams() if seams is None else seams
        self._post = post

    @property
    def name(self) -> str:
        """`openai:` and the model."""
        return f"openai:{self._model}"

    def __repr__(self) -> str:
        return (
            f"OpenAI({self._model!r})"
            if self._base_url is None
            else f"OpenAI({self._model!r} at {origin_of(self._url)})"
        )

    @asynccontextmanager
    async def open_stream(
        self, request: Request, /
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[Streamed]]:
        """As `Provider.open_stream`: deltas of text, reasoning and calls, then why and usage."""
        if self._post is open_post:  # before the key: a test without one should hear of the test
            refuse_if_forbidden(self.name, is_loopback=is_loopback(self._url))
        self._check_base_url()
        key = self._checked_key()
        secrets = () if key is None else (key,)
        field = "max_completion_tokens" if self._base_url is None else "max_tokens"
        post = Post(
            name=self.name,
            url=self._url,
            headers={} if key is None else {"Authorization": Secret(f"Bearer {key.reveal()}")},
            body=chat_body(request, model=self._model, limit_field=field),
            deadlines=self._deadlines,
        )
        async with self._post(post) as reply:
            if reply.status != 200:  # noqa: PLR2004
                now = self._seams.clock.wall()
                raise await error_of_reply(self.name, reply, now=now, secrets=secrets)
            channel = FetchChannel(_Reader(self.name, reply, secrets).fetch)
            try:
                yield channel
            finally:
                channel.close()

    def check(self) -> None:
        """Find out before the first request whether there can be one.

        Raises:
            ModelError: it has no name, its base URL is none, or the key is missing or malformed.
        """
        self._check_base_url()
        self._checked_key()

    def _check_base_url(self) -> None:
        if self._base_url is not None:
            check_base_url(self.name, self._base_url)

    def _checked_key(self) -> Secret | None:
        if not self._model.strip():
            raise ModelError(
                "openai: the model has no name: write openai:NAME", code="unknown_model"
            )
        key = self._key
        if key is None and (self._base_url is None or _may_get_key(self._url)):
            found = self._seams.environ(KEY)
            key = Secret(found) if found else None
        key = None if key is None or not key.reveal().strip() else Secret(key.reveal().strip())
        if key is None and self._base_url is None:
            text = (
                f"{self.name} needs {KEY}, api_key= or base_url=. "
                "Without a key: agent.using(ScriptedModel(...)), or `boyd demo`"
            )
            raise ModelError(text, code="no_key")
        if key is not None and not (key.reveal().isascii() and key.reveal().isprintable()):
            text = "the key has characters that no key has (a line break, a quote from a web page)"
            text = f"{self.name}: {text}"
            raise ModelError(text, code="bad_key")
        return key


def _completions_url(base_url: str) -> str:
    url = base_url.strip().rstrip("/")
    return url if url.endswith("/chat/completions") else f"{url}/chat/completions"


def _may_get_key(url: str) -> bool:
    return url.lower().startswith("https:") or is_loopback(url)


class _Reader:
    """Fetches from a reply until something is complete."""

    def __init__(self, name: str, reply: Reply, secrets: tuple[Secret, ...]) -> None:
        self._name = name
        self._reply = reply
        self._parser = SseParser()
        self._stream = ChatStream(name, *secrets)
        self._begun = False
        self._ended = False
        self._error: ModelError | None = None

    async def fetch(self) -> list[Streamed] | None:
        """The next items, maybe none yet; None when the answer is over. Raises ModelError."""
        if self._error is not None:
            raise self._error
        if self._ended:
            return None
        self._reply.progressed()
        try:
            return await self._next_items()
        except ModelError as error:
            error.partial = error.partial or self._stream.partial
            raise

    async def _next_items(self) -> list[Streamed]:
        while not self._stream.is_done:
            chunk = await self._next_chunk()
            if chunk is None:
                break
            if not self._begun and (body := chunk.lstrip()):
                self._begun = True
                if body[:1] in b"{[<":
                    return await self._document(chunk)
            items, progressed = self._feed(chunk)
            if items:
                return items
            if progressed:
                self._reply.progressed()
        self._ended = True
        return self._stream.finish()

    async def _next_chunk(self) -> bytes | None:
        try:
            return await self._reply.chunk()
        except ModelError:
            if self._stream.is_whole:
                return None  # all was said; only the goodbye is missing
            raise

    def _feed(self, chunk: bytes) -> tuple[list[Streamed], bool]:
        items: list[Streamed] = []
        found = self._parser.feed(chunk)
        try:
            for one in found:
                items += self._take(one)
        except ModelError as error:
            if not items:
                raise
            # What came before it is delivered first, however the bytes were cut.
            self._error = error
        return items, bool(found)

    def _take(self, item: SseItem) -> list[Streamed]:
        if isinstance(item, Fault):
            text = f"{self._name}: the answer is no event stream that is accepted: {item.text}"
            raise ModelError(text, code="bad_stream", partial=self._stream.partial)
        if isinstance(item, ServerEvent):
            return self._stream.feed(item.data, event=item.event)
        return []

    async def _document(self, first: bytes) -> list[Streamed]:
        """An answer in one piece: an error, or a server that does not stream."""
        self._ended = True
        if first.lstrip().startswith(b"<"):
            text = (
                f"{self._name}: the server answered with a web page; is base_url right, up to /v1?"
            )
            raise ModelError(text, code="not_a_model")
        rest, is_all = await read_body(self._reply, largest=LARGEST_DOCUMENT)
        if not is_all:
            text = f"{self._name}: the answer is larger than {LARGEST_DOCUMENT >> 20} MiB"
            raise ModelError(text, code="too_large")
        try:
            text = (first + rest).decode()
        except UnicodeDecodeError:
            raise ModelError(f"{self._name}: the answer is not UTF-8", code="bad_stream") from None
        items = self._stream.feed(text)
        self._stream.is_done = self._stream.is_done or bool(items)
        return [*items, *self._stream.finish()]
