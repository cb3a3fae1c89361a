"""A decider that is a model: one request a cycle, whose tool calls are the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from boyd.actors.conversation.turns import Turn, text_turn
from boyd.actors.ooda.cycle import Cycle, Decision
from boyd.actors.ooda.node import Perform
from boyd.actors.runs.spec import RunSpec
from boyd.actors.step.step import STEP_SUPERVISION, StepActor, StepConfig, Submit, TakeTurn
from boyd.actors.tools.arguments import ArgumentsError, parse_arguments
from boyd.actors.tools.define import Tool
from boyd.actors.tools.results import result_text
from boyd.actors.tools.spec import Call
from boyd.runtime import Actor, Context, Ref, receives
from boyd.runtime.codec import TypeCodec, codec_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from boyd.actors.agent import Agent

__all__ = ["ModelDecider", "decision_of"]

_DECISION: Final = codec_for(Decision)


class ModelDecider(Actor[Perform]):
    """Shows the model the orientation and the last actions; its turn is the decision. Turns stand in `THREAD/decide`.

    What the model reads of an orientation is its `brief()`, if its class has one, else its JSON.
    """

    spec: RunSpec
    agent: Agent
    tools: tuple[Tool[..., Any], ...]
    view: TypeCodec
    step: Ref[Submit | TakeTurn] = attrs.field(init=False)

    async def started(self, ctx: Context) -> None:
        thread = f"{self.spec.thread}/decide"
        spec = attrs.evolve(self.spec, thread=thread, headers=attrs.evolve(self.spec.headers, thread=thread))
        config: StepConfig = attrs.evolve(
            self.agent.step_config(),
            transforms=(_this_cycle, *self.agent.step_config().transforms),
            tools=tuple(tool.spec for tool in self.tools),
        )
        self.step = await ctx.spawn(StepActor, spec, config, name="step", supervision=STEP_SUPERVISION)

    @receives
    async def decide(self, request: Perform, ctx: Context) -> bytes:  # noqa: ARG002
        cycle = request.cycle
        question = _question(self.view.decode_foreign(request.inputs[0]), cycle)
        place = f"{self.spec.thread}/decide#{cycle.number}"
        await self.step.ask(Submit(turn=text_turn("user", question, id=f"{place}?")))
        turn = await self.step.ask(TakeTurn(id=place))
        return _DECISION.encode(decision_of(turn, self.agent.provider.name))


def _this_cycle(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Only what this cycle asks: the past is told in the question, so the view does not grow."""
    return turns[-1:]


def _question(view: object, cycle: Cycle) -> str:
    brief = getattr(view, "brief", None)
    parts = [f"Cycle {cycle.number}. The orientation:", brief() if callable(brief) else result_text(view)]
    if cycle.actions:
        parts.append("What came of your last actions:")
        parts += [f"- {one.call.tool}: {one.status}: {one.content[:500]}" for one in cycle.actions]
    parts += [*cycle.guidance, "Decide now: call the tools that should be used, or none; say why in one sentence."]
    return "\n".join(parts)


def decision_of(turn: Turn, by: str) -> Decision:
    """The decision that a model's turn makes. Arguments that are no object stay, to be refused by name."""
    calls: list[Call] = []
    for call in turn.calls:
        try:
            arguments = parse_arguments(call.arguments)
        except ArgumentsError:
            arguments = {"arguments that are not a JSON object": call.arguments[:2000]}
        calls.append(Call(tool=call.name, arguments=arguments, id=call.id))
    return Decision(calls=calls, why=turn.text.strip(), by=by)
