"""Entries of a ledger in words."""

from __future__ import annotations

import json
from typing import Any, Final

from boyd.actors.cli.json_form import body_tree, json_tree
from boyd.actors.cli.prompt import described
from boyd.actors.cli.visible import shortened
from boyd.actors.conversation.turns import Turn
from boyd.actors.events import Approve, Reject
from boyd.actors.ooda.act import ACTIONS
from boyd.actors.ooda.cycle import Decision, NodeDone
from boyd.actors.plural import counted
from boyd.actors.runs.messages import RunFinished, RunStarted
from boyd.actors.swarm.swarm import MemberFinished, MemberRestarted, SwarmStarted
from boyd.actors.tools.journal import ToolIntent, ToolOutcome
from boyd.actors.tools.questions import Answer, Answered, Asked, CarriedOut
from boyd.runtime import Entry, SupervisorDecided, WireError
from boyd.runtime.codec import codec_for

__all__ = ["told"]

_MOST: Final = 160
_VERDICTS: Final = {
    "restart": "restarted",
    "resume": "resumed",
    "stop": "stopped",
    "escalate": "escalated",
}
_DECISION: Final = codec_for(Decision)


def told(entry: Entry) -> tuple[str, str]:  # noqa: PLR0911  # one return a kind
    """Who or what speaks, and what is said, in as many lines as it takes.

    A message of the user's own is told as the `__str__` of its class says, or else as JSON.
    """
    try:
        message = entry.message()
    except WireError as error:
        return entry.kind, f"cannot be read: {error}"
    match message:
        case Turn():
            return message.role, _turn(message)
        case NodeDone():
            return f"cycle {message.cycle}", f"{message.node}: {_product(message)}"
        case RunStarted():
            came = f", from {message.target}" if message.target else ""
            given = f": {shortened(message.given, _MOST)}" if message.given else ""
            return "started", f"{message.name}, {message.kind}{came}{given}"
        case RunFinished():
            cycles = f"after {counted(message.cycles, 'cycles')}: " if message.cycles else ""
            return "finished", f"{cycles}{_compact(body_tree(message.output))}"
        case Asked():
            return "question", described(message.pending)
        case Answered():
            return "answer", f"{_answer(message.answer)}  [{message.question}]"
        case CarriedOut():
            return "made", f"{shortened(message.result.content, _MOST)}  [{message.question}]"
        case ToolIntent():
            return "intent", message.tool
        case ToolOutcome():
            return "outcome", shortened(message.result.content, _MOST)
        case _:
            return _told_of_actors(entry, message)


def _told_of_actors(  # noqa: PLR0911  # one return a kind
    entry: Entry, message: object | None
) -> tuple[str, str]:
    match message:
        case SupervisorDecided():
            handling = f" while handling {message.handling}" if message.handling else ""
            what = f"{message.path} crashed{handling} ({message.error}: {message.message})"
            again = ", handles it again" if message.redelivered else ""
            verdict = _VERDICTS.get(message.verdict, message.verdict)
            return "supervisor", f"{what}: {verdict} ({message.crash} of {message.budget}){again}"
        case SwarmStarted():
            return "swarm", f"of {', '.join(message.members)} and a lead"
        case MemberRestarted(member=member):
            return "member", f"{member}, which had failed, begins again"
        case MemberFinished(member=member, failure=None):
            return "member", f"{member} has finished"
        case MemberFinished(member=member, failure=failure) if failure is not None:
            return "member", f"{member} failed: {failure.type}: {failure.message}"
        case None:
            return entry.kind, _compact(body_tree(entry.body))
        case _ if type(message).__str__ is not object.__str__:
            return entry.kind, shortened(str(message), 2 * _MOST)
        case _:
            return entry.kind, _compact(json_tree(message))


def _turn(turn: Turn) -> str:
    lines = [turn.text] if turn.text else []
    lines += [f"-> {call.name}({shortened(call.arguments, _MOST)})" for call in turn.calls]
    for result in turn.results:
        sign = "!" if result.is_error else "="
        lines.append(f"{sign} {shortened(result.content, _MOST)}")
    return "\n".join(lines) or "(nothing to read)"


def _product(done: NodeDone) -> str:
    try:
        match done.node:
            case "decide":
                decision: Decision = _DECISION.decode_foreign(done.product)
                return _decision(decision)
            case "act":
                actions = ACTIONS.decode_foreign(done.product)
                made = [f"{one.call.tool} {one.status}: {one.content}" for one in actions]
                return shortened("; ".join(made), _MOST) or "nothing to do"
            case _:
                pass
    except WireError:
        pass  # the user's own phase, with a type of its own
    return _compact(body_tree(done.product))


def _decision(decision: Decision) -> str:
    calls = ", ".join(f"{call.tool}({_compact(call.arguments)})" for call in decision.calls)
    why = f", because {shortened(decision.why, _MOST)}" if decision.why else ""
    stops = ", and stops" if decision.stop else ""
    return f"{decision.by} chose {calls or 'to do nothing'}{why}{stops}"


def _answer(answer: Answer) -> str:
    match answer:
        case Approve(arguments=None):
            return "approved"
        case Approve(arguments=arguments):
            return f"approved with {_compact(arguments)}"
        case Reject(reason=reason):
            return f"refused: {reason}"


def _compact(tree: Any) -> str:  # noqa: ANN401  # a JSON tree
    return shortened(tree if isinstance(tree, str) else json.dumps(tree, ensure_ascii=False), _MOST)
