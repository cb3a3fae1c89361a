"""The lead: an OODA agent that shares the scouts' thread and sees across their logs."""

from collections.abc import Sequence

import attrs

from boyd.actors import Blackboard, Decision, Ooda
from boyd.runtime import Context

from .correlate import Campaign, by_actor, by_subject
from .gather import Gathering, Sight
from .reports import write_report


@attrs.frozen(kw_only=True)
class Picture:
    """What belongs together across logs."""

    incidents: int
    campaigns: tuple[Campaign, ...]
    complete: bool


class Observe:
    """Observe: wait for news on the blackboard, then look at all of it."""

    seen: Gathering | None = None

    async def __call__(self, ctx: Context) -> Sight:
        board = Blackboard.of(ctx)
        self.seen = self.seen or Gathering(board.ledger, board.thread)
        if not self.seen.complete:
            await board.wait_news(after=self.seen.seq)
            await ctx.sleep(0.2)  # news comes in bursts
        await self.seen.update()
        return await self.seen.sight()


async def actors(sight: Sight) -> tuple[Campaign, ...]:
    """Orient: the same address in several logs."""
    return by_actor(sight.incidents, sight.sources)


async def subjects(sight: Sight) -> tuple[Campaign, ...]:
    """Orient: the same service, device or user in several logs, close in time."""
    return by_subject(sight.incidents, sight.sources)


async def synthesize(readings: Sequence[tuple[Campaign, ...]], sight: Sight) -> Picture:
    """Orient: both readings in one picture."""
    campaigns = tuple(campaign for reading in readings for campaign in reading)
    return Picture(incidents=len(sight.incidents), campaigns=campaigns, complete=sight.complete)


def lead(folder: str) -> Ooda[None, Picture]:
    """The lead, which has the report written once every scout has come to its end."""

    async def decide(picture: Picture) -> Decision:
        if not picture.complete:
            return Decision(why="some scouts are still reading")
        return Decision(
            calls=[write_report.call(folder=folder)], why="every scout has finished", stop=True
        )

    return Ooda(
        name="lead", observe=Observe, facets=[actors, subjects], synthesize=synthesize, decide=decide,
        tools=[write_report], until=lambda picture: picture.complete,
    )  # fmt: skip
