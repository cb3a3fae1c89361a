"""A standing OODA watcher in an application's lifespan, with a gate for what is dangerous."""

from collections.abc import Sequence

import attrs
import trio

from boyd.actors import Approve, Decision, Ooda, Pending, Risk, ToolFinished, tool
from boyd.runtime import System, open_system


@attrs.frozen
class Sample:
    depth: int
    age: float


@tool(risk=Risk.DANGEROUS)
async def drop_oldest(queue: str) -> str:
    """Throw away the oldest half of a queue."""
    return f"dropped half of {queue}"


async def look(queue: str) -> Sample:
    return Sample(120, 4.0)


async def backlog(sample: Sample) -> float:
    return sample.depth / 100


async def staleness(sample: Sample) -> float:
    return sample.age / 10


async def worst(readings: Sequence[float]) -> float:
    return max(readings)


async def choose(pressure: float) -> Decision:
    calls = [drop_oldest.call(queue="mail")] if pressure > 1 else []
    return Decision(calls=calls, why=f"pressure {pressure:.1f}")


watcher: Ooda[str, float] = Ooda(
    observe=look,
    facets=[backlog, staleness],
    synthesize=worst,
    decide=choose,
    tools=[drop_oldest],
    every=10.0,
)


async def watch(system: System) -> None:
    async with watcher.open_run("mail", system=system, thread="watch-mail") as run:
        async for event in run:
            if isinstance(event, Pending) and event.call is not None:
                print("a person is asked:", event.call.tool, event.call.arguments)
                print(health(system))
                await run.answer(event, Approve())
            if isinstance(event, ToolFinished):
                break


def health(system: System) -> dict[str, int]:
    return {actor.path: actor.queued for actor in system.statistics().children}


async def main() -> None:
    async with open_system() as system:
        await watch(system)
        for entry in await system.ledger.read("watch-mail", kinds=("boyd.carried_out",)):
            print(entry.message())


trio.run(main)
