"""Asking at the terminal what a live run asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boyd.actors.cli.output import say
from boyd.actors.cli.prompt import ask_approval
from boyd.actors.events import Approve, Pending
from boyd.actors.runs.run import Run
from boyd.actors.tools.approvals import settle
from boyd.actors.tools.define import Tool
from boyd.runtime import ActorStopped, UnknownActor

__all__ = ["settle_at_terminal"]


async def settle_at_terminal(
    run: Run[Any],
    pending: Pending,
    seconds: float | None = 15.0,
    *,
    question: str = "",
    tools: Iterable[Tool[..., Any]] = (),
) -> bool | None:
    """Ask the person, and tell the run. True is approved, False refused, None left open.

    Start it in a nursery beside the loop that reads the run, which goes on
    meanwhile. A run that has come to its end before the answer needs `tools`
    to have the approved call made.
    """
    answer = await ask_approval(pending, seconds, question=question)
    if answer is None:
        return None
    approved = isinstance(answer, Approve)
    try:
        await run.answer(pending, answer)
    except (ActorStopped, UnknownActor):
        name = "" if pending.call is None else pending.call.tool
        tool = next((one for one in tools if one.name == name), None)
        if approved and tool is None:
            say("the run has ended meanwhile, so the question is still open")
            return None
        await settle(run.system, pending.id, answer, tool)
    return approved
