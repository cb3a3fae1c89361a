"""Where answers to a run's questions arrive."""

from __future__ import annotations

import json

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.events import Approve, ToolFinished
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.actor import InvokeTool
from boyd.actors.tools.dispatch import answers_topic, perform
from boyd.actors.tools.questions import (
    Answer,
    Answered,
    CarriedOut,
    Question,
    questions_of,
    thread_of,
)
from boyd.runtime import (
    Actor,
    BoydError,
    Context,
    Headers,
    Lease,
    Ledger,
    Replies,
    System,
    failure,
    message,
    receives,
)
from boyd.runtime.ledger import ANY, Entry
from boyd.runtime.post import current_headers

__all__ = ["ApprovalsActor", "Settle", "UnknownQuestion", "record_answer", "settle"]


@failure("boyd.UnknownQuestion")
class UnknownQuestion(BoydError, LookupError):
    """No thread has asked this."""


@message("boyd.settle", within=3600.0)
class Settle(Replies[str]):
    """Answer a question; replies what came of it, in words."""

    question: str
    answer: Answer


class ApprovalsActor(Actor[Settle]):
    """Settles the questions of one run and of the runs within it, one at a time."""

    spec: RunSpec

    @receives
    async def settle(self, request: Settle, ctx: Context) -> str:
        system = ctx.system
        question = await _find(system.ledger, request.question)
        if not question.is_open:
            return "it was answered before"
        await record_answer(system, question, request.answer, self.spec.lease)
        if question.asked.waits or not isinstance(request.answer, Approve):
            return "answered"
        ctx.headers = Headers(thread=thread_of(question.id), labels={"board": question.asked.board})
        result = await _carry_out(system, question, request.answer)
        await _record_result(system, question, result, self.spec.lease)
        call = question.asked.pending.call
        assert call is not None, "only a call can be approved"
        # Not awaited: whoever answers may be the reader who makes room for events.
        ctx.start_soon(self.spec.emit, ToolFinished(call=call, result=result))
        return result.content


async def _find(ledger: Ledger, question: str) -> Question:
    for one in await questions_of(ledger, thread_of(question)):
        if one.id == question:
            return one
    raise UnknownQuestion(f"nobody has asked {question!r}")


async def record_answer(
    system: System, question: Question, answer: Answer, lease: Lease | None
) -> None:
    """Write the answer down, once, and tell whoever waits for it."""
    answered = Answered(question=question.id, answer=answer)
    thread = thread_of(question.id)
    await system.ledger.append(
        thread, [Entry.of(answered, id=f"{question.id}#answer")], after=ANY, lease=lease
    )
    system.publish(answers_topic(thread), answered)


async def _record_result(
    system: System, question: Question, result: ToolResult, lease: Lease | None
) -> None:
    done = CarriedOut(question=question.id, result=result)
    await system.ledger.append(
        thread_of(question.id),
        [Entry.of(done, id=f"{question.id}#carried_out")],
        after=ANY,
        lease=lease,
    )


async def _carry_out(system: System, question: Question, answer: Approve) -> ToolResult:
    call = question.asked.pending.call
    assert call is not None, "only a call can be approved"
    arguments = call.arguments if answer.arguments is None else answer.arguments
    made = ToolCall(id=call.id, name=call.tool, arguments=json.dumps(arguments))
    return await perform(system.lookup(question.asked.tool, InvokeTool), made)


async def settle(system: System, question_id: str, answer: Answer, tool: object | None) -> str:
    """Answer a question of a run that is not alive, and carry out an approved call with `tool`, its definition."""
    from boyd.actors.tools.actor import ToolActor, tool_supervision
    from boyd.actors.tools.define import Tool

    question = await _find(system.ledger, question_id)
    if not question.is_open:
        return "it was answered before"
    await record_answer(system, question, answer, None)
    if question.asked.waits or not isinstance(answer, Approve):
        return "answered" if isinstance(answer, Approve) else "refused"
    if not isinstance(tool, Tool):
        return "approved; the tool is not at hand, so nothing was done"
    ref = await system.spawn(
        ToolActor, tool, name=f"tool-{tool.name}", supervision=tool_supervision(tool)
    )
    call = question.asked.pending.call
    assert call is not None, "only a call can be approved"
    arguments = call.arguments if answer.arguments is None else answer.arguments
    headers = Headers(thread=thread_of(question.id), labels={"board": question.asked.board})
    token = current_headers.set(headers)
    try:
        result = await perform(
            ref, ToolCall(id=call.id, name=call.tool, arguments=json.dumps(arguments))
        )
    finally:
        current_headers.reset(token)
    await _record_result(system, question, result, None)
    return result.content
