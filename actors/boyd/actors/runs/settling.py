"""Every call that a transcript holds is answered once, also where a run ends or goes on half-way."""

from __future__ import annotations

import attrs

from boyd.actors.conversation.turns import Turn
from boyd.actors.events import TurnComplete
from boyd.actors.runs.inflight import is_within
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.journal import read_journal, write_outcomes
from boyd.actors.tools.progress import OpenCalls, Progress
from boyd.actors.tools.questions import place_of, questions_of
from boyd.runtime import IdConflict, Ledger, LedgerError

__all__ = ["recorded_calls", "settle_calls"]

_WINDOW = 64


async def settle_calls(spec: RunSpec) -> None:
    """Answer the calls that are open in the thread of `spec` and in those below, once nothing of the run is alive.

    A call that waits for a person stays open, since that makes its thread
    paused; the results of its siblings are kept for the resume. What cannot be
    written is reported: the view of such a thread is repaired when it is sent.
    """
    inflight = spec.inflight
    for thread in sorted(one for one in inflight.transcripts if is_within(one, spec.thread)):
        inflight.transcripts.discard(thread)
        try:
            await _settle(attrs.evolve(spec, thread=thread))
        except LedgerError as error:
            spec.system.report(f"{thread}: calls that were cancelled could not be answered", error)
    inflight.asked.difference_update([one for one in inflight.asked if is_within(one, spec.thread)])


async def _settle(spec: RunSpec) -> None:
    calls = spec.inflight.calls.pop(spec.thread, None)
    last = await _last_turn(spec.system.ledger, spec.thread)
    if last is None or not last.calls:
        return
    if calls is None or calls.turn.id != last.id:
        calls = await recorded_calls(spec, last, Progress())
    if await _is_asked_about(calls, spec):
        await write_outcomes(spec, calls.outcomes())
        return
    answer = calls.answer()
    try:
        seq = await spec.append(answer, ids=(answer.id,))
    except IdConflict:
        return  # it was answered just now, with more results
    spec.publish(TurnComplete(turn=answer, seq=seq))


async def recorded_calls(spec: RunSpec, turn: Turn, progress: Progress) -> OpenCalls:
    """The calls of a turn that an earlier run left open, with what the journal knows of them."""
    calls = OpenCalls(turn=turn, progress=progress)
    keys = {key: n for n, key in enumerate(calls.keys)}
    journal = await read_journal(spec.system.ledger, spec.thread, keys)
    progress.results.update({keys[key]: one for key, one in journal.results.items()})
    progress.begun.update(keys[key] for key in journal.begun)
    return calls


async def _is_asked_about(calls: OpenCalls, spec: RunSpec) -> bool:
    if calls.progress.pending:
        return True
    questions = await questions_of(spec.system.ledger, spec.thread)
    return any(one.is_open and place_of(one.id) in calls.keys for one in questions)


async def _last_turn(ledger: Ledger, thread: str) -> Turn | None:
    """The last turn of a thread, without reading all of it."""
    tip = await ledger.tip(thread)
    window = _WINDOW
    while True:
        after = max(0, tip - window)
        page = await ledger.read(thread, after=after, limit=window + _WINDOW, kinds=("boyd.turn",))
        if page:
            turn = page[-1].message()
            return turn if isinstance(turn, Turn) else None
        if not after:
            return None
        window *= 4
