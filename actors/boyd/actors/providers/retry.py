"""Trying again: when, how long to wait, and never after something was seen."""

from __future__ import annotations

import datetime
import email.utils
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final, TypeAlias

import attrs
import trio

from boyd.actors.events import Notice, Severity
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.protocol import Provider, Request, Streamed
from boyd.actors.providers.stream import PrefixedChannel
from boyd.runtime.seams import Seams

__all__ = ["Notify", "RetryPolicy", "open_retrying", "parse_retry_after", "retry_delay", "retrying"]

Notify: TypeAlias = Callable[[Notice], Awaitable[object]]
"""Told of every further try, before the wait for it begins."""

LONGEST_NOTICE: Final = 300
_SECONDS: Final = re.compile(r"-?\d{1,12}(\.\d*)?", re.ASCII)


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How often and how patiently a request is made again.

    Attributes:
        attempts: the first one included.
        base: seconds before the second attempt, doubled for each later one.
        longest_backoff: of our own choice.
        shortest_wait: that a provider's Retry-After is taken for.
        longest_wait: a Retry-After beyond it ends in the error.
    """

    attempts: int = 3
    base: float = 0.5
    longest_backoff: float = 30.0
    shortest_wait: float = 0.1
    longest_wait: float = 60.0


def retry_delay(
    attempt: int,
    *,
    retry_after: float | None = None,
    left: float = math.inf,
    jitter: float,
    policy: RetryPolicy | None = None,
) -> float | None:
    """Seconds to wait before the next try, or None to give up.

    Args:
        attempt: how many tries have failed, from 1.
        retry_after: what the provider asked for; jitter comes on top of it, so
            that all who were told the same do not come back together.
        left: seconds until the caller's deadline.
        jitter: a random number from 0 to 1.
    """
    policy = RetryPolicy() if policy is None else policy
    if attempt >= policy.attempts:
        return None
    backoff = min(policy.base * 2.0 ** min(attempt - 1, 32), policy.longest_backoff)
    if retry_after is None:
        wanted = backoff * (0.5 + jitter)
    elif retry_after > policy.longest_wait:
        return None
    else:
        wanted = max(retry_after, policy.shortest_wait) + backoff * jitter
    return wanted if wanted < left else None


def parse_retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that an answer asks to wait, never negative; None if it does not say so legibly.

    Args:
        headers: of the answer; names in lower case.
        now: seconds since the epoch, used for dates where the answer has no date of its own.
    """
    text = headers.get("retry-after-ms", "").strip()
    if _SECONDS.fullmatch(text):
        return max(float(text) / 1000, 0.0)
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return max(float(text), 0.0)
    date = _parse_date(text)
    if date is None:
        return None
    sent = _parse_date(headers.get("date", ""))
    return max(date - (now if sent is None else sent), 0.0)


def _parse_date(text: str) -> float | None:
    try:
        parsed = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    # A date without a zone is in UTC, says RFC 9110.
    zoned = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=datetime.UTC)
    return zoned.timestamp()


@asynccontextmanager
async def open_retrying(
    provider: Provider,
    request: Request,
    /,
    *,
    policy: RetryPolicy | None = None,
    seams: Seams | None = None,
    sleep: Callable[[float], Awaitable[None]] = trio.sleep,
    notify: Notify | None = None,
) -> AsyncGenerator[trio.abc.ReceiveChannel[Streamed]]:
    """`provider.open_stream(request)`, made again while nothing has been seen of an answer.

    The block is entered when the first item is there (or the answer is over),
    because later nothing can be taken back.

    Args:
        sleep: how to wait; within an actor, `ctx.sleep`.
        notify: shows people why it takes so long.

    Raises:
        ModelError: the last one, if tries, patience or the caller's time are used up.
    """
    seams = Seams() if seams is None else seams
    policy = RetryPolicy() if policy is None else policy
    attempt = 0
    while True:
        attempt += 1
        async with AsyncExitStack() as stack:
            try:
                channel = await stack.enter_async_context(provider.open_stream(request))
                first = await _first_of(channel)
            except ModelError as failed:
                error = failed
            else:
                yield PrefixedChannel(first, channel)
                return
        delay = None
        if error.retryable and not error.partial:
            left = trio.current_effective_deadline() - trio.current_time()
            jitter = seams.random.random()
            delay = retry_delay(
                attempt, retry_after=error.retry_after, left=left, jitter=jitter, policy=policy
            )
        if delay is None:
            raise error
        if notify is not None:
            text = _notice(f"{attempt}/{policy.attempts - 1}", delay, error)
            await notify(Notice(content=text, severity=Severity.WARN))
        await sleep(delay)


def _notice(tries: str, delay: float, error: ModelError) -> str:
    """Which try, when and after which status come first: a cut takes from what the provider says."""
    status = "" if error.status is None else f" after {error.status}"
    text = f"Retrying ({tries}) in {delay:.1f} s{status}: {error}"
    return text if len(text) <= LONGEST_NOTICE else f"{text[: LONGEST_NOTICE - 1]}…"


async def _first_of(channel: trio.abc.ReceiveChannel[Streamed]) -> tuple[Streamed, ...]:
    try:
        return (await channel.receive(),)
    except trio.EndOfChannel:
        return ()


@attrs.frozen
class _Retrying:
    """A provider that tries again."""

    inner: Provider
    policy: RetryPolicy
    seams: Seams
    notify: Notify | None

    @property
    def name(self) -> str:
        return self.inner.name

    def open_stream(
        self, request: Request, /
    ) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[Streamed]]:
        return open_retrying(
            self.inner, request, policy=self.policy, seams=self.seams, notify=self.notify
        )


def retrying(
    provider: Provider,
    /,
    *,
    policy: RetryPolicy | None = None,
    seams: Seams | None = None,
    notify: Notify | None = None,
) -> Provider:
    """`provider` with `open_retrying` for every request."""
    return _Retrying(
        provider,
        RetryPolicy() if policy is None else policy,
        Seams() if seams is None else seams,
        notify,
    )
