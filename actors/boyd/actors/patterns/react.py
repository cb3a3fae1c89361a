"""ReAct: step, make the calls that the turn asks for, step again, until a turn asks for none."""

from __future__ import annotations

import attrs
import trio

from boyd.actors.conversation.turns import Turn
from boyd.actors.events import Pending
from boyd.actors.step.step import Submit, TakeTurn, Transcript
from boyd.actors.tools.dispatch import Progress, Toolbox
from boyd.runtime import BoydError, Context, Ref, failure

__all__ = ["ReAct", "StepLimit"]

_LAST_SECONDS = 2.0


@failure("boyd.StepLimit")
class StepLimit(BoydError, RuntimeError):
    """The pattern made as many turns as it may, and the last one still asks for tools. Its transcript is valid."""

    def __init__(self, *, turns: int) -> None:
        super().__init__(f"ReAct stopped after {turns} turns, the last of which still asks for tools: ReAct(max_turns=...)")
        self.turns = turns


@attrs.frozen(kw_only=True)
class ReAct:
    """Reason and act (Yao et al., ICLR 2023).

    Attributes:
        max_turns: model turns in one run; one more is a `StepLimit`.
    """

    max_turns: int = attrs.field(default=50, validator=attrs.validators.ge(1))

    async def go(self, step: Ref[TakeTurn | Submit | Transcript], toolbox: Toolbox, ctx: Context) -> Turn | tuple[Pending, ...]:
        """Run to the turn that asks for no tool, or to the questions that must be answered first.

        Picks up wherever the thread stands: at a user turn, or at calls without results.
        """
        thread = toolbox.spec.thread
        turns = await step.ask(Transcript())
        made = 0
        while True:
            last = turns[-1] if turns else None
            if last is not None and last.role == "assistant":
                if not last.calls:
                    return last
                results, pending = await _make_calls(step, toolbox, last, ctx)
                if pending:
                    return pending
                turns = (*turns, results)
            if made >= self.max_turns:
                raise StepLimit(turns=made)
            made += 1
            turn = await step.ask(TakeTurn(id=f"{thread}#{len(turns)}"))
            turns = (*turns, turn)


async def _make_calls(
    step: Ref[TakeTurn | Submit | Transcript], toolbox: Toolbox, turn: Turn, ctx: Context
) -> tuple[Turn, tuple[Pending, ...]]:
    """The tool turn that answers each call of `turn` once, appended also when this is cancelled half way."""
    progress = Progress()
    try:
        await toolbox.dispatch(turn.calls, turn.id.rpartition("#")[2], ctx, progress)
    except trio.Cancelled:
        with trio.move_on_after(_LAST_SECONDS, shield=True):
            await step.ask(Submit(turn=_tool_turn(turn, progress)))
        raise
    answer = _tool_turn(turn, progress)
    pending = tuple(progress.pending.values())
    if not pending:
        await step.ask(Submit(turn=answer))
    return answer, pending


def _tool_turn(turn: Turn, progress: Progress) -> Turn:
    return Turn(id=f"{turn.id}=", role="tool", artifacts=tuple(progress.in_order(turn.calls)))
