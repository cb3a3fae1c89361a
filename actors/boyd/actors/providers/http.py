"""The only module that speaks HTTP, and the only user of httpx.

Of httpx it uses the transport alone: no redirects, cookies, proxies from the
environment, or decompression. Every wait has a deadline, every body a cap,
and every error leaves as a `ModelError` without secrets.
"""

from __future__ import annotations

import functools
import ipaddress
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Final, Protocol, TypeVar

import attrs
import httpx
import trio

from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.forbid import refuse_if_forbidden
from boyd.actors.secret import Secret, redact

__all__ = ["Deadlines", "OpenPost", "Post", "Reply", "is_loopback", "open_post", "origin_of"]

LARGEST_BODY: Final = 64 << 20
LONGEST_TEXT: Final = 300

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Deadlines:
    """How long a request may take, in seconds.

    Attributes:
        connect: until the connection stands, TLS included.
        idle: without any progress, the wait for the first answer included.
            A byte is no progress, a whole event is: so a server that
            trickles is caught.
        total: from the start to the last byte.
    """

    connect: float = 10.0
    idle: float = 120.0
    total: float = 600.0


@attrs.frozen(kw_only=True)
class Post:
    """A POST of JSON.

    Attributes:
        name: of the model, for error texts.
    """

    name: str
    url: str
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")
    headers: Mapping[str, str | Secret] = attrs.field(factory=dict[str, str | Secret])
    deadlines: Deadlines = attrs.field(factory=Deadlines)


class Reply(Protocol):
    """An answer whose body has not been read yet."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers; names in lower case."""
        ...

    def progressed(self) -> None:
        """Something whole has arrived, or is asked for: the idle time begins anew."""
        ...

    async def chunk(self) -> bytes | None:
        """The next bytes of the body as they arrive; None at its end. Raises ModelError."""
        ...


OpenPost = Callable[[Post], AbstractAsyncContextManager[Reply]]
"""What `open_post` is. Adapters take it as a seam, so that tests cut streams without sockets."""


def is_loopback(url: str) -> bool:
    """Whether `url` points at this machine by a name or address that cannot be another one."""
    try:
        host = httpx.URL(url).host.rstrip(".").lower()
    except httpx.InvalidURL:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin_of(url: str) -> str:
    """Scheme, host and port of `url`, for people: no path, query, user or password."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "an address that is no URL"
    port = f":{parsed.port}" if parsed.port is not None else ""
    host = f"[{parsed.host}]" if ":" in parsed.host else parsed.host
    return f"{parsed.scheme}://{host}{port}"


@asynccontextmanager
async def open_post(post: Post) -> AsyncGenerator[Reply]:
    """Send `post` and hand out the answer when its headers are there.

    When the block is left the connection is closed, before control returns.

    Raises:
        ModelError: not connected, broken, too slow, or forbidden by a test.
    """
    refuse_if_forbidden(post.name, is_loopback=is_loopback(post.url))
    limits = _Clock(post)
    transport = httpx.AsyncHTTPTransport(
        verify=_tls(),
        trust_env=False,
        limits=httpx.Limits(max_connections=1, max_keepalive_connections=0),
    )
    async with transport:
        with _translated(post):
            request = _request(post)
            response = await limits.bound(lambda: transport.handle_async_request(request))
        reply = _HttpReply(post, response, limits)
        try:
            yield reply
        finally:
            await reply.close()


@functools.cache
def _tls() -> ssl.SSLContext:
    # Reading the certificates takes 10 ms and more: once a process.
    return httpx.create_ssl_context(trust_env=False)


def _request(post: Post) -> httpx.Request:
    url = httpx.URL(post.url)
    if url.scheme not in ("http", "https") or not url.host:
        raise ModelError(
            f"{post.name}: {origin_of(post.url)} is no http or https address", code="bad_url"
        )
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",  # a compressed body expands without bound
        **{
            name: value.reveal() if isinstance(value, Secret) else value
            for name, value in post.headers.items()
        },
    }
    waits = {
        "connect": post.deadlines.connect,
        "pool": post.deadlines.connect,
        "read": None,  # ours are per event
        "write": post.deadlines.idle,
    }
    request = httpx.Request(
        "POST", url, headers=headers, content=post.body, extensions={"timeout": waits}
    )
    request.stream = _OneChunk(post.body)
    return request


class _OneChunk(httpx.AsyncByteStream):
    """A body without a generator, which a cancel would leave half-way."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._body is None:
            raise StopAsyncIteration
        body, self._body = self._body, None
        return body


