"""Calls go out to tool actors in parallel; results come back in call order, one for each call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import attrs

from boyd.actors.budget import BudgetExceeded
from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.events import Approve, Call, Pending, Reject, ToolFinished, ToolStarted
from boyd.actors.runs.parallel import in_parallel
from boyd.actors.tools.actor import perform
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.invoke import prepare
from boyd.actors.tools.journal import (
    UNKNOWN_OUTCOME,
    Journal,
    read_journal,
    write_intent,
    write_outcomes,
)
from boyd.actors.tools.progress import Progress, error_result
from boyd.actors.tools.questions import (
    Answer,
    Answered,
    Asked,
    Question,
    question_id,
    questions_of,
    record_answer,
)
from boyd.actors.tools.spec import Effect, Risk
from boyd.actors.tools.toolbox import Toolbox
from boyd.runtime import Context

__all__ = ["dispatch"]


async def dispatch(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    place: str,
    progress: Progress,
    ctx: Context,
    *,
    fresh: bool = False,
) -> None:
    """Make `calls` in parallel, entering into `progress` what comes of each.

    Args:
        place: names this dispatch within the thread. The same place again, after
            a crash, finds its recorded results and does not repeat effects.
        fresh: nothing can be recorded of it yet.

    Raises:
        BudgetExceeded: the calls are more than the run may make; none of them was made.
    """
    spec = toolbox.spec
    if spec.inflight.charged.get(spec.thread) != place:
        try:
            spec.spending.reserve_calls(len(calls))
        except BudgetExceeded as error:
            progress.why_not = str(error)
            raise
        spec.inflight.charged[spec.thread] = place
    keys = [f"{place}.{n}" for n in range(len(calls))]
    journal = Journal() if fresh else await read_journal(spec.system.ledger, spec.thread, set(keys))
    waiting: list[_Dispatched] = []
    for n, (key, call) in enumerate(zip(keys, calls, strict=True)):
        if key in journal.results:
            progress.results[n] = journal.results[key]
        else:
            begun = key in journal.begun
            waiting.append(_Dispatched(toolbox, call, key, n, progress, begun=begun))
    await in_parallel(ctx, [one.run for one in waiting])
    if toolbox.waits and progress.pending:
        # The run will pause here: what was made must not be made again when it goes on.
        await write_outcomes(spec, {keys[n]: result for n, result in progress.results.items()})


@attrs.frozen(eq=False)
class _Dispatched:
    """One call on its way.

    Attributes:
        n: its place among the calls of its turn.
        begun: an earlier life began it, and left no result.
    """

    toolbox: Toolbox
    call: ToolCall
    key: str
    n: int
    progress: Progress
    begun: bool = attrs.field(kw_only=True)

    async def run(self) -> None:
        """Everything up to its result, or to a question that stays open."""
        result = await self._result()
        if result is None:
            return
        self.progress.results[self.n] = result
        if self.n not in self.progress.pending:  # what was passed by has not finished
            await self.toolbox.spec.emit(ToolFinished(call=shown(self.call), result=result))

    async def _result(self) -> ToolResult | None:
        tools, call = self.toolbox.tools, self.call
        ready = prepare(tools.get(call.name), call, known=tools)
        if isinstance(ready, ToolResult):
            return ready
        dangerous = ready.tool.risk is Risk.DANGEROUS
        passed_by = dangerous and not self.toolbox.waits  # whoever began it was not this dispatch
        if self.begun and ready.tool.effect is Effect.ONCE and not passed_by:
            return error_result(call, UNKNOWN_OUTCOME)
        if dangerous:
            permitted = await self._permission(ready.call, ready.tool)
            if not isinstance(permitted, ToolCall):
                return permitted
            call = permitted
        return await self._make(call, ready.tool)

    async def _make(self, call: ToolCall, tool: AnyTool) -> ToolResult:
        spec, once = self.toolbox.spec, tool.effect is Effect.ONCE
        if once:
            await write_intent(spec, self.key, tool.name)
        await spec.emit(ToolStarted(call=shown(call)))
        async with self.toolbox.lend(tool.name) as actor:
            self.progress.begun.add(self.n)
            result = await perform(actor, call, self.key)
        if once:
            await write_outcomes(spec, {self.key: result})
        return result

    async def _permission(self, call: Call, tool: AnyTool) -> ToolCall | ToolResult | None:
        """The call as it was approved; or the result that it has without being made; or None: nobody has answered."""
        box, progress = self.toolbox, self.progress
        denied = box.refusal(call) if box.refusal is not None else None
        if denied is not None:
            return error_result(self.call, f"denied ({tool.risk.name} on tainted values): {denied}")
        question = await self._asked(call, tool)
        pending = question.asked.pending
        if not box.waits:
            progress.pending[self.n] = pending
            box.spec.inflight.asked.add(box.spec.thread)
            if question.is_open:
                await box.spec.emit(pending)
            content = f"waits for an approval: {pending.id}"
            return ToolResult(call_id=self.call.id, content=content)
        answer = question.answer
        if answer is None:
            progress.pending[self.n] = pending
            if not box.spec.interactive:
                await box.spec.emit(pending)
                return None
            answer = await self._wait_for_answer(pending)
            del progress.pending[self.n]
        if isinstance(answer, Reject):
            return error_result(self.call, f"a person refused this call: {answer.reason}")
        return self._approved(answer)

    def _approved(self, answer: Approve) -> ToolCall:
        if answer.arguments is None:
            return self.call
        changed = json.dumps(answer.arguments)
        return ToolCall(id=self.call.id, name=self.call.name, arguments=changed)

    async def _asked(self, call: Call, tool: AnyTool) -> Question:
        """The question "may this call be made?", asked once, with the answer that there is."""
        spec, box = self.toolbox.spec, self.toolbox
        ledger, id_ = spec.system.ledger, question_id(spec.thread, self.key)
        known = next(
            (one for one in await questions_of(ledger, spec.thread) if one.id == id_), None
        )
        if known is None:
            asked = Asked(
                pending=Pending(id=id_, call=call, risk=tool.risk),
                tool=box.path(tool.name),
                waits=box.waits,
                board=spec.headers.labels.get("board", ""),
            )
            await spec.append(asked, ids=(f"{id_}#asked",))
            known = Question(asked=asked)
        answer = spec.answers.get(id_)
        if answer is None or not known.is_open or not box.waits:
            return known
        await record_answer(ledger, known, answer, spec.lease)
        return attrs.evolve(known, answer=answer)

    async def _wait_for_answer(self, pending: Pending) -> Answer:
        """Until the answer stands in the ledger, whichever process wrote it."""
        spec = self.toolbox.spec
        ledger = spec.system.ledger
        after = await ledger.tip(spec.thread)
        for one in await questions_of(ledger, spec.thread):
            if one.id == pending.id and one.answer is not None:
                return one.answer
        await spec.emit(pending)
        async with ledger.open_follow(spec.thread, after=after) as entries:
            async for entry in entries:
                told = entry.message() if entry.kind == "boyd.answered" else None
                if isinstance(told, Answered) and told.question == pending.id:
                    await spec.system.dispatcher.enter()  # the store has woken this task
                    return told.answer
        raise AssertionError("a ledger is followed without an end")


def shown(call: ToolCall) -> Call:
    """For people: the arguments if they are a JSON object, else the raw text under one name."""
    try:
        parsed = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        parsed = None
    arguments: dict[str, object] = {"raw": call.arguments[:2000]}
    if isinstance(parsed, dict):
        arguments = cast("dict[str, object]", parsed)
    return Call(tool=call.name, arguments=arguments, id=call.id)
