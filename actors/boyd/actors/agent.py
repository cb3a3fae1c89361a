"""`Agent`: a model, its instructions and its tools, in a pattern. The newcomer's first object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from boyd.actors.budget import Budget
from boyd.actors.conversation.turns import Turn, text_turn
from boyd.actors.events import Reject
from boyd.actors.patterns.react import ReAct, Step
from boyd.actors.providers.protocol import Provider
from boyd.actors.providers.resolve import model_from
from boyd.actors.providers.retry import RetryPolicy
from boyd.actors.runs.actor import Outcome, RunActor
from boyd.actors.runs.runnable import Runnable
from boyd.actors.runs.settling import recorded_calls
from boyd.actors.runs.spec import RunSpec
from boyd.actors.step.step import (
    STEP_SUPERVISION,
    Handler,
    StepActor,
    StepConfig,
    Submit,
    Transcript,
)
from boyd.actors.step.transforms import Transform, instructions
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.progress import Progress
from boyd.actors.tools.questions import questions_of, record_answer
from boyd.actors.tools.toolbox import check_tools, open_toolbox
from boyd.runtime import Context
from boyd.runtime.codec import TypeCodec, codec_for
from boyd.runtime.names import check_name

__all__ = ["Agent"]

_TEXT: Final = codec_for(str)
_WENT_ON = "the conversation went on without it"


class Agent(Runnable[str, str]):
    """A model with tools, run on a thread: text in, text out.

    Args:
        model: "openai:NAME", or a provider. It is not reached before a run.
        name: of its actors and threads.
        instructions: a system turn in front of every view; never stored.
        tools: what the model may call.
        pattern: when to step again.
        budget: caps of a run that is given none.
        retry: how patiently the model is asked again while nothing has come of an answer.
        transforms: views of the thread for the model, after the instructions.
        handlers: react to each finished artifact.

    Raises:
        ModelError: nobody knows a model of that name.
        ValueError: two tools have one name.
    """

    def __init__(
        self,
        model: str | Provider,
        /,
        *,
        name: str = "agent",
        instructions: str = "",
        tools: Sequence[AnyTool] = (),
        pattern: ReAct | None = None,
        budget: Budget | None = None,
        retry: RetryPolicy | None = None,
        transforms: Sequence[Transform] = (),
        handlers: Sequence[Handler] = (),
    ) -> None:
        self.name = check_name(name)
        self.provider: Provider = model_from(model) if isinstance(model, str) else model
        self.instructions = instructions
        self.tools = check_tools(tools)
        self.pattern = pattern or ReAct()
        self.retry = retry or RetryPolicy()
        self.transforms = tuple(transforms)
        self.handlers = tuple(handlers)
        self._budget = budget or Budget()

    def using(self, model: str | Provider, /) -> Agent:
        """The same agent with another model."""
        return Agent(
            model,
            name=self.name,
            instructions=self.instructions,
            tools=self.tools,
            pattern=self.pattern,
            budget=self._budget,
            retry=self.retry,
            transforms=self.transforms,
            handlers=self.handlers,
        )

    @property
    def output_codec(self) -> TypeCodec:
        return _TEXT

    @property
    def budget(self) -> Budget:
        return self._budget

    def encode_input(self, given: object) -> bytes:
        return b"" if given is None else _TEXT.encode(given)

    def toolbelts(self, thread: str) -> Mapping[str, Sequence[AnyTool]]:
        return {thread: self.tools}

    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401  # str, or None in a resume
        return partial(AgentRun, spec, self, given)

    def step_config(self) -> StepConfig:
        """How its steps are made."""
        return StepConfig(
            provider=self.provider,
            retry=self.retry,
            transforms=(instructions(self.instructions), *self.transforms),
            handlers=self.handlers,
            tools=tuple(tool.spec for tool in self.tools),
        )


class AgentRun(RunActor):
    """Conducts one run: appends what was given, then lets the pattern go."""

    async def conduct(self, ctx: Context) -> Outcome:
        agent, spec = self.definition, self.spec
        assert isinstance(agent, Agent), "Agent.actor makes this"
        await self.write_start(self.given or "")
        spec.inflight.transcripts.add(spec.thread)
        step = await ctx.spawn(
            StepActor, spec, agent.step_config(), name="step", supervision=STEP_SUPERVISION
        )
        toolbox = await open_toolbox(ctx, spec, agent.tools, waits=True)
        turns = await step.ask(Transcript())
        said = any(turn.id == spec.id for turn in turns)
        if self.given is not None and not said and not _is_waiting_for(turns, self.given):
            await self._close_open_calls(step, turns)
            await step.ask(Submit(turn=text_turn("user", self.given, id=spec.id)))
        end = await agent.pattern.go(step, toolbox, ctx)
        spec.inflight.transcripts.discard(spec.thread)
        if not isinstance(end, Turn):
            return Outcome(pending=end)
        return Outcome(output=_TEXT.encode(end.text))

    async def _close_open_calls(self, step: Step, turns: Sequence[Turn]) -> None:
        """A new message comes where calls stand open: each is answered first, so that none ever lacks its result."""
        if not turns or not turns[-1].calls:
            return
        spec, ledger = self.spec, self.spec.system.ledger
        calls = await recorded_calls(spec, turns[-1], Progress(why_not=_WENT_ON))
        for question in await questions_of(ledger, spec.thread):
            if question.asked.waits:
                await record_answer(ledger, question, Reject(_WENT_ON), spec.lease)
        await step.ask(Submit(turn=calls.answer()))


def _is_waiting_for(turns: Sequence[Turn], given: str) -> bool:
    """Whether the thread stands in the middle of answering just this: then it is a resume, not a new question."""
    for turn in reversed(turns):
        if turn.role == "user":
            return turn.text == given
        if turn.role == "assistant" and not turn.calls:
            return False
    return False
