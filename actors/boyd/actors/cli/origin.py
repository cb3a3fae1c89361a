"""The program that wrote a thread, loaded where that is safe."""

from __future__ import annotations

from types import ModuleType

from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.targets import TRIAGE, load, parse_target
from boyd.actors.runs.messages import RunStarted
from boyd.runtime import Ledger

__all__ = ["module_of", "recorded_target"]


async def recorded_target(ledger: Ledger, thread: str) -> str:
    """How the run of `thread`, or the one around it, was named; "" where nothing says so."""
    parts = thread.split("/")
    for n in range(len(parts), 0, -1):
        name = "/".join(parts[:n])
        for entry in await ledger.read(name, limit=1, kinds=("boyd.run_started",)):
            if isinstance(started := entry.message(), RunStarted) and started.target:
                return started.target
    return ""


async def module_of(
    ledger: Ledger, thread: str, typed: str | None, *, needed_for: str = ""
) -> ModuleType | None:
    """The module that a person typed, or Boyd's own triage where the ledger names that.

    What else a ledger names is not loaded: the file may be a stranger's.

    Raises:
        UsageError: it is needed, and nobody typed it.
    """
    if typed:
        return load(parse_target(typed))
    recorded = await recorded_target(ledger, thread)
    if recorded == TRIAGE:
        return load(parse_target(TRIAGE))
    if needed_for and recorded:
        raise UsageError(
            f"the ledger says that {thread} was written by {recorded}; "
            f"to load that program for {needed_for}, add --target {recorded}"
        )
    return None
