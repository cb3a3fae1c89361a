"""Asking at the terminal what a live run asks."""

from __future__ import annotations

from typing import Any

from boyd.actors.cli.output import say
from boyd.actors.cli.prompt import ask_approval
from boyd.actors.events import Approve, Pending
from boyd.actors.runs.run import Run
from boyd.runtime import ActorStopped, UnknownActor

__all__ = ["settle_at_terminal"]


async def settle_at_terminal(
    run: Run[Any], pending: Pending, seconds: float | None = 15.0, *, question: str = ""
) -> bool | None:
    """Ask the person, and tell the run. True is approved, False refused, None left open.

    Start it in a nursery beside the loop that reads the run: carrying out an
    approved call makes events, and somebody has to read them.
    """
    answer = await ask_approval(pending, seconds, question=question)
    if answer is None:
        return None
    try:
        await run.answer(pending, answer)
    except (ActorStopped, UnknownActor):
        say("the run has ended meanwhile, so the question is still open")
        return None
    return isinstance(answer, Approve)
