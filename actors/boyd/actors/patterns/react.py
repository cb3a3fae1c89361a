"""ReAct: step, make the calls that the turn asks for, step again, until a turn asks for none."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from boyd.actors.budget import BudgetExceeded
from boyd.actors.conversation.turns import Turn
from boyd.actors.events import Pending
from boyd.actors.plural import counted
from boyd.actors.step.step import Submit, TakeTurn, Transcript
from boyd.actors.tools.dispatch import dispatch
from boyd.actors.tools.progress import OpenCalls
from boyd.actors.tools.toolbox import Toolbox
from boyd.runtime import BoydError, Context, Ref, failure

__all__ = ["ReAct", "StepLimit"]

Step = Ref[TakeTurn | Submit | Transcript]


@failure("boyd.StepLimit")
class StepLimit(BoydError, RuntimeError):
    """The pattern made as many turns as it may, and the last one still asks for tools. Its transcript is valid."""

    def __init__(self, *, turns: int) -> None:
        super().__init__(
            f"ReAct stopped after {counted(turns, 'turns')}, the last of which still asks for tools: "
            "ReAct(max_turns=...)"
        )
        self.turns = turns


@attrs.frozen(kw_only=True)
class ReAct:
    """Reason and act (Yao et al., ICLR 2023).

    Attributes:
        max_turns: model turns in answer to one message; one more is a `StepLimit`.
    """

    max_turns: int = attrs.field(default=50, validator=attrs.validators.ge(1))

    async def go(self, step: Step, toolbox: Toolbox, ctx: Context) -> Turn | tuple[Pending, ...]:
        """Run to the turn that asks for no tool, or to the questions that must be answered first.

        Picks up wherever the thread stands: at a user turn, or at calls without results.

        Raises:
            StepLimit: the cap is reached; the calls of the last turn are answered with that.
            BudgetExceeded: so are they.
        """
        turns = list(await step.ask(Transcript()))
        fresh = False
        while True:
            last = turns[-1] if turns else None
            if last is not None and last.role == "assistant":
                if not last.calls:
                    return last
                made = _turns_made(turns)
                calls = OpenCalls(turn=last)
                if made >= self.max_turns:
                    calls.progress.why_not = (
                        f"the run stopped at its limit of {counted(made, 'turns')}"
                    )
                    await step.ask(Submit(turn=calls.answer()))
                    raise StepLimit(turns=made)
                pending = await _make(step, toolbox, calls, ctx, fresh=fresh)
                if pending:
                    return pending
                turns.append(calls.answer())
            turns.append(await step.ask(TakeTurn(id=f"{toolbox.spec.thread}#{len(turns)}")))
            fresh = True


def _turns_made(turns: Sequence[Turn]) -> int:
    """Model turns since somebody else last said something."""
    made = 0
    for turn in reversed(turns):
        if turn.role in ("user", "system"):
            break
        made += turn.role == "assistant"
    return made


async def _make(
    step: Step, toolbox: Toolbox, calls: OpenCalls, ctx: Context, *, fresh: bool
) -> tuple[Pending, ...]:
    """Make the calls of a turn and append the tool turn that answers each once; or what must be answered first.

    The run knows of them meanwhile: cancelled half-way, it answers them at its end.
    """
    spec, progress = toolbox.spec, calls.progress
    spec.inflight.calls[spec.thread] = calls
    try:
        await dispatch(toolbox, calls.turn.calls, calls.place, progress, ctx, fresh=fresh)
    except BudgetExceeded:
        await step.ask(Submit(turn=calls.answer()))
        raise
    if not progress.pending:
        await step.ask(Submit(turn=calls.answer()))
    return tuple(pending for _, pending in sorted(progress.pending.items()))
