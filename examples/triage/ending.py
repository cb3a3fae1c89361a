"""The end of a run: what was learned in a few lines, and the report in its files."""

from collections.abc import Mapping

from boyd.actors.cli import console
from boyd.runtime import System

from .outputs import REPORT
from .remarks import lost_calls, odd_lines
from .report import Report
from .reports import write_files
from .swarm import Options
from .text import counted
from .view import SwarmView


def sum_up(report: Report, options: Options, view: SwarmView, *, finished: bool) -> None:
    """Say what was found, what was odd, and what can be done next."""
    say = console.say
    say()
    say(f"{report.headline}" if finished else f"stopped early. So far: {report.headline}")
    for number, incident in enumerate(report.incidents[:10], start=1):
        say(f"  {number:2}. {incident.severity:8} {incident.source}: {incident.title}")
    if len(report.incidents) > 10:
        say(f"      and {len(report.incidents) - 10} more")
    for campaign in report.campaigns[:5]:
        say(f"  across: {campaign.title}")
    if report.instructions:
        say(
            f"{counted(report.instructions, 'instruction')} found in data: "
            "not obeyed (tainted, risk DANGEROUS)"
        )
    for source in report.sources:
        for said in odd_lines(source):
            console.warn(f"{source.name}: {said}")
        if lost := lost_calls(source):
            console.warn(f"{source.name}: {lost}")
    for error, sources in _by_error(view.failed).items():
        console.warn(error if error.startswith(sources[0]) else f"{', '.join(sources)}: {error}")
    if report.pending:
        blocks = f"{counted(len(report.pending), 'block')} waiting for approval"
        approve = f"{console.program()} approve {options.thread}{_ledger(options)}"
        say(
            f"{blocks}: {approve}"
            if _is_kept(options)
            else f"{blocks}, and forgotten with this ledger"
        )
    if not finished:
        say(_what_next(options))


def sum_up_shortly(options: Options, view: SwarmView) -> None:
    """Say what was seen on the way, where the ledger is too long to be read again in time."""
    said = counted(view.incidents, "incident")
    console.say()
    console.say(
        f"stopped early, after {counted(view.lines, 'line')} and {said} opened; "
        "there was no time to sum up"
    )
    console.say(_what_next(options))


async def keep(system: System, report: Report, options: Options) -> bool:
    """Make sure that the report is in its files; say where, or why it is not."""
    try:
        await system.offload(write_files, report, options.out)
    except OSError as error:
        console.warn(f"the report was not written to {options.out}: {error.strerror or error}")
        console.say(_what_next(options))
        return False
    console.say(f"report: {options.out / REPORT}.md and .html")
    return True


def _what_next(options: Options) -> str:
    if _is_kept(options):
        return options.hint
    return "the ledger was in memory and is gone: only a run with another can be gone on with"


def _is_kept(options: Options) -> bool:
    return options.ledger != "memory:"


def _by_error(failed: Mapping[str, str]) -> dict[str, list[str]]:
    """The sources that failed, by why: one sentence, however many scouts it stopped."""
    found: dict[str, list[str]] = {}
    for source, error in sorted(failed.items()):
        found.setdefault(error, []).append(source)
    return found


def _ledger(options: Options) -> str:
    return "" if options.ledger == "sqlite:triage.db" else f" --ledger {options.ledger}"
