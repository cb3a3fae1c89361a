"""`boyd run examples/triage [OPTIONS] SOURCE...`: send a swarm through logs, and report."""

import sys
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import cast

import attrs

from boyd.actors import Budget
from boyd.actors.cli import console
from boyd.runtime import System, open_system

from .checks import check_folder, check_members, check_numbers, provider_for
from .report_json import report_json
from .sources import expand
from .spool import Feed
from .swarm import Options, member_names, safe_name
from .watch import watch


async def command(
    *source: str,
    model: str | None = None,
    base_url: str | None = None,
    ledger: str | None = None,
    thread: str = "triage",
    resume: bool = False,
    out: Path = Path(),
    json: bool = False,
    batch: int = 2000,
    max_steps: int = 200,
    max_money: float | None = None,
) -> int:
    """Send a scout through each log, a lead above them, and write triage-report.md and .html.

    Parameters
    ----------
    source
        Log files, .gz files, folders of them, or - for standard input.
    model
        Decide by a model, such as openai:gpt-5-mini, instead of by rules.
    base_url
        Any server that speaks Chat Completions.
    ledger
        Where everything is written down; sqlite:triage.db if not given.
    thread
        The name of this run in the ledger.
    resume
        Go on with the thread where it stopped.
    out
        The folder for the reports.
    json
        Print the report as JSON on standard output.
    batch
        Lines in one cycle of a scout: fewer show sooner what is found, more take less time.
    max_steps
        At most so many requests to the model.
    max_money
        At most so many US dollars for the model.
    """
    if not source:
        raise console.UsageError("name at least one log file, folder or - (boyd run triage --help)")
    if base_url is not None and model is None:
        raise console.UsageError("--base-url is where a model is: name that too, with --model")
    check_numbers(batch=batch, max_steps=max_steps, max_money=max_money)
    provider = None if model is None else provider_for(model, base_url, max_money)
    if json:
        console.keep_stdout_for_data()
    check_folder(out)
    spool = out / f".{safe_name(thread)}.stdin"
    feed = Feed(_stdin()) if "-" in source else None
    found = expand(source, spool=str(spool))
    for skipped in found.skipped:
        console.warn(f"{skipped.path}: {skipped.reason}; skipped")
    options = Options(
        sources=found.sources,
        ledger=console.ledger_for(ledger, "sqlite:triage.db"),
        thread=thread,
        out=out,
        model=provider,
        batch=batch,
        budget=Budget(steps=max_steps if model else None, money=max_money, calls=None),
        feed=feed,
    )
    async with open_system(ledger=options.ledger, grace=1.0) as system:
        members = member_names(options.sources)
        name = await free_thread(system, thread, resume=resume, members=members)
        options = attrs.evolve(options, thread=name)
        report, failed = await watch(system, options)
    if json:
        console.emit(report_json(report))
    return 1 if failed else 0


async def free_thread(
    system: System, thread: str, *, resume: bool, members: Sequence[str] = ()
) -> str:
    """The thread of this run: a new one, unless it resumes."""
    used = await system.ledger.tip(thread) > 0
    if resume:
        if not used:
            console.say(f"nothing of {thread!r} is in the ledger yet: it begins now")
        await check_members(system.ledger, thread, members)
        return thread
    number = 1
    name = thread
    while used:
        number += 1
        name = f"{thread}-{number}"
        used = await system.ledger.tip(name) > 0
    if name != thread:
        console.say(
            f"the ledger has a thread {thread!r} already: this run is {name!r} "
            "(--resume goes on with the old one)"
        )
    return name


def _stdin() -> BufferedReader:
    return cast("BufferedReader", sys.stdin.buffer)
