"""`boyd threads`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from boyd.actors.cli.json_form import json_tree
from boyd.actors.cli.ledgers import all_threads, ledgers_to_read
from boyd.actors.cli.output import emit, keep_stdout_for_data, say
from boyd.actors.cli.visible import shortened
from boyd.actors.runs.messages import RunStarted
from boyd.actors.tools.questions import questions_of
from boyd.runtime import Ledger, ThreadInfo, open_ledger

__all__ = ["moment", "threads"]

_MOST_NAME = 30


async def threads(*, ledger: str | None = None, all: bool = False, json: bool = False) -> None:  # noqa: A002  # the option's name
    """List the threads of a ledger: every run has one.

    Args:
        ledger: sqlite:PATH. Default: BOYD_LEDGER, or the ledgers in this folder.
        all: the threads of runs within runs as well.
        json: one JSON object a line.
    """
    if json:
        keep_stdout_for_data()
    addresses = ledgers_to_read(ledger)
    for address in addresses:
        async with open_ledger(address) as opened:
            infos = await all_threads(opened)
            shown = infos if all else _roots(infos)
            if json:
                for info in shown:
                    emit({"ledger": address} | json_tree(info))
                continue
            if len(addresses) > 1:
                say(f"{address}:")
            await _list(opened, shown, infos)


def _roots(infos: Sequence[ThreadInfo]) -> Sequence[ThreadInfo]:
    names = {info.thread for info in infos}
    return [info for info in infos if not _is_below(info.thread, names)]


def _is_below(thread: str, names: set[str]) -> bool:
    parts = thread.split("/")
    return any("/".join(parts[:n]) in names for n in range(1, len(parts)))


async def _list(ledger: Ledger, shown: Sequence[ThreadInfo], infos: Sequence[ThreadInfo]) -> None:
    if not shown:
        say("no threads yet")
        return
    width = min(max(len(info.thread) for info in shown), _MOST_NAME)
    say(f"{'thread':<{width}}  entries  last entry           what")
    for info in shown:
        what = await _what(ledger, info, infos)
        name = shortened(info.thread, 200)
        say(f"{name:<{width}}  {info.tip:>7,}  {moment(info.at)}  {what}".rstrip())


async def _what(ledger: Ledger, info: ThreadInfo, infos: Sequence[ThreadInfo]) -> str:
    started = await ledger.read(info.thread, limit=1, kinds=("boyd.run_started",))
    messages = [entry.message() for entry in started]
    parts = [one.kind for one in messages if isinstance(one, RunStarted)]
    if await ledger.read(info.thread, limit=1, kinds=("boyd.run_finished",)):
        parts.append("finished")
    waiting = sum(one.is_open for one in await questions_of(ledger, info.thread))
    if waiting:
        parts.append(f"{waiting} open")
    below = sum(one.thread.startswith(f"{info.thread}/") for one in infos)
    if below:
        parts.append(f"{below} below")
    return ", ".join(parts)


def moment(at: float) -> str:
    """Local date and time."""
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d %H:%M:%S}"