class _Clock:
    """The deadlines of one request, on Trio's clock."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._total_at = trio.current_time() + post.deadlines.total
        self._idle_at = 0.0
        self.restart()

    def restart(self) -> None:
        self._idle_at = trio.current_time() + self._post.deadlines.idle

    async def bound(self, fn: Callable[[], Awaitable[T]]) -> T:
        done: list[T] = []
        with trio.move_on_at(min(self._total_at, self._idle_at)):
            done.append(await fn())
        if done:
            return done[0]
        name, limits = self._post.name, self._post.deadlines
        if self._total_at <= self._idle_at:
            text = f"{name}: the answer was not complete after {limits.total:g} s"
            raise ModelError(text, code="timeout_total")
        text = f"{name}: nothing came from {origin_of(self._post.url)} for {limits.idle:g} s"
        raise ModelError(text, code="timeout_idle", retryable=True)


class _HttpReply:
    """A response of httpx, read chunk by chunk under deadlines."""

    def __init__(self, post: Post, response: httpx.Response, limits: _Clock) -> None:
        self._post = post
        self._limits = limits
        self._size = 0
        self._stream = response.stream
        assert isinstance(self._stream, httpx.AsyncByteStream)
        self._chunks: AsyncIterator[bytes] = aiter(self._stream)
        self._started = False
        self.status = response.status_code
        self.headers: Mapping[str, str] = {k.lower(): v for k, v in response.headers.items()}

    def progressed(self) -> None:
        self._limits.restart()

    async def chunk(self) -> bytes | None:
        self._started = True
        with _translated(self._post):
            data = await self._limits.bound(self._next)
        self._size += len(data or b"")
        if self._size > LARGEST_BODY:
            text = f"{self._post.name}: the answer is larger than {LARGEST_BODY >> 20} MiB"
            raise ModelError(text, code="too_large")
        return data

    async def close(self) -> None:
        """Close the connection, and then end the generators inside httpx.

        Left half-way they would be collected some time later, with a warning.
        On a closed connection their next read fails, which ends them all.
        """
        assert isinstance(self._stream, httpx.AsyncByteStream)
        await self._stream.aclose()
        try:
            while self._started and await self._next() is not None:
                pass
        except (httpx.HTTPError, httpx.StreamError):
            pass

    async def _next(self) -> bytes | None:
        return await anext(self._chunks, None)


@contextmanager
def _translated(post: Post) -> Generator[None]:
    """Errors of httpx as ours. Theirs may carry the URL with its query, so it is not chained."""
    where = f"{post.name}: {{}} {origin_of(post.url)}"
    try:
        yield
    except httpx.ConnectTimeout:
        text = f"{where.format('no connection to')} within {post.deadlines.connect:g} s"
        raise ModelError(text, code="timeout_connect", retryable=True) from None
    except httpx.ConnectError as error:
        text = f"{where.format('cannot connect to')}: {_said(post, error)}"
        raise ModelError(text, code="connect", retryable=True) from None
    except httpx.RemoteProtocolError as error:
        text = f"{where.format('the answer was cut short by')}: {_said(post, error)}"
        raise ModelError(text, code="cut", retryable=True) from None
    except httpx.HTTPError as error:
        text = f"{where.format('the connection broke to')}: {_said(post, error)}"
        raise ModelError(text, code="cut", retryable=True) from None
    except (httpx.InvalidURL, httpx.StreamError, UnicodeError) as error:
        text = f"{post.name}: the request cannot be made: {type(error).__name__}"
        raise ModelError(text, code="bad_url") from None


def _said(post: Post, error: Exception) -> str:
    secrets = [value for value in post.headers.values() if isinstance(value, Secret)]
    text = " ".join(redact(str(error), *secrets).split())[:LONGEST_TEXT]
    return text or type(error).__name__
