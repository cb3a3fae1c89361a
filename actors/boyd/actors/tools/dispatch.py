"""Calls go out to tool actors in parallel; results come back in call order, one for each call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from boyd.actors.conversation.artifacts import ToolCall, ToolResult
from boyd.actors.events import Call, Pending, Reject, ToolFinished, ToolStarted
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.actor import InvokeTool, ToolActor, tool_supervision
from boyd.actors.tools.define import Tool
from boyd.actors.tools.journal import UNKNOWN_OUTCOME, read_journal, write_intents, write_outcome
from boyd.actors.tools.questions import Answer, Answered, Asked, question_id, questions_of
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import Context, Ref
from boyd.runtime.errors import ActorCrashed, ActorStopped, AskTimeout, RemoteFailure

__all__ = ["Progress", "Toolbox", "answers_topic", "open_toolbox"]


def answers_topic(thread: str) -> str:
    """Where answers to a thread's questions are published."""
    return f"answers/{thread}"


@attrs.define(eq=False)
class Progress:
    """What has come of each call of one dispatch, by its place among them; readable at any moment."""

    results: dict[int, ToolResult] = attrs.field(factory=dict[int, ToolResult])
    pending: dict[int, Pending] = attrs.field(factory=dict[int, Pending])
    begun: set[int] = attrs.field(factory=set[int])

    def in_order(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """One result for each call: its own, or words that say why it has none."""
        return [self.results.get(n) or self._missing(n, call) for n, call in enumerate(calls)]

    def _missing(self, n: int, call: ToolCall) -> ToolResult:
        if n in self.begun:
            return _error(
                call,
                "cancelled: this call was stopped before it had a result; it may have had effects",
            )
        return _error(call, "not run: everything was cancelled before this call began")


@attrs.frozen(kw_only=True, eq=False)
class Toolbox:
    """The tools of one run, as actors.

    Attributes:
        tools, refs: the definitions and their actors, by name.
        waits: a call that needs an approval holds the run until it is answered; else it is recorded and passed by.
        refusal: why a dangerous call is denied before anybody is asked to approve it; None asks.
    """

    spec: RunSpec
    tools: Mapping[str, Tool[..., Any]]
    refs: Mapping[str, Ref[InvokeTool]]
    waits: bool
    refusal: Callable[[Call], str | None] | None = None

    async def dispatch(
        self, calls: Sequence[ToolCall], place: str, ctx: Context, progress: Progress
    ) -> None:
        """Make `calls` in parallel, entering into `progress` what comes of each.

        `place` names this dispatch within the thread: the same place again,
        after a crash, finds its recorded results and does not repeat effects.

        Raises:
            BudgetExceeded: the calls are more than the run may make.
        """
        self.spec.spending.reserve_calls(len(calls))
        keys = [f"{place}.{n}" for n in range(len(calls))]
        journalled = {
            k: c for k, c in zip(keys, calls, strict=True) if self._effect(c) is Effect.ONCE
        }
        known: Mapping[str, ToolResult] = {}
        begun: frozenset[str] = frozenset()
        if journalled:
            known, begun = await read_journal(self.spec, journalled)
        progress.results.update({n: known[key] for n, key in enumerate(keys) if key in known})

        async def one(n: int) -> None:
            progress.begun.add(n)
            result, pending = await self._one(
                calls[n], keys[n], begun, journalled=keys[n] in journalled
            )
            if result is not None:
                progress.results[n] = result
            if pending is not None:
                progress.pending[n] = pending

        async with ctx.open_nursery() as nursery:
            for n in range(len(calls)):
                if n not in progress.results:
                    nursery.start_soon(one, n)

    def _effect(self, call: ToolCall) -> Effect | None:
        tool = self.tools.get(call.name)
        return None if tool is None else tool.effect

    async def _one(
        self, call: ToolCall, key: str, begun: frozenset[str], *, journalled: bool
    ) -> tuple[ToolResult | None, Pending | None]:
        tool = self.tools.get(call.name)
        shown = Call(tool=call.name, arguments=_arguments(call), id=call.id)
        if tool is None:
            names = ", ".join(sorted(self.tools)) or "none"
            return await self._finished(
                shown, _error(call, f"there is no tool {call.name!r}; there are: {names}")
            ), None
        if key in begun:
            return await self._finished(shown, _error(call, UNKNOWN_OUTCOME)), None
        if tool.risk is Risk.DANGEROUS:
            denied = self.refusal(shown) if self.refusal is not None else None
            if denied is not None:
                return await self._finished(shown, _error(call, f"denied ({tool.risk.name} on tainted values): {denied}")), None
            answer, pending = await self._approval(shown, tool, key)
            if isinstance(answer, Reject):
                return await self._finished(
                    shown, _error(call, f"a person refused this call: {answer.reason}")
                ), None
            if answer is None:
                passed_by = ToolResult(
                    call_id=call.id, content=f"waits for an approval: {pending.id}"
                )
                return None if self.waits else passed_by, pending
            if answer.arguments is not None:
                call = ToolCall(id=call.id, name=call.name, arguments=json.dumps(answer.arguments))
        if journalled:
            await write_intents(self.spec, {key: call.name})
        await self.spec.emit(ToolStarted(call=shown))
        result = await perform(self.refs[call.name], call)
        if journalled:
            await write_outcome(self.spec, key, result)
        return await self._finished(shown, result), None

    async def _finished(self, call: Call, result: ToolResult) -> ToolResult:
        await self.spec.emit(ToolFinished(call=call, result=result))
        return result

    async def _approval(
        self, call: Call, tool: Tool[..., Any], key: str
    ) -> tuple[Answer | None, Pending]:
        """The answer to "may this call be made?", asked once; None while there is none and nobody waits for it."""
        spec = self.spec
        question = question_id(spec.thread, key)
        pending = Pending(id=question, call=call, risk=tool.risk)
        known = next(
            (
                one
                for one in await questions_of(spec.system.ledger, spec.thread)
                if one.id == question
            ),
            None,
        )
        answer = spec.answers.get(question) or (known.answer if known else None)
        if known is None:
            board = spec.headers.labels.get("board", "")
            asked = Asked(
                pending=pending, tool=self.refs[tool.name].path, waits=self.waits, board=board
            )
            await spec.append(asked, ids=(f"{question}#asked",))
        if answer is not None:
            if known is None or known.answer is None:
                await spec.append(
                    Answered(question=question, answer=answer), ids=(f"{question}#answer",)
                )
            return answer, pending
        if not (self.waits and spec.interactive):
            await spec.emit(pending)
            return None, pending
        return await self._wait_for_answer(question, pending), pending

    async def _wait_for_answer(self, question: str, pending: Pending) -> Answer:
        system, thread = self.spec.system, self.spec.thread
        async with system.open_subscription(answers_topic(thread), Answered) as answers:
            # Listen first, then look, then ask: no answer falls between.
            for one in await questions_of(system.ledger, thread):
                if one.id == question and one.answer is not None:
                    return one.answer
            await self.spec.emit(pending)
            while True:
                told = await answers.receive()
                if told.question == question:
                    return told.answer


async def perform(tool: Ref[InvokeTool], call: ToolCall) -> ToolResult:
    """Ask a tool's actor; what befalls the actor is a result that says so."""
    try:
        return await tool.ask(InvokeTool(call=call))
    except (ActorCrashed, RemoteFailure) as error:
        return _error(call, f"the tool crashed and may have had effects: {error}")
    except (ActorStopped, AskTimeout) as error:
        return _error(call, f"the tool did not answer: {error}")


def _error(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, content=text, is_error=True)


def _arguments(call: ToolCall) -> dict[str, object]:
    """For showing: the arguments if they are a JSON object, else the raw text under one name."""
    try:
        parsed = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {"raw": call.arguments[:2000]}


async def open_toolbox(
    ctx: Context, spec: RunSpec, tools: Sequence[Tool[..., Any]], *, waits: bool
) -> Toolbox:
    """Spawn an actor for each tool, under the actor of `ctx`."""
    refs: dict[str, Ref[InvokeTool]] = {}
    for tool in tools:
        if tool.name in refs:
            raise ValueError(f"two tools are called {tool.name!r}")
        refs[tool.name] = await ctx.spawn(
            ToolActor, tool, name=f"tool-{tool.name}", supervision=tool_supervision(tool)
        )
    return Toolbox(spec=spec, tools={tool.name: tool for tool in tools}, refs=refs, waits=waits)
