"""What is written on the error of a crash, and what is recorded of the decision about it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from boyd.runtime.envelope import Envelope
from boyd.runtime.failure import text_of
from boyd.runtime.restart import Decision
from boyd.runtime.supervision import SupervisorDecided

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell

__all__ = ["note_crash", "report_crash"]

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_TEENS = range(11, 14)


def ordinal(n: int) -> str:
    """`1st`, `2nd`, `11th`."""
    return f"{n}{'th' if n % 100 in _TEENS else _ENDINGS.get(n % 10, 'th')}"


def note_crash(error: Exception, cell: Cell, envelope: Envelope | None, count: int) -> None:
    """Note on the error where it happened: `in actor /bank/acc, 4th crash in 30 s, handling Withdraw`."""
    doing = f", handling {envelope.codec.cls.__name__}" if envelope is not None else ""
    with suppress(TypeError):  # an error whose __notes__ somebody has replaced
        error.add_note(
            f"in actor {cell.path}, {ordinal(count)} crash in {cell.supervision.per:g} s{doing}"
        )


def report_crash(
    error: Exception,
    cell: Cell,
    envelope: Envelope | None,
    decision: Decision,
    *,
    redelivered: bool,
    others: Sequence[str],
) -> None:
    """Have the decision published, logged and written into the ledger."""
    decided = SupervisorDecided(
        path=cell.path,
        kind=cell.kind,
        epoch=cell.epoch,
        verdict=decision.verdict.name.lower(),
        crash=len(decision.crashes),
        budget=cell.supervision.restarts,
        error=type(error).__name__,
        message=text_of(error),
        handling=envelope.codec.cls.__name__ if envelope is not None else "",
        redelivered=redelivered,
        others=tuple(others),
    )
    # An idle actor still belongs to the run whose message it had last, or that it was started for.
    cell.system.reports.decided(decided, cell.headers, error)
