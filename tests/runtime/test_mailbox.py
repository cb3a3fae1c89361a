"""Acceptance: `tell` and `send` accept or raise, in order, within bounds, and nothing is lost or doubled."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    ActorStopped,
    AskTimeout,
    Context,
    EncodeError,
    Mailbox,
    MailboxFull,
    NotAccepted,
    Overflow,
    Ref,
    Replies,
    System,
    message,
    open_system,
    receives,
)
from boyd.runtime.supervision import DeadLetter
from boyd.runtime.testing import cancel_at_each_checkpoint
from tests.runtime.conftest import run_in_virtual_time
from tests.runtime.stage import Add, Door, Hold, Note, Recorder


@message("t.blob")
class Blob:
    """So many bytes."""

    data: bytes
    meta: object = None


@message("t.fill")
class Fill(Replies[int]):
    """A handler that sends to a full mailbox."""

    into: Ref[Blob]


class Sink(Actor[Blob | Hold]):
    """Takes blobs, and can be held."""

    door: Door

    @receives
    async def blob(self, blob: Blob, ctx: Context) -> None:
        self.door.log.append(len(blob.data))

    @receives
    async def hold(self, hold: Hold, ctx: Context) -> str:
        self.door.entered.set()
        await self.door.opened.wait()
        return "held"


class Filler(Actor[Fill]):
    """Sends while it is asked."""

    @receives
    async def fill(self, fill: Fill, ctx: Context) -> int:
        await fill.into.send(Blob(data=b"x"))
        return 1


async def held(system: System, door: Door, mailbox: Mailbox) -> Ref[Note | Add | Hold]:
    """A recorder whose handler is occupied, so that mail waits."""
    ref = await system.spawn(Recorder, door, name="ingest", mailbox=mailbox)
    ref.tell(Hold())
    await door.entered.wait()
    return ref


def notes(door: Door) -> list[int]:
    """The notes that were handled, in order."""
    return [n for n in door.log if isinstance(n, int)]


async def test_p2_a_full_mailbox_refuses_at_the_sender_and_says_how_full_it_is() -> None:
    door = Door()
    async with open_system() as system:
        ref = await held(system, door, Mailbox(size=2))
        ref.tell(Note(n=1))
        ref.tell(Note(n=2))
        await trio.sleep(8.2)
        with pytest.raises(MailboxFull) as caught:
            ref.tell(Note(n=3))
        assert str(caught.value) == (
            "/ingest holds 2 of 2 messages, the oldest 8.2 s: "
            "await ref.send(...) to wait, or Mailbox(size=..., overflow=...)"
        )
        assert isinstance(caught.value, trio.WouldBlock)
        assert ref.statistics().rejected == 1
        door.opened.set()
        await system.settle(1)
        assert notes(door) == [1, 2]
        assert system.dead_letters == {}


async def test_d1_a_full_mailbox_refuses_before_it_encodes() -> None:
    door = Door()
    async with open_system() as system:
        sink = await system.spawn(Sink, door, mailbox=Mailbox(size=1))
        sink.tell(Hold())
        await door.entered.wait()
        sink.tell(Blob(data=b""))
        with pytest.raises(MailboxFull):
            sink.tell(Blob(data=b"", meta=print))
        door.opened.set()


async def test_a_byte_cap_bounds_the_bodies_that_wait() -> None:
    door = Door()
    async with open_system() as system:
        sink = await system.spawn(Sink, door, mailbox=Mailbox(max_bytes=2**20))
        sink.tell(Hold())
        await door.entered.wait()
        sink.tell(Blob(data=bytes(2**19)))
        sink.tell(Blob(data=bytes(2**19)))
        with pytest.raises(MailboxFull, match=r"holds 1\.0 MiB of 1\.0 MiB in 2 messages"):
            sink.tell(Blob(data=b""))
        door.opened.set()
        await system.settle(1)
        sink.tell(Blob(data=bytes(2**21)))  # one message of any size fits into an empty mailbox


async def test_reserved_messages_take_no_bytes_and_leave_the_caps_to_others() -> None:
    door = Door()

    class Timed(Sink):
        async def started(self, ctx: Context) -> None:
            ctx.start_timer("big", Blob(data=bytes(5000)), after=0)

    async with open_system() as system:
        mailbox = Mailbox(size=2, max_bytes=1000, overflow=Overflow.REJECT)
        sink = await system.spawn(Timed, door, mailbox=mailbox)
        await system.settle(1)
        sink.tell(Hold())
        await door.entered.wait()
        post = system.find_post(sink.path, sink.incarnation)
        assert post is not None
        post.deliver(post.reserve(Blob(data=bytes(5000))))
        assert post.queue.bytes == 0
        sink.tell(Blob(data=bytes(1000)))
        with pytest.raises(MailboxFull, match=r"holds 1006 bytes of 1000 bytes in 1 message,"):
            sink.tell(Blob(data=b""))
        door.opened.set()
        await system.settle(1)
        assert post.queue.bytes == 0
        assert sink.statistics().queued == 0


async def test_dropping_the_oldest_keeps_the_byte_cap_too() -> None:
    door = Door()
    mailbox = Mailbox(size=100, max_bytes=1000, overflow=Overflow.DROP_OLDEST)
    async with open_system() as system:
        sink = await system.spawn(Sink, door, mailbox=mailbox)
        sink.tell(Hold())
        await door.entered.wait()
        for _ in range(50):
            sink.tell(Blob(data=b"x"))
        for _ in range(10):
            sink.tell(Blob(data=bytes(600)))
        kept = sink.statistics().queued
        assert kept == 2
        assert sink.statistics().dropped == 60 - kept
        assert system.dead_letters == {"dropped": 60 - kept}
        door.opened.set()


@given(
    overflow=st.sampled_from([Overflow.DROP_OLDEST, Overflow.DROP_NEWEST]),
    size=st.integers(1, 5),
    count=st.integers(0, 12),
)
def test_p5_what_a_policy_drops_is_counted_and_published_exactly(
    overflow: Overflow, size: int, count: int
) -> None:
    async def main() -> None:
        door = Door()
        async with (
            open_system() as system,
            system.open_subscription("boyd.dead", DeadLetter) as dead,
        ):
            ref = await held(system, door, Mailbox(size=size, overflow=overflow))
            for n in range(count):
                ref.tell(Note(n=n))
            dropped = max(0, count - size)
            assert ref.statistics().dropped == dropped
            assert ref.statistics().queued == min(count, size)
            assert system.dead_letters.get("dropped", 0) == dropped
            letters = [dead.receive_nowait() for _ in range(dropped)]
            assert {(one.path, one.kind, one.reason) for one in letters} <= {
                ("/ingest", "t.note", "dropped")
            }
            door.opened.set()
            await system.settle(1)
        every = list(range(count))
        kept = every[dropped:] if overflow is Overflow.DROP_OLDEST else every[:size]
        assert notes(door) == kept

    run_in_virtual_time(main)


@pytest.mark.parametrize("overflow", list(Overflow))
async def test_a_dropped_ask_fails_at_once(overflow: Overflow) -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await held(system, door, Mailbox(size=1, overflow=overflow))

        async def refused() -> None:
            with pytest.raises(MailboxFull):
                await ref.ask(Add())
            assert trio.current_time() == began

        began = trio.current_time()
        if overflow is Overflow.DROP_OLDEST:
            nursery.start_soon(refused)
            await wait_all_tasks_blocked()
            ref.tell(Note(n=1))
        else:
            ref.tell(Note(n=1))
            await refused()
        await wait_all_tasks_blocked()
        door.opened.set()


async def test_an_unsendable_message_fails_at_the_sender_whatever_the_policy() -> None:
    door = Door()
    for overflow in Overflow:
        async with open_system() as system:
            sink = await system.spawn(Sink, door, mailbox=Mailbox(size=1, overflow=overflow))
            with pytest.raises(
                EncodeError, match=r"Blob\.meta\['key'\]: function has no wire form"
            ):
                sink.tell(Blob(data=b"", meta={"key": held}))
            with pytest.raises(EncodeError):
                await sink.send(Blob(data=b"", meta={"key": held}))
            assert sink.statistics().queued == 0
            assert sink.statistics().dropped == 0


async def test_what_nobody_receives_is_refused_at_the_sender() -> None:
    async with open_system() as system:
        sink = await system.spawn(Sink, Door(), name="sink")
        with pytest.raises(
            NotAccepted, match=r"/sink is a Sink and accepts Blob or Hold, not Note"
        ):
            sink.tell(Note(n=1))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_a_stopped_actor_refuses_at_the_sender() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door(), name="gone")
        await system.stop_actor(ref)
        with pytest.raises(ActorStopped, match="/gone has stopped"):
            ref.tell(Note(n=1))
        with pytest.raises(ActorStopped):
            await ref.send(Note(n=1))
        with pytest.raises(ActorStopped):
            await ref.ask(Add())


async def test_p1_two_tells_of_one_task_are_handled_in_their_order() -> None:
    door = Door()
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, mailbox=Mailbox(size=7))
        for n in range(200):
            if n % 3:
                await ref.send(Note(n=n))
            else:
                try:
                    ref.tell(Note(n=n))
                except MailboxFull:
                    await ref.send(Note(n=n))
        await system.settle(1)
    assert notes(door) == list(range(200))


async def test_p1_each_of_many_senders_keeps_its_order_through_a_full_mailbox() -> None:
    door = Door()
    async with open_system() as system:
        ref = await held(system, door, Mailbox(size=3))

        async def sender(first: int) -> None:
            for n in range(first, first + 40):
                await ref.send(Note(n=n))

        async with trio.open_nursery() as nursery:
            for first in (0, 1000, 2000, 3000, 4000):
                nursery.start_soon(sender, first)
            await wait_all_tasks_blocked()
            door.opened.set()
        await system.settle(1)
    for first in (0, 1000, 2000, 3000, 4000):
        mine = [n for n in notes(door) if n // 1000 == first // 1000]
        assert mine == list(range(first, first + 40))


async def test_d1_tell_does_not_overtake_a_sender_that_waits() -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await held(system, door, Mailbox(size=1))
        ref.tell(Note(n=1))
        nursery.start_soon(ref.send, Note(n=2))
        await wait_all_tasks_blocked()
        with pytest.raises(MailboxFull):
            ref.tell(Note(n=3))
        door.opened.set()
        await system.settle(1)
        assert notes(door) == [1, 2]


async def test_senders_that_wait_learn_that_the_actor_stopped() -> None:
    door = Door()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = await held(system, door, Mailbox(size=1))
        ref.tell(Note(n=1))

        async def send() -> None:
            with pytest.raises(
                ActorStopped, match="/ingest stopped while a message waited for room"
            ):
                await ref.send(Note(n=2))

        nursery.start_soon(send)
        nursery.start_soon(send)
        await wait_all_tasks_blocked()
        system.kill("/ingest")


async def test_in_a_handler_send_waits_no_longer_than_the_deadline_of_its_message() -> None:
    door = Door()
    async with open_system() as system:
        sink = await system.spawn(Sink, door, mailbox=Mailbox(size=1))
        filler = await system.spawn(Filler)
        sink.tell(Hold())
        await door.entered.wait()
        sink.tell(Blob(data=b""))
        began = trio.current_time()
        with pytest.raises(AskTimeout):
            await filler.ask(Fill(into=sink), within=2)
        await wait_all_tasks_blocked()
        assert trio.current_time() - began == 2
        assert filler.statistics().restarts == 0
        door.opened.set()


async def test_p2_a_send_raced_with_a_cancel_is_never_lost_nor_a_ghost() -> None:
    sent: list[int] = []
    door, count = Door(), 0
    async with open_system() as system:
        ref = await system.spawn(Recorder, door, mailbox=Mailbox(size=1))

        async def scenario() -> None:
            nonlocal count
            for _ in range(3):
                count += 1
                await ref.send(Note(n=count))
                sent.append(count)

        async def check() -> None:
            await system.settle(1)
            assert notes(door) == sent

        places = await cancel_at_each_checkpoint(scenario, check)
    assert places >= 3


async def test_p2_senders_that_wait_for_room_are_neither_lost_nor_ghosts_when_cancelled() -> None:
    door, sent = Door(), list[int]()
    async with open_system() as system:

        async def scenario() -> None:
            nonlocal door
            door = Door()
            sent.clear()
            ref = await system.spawn(Recorder, door, mailbox=Mailbox(size=1))
            ref.tell(Note(n=0))

            async def send(n: int) -> None:
                await ref.send(Note(n=n))
                sent.append(n)

            async with trio.open_nursery() as nursery:
                for n in range(1, 4):
                    nursery.start_soon(send, n)

        async def check() -> None:
            await system.settle(1)
            assert sorted(notes(door)[1:]) == sorted(sent)

        assert await cancel_at_each_checkpoint(scenario, check) > 6


async def test_p2_hundreds_of_sends_cancelled_at_random_moments_are_all_accounted_for() -> None:
    door, sent = Door(), list[int]()
    async with open_system() as system:
        ref = await held(system, door, Mailbox(size=5))

        async def send(n: int) -> None:
            with trio.move_on_after(n % 7):
                await ref.send(Note(n=n))
                sent.append(n)

        async def drip() -> None:
            door.opened.set()
            for _ in range(8):
                await trio.sleep(1)

        async with trio.open_nursery() as nursery:
            for n in range(300):
                nursery.start_soon(send, n)
            nursery.start_soon(drip)
        await system.settle(1)
    assert sorted(notes(door)) == sorted(sent)
    assert 5 <= len(sent) <= 300


def test_a_mailbox_has_room_for_something() -> None:
    with pytest.raises(ValueError, match=r"Mailbox\(size=0\): it must be at least 1"):
        Mailbox(size=0)
    with pytest.raises(ValueError, match="max_bytes"):
        Mailbox(max_bytes=-1)


async def test_messages_of_the_runtime_take_no_room_and_are_never_dropped() -> None:
    door = Door()
    async with open_system() as system:
        ref = await held(system, door, Mailbox(size=1, overflow=Overflow.DROP_OLDEST))
        others = [await system.spawn(Recorder, Door(), name=f"other-{n}") for n in range(3)]
        for other in others:
            post = system.find_post(ref.path, ref.incarnation)
            assert post is not None
            system.watch(post, other)
            await system.stop_actor(other)
        for n in range(5):
            ref.tell(Note(n=n))
        assert ref.statistics().queued == 4
        door.opened.set()
        await system.settle(1)
    assert [one for one in door.log if isinstance(one, str) and "other" in one] == [
        "/other-0 stopped",
        "/other-1 stopped",
        "/other-2 stopped",
    ]
    assert notes(door) == [4]
