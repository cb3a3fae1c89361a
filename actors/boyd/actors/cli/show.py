"""`boyd show`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

from boyd.actors.cli.definitions import find_telling
from boyd.actors.cli.entries import told
from boyd.actors.cli.json_form import entry_json
from boyd.actors.cli.ledgers import family, ledger_option, ledger_with
from boyd.actors.cli.open_questions import numbered_questions
from boyd.actors.cli.origin import module_of
from boyd.actors.cli.output import emit, keep_stdout_for_data, say
from boyd.actors.cli.program import program
from boyd.actors.cli.prompt import described
from boyd.actors.cli.visible import visible
from boyd.runtime import Entry, Ledger, open_ledger

__all__ = ["show"]

_PAGE = 500
_LABEL = 10


async def show(
    thread: str,
    /,
    *,
    ledger: str | None = None,
    incident: int | None = None,
    after: int = 0,
    kind: Sequence[str] = (),
    target: str | None = None,
    json: bool = False,
) -> None:
    """Show what a thread holds: turns, cycles, questions, crashes.

    A message of your own reads as its class says in `__str__`, or else as JSON.

    Args:
        thread: its name, as boyd threads lists it.
        ledger: sqlite:PATH. Default: BOYD_LEDGER, or the ledger in this folder that has the thread.
        incident: ask the program that wrote the thread to tell of its incident of this number.
        after: leave out the entries up to this number.
        kind: only entries of this kind, such as boyd.turn; may be repeated.
        target: the program that wrote the thread, as boyd run takes it; it is loaded.
        json: one JSON object a line, with everything that an entry holds.
    """
    if json:
        keep_stdout_for_data()
    address = await ledger_with(thread, ledger)
    async with open_ledger(address) as opened:
        # Its classes give the entries of its own kinds their fields.
        wanted = "" if incident is None else "--incident"
        module = await module_of(opened, thread, target, needed_for=wanted)
        if incident is not None:
            telling = None if module is None else find_telling(module, "show_incident")
            if telling is None:
                say(f"the program that wrote {thread} has no incidents to tell of")
            else:
                say(await telling(opened, thread, incident))
            return
        entries = _entries(opened, thread, after, kind)
        async with aclosing(entries):
            async for entry in entries:
                if json:
                    emit(entry_json(thread, entry))
                else:
                    _say_entry(entry)
        if not json:
            await _say_around(opened, thread, ledger_option(address))


async def _entries(
    ledger: Ledger, thread: str, after: int, kinds: Sequence[str]
) -> AsyncGenerator[Entry]:
    while True:
        page = await ledger.read(thread, after=after, limit=_PAGE, kinds=tuple(kinds))
        for entry in page:
            yield entry
        if len(page) < _PAGE:
            return
        after = page[-1].seq


def _say_entry(entry: Entry) -> None:
    who, what = told(entry)
    time = f"{datetime.fromtimestamp(entry.at, UTC).astimezone():%H:%M:%S}"
    head = f"{entry.seq:>5}  {time}  {visible(who):<{_LABEL}}  "
    say(head + what.replace("\n", "\n" + " " * len(head)))


async def _say_around(ledger: Ledger, thread: str, option: str) -> None:
    """What is not in the thread itself: crashes, runs within the run, open questions."""
    below = (await family(ledger, thread))[1:]
    crashes = [name for name in below if name.endswith("/supervision")]
    if crashes:
        say("\ncrashes")
        for name in crashes:
            for entry in await ledger.read(name):
                _say_entry(entry)
    if len(crashes) < len(below):
        say("\nruns within it")
        for name in below:
            if name not in crashes:
                say(f"  {program()} show {name}{option}")
    questions = [one for one in await numbered_questions(ledger, thread) if one.question.is_open]
    if questions:
        say("\nopen questions")
        for one in questions:
            say(f"  {one.number}  {described(one.question.asked.pending)}")
        say(f"  {program()} approve {thread} NUMBER{option}")
