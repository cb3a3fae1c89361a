"""`Ooda`: observe, orient, decide, act, again and again: the definition."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from boyd.actors.agent import Agent
from boyd.actors.budget import Budget
from boyd.actors.ooda.conduct import OodaRun
from boyd.actors.ooda.flow import check_flow, plan_of
from boyd.actors.ooda.phases import Phase, phase_of
from boyd.actors.runs.actor import RunActor
from boyd.actors.runs.runnable import Runnable
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.spec import Call
from boyd.actors.tools.toolbox import check_tools
from boyd.runtime import EncodeError
from boyd.runtime.codec import TypeCodec, codec_for
from boyd.runtime.names import check_name

__all__ = ["Ooda"]

I = TypeVar("I")  # noqa: E741  # Input
View = TypeVar("View")

_DEFAULT_CYCLES = 25


class Ooda(Runnable[I, View]):
    """An agent that observes, orients with facets in parallel, decides once, and acts; then again.

    Its output is the last orientation.

    Args:
        observe: async function of the run's input (and `Cycle`, if it asks), or
            a class that is built with the input and whose instances are called.
        facets: each reads the observation; all run in parallel. Like any phase
            a facet may be a class; with a method `recall(*inputs, product)` it
            is told its past when its actor starts again.
        synthesize: merges the readings, in the declared order of the facets;
            with a second parameter it is given the observation too.
        decide: chooses, once a cycle; a function, a class, or an `Agent`,
            whose model then decides.
        tools: what decisions may call; without them, those of an `Agent` that decides.
        endorse: for DANGEROUS calls, given the call and the view: why it is
            denied without asking anybody, since what it rests on is only text;
            None, when code has checked its values, asks a person.
        act: in place of the built-in act phase.
        until: the run ends after the cycle whose view makes this true.
        max_cycles: cycles in one thread, 25 by default; None is as many as
            `until` or `every` make of it.
        every: seconds from the start of one cycle to the start of the next.
        guidance: implicit guidance, told to every phase through `Cycle`.
        remember: how many past cycles `Cycle.history` holds, one at least.

    Raises:
        TypeError: a phase is not async or not annotated, so it cannot be an
            actor, or does not fit the one before it.
        ValueError: a limit is zero, a name is used twice, or a model that
            decides has no tools.
    """

    def __init__(
        self,
        *,
        observe: Callable[..., Any],
        facets: Sequence[Callable[..., Any]],
        synthesize: Callable[..., Any],
        decide: Callable[..., Any] | Agent,
        tools: Sequence[AnyTool] = (),
        endorse: Callable[[Call, View], str | None] | None = None,
        act: Callable[..., Any] | None = None,
        until: Callable[[View], bool] | None = None,
        max_cycles: int | None = None,
        every: float | None = None,
        guidance: Sequence[str] = (),
        remember: int = 8,
        name: str = "ooda",
        budget: Budget | None = None,
    ) -> None:
        frame = inspect.currentframe()
        names = dict(frame.f_back.f_locals) if frame is not None and frame.f_back else {}
        read = partial(phase_of, names=names)
        self.name = check_name(name)
        self.observe = read(observe, "observe", name="observe")
        self.facets = tuple(read(facet, "facet") for facet in facets)
        self.synthesize = read(synthesize, "synthesize", name="synthesize")
        self.decide: Phase | Agent = (
            decide if isinstance(decide, Agent) else read(decide, "decide", name="decide")
        )
        self.act = None if act is None else read(act, "act", name="act")
        self.tools = _tools(tools, decide)
        self.endorse = endorse
        self.until = until
        self.every = every
        self.guidance = tuple(guidance)
        self.remember = remember
        self.max_cycles = _checked(max_cycles, every, until, remember)
        self._budget = budget or Budget(steps=None, calls=None)
        self.plan = plan_of(
            [facet.name for facet in self.facets],
            with_observation=len(self.synthesize.inputs) > 1,
        )
        decides = None if isinstance(self.decide, Agent) else self.decide
        check_flow(self.observe, self.facets, self.synthesize, decides, self.act)

    @property
    def output_codec(self) -> TypeCodec:
        return self.synthesize.output

    @property
    def budget(self) -> Budget:
        return self._budget

    def encode_input(self, given: object) -> bytes:
        if self.observe.given is None or given is None:
            return b""
        try:
            return codec_for(self.observe.given).encode(given)
        except (TypeError, EncodeError):
            return b""  # it has no wire form: a resume must be given it again

    def recorded_input(self, recorded: bytes) -> Any:  # noqa: ANN401
        if self.observe.given is None:
            return None
        if not recorded:
            raise ValueError(
                f"{self.name} needs its input to go on, and it has no wire form: resume(..., given=...)"
            )
        return codec_for(self.observe.given).decode_foreign(recorded)

    def toolbelts(self, thread: str) -> Mapping[str, Sequence[AnyTool]]:
        return {thread: self.tools}

    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401
        return partial(OodaRun, spec, self, given)


def _checked(
    max_cycles: int | None, every: float | None, until: object, remember: int
) -> int | None:
    if max_cycles is not None and max_cycles < 1:
        raise ValueError(
            f"max_cycles={max_cycles}: an Ooda runs at least one cycle; None is without a limit"
        )
    if every is not None and not every > 0:
        raise ValueError(f"every={every}: a cycle begins some seconds after the one before")
    if remember < 1:
        raise ValueError(f"remember={remember}: the cycle before is what feedback comes from")
    if max_cycles is None and every is None and until is None:
        return _DEFAULT_CYCLES
    return max_cycles


def _tools(tools: Sequence[AnyTool], decide: object) -> tuple[AnyTool, ...]:
    if not isinstance(decide, Agent):
        return check_tools(tools)
    found = check_tools(tools or decide.tools)
    if not found:
        raise ValueError(f"{decide.name} decides by calling tools, and has none: Ooda(tools=...)")
    return found
