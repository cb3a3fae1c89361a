"""A hand-made worker loop becomes a supervised actor; the program's channels stay."""

import attrs
import trio

from boyd.runtime import (
    Actor,
    Context,
    Mailbox,
    Overflow,
    RemoteFailure,
    Replies,
    Supervision,
    message,
    open_system,
    receives,
)


@message("sensors.reading")
class Reading:
    sensor: str
    value: float


@message("sensors.mean")
class Mean(Replies[float]):
    sensor: str


class Averages(Actor[Reading | Mean]):
    window: int
    seen: dict[str, list[float]] = attrs.field(factory=dict[str, list[float]])

    @receives
    async def add(self, reading: Reading, ctx: Context) -> None:
        self.seen.setdefault(reading.sensor, []).append(reading.value)
        del self.seen[reading.sensor][: -self.window]

    @receives
    async def mean(self, question: Mean, ctx: Context) -> float:
        return sum(self.seen[question.sensor]) / len(self.seen[question.sensor])


async def service(readings: trio.abc.ReceiveChannel[Reading]) -> None:
    mailbox = Mailbox(size=10_000, overflow=Overflow.DROP_OLDEST)
    async with open_system() as system:
        averages = await system.spawn(
            Averages, 60, name="averages", mailbox=mailbox, supervision=Supervision(restarts=5)
        )
        await system.pump(readings, averages)
        with trio.move_on_after(2):  # the deadline travels with the question
            print("mean of t1:", await averages.ask(Mean(sensor="t1")))
        try:
            await averages.ask(Mean(sensor="t2"))
        except RemoteFailure as error:
            print("t2:", error)
        print("restarts:", averages.statistics().restarts)


async def main() -> None:
    send, receive = trio.open_memory_channel[Reading](10)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(service, receive)
        async with send:
            for value in (1.0, 2.0, 6.0):
                await send.send(Reading(sensor="t1", value=value))


trio.run(main)
