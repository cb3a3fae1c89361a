"""A decider that is a model: one request a cycle, whose tool calls are the decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import attrs

from boyd.actors.conversation.artifacts import ToolResult
from boyd.actors.conversation.turns import Turn, text_turn
from boyd.actors.ooda.cycle import Cycle, Decision, Past
from boyd.actors.ooda.node import Perform
from boyd.actors.runs.spec import RunSpec
from boyd.actors.step.step import (
    STEP_SUPERVISION,
    StepActor,
    StepConfig,
    Submit,
    TakeTurn,
    Transcript,
)
from boyd.actors.tools.arguments import ArgumentsError, parse_arguments
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.results import result_text
from boyd.actors.tools.spec import Call
from boyd.runtime import Actor, Context, Ref, Replies, message, receives
from boyd.runtime.codec import TypeCodec, codec_for

if TYPE_CHECKING:
    from boyd.actors.agent import Agent

__all__ = ["Heard", "ModelDecider", "decision_of"]

_DECISION: Final = codec_for(Decision)
_KEEP: Final = 6
"""Turns that the step remembers: those of this cycle and of the one before."""
_ASK: Final = "Decide now: call the tools that should be used, or none; say why in one sentence."


@message("boyd.heard")
class Heard(Replies[None]):
    """A cycle in which the model has decided is over: what came of its calls."""

    past: Past


class ModelDecider(Actor[Perform | Heard]):
    """Shows the model the orientation; its turn is the decision.

    Turns stand in `THREAD/decide`. The model is shown those of this cycle and
    of the one before, so that it hears what came of its calls and its requests
    do not grow.
    """

    spec: RunSpec
    agent: Agent
    tools: tuple[AnyTool, ...]
    view: TypeCodec
    thread: str = attrs.field(init=False)
    step: Ref[TakeTurn | Submit | Transcript] = attrs.field(init=False)

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers
        self.thread = f"{self.spec.thread}/decide"
        headers = attrs.evolve(self.spec.headers, thread=self.thread)
        spec = attrs.evolve(self.spec, thread=self.thread, headers=headers)
        made = self.agent.step_config()
        config: StepConfig = attrs.evolve(
            made,
            transforms=(_last_two_cycles, *made.transforms),
            tools=tuple(tool.spec for tool in self.tools),
            keep=_KEEP,
        )
        self.step = await ctx.spawn(
            StepActor, spec, config, name="step", supervision=STEP_SUPERVISION
        )

    @receives
    async def decide(self, request: Perform, ctx: Context) -> bytes:  # noqa: ARG002
        cycle = request.cycle
        for past in cycle.history[-1:]:
            await self._answer(past)
        place = f"{self.thread}#{cycle.number}"
        question = _question(self.view.decode(request.inputs[0]), cycle)
        await self.step.ask(Submit(turn=text_turn("user", question, id=f"{place}?")))
        turn = await self.step.ask(TakeTurn(id=place))
        return _DECISION.encode(decision_of(turn, self.agent.provider.name))

    @receives
    async def heard(self, told: Heard, ctx: Context) -> None:  # noqa: ARG002
        await self._answer(told.past)

    async def _answer(self, past: Past) -> None:
        """Append the tool turn of a cycle's calls, if it is missing."""
        if past.decision.calls:
            turn = Turn(id=f"{self.thread}#{past.number}=", role="tool", artifacts=_results(past))
            await self.step.ask(Submit(turn=turn))


def _results(past: Past) -> tuple[ToolResult, ...]:
    if past.actions:
        return tuple(
            ToolResult(call_id=one.call.id, content=one.content, is_error=one.status == "failed")
            for one in past.actions
        )
    taken = "the act phase of this agent has taken it over"
    return tuple(ToolResult(call_id=call.id, content=taken) for call in past.decision.calls)


def _last_two_cycles(turns: Sequence[Turn]) -> Sequence[Turn]:
    """From the question of the cycle before on."""
    asked = [n for n, turn in enumerate(turns) if turn.role == "user"]
    return turns[asked[-2] if len(asked) > 1 else 0 :]


def _question(view: object, cycle: Cycle) -> str:
    brief = getattr(view, "brief", None)
    told = [
        f"Cycle {cycle.number}. The orientation:",
        str(brief()) if callable(brief) else result_text(view),
    ]
    return "\n".join([*told, *cycle.guidance, _ASK])


def decision_of(turn: Turn, by: str) -> Decision:
    """The decision that a model's turn makes. Arguments that are no object stay, to be refused by name."""
    calls: list[Call] = []
    for call in turn.calls:
        arguments: dict[str, object]
        try:
            arguments = parse_arguments(call.arguments)
        except ArgumentsError:
            arguments = {"arguments that are not a JSON object": call.arguments[:2000]}
        calls.append(Call(tool=call.name, arguments=arguments, id=call.id))
    return Decision(calls=calls, why=turn.text.strip(), by=by)
