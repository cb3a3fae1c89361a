"""Watching a user's agent: its words, its tools, its questions, and what it took."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any, Final

import attrs
import trio

from boyd.actors.agent import Agent
from boyd.actors.budget import Used
from boyd.actors.cli.approvals import settle_at_terminal
from boyd.actors.cli.definitions import tools_of
from boyd.actors.cli.json_form import json_tree
from boyd.actors.cli.ledgers import is_kept, ledger_option
from boyd.actors.cli.open_questions import Numbered, numbered_questions
from boyd.actors.cli.output import emit, say, warn, write
from boyd.actors.cli.program import program
from boyd.actors.cli.prompt import can_ask, described
from boyd.actors.cli.rows import Row
from boyd.actors.cli.session import current_session
from boyd.actors.cli.view import open_view
from boyd.actors.cli.visible import shortened
from boyd.actors.conversation.artifacts import Event, TextDelta, ToolResult
from boyd.actors.events import Call, Notice, Pending, ToolFinished, ToolStarted, TurnComplete
from boyd.actors.ooda.cycle import CycleComplete, PhaseStarted
from boyd.actors.plural import counted
from boyd.actors.runs.result import Result
from boyd.actors.runs.run import Run
from boyd.actors.runs.runnable import Runnable
from boyd.actors.swarm.swarm import MemberFinished
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.questions import Question, questions_of, thread_of
from boyd.runtime import ActorStopped, Ledger, System

__all__ = ["Watched", "call_text", "usage_text", "watch"]

PAUSED: Final = 3
"""The exit code of a run that waits for an answer."""
_MOST: Final = 200


@attrs.frozen(kw_only=True, eq=False)
class Watched:
    """A run and how to talk about it.

    Attributes:
        again: the command that goes on with it.
        json: its end is printed for a program.
    """

    definition: Runnable[Any, Any]
    given: object
    thread: str
    address: str
    again: str
    json: bool


async def watch(watched: Watched, system: System) -> int:
    """Run it to its end or to a question that stays open; the exit code."""
    talks = isinstance(watched.definition, Agent)
    shown = _Shown(quiet=watched.json or not talks)
    ended = False
    try:
        async with AsyncExitStack() as stack:
            run = await stack.enter_async_context(
                watched.definition.open_run(
                    watched.given,
                    system=system,
                    thread=watched.thread,
                    target=current_session().target,
                    interactive=can_ask(),
                )
            )
            if not talks:
                rows = lambda: tuple(shown.rows.values())  # noqa: E731
                await stack.enter_async_context(open_view(rows, unit="cycles"))
            result = await _read(run, tools_of(watched.definition), shown)
        ended = True
    finally:
        if not ended:
            shown.end_line()
            if shown.began:
                warn(_what_is_left(watched))
    if result is not None:
        _show_result(watched, result, shown)
    await _show_open_questions(watched, system)
    if result is not None:
        warn(f"{watched.thread}: {usage_text(result.usage)}")
    return 0 if result is not None and result.status == "done" else PAUSED


def _what_is_left(watched: Watched) -> str:
    if not is_kept(watched.address):
        return "what was done is gone with its ledger, which was in memory"
    return f"what was done stands in thread {watched.thread}; go on: {watched.again}"


async def _read(run: Run[Any], tools: Iterable[AnyTool], shown: _Shown) -> Result[Any] | None:
    """Show every event to the end of the run; None where it stands still unanswered.

    The person is asked beside the reading: carrying out what was approved makes events too.
    """
    left_open = False

    async def ask(pending: Pending) -> None:
        nonlocal left_open
        ledger = run.system.ledger
        asked = await _question(ledger, pending)
        waits = asked is not None and asked.asked.waits
        if not waits:
            shown.told_here.append(pending.call)
        seconds = None if waits else 15.0
        settled = await settle_at_terminal(run, pending, seconds, tools=tools)
        if settled is None and waits:
            left_open = True
            run.cancel()
        made = await _question(ledger, pending) if settled and not waits else None
        if made is not None and made.result is not None and pending.call is not None:
            shown.say_result(pending.call, made.result)

    async with trio.open_nursery() as nursery:
        try:
            async for event in run:
                shown.show(event)
                if isinstance(event, Pending) and can_ask():
                    nursery.start_soon(ask, event)
        except ActorStopped:
            if not left_open:
                raise
    shown.end_line()
    return None if left_open else run.result


async def _question(ledger: Ledger, pending: Pending) -> Question | None:
    questions = await questions_of(ledger, thread_of(pending.id))
    return next((one for one in questions if one.id == pending.id), None)


def _show_result(watched: Watched, result: Result[Any], shown: _Shown) -> None:
    if watched.json:
        emit(
            {
                "thread": result.thread,
                "status": result.status,
                "output": json_tree(result.output) if result.status == "done" else None,
                "pending": json_tree(result.pending),
                "usage": json_tree(result.usage),
            }
        )
    elif result.status == "done" and not shown.text:
        output = result.output
        say(output if isinstance(output, str) else repr(output))


async def _show_open_questions(watched: Watched, system: System) -> None:
    for one in await numbered_questions(system.ledger, watched.thread):
        if one.question.is_open:
            warn(f"waits for an approval: {described(one.question.asked.pending)}")
            for line in _ways_to_answer(watched, one):
                warn(f"  {line}")


def _ways_to_answer(watched: Watched, one: Numbered) -> list[str]:
    """The commands for it, where there will be a ledger that has the question."""
    if not is_kept(watched.address):
        return ["and is forgotten with this ledger"]
    option = ledger_option(watched.address)
    approve = f"{program()} approve {watched.thread} {one.number}{option}"
    return [approve, watched.again] if one.question.asked.waits else [approve]


def usage_text(used: Used) -> str:
    """`2 steps, 1 call, 153 tokens, 0.4 s`; what was not used is left out."""
    figures = {"steps": used.steps, "calls": used.calls, "tokens": used.tokens}
    parts = [counted(figure, name) for name, figure in figures.items() if figure]
    if used.money:
        parts.append(f"${used.money:.4f}")
    if used.unmetered:
        parts.append(f"{counted(used.unmetered, 'steps')} of unknown size")
    return ", ".join([*parts, f"{used.seconds:.1f} s"])


def call_text(call: Call) -> str:
    """`weather(city='Utrecht')`, cut to a line."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return shortened(f"{call.tool}({arguments})", _MOST)


