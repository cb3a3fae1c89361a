"""`Agent`: a model, its instructions and its tools, in a pattern. The newcomer's first object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import attrs

from boyd.actors.budget import Budget
from boyd.actors.conversation.turns import Turn, text_turn
from boyd.actors.patterns.react import ReAct
from boyd.actors.providers.protocol import Provider
from boyd.actors.providers.resolve import model_from
from boyd.actors.runs.actor import Outcome, RunActor
from boyd.actors.runs.runnable import Runnable
from boyd.actors.runs.spec import RunSpec
from boyd.actors.step.step import STEP_SUPERVISION, Handler, StepActor, StepConfig, Submit, Transcript
from boyd.actors.step.transforms import Transform, instructions
from boyd.actors.tools.approvals import ApprovalsActor
from boyd.actors.tools.define import Tool
from boyd.actors.tools.dispatch import open_toolbox
from boyd.runtime import Context, Supervision
from boyd.runtime.codec import TypeCodec, codec_for
from boyd.runtime.names import check_name

__all__ = ["Agent"]

_TEXT: Final = codec_for(str)
CALM: Final = Supervision(redeliver=1, significant=False, shutdown=1.0)


class Agent(Runnable[str, str]):
    """A model with tools, run on a thread: text in, text out.

    Args:
        model: "openai:NAME", or a provider. It is not reached before a run.
        name: of its actors and threads.
        instructions: a system turn in front of every view; never stored.
        tools: what the model may call.
        pattern: when to step again.
        budget: caps of a run that is given none.
        transforms: views of the thread for the model, after the instructions.
        handlers: react to each finished artifact.

    Raises:
        ModelError: nobody knows a model of that name.
        ValueError: two tools have one name.
    """

    def __init__(  # noqa: PLR0913
        self,
        model: str | Provider,
        /,
        *,
        name: str = "agent",
        instructions: str = "",
        tools: Sequence[Tool[..., Any]] = (),
        pattern: ReAct | None = None,
        budget: Budget | None = None,
        transforms: Sequence[Transform] = (),
        handlers: Sequence[Handler] = (),
    ) -> None:
        self.name = check_name(name)
        self.provider: Provider = model_from(model) if isinstance(model, str) else model
        self.instructions = instructions
        self.tools = tuple(tools)
        self.pattern = pattern or ReAct()
        self.transforms = tuple(transforms)
        self.handlers = tuple(handlers)
        self._budget = budget or Budget()
        names = [tool.name for tool in self.tools]
        for tool_name in names:
            if names.count(tool_name) > 1:
                raise ValueError(f"two tools are called {tool_name!r}")

    def using(self, model: str | Provider, /) -> Agent:
        """The same agent with another model."""
        return Agent(
            model,
            name=self.name,
            instructions=self.instructions,
            tools=self.tools,
            pattern=self.pattern,
            budget=self._budget,
            transforms=self.transforms,
            handlers=self.handlers,
        )

    @property
    def output_codec(self) -> TypeCodec:
        return _TEXT

    @property
    def budget(self) -> Budget:
        return self._budget

    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401
        return partial(AgentRun, spec, self, given)

    def step_config(self, *, with_tools: bool = True) -> StepConfig:
        """How its steps are made."""
        return StepConfig(
            provider=self.provider,
            transforms=(instructions(self.instructions), *self.transforms),
            handlers=self.handlers,
            tools=tuple(tool.spec for tool in self.tools) if with_tools else (),
        )


class AgentRun(RunActor):
    """Conducts one run: appends what was given, then lets the pattern go."""

    given: str | None

    async def conduct(self, ctx: Context) -> Outcome:
        agent: Agent = self.definition
        spec = self.spec
        await self.write_start(self.given or "")
        await ctx.spawn(ApprovalsActor, spec, name="approvals", supervision=CALM)
        step = await ctx.spawn(StepActor, spec, agent.step_config(), name="step", supervision=STEP_SUPERVISION)
        toolbox = await open_toolbox(ctx, spec, agent.tools, waits=True)
        turns = await step.ask(Transcript())
        said = any(turn.id == spec.id for turn in turns)
        if self.given is not None and not said and not _is_waiting_for(turns, self.given):
            await step.ask(Submit(turn=text_turn("user", self.given, id=spec.id)))
        end = await agent.pattern.go(step, toolbox, ctx)
        if not isinstance(end, Turn):
            return Outcome(pending=end)
        return Outcome(output=_TEXT.encode(end.text))


def _is_waiting_for(turns: Sequence[Turn], given: str) -> bool:
    """Whether the thread stands in the middle of answering just this: then it is a resume, not a new question."""
    for turn in reversed(turns):
        if turn.role == "user":
            return turn.text == given
        if turn.role == "assistant" and not turn.calls:
            return False
    return False
