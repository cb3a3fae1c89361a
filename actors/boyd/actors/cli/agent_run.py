"""Watching a user's agent: its words, its tools, its questions, and what it took."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import attrs
import trio

from boyd.actors.agent import Agent
from boyd.actors.budget import Used
from boyd.actors.cli.approvals import settle_at_terminal
from boyd.actors.cli.json_form import json_tree
from boyd.actors.cli.open_questions import numbered_questions
from boyd.actors.cli.output import emit, say, warn, write
from boyd.actors.cli.prompt import can_ask, described
from boyd.actors.cli.rows import Row
from boyd.actors.cli.session import current_session
from boyd.actors.cli.view import open_view
from boyd.actors.cli.visible import shortened
from boyd.actors.conversation.artifacts import Event, TextDelta
from boyd.actors.events import Call, Notice, Pending, ToolFinished, ToolStarted, TurnComplete
from boyd.actors.ooda.cycle import CycleComplete, PhaseStarted
from boyd.actors.runs.result import Result
from boyd.actors.runs.run import Run
from boyd.actors.runs.runnable import Runnable
from boyd.actors.swarm.swarm import MemberFinished
from boyd.runtime import System

__all__ = ["Watched", "call_text", "usage_text", "watch"]

_MOST = 200


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
    shown = _Shown(quiet=watched.json)
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
            if not isinstance(watched.definition, Agent):
                rows = lambda: tuple(shown.rows.values())  # noqa: E731
                await stack.enter_async_context(open_view(rows, unit="cycles"))
            await _read(run, shown)
        ended = True
    finally:
        if not ended:
            shown.end_line()
            if shown.began:
                warn(f"what was done stands in thread {watched.thread}; go on: {watched.again}")
    await _report(watched, run.result, shown, system)
    return 0


async def _read(run: Run[Any], shown: _Shown) -> None:
    """Show every event; ask beside it, because carrying out what was approved makes events too."""
    open_questions: list[Pending] = []

    async def ask(pending: Pending) -> None:
        if await settle_at_terminal(run, pending, None if shown.waits else 15.0) is None:
            open_questions.append(pending)
            if shown.waits:
                run.cancel()

    async with trio.open_nursery() as nursery:
        async for event in run:
            shown.show(event)
            if isinstance(event, Pending) and can_ask():
                nursery.start_soon(ask, event)


async def _report(watched: Watched, result: Result[Any], shown: _Shown, system: System) -> None:
    shown.end_line()
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
    questions = await numbered_questions(system.ledger, watched.thread)
    for one in questions:
        if one.question.is_open:
            warn(f"waits for an approval: {described(one.question.asked.pending)}")
            warn(f"  boyd approve {watched.thread} {one.number}")
    warn(f"{watched.thread}: {usage_text(result.usage)}")


def usage_text(used: Used) -> str:
    """`2 steps, 1 call, 153 tokens, 0.4 s`; what was not used is left out."""
    parts = [_count(used.steps, "step"), _count(used.calls, "call"), _count(used.tokens, "token")]
    if used.money:
        parts.append(f"${used.money:.4f}")
    if used.unmetered:
        parts.append(f"{_count(used.unmetered, 'step')} of unknown size")
    return ", ".join([*filter(None, parts), f"{used.seconds:.1f} s"])


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}" if number else ""


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
        waits: the run stands still at a question.
    """

    quiet: bool
    text: bool = False
    began: bool = False
    waits: bool = False
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
            case ToolFinished(call=call, result=result):
                sign = "!" if result.is_error else "="
                warn(f"  {call.tool} {sign} {shortened(result.content, _MOST)}")
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
            case Notice(content=content):
                warn(content)
            case _:
                pass

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
