"""A standing OODA watcher in an application's lifespan: it looks every 10 s, and asks before what is dangerous."""

from collections.abc import Sequence

import attrs
import trio
import trio.testing

from boyd.actors import Approve, Cycle, Decision, Ooda, Pending, Risk, ToolFinished, tool
from boyd.runtime import open_system


@attrs.frozen
class Sample:
    depth: int
    age: float


@tool(risk=Risk.WRITE)
async def add_worker(queue: str) -> str:
    """Start one more worker for a queue."""
    return f"one more worker for {queue}"


@tool(risk=Risk.DANGEROUS)
async def drop_oldest(queue: str) -> str:
    """Throw away the oldest half of a queue."""
    return f"dropped half of {queue}"


async def look(queue: str, cycle: Cycle) -> Sample:
    return Sample(90 * cycle.number, 4.0)


async def backlog(sample: Sample) -> float:
    return sample.depth / 100


async def staleness(sample: Sample) -> float:
    return sample.age / 10


async def worst(readings: Sequence[float]) -> float:
    return max(readings)


async def choose(pressure: float) -> Decision:
    wanted = drop_oldest if pressure > 2 else add_worker
    calls = [wanted.call(queue="mail")] if pressure > 1 else []
    return Decision(calls=calls, why=f"pressure {pressure:.1f}")


watcher: Ooda[str, float] = Ooda(
    observe=look, facets=[backlog, staleness], synthesize=worst, decide=choose,
    tools=[add_worker, drop_oldest], every=10.0,
)  # fmt: skip


async def main() -> None:
    async with open_system() as system, watcher.open_run("mail", system=system) as run:
        async for event in run:
            if isinstance(event, Pending) and event.call is not None:
                print(f"{trio.current_time():.0f} s: may I? {event.call.tool}")
                await run.answer(event, Approve())
            if isinstance(event, ToolFinished):
                print(f"{trio.current_time():.0f} s: {event.result.content}")
                if event.call.tool == "drop_oldest":
                    break  # leaving the block ends it


trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))  # half a minute in no time