@attrs.define(eq=False)
class _Shown:
    """What the person has seen.

    Attributes:
        quiet: words of a model are not shown: a program reads the output.
        text: some were shown.
        told_here: calls that are asked about here, whose results are shown with the answer.
    """

    quiet: bool
    text: bool = False
    began: bool = False
    told_here: list[Call | None] = attrs.field(factory=list[Call | None])
    rows: dict[str, Row] = attrs.field(factory=dict[str, Row])
    _in_line: bool = False

    def show(self, event: Event) -> None:
        """One event of the run."""
        match event:
            case TextDelta(text=text):
                self._begin()
                if not self.quiet:
                    self.text = self._in_line = True
                    write(text)
            case TurnComplete(turn=turn):
                self._begin(turn.role == "assistant")
                self.end_line()
            case ToolStarted(call=call):
                self._begin()
                warn(f"· {call_text(call)}")
            case ToolFinished(call=call, result=result) if call not in self.told_here:
                self.say_result(call, result)
            case Notice(content=content):
                warn(content)
            case _:
                self._follow(event)

    def _follow(self, event: Event) -> None:
        """What moves the rows."""
        match event:
            case PhaseStarted():
                self._row(event.agent, phase=event.phase)
            case CycleComplete():
                self._begin()
                why = event.decision.why
                self._row(event.agent, done=event.cycle, note=why)
                if event.decision.calls:
                    calls = ", ".join(call_text(call) for call in event.decision.calls)
                    say(f"{event.agent}, cycle {event.cycle}: {calls}{f' ({why})' if why else ''}")
            case MemberFinished(member=member, failure=failure):
                self._row(member, state="failed" if failure else "done", phase="")
                if failure is not None:
                    warn(f"{member} failed: {failure.type}: {failure.message}")
            case _:
                pass

    def say_result(self, call: Call, result: ToolResult) -> None:
        """What a call came to."""
        sign = "!" if result.is_error else "="
        warn(f"  {call.tool} {sign} {shortened(result.content, _MOST)}")

    def end_line(self) -> None:
        """Finish a line that a model has begun."""
        if self._in_line:
            self._in_line = False
            say()

    def _begin(self, really: bool = True) -> None:  # noqa: FBT001, FBT002
        if really:
            self.began = current_session().began = True

    def _row(self, name: str, **changes: Any) -> None:  # noqa: ANN401  # fields of a row
        self.rows[name] = attrs.evolve(self.rows.get(name) or Row(name=name), **changes)
