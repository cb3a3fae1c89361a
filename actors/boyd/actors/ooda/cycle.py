"""What a cycle knows and makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs

from boyd.actors.conversation.artifacts import Event
from boyd.actors.tools.spec import Call
from boyd.runtime.messages import message

__all__ = ["ActionResult", "Cycle", "CycleComplete", "Decision", "NodeDone", "Past", "PhaseStarted"]


def _calls(calls: Sequence[Call]) -> tuple[Call, ...]:
    return tuple(calls)


@attrs.frozen(kw_only=True)
class Decision:
    """What a decider chose: calls to make (none is a choice too), and why.

    Attributes:
        stop: the run ends after this cycle's actions.
        by: who decided: "rules", or the name of a model.
    """

    calls: tuple[Call, ...] = attrs.field(default=(), converter=_calls)
    why: str = ""
    stop: bool = False
    by: str = "rules"


@attrs.frozen(kw_only=True)
class ActionResult:
    """What came of one call of a decision."""

    call: Call
    status: Literal["done", "failed", "pending"]
    content: str


@attrs.frozen(kw_only=True)
class Past:
    """A cycle that is over, as the next ones remember it."""

    number: int
    decision: Decision
    actions: tuple[ActionResult, ...] = ()


@attrs.frozen(kw_only=True)
class Cycle:
    """The cycle that a phase works in.

    Attributes:
        number: from 1.
        history: the last cycles, oldest first, at most `Ooda.remember` of them.
        guidance: implicit guidance for all phases, as the definition gives it.
    """

    number: int
    history: tuple[Past, ...] = ()
    guidance: tuple[str, ...] = ()

    @property
    def actions(self) -> tuple[ActionResult, ...]:
        """What came of the actions of the cycle before."""
        return self.history[-1].actions if self.history else ()


@message("boyd.node_done")
class NodeDone:
    """Ledger entry: a node of a cycle has made its product, encoded by the type that the node returns."""

    cycle: int
    node: str
    product: bytes


@message("boyd.phase")
class PhaseStarted(Event):
    """An agent's cycle has come to a phase: observe, orient, decide or act."""

    agent: str
    cycle: int
    phase: str


@message("boyd.cycle_complete")
class CycleComplete(Event):
    """An agent has finished a cycle."""

    agent: str
    cycle: int
    decision: Decision
    actions: tuple[ActionResult, ...] = ()
