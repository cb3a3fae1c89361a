"""What a program that runs under `boyd run` may use of the command line.

    async def command(*sources: str, ledger: str | None = None, json: bool = False) -> int:
        \"\"\"Count lines.\"\"\"
        if json:
            keep_stdout_for_data()
        async with open_system(ledger=ledger_for(ledger), grace=1.0) as system, open_view(rows):
            async with counter.open_run(sources, system=system, target=target()) as run:
                ...

Its signature gives the options and its docstring their help. It may return an
exit code. An error that leaves it becomes one sentence: exit code 2, or 1 once
work has begun. Ctrl-C cancels it; it has 2 s to say in a `finally` what was done.
"""

from __future__ import annotations

from boyd.actors.cli.approvals import settle_at_terminal
from boyd.actors.cli.ledgers import DEFAULT_LEDGER, ledger_for
from boyd.actors.cli.open_questions import Numbered, numbered_questions
from boyd.actors.cli.output import emit, keep_stdout_for_data, say, warn, write
from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.program import program
from boyd.actors.cli.prompt import ask_approval, can_ask, described
from boyd.actors.cli.rows import Row
from boyd.actors.cli.session import current_session
from boyd.actors.cli.view import open_view
from boyd.actors.cli.visible import shortened, visible

__all__ = [
    "DEFAULT_LEDGER",
    "Numbered",
    "Row",
    "UsageError",
    "ask_approval",
    "can_ask",
    "described",
    "emit",
    "keep_stdout_for_data",
    "ledger_for",
    "mute_log",
    "numbered_questions",
    "open_view",
    "program",
    "say",
    "settle_at_terminal",
    "shortened",
    "target",
    "visible",
    "warn",
    "work_began",
    "write",
]


def target() -> str:
    """How the running program was named, for `open_run(..., target=target())`; or ""."""
    return current_session().target


def work_began() -> None:
    """From now on an error is a failure in the middle. A view whose rows move says so itself."""
    current_session().began = True


def mute_log() -> None:
    """Leave out the runtime's own lines on crashes and restarts: the program tells of them."""
    current_session().log_muted = True
