"""One run of the swarm as it is watched: shown, listened to, and asked at the terminal."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import trio

from boyd.actors import Pending
from boyd.actors.cli import console
from boyd.actors.runs.run import Run
from boyd.runtime import SupervisorDecided, System
from boyd.runtime.system import SUPERVISION_TOPIC

from .actions import Noted, tools
from .beat import LinesRead
from .ending import keep, sum_up, sum_up_shortly
from .gather import gather
from .lead import Picture
from .outputs import BLOCKLIST
from .report import Report
from .sources import Source
from .swarm import SWARM, Options, member_names, swarm_of
from .view import SwarmView

LAST_SECONDS: Final = 1.0
"""What a run that is stopped may take to sum up; it must be gone within two."""


async def watch(
    system: System,
    options: Options,
    beside: Callable[[System, SwarmView], Awaitable[None]] | None = None,
) -> tuple[Report, bool]:
    """Run the swarm and show it, and `beside` along with it; the report, and whether something of it failed.

    However it ends, what was learned so far is in the ledger, and is told.
    """
    console.mute_log()
    swarm = swarm_of(options)
    totals = [await system.offload(_count_lines, one) for one in options.sources]
    names = [one.name for one in options.sources]
    view = SwarmView(system, SWARM, zip(member_names(options.sources), names, totals, strict=True))
    began = told = False
    try:
        async with (
            swarm.open_run(
                None, system=system, thread=options.thread, buffer=256, target=console.target()
            ) as run,
            console.open_view(view.rows, title=f"{options.thread}: {', '.join(names)}"[:100]),
            trio.open_nursery() as nursery,
        ):
            began = True
            console.work_began()
            nursery.start_soon(_listen, system, view)
            if beside is not None:
                nursery.start_soon(beside, system, view)
            async for event in run:
                view.saw(event)
                if isinstance(event, Pending):
                    nursery.start_soon(_ask, run, event, options)
            nursery.cancel_scope.cancel()
        report = await gather(system.ledger, options.thread)
        sum_up(report, options, view, finished=True)
        told = True
    finally:
        if began and not told:
            await _sum_up_in_time(system, options, view)
    written = await keep(system, report, options)
    return report, bool(view.failed) or not written


async def _sum_up_in_time(system: System, options: Options, view: SwarmView) -> None:
    """Who stops it waits no longer than a second: say what can be said by then."""
    with trio.move_on_after(LAST_SECONDS, shield=True) as limit:
        report = await gather(system.ledger, options.thread)
        sum_up(report, options, view, finished=False)
    if limit.cancelled_caught:
        sum_up_shortly(options, view)


async def _listen(system: System, view: SwarmView) -> None:
    """Follow what is published beside the run's own events."""
    kinds = LinesRead | Noted | SupervisorDecided
    async with (
        system.open_subscription("triage/*", kinds, size=4096) as facts,
        system.open_subscription(SUPERVISION_TOPIC, SupervisorDecided, size=256) as decisions,
        trio.open_nursery() as nursery,
    ):

        async def crashes() -> None:
            async for decision in decisions:
                if isinstance(decision, SupervisorDecided):  # pyright: ignore[reportUnnecessaryIsInstance]
                    view.decided(decision)  # else it is a mark that some were missed

        nursery.start_soon(crashes)
        async for fact in facts:
            match fact:
                case LinesRead():
                    view.read(fact)
                case Noted():
                    view.noted(fact)
                case _:
                    pass


async def _ask(run: Run[Picture], pending: Pending, options: Options) -> None:
    """Ask the person, if there is one; else the question stays open in the ledger."""
    call = pending.call
    if call is None or not console.can_ask():
        return
    question = f"block {call.arguments.get('address')}? {call.arguments.get('why')}"
    approved = await console.settle_at_terminal(
        run, pending, options.ask, question=question, tools=tools
    )
    if approved:
        console.say(f"{call.arguments.get('address')} was added to {options.out / BLOCKLIST}")


def _count_lines(source: Source) -> int | None:
    """How many lines a text file has; None where counting would be reading."""
    if source.kind != "text":
        return None
    count, last = 0, b"\n"
    with Path(source.path).open("rb") as stream:
        while piece := stream.read(1 << 20):
            count += piece.count(b"\n")
            last = piece
    return count + (not last.endswith(b"\n"))
