"""A link at work on Trio: all of it ends with its block."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing

from boyd.runtime import AskTimeout, Seams
from boyd.runtime.link import (
    MOST_PARCEL,
    Acked,
    Address,
    Closed,
    Delivered,
    FrameWay,
    GivenBack,
    LinkClosed,
    LinkEvent,
    LinkFull,
    LinkLost,
    LinkOptions,
    LinkPort,
    Outcome,
    Parcel,
    PeerClosed,
    PeerRestarted,
    Purpose,
    Receipt,
    StreamWay,
    open_link,
    open_local_ways,
)
from boyd.runtime.link.frames import FRAME_LIMITS
from boyd.runtime.testing import seeded_seams
from tests.runtime.link.world import parcel


@attrs.define(eq=False)
class Desk:
    """The border of a system that keeps everything, and commits at once unless told not to."""

    commits: bool = True
    parcels: list[Parcel] = attrs.field(factory=list[Parcel])
    receipts: list[Receipt] = attrs.field(factory=list[Receipt])
    late: list[Parcel] = attrs.field(factory=list[Parcel])
    given_back: list[GivenBack] = attrs.field(factory=list[GivenBack])
    events: list[LinkEvent] = attrs.field(factory=list[LinkEvent])
    answer: Callable[[Parcel], None] | None = None

    def deliver(self, parcel: Parcel, delivered: Delivered, receipt: Receipt) -> None:
        """Keep it."""
        assert delivered.parcel is parcel
        self.parcels.append(parcel)
        self.receipts.append(receipt)
        if self.commits:
            receipt.commit()
        if self.answer is not None:
            self.answer(parcel)

    def unanswered(self, parcel: Parcel) -> None:
        """Keep it."""
        self.late.append(parcel)

    def give_back(self, given: GivenBack) -> None:
        """Keep it."""
        self.given_back.append(given)

    def hear(self, event: LinkEvent) -> None:
        """Keep it."""
        self.events.append(event)

    @property
    def closed(self) -> list[Closed]:
        """How the link has ended."""
        return [event for event in self.events if isinstance(event, Closed)]


@asynccontextmanager
async def open_end(
    way: FrameWay,
    desk: Desk,
    name: str,
    *,
    options: LinkOptions | None = None,
    drain: float = 1.0,
    seams: Seams | None = None,
) -> AsyncGenerator[LinkPort]:
    """One end, left or right."""
    peer = "left" if name == "right" else "right"
    async with open_link(
        way,
        desk,
        name=name,
        peer=peer,
        seams=seams or seeded_seams(hash(name) & 7),
        options=options or LinkOptions(),
        drain=drain,
    ) as port:
        yield port


@asynccontextmanager
async def open_two(
    left: Desk, right: Desk, *, options: LinkOptions | None = None
) -> AsyncGenerator[tuple[LinkPort, LinkPort]]:
    """Both ends of a link, over memory channels."""
    async with (
        open_local_ways() as (one, other),
        open_end(other, right, "right", options=options) as from_right,
        open_end(one, left, "left", options=options) as from_left,
    ):
        yield from_left, from_right


def reply_to(ask: Parcel, body: bytes) -> Parcel:
    """Its answer."""
    return Parcel(
        kind="",
        body=body,
        to=ask.sender or Address("left", "/a", 1),
        purpose=Purpose.REPLY,
        correlation=ask.correlation,
    )


async def test_p1_what_is_sent_comes_in_order_and_the_block_waits_for_the_acks() -> None:
    """Nothing is given back by an end that is not in a hurry."""
    left, right = Desk(), Desk()
    async with open_two(left, right) as (port, _):
        for n in range(200):
            port.send_nowait(parcel(b"%d" % n))
    assert [one.body for one in right.parcels] == [b"%d" % n for n in range(200)]
    assert not left.given_back
    assert [event.through for event in left.events if isinstance(event, Acked)][-1] == 200
    [closed] = left.closed
    assert isinstance(closed.error, LinkClosed)
    [closed] = right.closed
    assert isinstance(closed.error, PeerClosed)


async def test_send_waits_for_room_in_turn_and_send_nowait_does_not_overtake() -> None:
    """A full window refuses or holds back; whoever came first goes first."""
    left, right = Desk(), Desk(commits=False)
    order: list[int] = []

    async with open_two(left, right, options=LinkOptions(window=2)) as (port, _):

        async def sender(n: int) -> None:
            order.append(await port.send(parcel(b"%d" % n)))

        port.send_nowait(parcel())
        port.send_nowait(parcel())
        async with trio.open_nursery() as nursery:
            for n in range(3):
                nursery.start_soon(sender, n)
                await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(LinkFull):
                port.send_nowait(parcel())
            assert order == []
            right.commits = True
            while right.receipts:
                right.receipts.pop(0).commit()
        assert order == [3, 4, 5]
    assert [one.body for one in right.parcels[2:]] == [b"0", b"1", b"2"]


async def test_a_small_parcel_does_not_overtake_a_large_one_that_waits() -> None:
    """There would be room for it, and whoever waits was first."""
    left, right = Desk(), Desk(commits=False)
    large = parcel(bytes(600_000))
    async with open_two(left, right, options=LinkOptions(window_size=MOST_PARCEL)) as (port, _):
        await port.send(large)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(port.send, large)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(LinkFull):
                port.send_nowait(parcel(b"small"))
            right.receipts.pop().commit()
            right.commits = True
        port.send_nowait(parcel(b"small"))
    assert [len(one.body) for one in right.parcels] == [600_000, 600_000, 5]


async def test_p2_a_cancelled_send_has_sent_nothing() -> None:
    """Whether it waited for room or had it."""
    left, right = Desk(), Desk(commits=False)
    async with open_two(left, right, options=LinkOptions(window=1)) as (port, _):
        with trio.move_on_after(0):
            await port.send(parcel(b"never"))
        await port.send(parcel(b"one"))
        with trio.move_on_after(1) as scope:
            await port.send(parcel(b"never"))
        assert scope.cancelled_caught
        right.receipts.pop().commit()
        right.commits = True
        await port.send(parcel(b"two"))
    assert [one.body for one in right.parcels] == [b"one", b"two"]


async def test_an_ask_gets_its_answer() -> None:
    """The correlation travels, and the deadline as the seconds that are left."""
    left, right = Desk(), Desk()
    async with open_two(left, right) as (port, back):

        def answer_it(ask: Parcel) -> None:
            back.send_nowait(reply_to(ask, b"5"))

        right.answer = answer_it
        answer = await port.ask(parcel(b"2 + 3"), within=10)
        assert answer.body == b"5"
        [ask] = right.parcels
        assert ask.purpose is Purpose.ASK
        assert ask.deadline == trio.current_time() + 10


async def test_an_ask_without_an_answer_times_out_and_is_withdrawn() -> None:
    """An answer that comes afterwards is told as late."""
    left, right = Desk(), Desk()
    async with open_two(left, right) as (port, back):
        with pytest.raises(AskTimeout, match=r"within 3\.0 s"):
            await port.ask(parcel(), within=3)
        with trio.move_on_after(2):
            await port.ask(parcel(), within=3)
        await trio.sleep(0.1)
        asks = [one for one in right.parcels if one.purpose is Purpose.ASK]
        gone = [one for one in right.parcels if one.purpose is Purpose.WITHDRAW]
        assert [one.correlation for one in gone] == [one.correlation for one in asks]
        back.send_nowait(reply_to(asks[0], b"too late"))
        await trio.sleep(0.1)
        assert [one.body for one in left.late] == [b"too late"]
        assert back.statistics().waiting == 0


async def test_asks_fail_at_once_when_the_link_ends() -> None:
    """With the error that says whose fault it is, rather than by their timeouts."""
    left, right = Desk(), Desk()
    failed: list[float] = []

    async def asker(port: LinkPort, kind: type[Exception]) -> None:
        with pytest.raises(kind):
            await port.ask(parcel(), within=1000)
        failed.append(trio.current_time())

    async with open_two(left, right) as (port, back), trio.open_nursery() as nursery:
        nursery.start_soon(asker, port, PeerClosed)
        nursery.start_soon(asker, port, PeerClosed)
        await trio.sleep(1)
        back.close("no more")
    began = min(failed)
    assert failed == [began, began]
    with pytest.raises(LinkClosed, match="no more"):
        await port.ask(parcel(), within=1)
    with pytest.raises(LinkClosed):
        await port.send(parcel())


async def test_asks_fail_at_once_when_the_peer_restarts() -> None:
    """The new incarnation knows nothing of them; the link goes on."""
    left, first, second = Desk(), Desk(), Desk()
    failed = trio.Event()

    async def ask(port: LinkPort) -> None:
        with pytest.raises(PeerRestarted):
            await port.ask(parcel(), within=1000)
        failed.set()

    async with open_local_ways() as (one, other), open_end(one, left, "left") as port:
        async with trio.open_nursery() as nursery:
            with trio.move_on_after(5):
                async with open_end(other, first, "right"):
                    nursery.start_soon(ask, port)
                    await trio.sleep_forever()
            assert len(first.parcels) == 1
            async with open_end(other, second, "right", seams=seeded_seams(77)):
                await failed.wait()
                assert trio.current_time() < 60
                await port.send(parcel(b"anew"))
                await port.wait_settled()
        assert [one.body for one in second.parcels] == [b"anew"]


async def test_p7_what_leaves_the_block_early_gives_everything_back() -> None:
    """An error leaves unchanged, a cancel at once; nothing stays behind."""
    left, right = Desk(), Desk(commits=False)

    async def fail_half_way() -> None:
        async with open_two(left, right) as (port, _):
            port.send_nowait(parcel(b"left"))
            await trio.sleep(0.1)
            port.send_nowait(parcel(b"did not"))
            raise KeyError

    with pytest.raises(KeyError):
        await fail_half_way()
    # The second may have been on its way out, and then is called unknown too.
    assert [one.parcel.body for one in left.given_back] == [b"left", b"did not"]
    assert left.given_back[0].outcome is Outcome.UNKNOWN
    assert [one.body for one in right.parcels] == [b"left"]
    assert len(left.closed) == 1

    with trio.move_on_after(1):
        async with open_two(Desk(), right):
            await trio.sleep_forever()
    assert trio.current_time() < 5


async def test_a_block_that_ends_waits_for_acks_no_longer_than_its_drain() -> None:
    """A peer that is not there cannot hold it."""
    left = Desk()
    async with open_local_ways() as (one, _):
        began = trio.current_time()
        async with open_end(one, left, "left", drain=2.0) as port:
            port.send_nowait(parcel())
        assert trio.current_time() <= began + 4
        assert [one.outcome for one in left.given_back] == [Outcome.UNSENT]
        async with open_end(one, Desk(), "left", drain=math.inf):
            pass


async def test_a_way_that_breaks_ends_the_link_and_not_the_block() -> None:
    """The border hears it, and whoever sends is told."""
    left, right = Desk(), Desk()
    one, other = trio.testing.memory_stream_pair()
    async with (
        open_end(StreamWay(one), left, "left") as port,
        open_end(StreamWay(other), right, "right"),
    ):
        await port.send(parcel())
        await port.wait_settled()
        await other.aclose()
        await trio.sleep(1)
        for desk in (left, right):
            [closed] = desk.closed
            assert isinstance(closed.error, LinkLost)
        with pytest.raises(LinkClosed):
            port.send_nowait(parcel())


async def test_an_error_of_the_border_ends_the_block() -> None:
    """It is a bug, and no reason to go on."""

    class Broken(Desk):
        def deliver(self, parcel: Parcel, delivered: Delivered, receipt: Receipt) -> None:
            raise ZeroDivisionError

    async def send_to_it() -> None:
        async with open_two(Desk(), Broken()) as (port, _):
            port.send_nowait(parcel())
            await trio.sleep_forever()

    with pytest.raises(ExceptionGroup) as caught:
        await send_to_it()
    assert caught.group_contains(ZeroDivisionError)


async def test_a_link_runs_over_a_byte_stream_one_byte_at_a_time() -> None:
    """Frames are put together again from whatever comes."""
    one, other = trio.testing.memory_stream_pair()
    whole = one.receive_some

    async def one_byte(max_bytes: int | None = None) -> bytes:
        return bytes(await whole(1))

    one.receive_some = one_byte  # type: ignore[method-assign]
    left, right = Desk(), Desk()
    async with (
        open_end(StreamWay(other), right, "right") as back,
        open_end(StreamWay(one), left, "left") as port,
    ):
        back.send_nowait(parcel(b"to the left", to="left"))
        port.send_nowait(parcel(bytes(100_000)))
        await back.wait_settled()
        await port.wait_settled()
    assert [one.body for one in left.parcels] == [b"to the left"]
    assert [len(one.body) for one in right.parcels] == [100_000]


async def test_a_stream_that_ends_or_lies_is_an_error_of_its_kind() -> None:
    """Cut between frames, cut within one, and a length that nobody would send."""
    for sent, error in (
        (b"", trio.EndOfChannel),
        (b"\0\0\0", trio.BrokenResourceError),
        (b"\0\0\0\5abc", trio.BrokenResourceError),
        ((FRAME_LIMITS.frame + 1).to_bytes(4, "big"), trio.BrokenResourceError),
    ):
        one, other = trio.testing.memory_stream_pair()
        await one.send_all(sent)
        await one.send_eof()
        with pytest.raises(error):
            await StreamWay(other).receive()


async def test_a_frame_of_a_stream_survives_a_cancel() -> None:
    """What had come of it is kept."""
    one, other = trio.testing.memory_stream_pair()
    way = StreamWay(other)
    await one.send_all(b"\0\0\0\5ab")
    with trio.move_on_after(1):
        await way.receive()
    await one.send_all(b"cde\0\0\0\1f")
    assert await way.receive() == b"abcde"
    assert await way.receive() == b"f"
