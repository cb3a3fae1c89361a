"""`boyd demo`: the swarm on logs made for it, so that what it finds can be scored against the truth."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import trio

from boyd.actors.cli import console
from boyd.runtime import System, open_system

from .command import free_thread
from .generate import Truth, generate
from .report import Report
from .score import score
from .sources import SourceError, expand
from .swarm import SWARM, Options
from .text import counted
from .view import SwarmView
from .watch import watch

FOLDER: Final = Path("boyd-demo")
_VICTIM: Final = "auth.log"


async def demo(*, seed: int = 7, lines: int = 120_000, out: Path = FOLDER) -> int:
    """Make logs with known trouble in them, send the swarm through, and score what it finds.

    Parameters
    ----------
    seed
        Of the logs; the same seed makes the same logs.
    lines
        How many lines, about.
    out
        The folder for logs, ledger and reports.
    """
    if lines < 1:
        raise console.UsageError(f"--lines {lines}: it must be 1 or more")
    logs = out / "logs"
    ledger = f"sqlite:{out / 'demo.db'}"
    await trio.Path(out).mkdir(parents=True, exist_ok=True)
    async with open_system(ledger=ledger, grace=1.0) as system:
        truth = await system.offload(generate, seed, lines, logs)
        sources = expand([str(logs)]).sources
        console.say(
            f"{counted(truth.lines, 'generated line')}, {counted(len(sources), 'source')}, "
            "no key, no network; decisions by rules"
        )
        thread = await free_thread(system, "demo", resume=False)
        options = Options(
            sources=sources, ledger=ledger, thread=thread, out=out, hint="boyd demo begins anew"
        )
        report, failed = await watch(system, options, _kill_a_scout)
    _tell_score(report, truth)
    _tell_what_next(thread, ledger)
    return 1 if failed else 0


async def _kill_a_scout(system: System, view: SwarmView) -> None:
    """Once a scout is well on its way, make it crash.

    Its supervisor starts it again, and the ledger knows where it was.
    """
    while view.lines_of(_VICTIM) < 10_000 and view.share_of(_VICTIM) < 0.3:
        await system.sleep(0.05)
    console.say(f"the demo kills the scout of {_VICTIM} on purpose:")
    try:
        system.crash(f"/{SWARM}/{view.member_of(_VICTIM)}")
    except LookupError:
        console.say("it had finished already")


def _tell_score(report: Report, truth: Truth) -> None:
    result = score(report.incidents, truth)
    once = (
        "handled once each"
        if report.lines == truth.lines
        else f"of which {report.lines:,} were handled"
    )
    console.say(
        f"score: planted {result.planted}, found {result.found}, false alarms {len(result.false_alarms)}; "
        f"{counted(truth.lines, 'line')} {once}"
    )
    for missed in result.missed:
        console.say(f"  missed: {missed}")


def _tell_what_next(thread: str, ledger: str) -> None:
    console.say()
    console.say("try next:")
    for line in _next_commands(thread, ledger):
        console.say(f"  {line}")


def _next_commands(thread: str, ledger: str) -> Iterator[str]:
    """Commands that work on this machine."""
    boyd = console.program()
    yield f"{boyd} show {thread} --incident 1 --ledger {ledger}"
    yield f"{boyd} approve {thread} --ledger {ledger}"
    here = _a_log_of_this_machine()
    if here is not None:
        yield f"{boyd} run triage {here}"
    elif shutil.which("journalctl"):
        yield f"journalctl -n 50000 | {boyd} run triage -"
    yield f"{boyd} run triage --help     (--model decides by a model instead of by rules)"


def _a_log_of_this_machine() -> Path | None:
    """The first log under /var/log that can be read and has something in it."""
    for name in ("syslog", "auth.log", "messages", "dpkg.log", "bootstrap.log", "alternatives.log"):
        path = Path("/var/log") / name
        try:
            expand([str(path)])
        except SourceError:
            continue
        return path
    return None
