"""The orderly end of a run: every call that its transcript holds is answered once."""

from __future__ import annotations

import attrs

from boyd.actors.events import TurnComplete
from boyd.actors.runs.inflight import is_within
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.journal import write_outcomes
from boyd.actors.tools.progress import OpenCalls
from boyd.runtime import IdConflict, LedgerError

__all__ = ["settle_calls"]


async def settle_calls(spec: RunSpec) -> None:
    """Append what is missing in the thread of `spec` and in those below, once nothing of the run is alive.

    A call that waits for a person stays open, since that makes its thread
    paused; the results of its siblings are kept for the resume. What cannot be
    written is reported: the view of such a thread is repaired when it is sent.
    """
    for thread, calls in spec.inflight.take_calls(spec.thread):
        try:
            await _settle(attrs.evolve(spec, thread=thread), calls)
        except LedgerError as error:
            spec.system.report(f"{thread}: calls that were cancelled could not be answered", error)
    for thread in [one for one in spec.inflight.asked if is_within(one, spec.thread)]:
        spec.inflight.asked.discard(thread)


async def _settle(spec: RunSpec, calls: OpenCalls) -> None:
    if calls.progress.pending:
        await write_outcomes(spec, calls.outcomes())
        return
    answer = calls.answer()
    try:
        seq = await spec.append(answer, ids=(answer.id,))
    except IdConflict:
        return  # it was answered just before, with more results
    spec.publish(TurnComplete(turn=answer, seq=seq))
