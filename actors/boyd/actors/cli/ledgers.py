"""Which ledger a command reads or writes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from boyd.actors.cli.problems import UsageError
from boyd.runtime import ThreadInfo, open_ledger
from boyd.runtime.ledger import Ledger
from boyd.runtime.ledger.sqlite_database import APPLICATION_ID

__all__ = [
    "DEFAULT_LEDGER",
    "all_threads",
    "family",
    "is_kept",
    "ledger_for",
    "ledger_option",
    "ledger_with",
    "ledgers_here",
    "ledgers_to_read",
]

DEFAULT_LEDGER: Final = "sqlite:boyd.db"
_VARIABLE: Final = "BOYD_LEDGER"
_HEADER: Final = 72
_PAGE: Final = 500


def ledger_for(given: str | None, default: str = DEFAULT_LEDGER) -> str:
    """The address of the ledger to write: what was given, else BOYD_LEDGER, else `default`."""
    return given or os.environ.get(_VARIABLE) or default


def is_kept(address: str) -> bool:
    """Whether what is written there outlives the program."""
    return address.partition(":")[0] != "memory"


def ledgers_to_read(given: str | None) -> Sequence[str]:
    """The addresses to look in, all of them there: the one that was named, else all in this folder.

    Raises:
        UsageError: there is none.
    """
    named = given or os.environ.get(_VARIABLE)
    if named:
        scheme, _, path = named.partition(":")
        if not is_kept(named):
            raise UsageError("memory: is no ledger to read from: it ends with its program")
        if scheme == "sqlite" and path and not Path(path).exists():
            raise UsageError(f"there is no ledger {path}")
        return (named,)
    found = ledgers_here()
    if not found:
        raise UsageError(
            "there is no ledger in this folder: run something first (boyd demo), "
            "or name one with --ledger sqlite:PATH"
        )
    return found


def ledgers_here() -> Sequence[str]:
    """The Boyd ledgers among the *.db files of the current folder, the default one first."""
    first = DEFAULT_LEDGER.partition(":")[2]
    names = sorted(
        (path.name for path in Path().glob("*.db")), key=lambda name: (name != first, name)
    )
    return tuple(f"sqlite:{name}" for name in names if _is_ledger(Path(name)))


def _is_ledger(path: Path) -> bool:
    # Read before anything of it is open: closing a file drops the locks that SQLite holds on it.
    try:
        with path.open("rb") as file:
            return file.read(_HEADER)[-4:] == APPLICATION_ID.to_bytes(4)
    except OSError:
        return False


def ledger_option(address: str) -> str:
    """What to add to `boyd show` and the like so that they find this ledger: often nothing."""
    return (
        ""
        if address in ledgers_here() or os.environ.get(_VARIABLE) == address
        else f" --ledger {address}"
    )


async def ledger_with(thread: str, given: str | None) -> str:
    """The address of the one ledger that has `thread`.

    Raises:
        UsageError: none has it, or several have.
    """
    addresses = ledgers_to_read(given)
    having: list[str] = []
    names: list[str] = []
    for address in addresses:
        async with open_ledger(address) as ledger:
            if await ledger.tip(thread):
                having.append(address)
            elif len(addresses) == 1 or not having:
                names += [info.thread for info in await ledger.threads(limit=8)]
    if len(having) > 1:
        raise UsageError(f"several ledgers have {thread}: {', '.join(having)}; name one: --ledger")
    if not having:
        where = ", ".join(addresses)
        there = f"; there are: {', '.join(names[:8])}" if names else ", which is empty"
        raise UsageError(f"no thread {thread!r} in {where}{there}")
    return having[0]


async def all_threads(ledger: Ledger) -> Sequence[ThreadInfo]:
    """Every thread of a ledger, the latest first."""
    found: dict[str, ThreadInfo] = {}
    cursor: str | None = None
    while True:
        page = await ledger.threads(limit=_PAGE, after_cursor=cursor)
        for info in page:
            found.setdefault(info.thread, info)
        if len(page) < _PAGE:
            return tuple(found.values())
        cursor = page[-1].cursor


async def family(ledger: Ledger, thread: str) -> Sequence[str]:
    """`thread` and the threads below it, by name."""
    below = [
        info.thread for info in await all_threads(ledger) if info.thread.startswith(f"{thread}/")
    ]
    return (thread, *sorted(below))
