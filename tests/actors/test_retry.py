"""When a request is made again, and when not."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from boyd.actors.conversation.artifacts import TextDelta
from boyd.actors.events import Notice, Severity
from boyd.actors.providers.errors import ModelError, is_retryable
from boyd.actors.providers.protocol import Provider, Request, Streamed
from boyd.actors.providers.retry import (
    RetryPolicy,
    open_retrying,
    parse_retry_after,
    retry_delay,
    retrying,
)
from boyd.actors.testing.scripted import Reply, ScriptedModel, fails, says
from boyd.runtime.seams import Seams

NOON = 1_792_567_680.0  # Wed, 21 Oct 2026 07:28:00 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        (" 2 ", 2.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("-1", 0.0),
        ("99999", 99999.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 10.0),
        ("Wed, 21 Oct 2026 09:28:00 +0200", 10.0),
        ("Wed, 21 Oct 2020 07:28:00 GMT", 0.0),
        ("abc", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("1_0", None),
        ("٣", None),
        ("Wed, 99 Oct 2026 07:28:00 GMT", None),
        ("Wed, 21 Oct 99999999999 07:28:00 GMT", None),
    ],
)
def test_b31_retry_after_in_all_its_forms(value: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": value}, now=NOON - 10) == seconds


def test_b31_milliseconds_come_first_and_absence_is_none() -> None:
    headers = {"retry-after-ms": "250", "retry-after": "7"}
    assert parse_retry_after(headers, now=NOON) == 0.25
    assert parse_retry_after({}, now=NOON) is None


def test_b31_a_date_counts_from_the_date_of_the_answer_so_a_wrong_clock_does_not_matter() -> None:
    headers = {
        "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT",
        "date": "Wed, 21 Oct 2026 07:27:30 GMT",
    }
    assert parse_retry_after(headers, now=0.0) == 30.0


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} .*"))
def test_b31_any_header_is_a_number_or_none(value: str) -> None:
    wait = parse_retry_after({"retry-after": value}, now=NOON)
    assert wait is None or (wait >= 0 and math.isfinite(wait))


def test_the_wait_doubles_is_jittered_and_ends() -> None:
    assert [retry_delay(n, jitter=0.5) for n in (1, 2, 3)] == [0.5, 1.0, None]
    assert retry_delay(1, jitter=0.0) == 0.25
    patient = RetryPolicy(attempts=100)
    assert retry_delay(99, jitter=0.5, policy=patient) == 30.0


def test_b31_jitter_comes_on_top_of_what_was_asked_for() -> None:
    waits = {retry_delay(1, retry_after=2.0, jitter=n / 20) for n in range(20)}
    assert len(waits) == 20
    assert min(wait for wait in waits if wait is not None) == 2.0
    assert retry_delay(1, retry_after=0.0, jitter=0.0) == 0.1


def test_b31_beyond_the_cap_or_the_callers_time_it_gives_up() -> None:
    assert retry_delay(1, retry_after=60.1, jitter=0.0) is None
    assert retry_delay(1, retry_after=5.0, left=4.0, jitter=0.0) is None
    assert retry_delay(1, left=-math.inf, jitter=0.0) is None


@given(
    st.integers(1, 50),
    st.none() | st.floats(0, 1e6),
    st.floats(0, 1),
    st.floats(0, 1e6) | st.just(math.inf),
)
def test_a_wait_never_exceeds_what_is_left(
    attempt: int, retry_after: float | None, jitter: float, left: float
) -> None:
    policy = RetryPolicy(attempts=60)
    wait = retry_delay(attempt, retry_after=retry_after, jitter=jitter, left=left, policy=policy)
    assert wait is None or (0 < wait < left and wait <= 60 + 30)


@pytest.mark.parametrize(
    ("status", "code", "again"),
    [
        (429, "", True),
        (500, "", True),
        (529, "", True),
        (400, "", False),
        (401, "", False),
        (None, "", False),
        (429, "insufficient_quota", False),
    ],
)
def test_o43_only_what_is_about_the_moment_is_tried_again(
    status: int | None,
    code: str,
    again: bool,
) -> None:
    assert is_retryable(status, code) is again


async def said(provider: Provider, notices: list[Notice] | None = None) -> str:
    seams = Seams(random=random.Random(1))

    async def notify(notice: Notice) -> None:
        if notices is not None:
            notices.append(notice)

    opened = open_retrying(provider, Request(), seams=seams, notify=notify)
    async with opened as stream:
        return "".join([item.text async for item in stream if isinstance(item, TextDelta)])


async def test_o43_a_failure_before_anything_was_seen_is_tried_again_with_a_notice(
    autojump_clock: MockClock,
) -> None:
    model = ScriptedModel(fails(503), fails(429, retry_after=2.0), says("at last"))
    notices: list[Notice] = []
    began = trio.current_time()
    assert await said(model, notices) == "at last"
    assert len(model.requests) == 3
    assert [notice.severity for notice in notices] == [Severity.WARN, Severity.WARN]
    assert [notice.content for notice in notices] == [
        "Retrying (1/2) in 0.3 s after 503: scripted: the script fails with 503",
        "Retrying (2/2) in 2.8 s after 429: scripted: the script fails with 429",
    ]
    assert 2.25 <= trio.current_time() - began < 4


async def test_of_a_long_notice_only_the_providers_words_are_cut(autojump_clock: MockClock) -> None:
    model = ScriptedModel(fails(503, message="word " * 200), fails(503), says("at last"))
    notices: list[Notice] = []
    await said(model, notices)
    long, short = (notice.content for notice in notices)
    assert long.startswith("Retrying (1/2) in 0.3 s after 503: ")
    assert long.endswith("word word…")
    assert len(long) == 300
    assert not short.endswith("…")


async def test_o43_after_the_first_delta_nothing_is_tried_again(autojump_clock: MockClock) -> None:
    model = ScriptedModel(fails(503, after=20), says("never"))
    with pytest.raises(ModelError) as caught:
        await said(model)
    assert len(model.requests) == 1
    assert len(caught.value.partial) == 20


async def test_o43_the_last_error_comes_out_when_tries_are_used_up(
    autojump_clock: MockClock,
) -> None:
    model = ScriptedModel(fails(503), fails(503), fails(500, message="the third"))
    with pytest.raises(ModelError, match="the third"):
        await said(model)


@pytest.mark.parametrize("reply", [fails(401), fails(429, retry_after=61)])
async def test_b31_what_cannot_help_is_not_tried(reply: Reply, autojump_clock: MockClock) -> None:
    model = ScriptedModel(reply, says("never"))
    with pytest.raises(ModelError):
        await said(model)
    assert len(model.requests) == 1


async def test_b31_waiting_is_cancellable_and_knows_the_callers_deadline(
    autojump_clock: MockClock,
) -> None:
    model = ScriptedModel(fails(429, retry_after=50), says("never"))
    with trio.move_on_after(30), pytest.raises(ModelError):
        await said(model)
    assert trio.current_time() < 1
    with trio.move_on_after(0) as scope:
        await said(ScriptedModel(says("x")))
    assert scope.cancelled_caught


async def test_b31_twenty_callers_do_not_come_back_together(autojump_clock: MockClock) -> None:
    seams = Seams(random=random.Random(7))
    back: list[float] = []

    async def one() -> None:
        model = ScriptedModel(fails(429, retry_after=2), says("x"))
        async with open_retrying(model, Request(), seams=seams):
            back.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(one)
    assert len(set(back)) == 20
    assert min(back) >= 2


class Halfway:
    """Fails with some text at once, as if it would succeed later."""

    name = "halfway"

    def __init__(self) -> None:
        self.tries = 0

    @asynccontextmanager
    async def open_stream(
        self, _request: Request, /
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[Streamed]]:
        self.tries += 1
        await trio.lowlevel.checkpoint()
        if self.tries < 3:
            raise ModelError("cut", partial="some text", retryable=True)
        yield trio.open_memory_channel[Streamed](0)[1]


async def test_o43_a_failure_with_text_is_not_tried_again_whoever_raises_it() -> None:
    provider = Halfway()
    with pytest.raises(ModelError, match="cut"):
        await said(provider)
    assert provider.tries == 1


async def test_a_provider_that_retries_keeps_its_name(autojump_clock: MockClock) -> None:
    model = retrying(ScriptedModel(fails(500), says("x"), name="mine"))
    assert model.name == "mine"
    async with model.open_stream(Request()) as stream:
        assert isinstance(await stream.receive(), TextDelta)
        await stream.aclose()


async def test_an_error_after_entering_the_block_comes_out_of_receive(
    autojump_clock: MockClock,
) -> None:
    model = ScriptedModel(fails(500, after=9))
    async with open_retrying(model, Request()) as stream:
        await stream.receive()
        await stream.receive()
        with pytest.raises(ModelError):
            await stream.receive()
