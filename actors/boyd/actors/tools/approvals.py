"""Who makes the calls that a run has passed by until a person approved them.

A question, its answer, the intent and the result all stand in the ledger, so
that an approval counts whoever gives it and whenever: the reader of the run,
another process, next week. A call is made by whoever's intent is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

import attrs

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.events import Approve, ToolFinished
from boyd.actors.runs.messages import CarryOut
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.actor import InvokeTool, ToolActor, perform, tool_supervision
from boyd.actors.tools.define import AnyTool, Tool
from boyd.actors.tools.journal import UNKNOWN_OUTCOME, ToolIntent, intent_id, read_journal
from boyd.actors.tools.progress import error_result
from boyd.actors.tools.questions import (
    Answer,
    Question,
    find_question,
    place_of,
    questions_of,
    record_answer,
    record_result,
    thread_of,
)
from boyd.actors.tools.spec import Effect
from boyd.runtime import (
    ANY,
    Actor,
    Context,
    Entry,
    Headers,
    IdConflict,
    Lease,
    Ledger,
    Ref,
    Supervision,
    System,
    receives,
)
from boyd.runtime.origin import current_headers

__all__ = ["APPROVALS_SUPERVISION", "ApprovalsActor", "settle"]

APPROVALS_SUPERVISION = Supervision(redeliver=2, significant=False, shutdown=0.0)


class ApprovalsActor(Actor[CarryOut]):
    """Makes approved calls of one run and of the runs within it, one at a time, with tool actors of its own.

    Attributes:
        toolbelts: the tools of each thread that may have asked.
    """

    spec: RunSpec
    toolbelts: Mapping[str, Sequence[AnyTool]]
    tools: dict[tuple[str, str], Ref[InvokeTool]] = attrs.field(
        init=False, factory=dict[tuple[str, str], Ref[InvokeTool]]
    )
    looked: set[str] = attrs.field(init=False, factory=set[str])

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers
        ctx.ref.tell(CarryOut())  # what was approved while nobody was there

    @receives
    async def carry_out(self, request: CarryOut, ctx: Context) -> int:
        made = 0
        for thread in [request.thread] if request.thread else self.toolbelts:
            for question in await questions_of(ctx.system.ledger, thread):
                known = await self._with_answer(question)
                if known.is_due and await self._make(known, ctx):
                    made += 1
            self.looked.add(thread)
        return made

    async def _with_answer(self, question: Question) -> Question:
        """The question, with the answer that the run was opened with if it has none yet."""
        answer = self.spec.answers.get(question.id)
        if answer is None or question.asked.waits or not question.is_open:
            return question
        await record_answer(self.spec.system.ledger, question, answer, self.spec.lease)
        return attrs.evolve(question, answer=answer)

    async def _make(self, question: Question, ctx: Context) -> bool:
        thread, spec = thread_of(question.id), self.spec
        shown, ledger = question.asked.pending.call, spec.system.ledger
        tools = self.toolbelts.get(thread, ())
        tool = next((one for one in tools if shown and one.name == shown.tool), None)
        if tool is None or shown is None:
            return False
        intent = _Intent(tool=tool, by=spec.id, alone=thread not in self.looked)
        result = await intent.claim(ledger, question, spec.lease)
        if isinstance(result, ToolCall):
            ctx.headers = _headers_of(question, spec.headers)
            result = await perform(
                await self._actor(thread, tool, ctx), result, place_of(question.id)
            )
            ctx.headers = spec.headers
        if result is None:
            return False
        await record_result(ledger, question, result, spec.lease)
        # Not awaited: whoever approved may be the reader who makes room for events.
        ctx.start_soon(spec.emit, ToolFinished(call=shown, result=result))
        return True

    async def _actor(self, thread: str, tool: AnyTool, ctx: Context) -> Ref[InvokeTool]:
        known = self.tools.get((thread, tool.name))
        if known is None:
            number = f".{len(self.tools)}" if self.tools else ""
            known = self.tools[thread, tool.name] = await ctx.spawn(
                ToolActor,
                tool,
                attrs.evolve(self.spec, thread=thread),
                name=f"tool-{tool.name}{number}",
                supervision=tool_supervision(tool),
            )
        return known


@attrs.frozen(kw_only=True)
class _Intent:
    """A wish to make an approved call.

    Attributes:
        by: who wishes it.
        alone: whoever began the call before is dead for sure.
    """

    tool: AnyTool
    by: str
    alone: bool

    async def claim(
        self, ledger: Ledger, question: Question, lease: Lease | None
    ) -> ToolCall | ToolResult | None:
        """The call to make now; or its result, if one is known or can never be; or None: somebody else is at it."""
        thread, key = thread_of(question.id), place_of(question.id)
        call = approved_call(question)
        journal = await read_journal(ledger, thread, {key})
        if key in journal.results:
            return journal.results[key]
        if key in journal.begun:
            if journal.begun[key] != self.by and not self.alone:
                return None
            once = self.tool.effect is Effect.ONCE
            return error_result(call, UNKNOWN_OUTCOME) if once else call
        intent = ToolIntent(key=key, tool=self.tool.name, by=self.by)
        try:
            entry = Entry.of(intent, id=intent_id(key))
            await ledger.append(thread, [entry], after=ANY, lease=lease)
        except IdConflict:
            return None
        return call


def approved_call(question: Question) -> ToolCall:
    """The call of an approved question, with the arguments that were approved."""
    call = question.asked.pending.call
    assert call is not None, "only a call can be approved"
    answer = question.answer
    changed = answer.arguments if isinstance(answer, Approve) else None
    arguments = call.arguments if changed is None else changed
    return ToolCall(id=call.id, name=call.tool, arguments=json.dumps(arguments))


def _headers_of(question: Question, around: Headers) -> Headers:
    """What the tool would have seen, had the call not waited."""
    labels = {**around.labels, **({"board": question.asked.board} if question.asked.board else {})}
    return attrs.evolve(around, thread=thread_of(question.id), labels=labels)


async def settle(system: System, question_id: str, answer: Answer, tool: object | None) -> str:
    """Answer a question of a run that is not alive, and make an approved call with `tool`, its definition.

    Returns what came of it, in words.

    Raises:
        UnknownQuestion: nobody has asked that.
    """
    ledger = system.ledger
    question = await find_question(ledger, question_id)
    if not await record_answer(ledger, question, answer, None):
        return "it was answered before"
    question = attrs.evolve(question, answer=answer)
    if not question.is_due:
        return "answered" if isinstance(answer, Approve) else "refused"
    if not isinstance(tool, Tool):
        return "approved; the tool is not at hand, so nothing was done"
    known = cast("AnyTool", tool)
    intent = _Intent(tool=known, by=system.seams.ids.new(), alone=False)
    result = await intent.claim(ledger, question, None)
    if result is None:
        return "approved; somebody else is making the call"
    if isinstance(result, ToolCall):
        result = await _make_alone(system, question, known, result)
    await record_result(ledger, question, result, None)
    return result.content


async def _make_alone(
    system: System, question: Question, tool: AnyTool, call: ToolCall
) -> ToolResult:
    """Make the call with an actor of its own, as if its run had made it."""
    ref = await system.spawn(ToolActor, tool, supervision=tool_supervision(tool))
    token = current_headers.set(_headers_of(question, Headers()))
    try:
        return await perform(ref, call, place_of(question.id))
    finally:
        current_headers.reset(token)
        await system.stop_actor(ref)
