"""A mailbox that a task reads: a Trio receive channel with a ref."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    ActorStopped,
    Inbox,
    Lag,
    Lagged,
    MailboxFull,
    NotAccepted,
    System,
    message,
    open_system,
)
from boyd.runtime.testing import cancel_at_each_checkpoint, seeded_seams
from tests.runtime.stage import Add, Note


@message("t.special")
class Special(Note):
    """A kind of note."""

    extra: int = 0


def inbox_of(system: System, size: int = 64) -> Inbox[Note]:
    """An inbox for notes."""
    return system.open_inbox(Note, size=size)


async def test_an_inbox_is_a_receive_channel() -> None:
    async with open_system() as system:
        with inbox_of(system) as inbox:
            assert isinstance(inbox, trio.abc.ReceiveChannel)
            for n in range(3):
                inbox.ref.tell(Note(n=n))
            assert (await inbox.receive()).n == 0
            assert inbox.receive_nowait().n == 1
            inbox.end()
            assert [note.n async for note in inbox] == [2]
            with pytest.raises(trio.EndOfChannel):
                await inbox.receive()


async def test_receiving_is_a_checkpoint_also_when_something_is_there() -> None:
    async with open_system() as system:
        with inbox_of(system) as inbox:
            for n in range(2):
                inbox.ref.tell(Note(n=n))
            with trio.testing.assert_checkpoints():
                await inbox.receive()
            with trio.CancelScope() as scope:
                scope.cancel()
                await inbox.receive()
            assert inbox.receive_nowait().n == 1


async def test_receive_nowait_never_waits() -> None:
    async with open_system() as system:
        with inbox_of(system) as inbox, pytest.raises(trio.WouldBlock):
            inbox.receive_nowait()


async def test_two_tasks_cannot_wait_at_one_inbox() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        with inbox_of(system) as inbox:
            nursery.start_soon(inbox.receive)
            await wait_all_tasks_blocked()
            with pytest.raises(trio.BusyResourceError, match="another task is already reading"):
                await inbox.receive()
            inbox.ref.tell(Note(n=1))
            await wait_all_tasks_blocked()
            inbox.ref.tell(Note(n=2))
            assert (await inbox.receive()).n == 2


async def test_a_closed_inbox_tells_its_reader_and_its_senders() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        inbox = inbox_of(system)

        async def read() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await inbox.receive()

        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        await inbox.aclose()
        await inbox.aclose()
        with pytest.raises(trio.ClosedResourceError):
            inbox.receive_nowait()
        with pytest.raises(ActorStopped):
            inbox.ref.tell(Note(n=1))


async def test_what_is_left_in_a_closed_inbox_is_dead_letters() -> None:
    async with open_system() as system:
        async with inbox_of(system) as inbox:
            for n in range(3):
                inbox.ref.tell(Note(n=n))
        assert system.dead_letters == {"closed": 3}


async def test_an_ended_inbox_takes_no_more_and_its_reader_finishes_what_is_there() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        with inbox_of(system, size=1) as inbox:
            inbox.ref.tell(Note(n=1))

            async def send() -> None:
                with pytest.raises(ActorStopped):
                    await inbox.ref.send(Note(n=2))

            nursery.start_soon(send)
            await wait_all_tasks_blocked()
            inbox.end()
            with pytest.raises(ActorStopped):
                inbox.ref.tell(Note(n=3))
            assert [note.n async for note in inbox] == [1]


async def test_a_reader_that_waits_learns_the_end() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        with inbox_of(system) as inbox:
            read: list[Note] = []

            async def reader() -> None:
                read.extend([note async for note in inbox])

            nursery.start_soon(reader)
            await wait_all_tasks_blocked()
            inbox.end()
            await wait_all_tasks_blocked()
            assert read == []


async def test_senders_wait_for_the_reader() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        with inbox_of(system, size=2) as inbox:
            sent: list[int] = []

            async def send() -> None:
                for n in range(5):
                    await inbox.ref.send(Note(n=n))
                    sent.append(n)

            nursery.start_soon(send)
            await wait_all_tasks_blocked()
            assert sent == [0, 1]
            with pytest.raises(MailboxFull):
                inbox.ref.tell(Note(n=9))
            for n in range(5):
                assert (await inbox.receive()).n == n
                await wait_all_tasks_blocked()
                assert len(sent) == min(n + 3, 5)


async def test_an_inbox_takes_its_kinds_and_what_derives_from_them() -> None:
    async with open_system() as system:
        with system.open_inbox(Note | Add) as inbox:
            inbox.ref.tell(Special(n=1, extra=2))
            assert await inbox.receive() == Special(n=1, extra=2)
            inbox.ref.tell(Add(amount=1))
        with (
            inbox_of(system) as notes,
            pytest.raises(NotAccepted, match="is an Inbox and accepts Note, not Add"),
        ):
            notes.ref.tell(Add())
        with pytest.raises(TypeError, match="is not a message class"):
            system.open_inbox(3)


@pytest.mark.parametrize("seed", [None, 1, 2])
async def test_a_receive_that_is_cancelled_loses_nothing(seed: int | None) -> None:
    count, got = 0, list[int]()
    seams = None if seed is None else seeded_seams(seed)
    async with open_system(seams=seams) as system:
        with inbox_of(system) as inbox:

            async def scenario() -> None:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(read)
                    for _ in range(3):
                        nonlocal count
                        await inbox.ref.send(Note(n=count))
                        count += 1

            async def read() -> None:
                for _ in range(3):
                    got.append((await inbox.receive()).n)

            async def check() -> None:
                try:
                    while True:
                        got.append(inbox.receive_nowait().n)
                except trio.WouldBlock:
                    assert got == list(range(count))

            assert await cancel_at_each_checkpoint(scenario, check) > 4


# ---------------------------------------------------------------- slow readers
async def test_p16_a_slow_reader_is_told_how_many_it_lost() -> None:
    async with open_system() as system, system.open_subscription("t", Note, size=3) as notes:
        for n in range(10):
            system.publish("t", Note(n=n))
        lagged: object = await notes.receive()
        assert lagged == Lagged(7)
        assert [notes.receive_nowait().n for _ in range(3)] == [7, 8, 9]
        system.publish("t", Note(n=10))
        assert (await notes.receive()).n == 10
        assert notes.statistics().dropped == 7


async def test_p16_a_slow_reader_may_be_disconnected_instead() -> None:
    async with (
        open_system() as system,
        system.open_subscription("t", Note, size=2, lag=Lag.DISCONNECT) as notes,
    ):
        for n in range(4):
            system.publish("t", Note(n=n))
        assert [(await notes.receive()).n, (await notes.receive()).n] == [0, 1]
        with pytest.raises(trio.BrokenResourceError, match="was too slow and was disconnected"):
            await notes.receive()


async def test_a_reader_that_kept_up_ends_without_an_error() -> None:
    async with (
        open_system() as system,
        system.open_subscription("t", Note, size=2, lag=Lag.DISCONNECT) as notes,
    ):
        system.publish("t", Note(n=1))
        notes.end()
        assert [note.n async for note in notes] == [1]


async def test_an_inbox_shows_what_it_holds() -> None:
    async with open_system() as system:
        with inbox_of(system, size=5) as inbox:
            inbox.ref.tell(Note(n=1))
            inbox.ref.tell(Note(n=2))
            inbox.receive_nowait()
            seen = inbox.ref.statistics()
            assert (seen.kind, seen.state, seen.queued, seen.handled, seen.capacity) == (
                "Inbox",
                "running",
                1,
                1,
                5,
            )
        assert inbox.statistics().state == "stopped"
