"""The runtime workload: ask, tell, fan-out and spawn against bare Trio with the same codec."""

from __future__ import annotations

import gc
import math
import tracemalloc
from time import perf_counter

import trio

from benchmarks.rows import Row, growth_exponent, rate, side_by_side
from boyd.runtime import Actor, Context, Replies, System, message, open_system, receives
from boyd.runtime.messages import message_codec

__all__ = ["run"]

_ASKS, _TELLS, _SPAWNS, _PUBLISHED = 4_000, 64_000, 1_500, 300
_PAIRS, _SUBSCRIBERS, _BATCH = 100, 100, 64


@message("bench.event")
class Event(Replies[int]):
    """The shape of a message of an agent: about 200 bytes."""

    id: str
    thread: str
    sender: str
    seq: int
    at: float
    text: str


@message("bench.told")
class Told:
    id: str
    thread: str
    sender: str
    seq: int
    at: float
    text: str


_FIELDS = {
    "id": "01J9ZK3M5Q8V7T2R4W6X8Y0ABC",
    "thread": "thread-7f3a9c21",
    "sender": "agent/planner-1",
    "seq": 123_456,
    "at": 1_730_000_000.123_456,
    "text": "The tool returned 5 results; the second one mentions the exact error. I open it next.",
}
EVENT, TOLD = Event(**_FIELDS), Told(**_FIELDS)  # type: ignore[arg-type]


class Counter(Actor[Event | Told]):
    """Counts what it is told, and answers with the count."""

    seen: int = 0

    @receives
    async def ask(self, _event: Event, _ctx: Context) -> int:
        self.seen += 1
        return self.seen

    @receives
    async def tell(self, _event: Told, _ctx: Context) -> None:
        self.seen += 1


async def _ask_pair() -> float:
    async with open_system() as system:
        ref = await system.spawn(Counter)
        started = perf_counter()
        for _ in range(_ASKS):
            await ref.ask(EVENT)
        return rate(_ASKS, started, perf_counter())


async def _ask_floor() -> float:
    """Two lone checkpoints and two codec passes for each ask."""
    there, back = message_codec(Event), message_codec(Told)
    started = perf_counter()
    for _ in range(_ASKS):
        await trio.lowlevel.checkpoint()
        there.decode(there.encode(EVENT))
        await trio.lowlevel.checkpoint()
        back.decode(back.encode(TOLD))
    return rate(_ASKS, started, perf_counter())


async def _ask_pairs() -> float:
    async with open_system() as system:
        refs = [await system.spawn(Counter) for _ in range(_PAIRS)]

        async def asker(number: int) -> None:
            for _ in range(_ASKS // _PAIRS):
                await refs[number].ask(EVENT)

        started = perf_counter()
        async with trio.open_nursery() as nursery:
            for number in range(_PAIRS):
                nursery.start_soon(asker, number)
        return rate(_ASKS, started, perf_counter())


async def _ask_pairs_draft() -> float:
    """The obvious first draft: a memory channel for each actor, one more for each reply."""
    codec = message_codec(Event)

    async def actor(
        inbox: trio.MemoryReceiveChannel[tuple[bytes, trio.MemorySendChannel[bytes]]],
    ) -> None:
        async for body, reply in inbox:
            codec.decode(body)
            await reply.send(codec.encode(EVENT))

    async with trio.open_nursery() as nursery:
        senders: list[trio.MemorySendChannel[tuple[bytes, trio.MemorySendChannel[bytes]]]] = []
        for _ in range(_PAIRS):
            send, receive = trio.open_memory_channel[tuple[bytes, trio.MemorySendChannel[bytes]]](
                1024
            )
            senders.append(send)
            nursery.start_soon(actor, receive)

        async def asker(number: int) -> None:
            for _ in range(_ASKS // _PAIRS):
                reply_send, reply = trio.open_memory_channel[bytes](1)
                with trio.fail_after(30):
                    await senders[number].send((codec.encode(EVENT), reply_send))
                    codec.decode(await reply.receive())

        started = perf_counter()
        async with trio.open_nursery() as askers:
            for number in range(_PAIRS):
                askers.start_soon(asker, number)
        took = rate(_ASKS, started, perf_counter())
        nursery.cancel_scope.cancel()
    return took


async def _tell() -> float:
    async with open_system() as system:
        ref = await system.spawn(Counter)
        started = perf_counter()
        for _ in range(_TELLS // _BATCH):
            for _ in range(_BATCH):
                ref.tell(TOLD)
            await trio.lowlevel.checkpoint()
        await ref.ask(EVENT)
        return rate(_TELLS, started, perf_counter())


async def _tell_channel() -> float:
    """A memory channel and the same codec."""
    codec, count = message_codec(Told), _TELLS // 4
    send, receive = trio.open_memory_channel[bytes](math.inf)

    async def actor() -> None:
        async for body in receive:
            codec.decode(body)

    started = perf_counter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(actor)
        async with send:
            for number in range(count):
                send.send_nowait(codec.encode(TOLD))
                if number % _BATCH == _BATCH - 1:
                    await trio.lowlevel.checkpoint()
    return rate(count, started, perf_counter())


async def _fan_out() -> float:
    """One publisher, a hundred subscriptions, each decodes its own copy."""
    async with open_system() as system, trio.open_nursery() as nursery:
        ready: list[None] = []

        async def subscriber() -> None:
            async with system.open_subscription("news", Told, size=_PUBLISHED) as inbox:
                ready.append(None)
                for _ in range(_PUBLISHED):
                    await inbox.receive()

        for _ in range(_SUBSCRIBERS):
            nursery.start_soon(subscriber)
        while len(ready) < _SUBSCRIBERS:
            await trio.lowlevel.checkpoint()
        started = perf_counter()
        async with trio.open_nursery() as inner:
            inner.start_soon(_publish, system)
        while nursery.child_tasks:
            await trio.lowlevel.checkpoint()
        return rate(_PUBLISHED * _SUBSCRIBERS, started, perf_counter())


class Reader(Counter):
    """Counts what it hears."""

    async def started(self, ctx: Context) -> None:
        ctx.subscribe("news")


async def _fan_out_actors() -> float:
    """One publisher, a hundred actors that hear the topic."""
    async with open_system() as system:
        refs = [await system.spawn(Reader) for _ in range(_SUBSCRIBERS)]
        started = perf_counter()
        await _publish(system)
        seen = [await ref.ask(EVENT) for ref in refs]
        took = rate(_PUBLISHED * _SUBSCRIBERS, started, perf_counter())
    assert set(seen) == {_PUBLISHED + 1}, "nothing was dropped"
    return took


async def _publish(system: System) -> None:
    for number in range(_PUBLISHED):
        system.publish("news", TOLD)
        if number % 8 == 7:  # let the readers keep up
            await trio.lowlevel.checkpoint()


async def _fan_out_draft() -> float:
    codec = message_codec(Told)
    pairs = [trio.open_memory_channel[bytes](math.inf) for _ in range(_SUBSCRIBERS)]

    async def subscriber(receive: trio.MemoryReceiveChannel[bytes]) -> None:
        for _ in range(_PUBLISHED):
            codec.decode(await receive.receive())

    started = perf_counter()
    async with trio.open_nursery() as nursery:
        for _, receive in pairs:
            nursery.start_soon(subscriber, receive)
        for number in range(_PUBLISHED):
            body = codec.encode(TOLD)
            for send, _ in pairs:
                send.send_nowait(body)
            if number % 8 == 7:
                await trio.lowlevel.checkpoint()
    return rate(_PUBLISHED * _SUBSCRIBERS, started, perf_counter())


async def _spawn() -> float:
    async with open_system() as system:
        started = perf_counter()
        refs = [system.spawn_nowait(Counter) for _ in range(_SPAWNS)]
        for ref in refs:
            ref.tell(TOLD)
        await system.stop()
        return rate(_SPAWNS, started, perf_counter())


async def _spawn_floor() -> float:
    """A task with a cancel scope for each."""
    codec = message_codec(Told)

    async def actor() -> None:
        with trio.CancelScope():
            await trio.lowlevel.checkpoint()
            codec.decode(codec.encode(TOLD))

    started = perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(_SPAWNS):
            nursery.start_soon(actor)
    return rate(_SPAWNS, started, perf_counter())


async def _memory_of_actors(count: int) -> float:
    """KiB that Python allocates for each idle actor. (Resident memory tells little behind other work.)"""
    async with open_system() as system:
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        refs = [system.spawn_nowait(Counter) for _ in range(count)]
        for ref in refs:
            ref.tell(TOLD)
        await refs[-1].ask(EVENT)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        system.cancel_scope.cancel()
        return grown / count / 1024


async def _spawn_seconds(count: int) -> float:
    started = perf_counter()
    async with open_system() as system:
        for _ in range(count):
            system.spawn_nowait(Counter)
        await trio.lowlevel.checkpoint()
        system.cancel_scope.cancel()
    return perf_counter() - started


async def _run(rounds: int) -> tuple[list[Row], dict[str, float]]:
    ask, ask_floor = await side_by_side(rounds, _ask_pair, _ask_floor)
    pairs, draft = await side_by_side(rounds, _ask_pairs, _ask_pairs_draft)
    tell, channel = await side_by_side(rounds, _tell, _tell_channel)
    fan, fan_draft = await side_by_side(rounds, _fan_out, _fan_out_draft)
    heard, heard_draft = await side_by_side(rounds, _fan_out_actors, _fan_out_draft)
    spawn, spawn_floor = await side_by_side(rounds, _spawn, _spawn_floor)
    memory = await _memory_of_actors(2_000)
    sizes = [300, 1_000, 3_000]
    seconds = [await _spawn_seconds(size) for size in sizes]
    rows = [
        Row(
            name="ask, one pair",
            size=1,
            unit="asks/s",
            better="more",
            ours=ask,
            floor=ask_floor,
            target=1 / 1.2,
        ),
        Row(
            name="ask, 100 pairs",
            size=_PAIRS,
            unit="asks/s",
            better="more",
            ours=pairs,
            floor=draft,
            target=1.5,
        ),
        Row(
            name="tell, receiver busy",
            size=1,
            unit="tells/s",
            better="more",
            ours=tell,
            floor=channel,
            target=3.5,
        ),
        Row(
            name="fan-out 1 to 100 actors, own decode",
            size=_SUBSCRIBERS,
            unit="deliveries/s",
            better="more",
            ours=heard,
            floor=heard_draft,
            target=2.8,
        ),
        Row(
            name="fan-out 1 to 100 channels, own decode",
            size=_SUBSCRIBERS,
            unit="deliveries/s",
            better="more",
            ours=fan,
            floor=fan_draft,
        ),
        Row(
            name="spawn, message, stop",
            size=_SPAWNS,
            unit="actors/s",
            better="more",
            ours=spawn,
            floor=spawn_floor,
            target=1 / 3,
        ),
        Row(
            name="memory of an idle actor",
            size=2_000,
            unit="KiB",
            better="less",
            ours=memory,
            target=4.7,
        ),
    ]
    return rows, {"spawn and cancel": growth_exponent(sizes, seconds)}


def run(rounds: int = 5) -> tuple[list[Row], dict[str, float]]:
    """All rows of the runtime workload, and how costs grow."""
    return trio.run(_run, rounds)
