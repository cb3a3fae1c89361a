"""`Ooda`: observe, orient, decide, act, again and again, on the frontier executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from boyd.actors.agent import CALM, Agent
from boyd.actors.budget import Budget
from boyd.actors.graph.frontier import Plan, Products, run_frontiers
from boyd.actors.ooda.act import ACTIONS, ActActor
from boyd.actors.ooda.cycle import Cycle, CycleComplete, Decision, NodeDone, Past, PhaseStarted
from boyd.actors.ooda.decider import ModelDecider
from boyd.actors.ooda.node import NODE_SUPERVISION, NodeActor, Perform
from boyd.actors.ooda.phases import Phase, phase_of
from boyd.actors.runs.actor import Outcome, RunActor
from boyd.actors.runs.messages import RunFinished
from boyd.actors.runs.runnable import Runnable
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.approvals import ApprovalsActor
from boyd.actors.tools.define import Tool
from boyd.actors.tools.spec import Call
from boyd.runtime import Context, Ref
from boyd.runtime.codec import TypeCodec, codec_for
from boyd.runtime.names import check_name

__all__ = ["Ooda"]

I = TypeVar("I")  # noqa: E741
View = TypeVar("View")
Obs = TypeVar("Obs")
Reading = TypeVar("Reading")

_DECISION: Final = codec_for(Decision)
_DEFAULT_CYCLES: Final = 25


class Ooda(Runnable[I, View]):
    """An agent that observes, orients with facets in parallel, decides once, and acts; then again.

    Args:
        observe: async function of the run's input (and `Cycle`, if it asks), or
            a class that is built with the input and whose instances are called.
        facets: each reads the observation; all run in parallel. Like any phase
            a facet may be a class; with a method `recall(*inputs, product)` it
            is told its past when its actor starts again.
        synthesize: merges the readings, in the declared order of the facets;
            with a second parameter it is given the observation too.
        decide: chooses, once a cycle; a function, a class, or an `Agent`,
            whose model then decides. It reads `view.brief()`, if there is one, else the view as JSON.
        tools: what decisions may call.
        endorse: for DANGEROUS calls, given the call and the view: why it is
            denied without asking anybody, since what it rests on is only text;
            None, when code has checked its values, asks a person.
        act: in place of the built-in act phase.
        until: the run ends after the cycle whose view makes this true.
        max_cycles: cycles in one run, 25 by default; None is as many as
            `until` or `every` make of it.
        every: seconds from the start of one cycle to the start of the next.
        guidance: implicit guidance, told to every phase through `Cycle`.
        remember: how many past cycles `Cycle.history` holds.

    Raises:
        TypeError: a phase is not async or not annotated, so it cannot be an actor.
        ValueError: a limit is zero or missing.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        observe: Callable[..., Any],
        facets: Sequence[Callable[..., Any]],
        synthesize: Callable[..., Any],
        decide: Callable[..., Any] | Agent,
        tools: Sequence[Tool[..., Any]] = (),
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
        self.name = check_name(name)
        self.observe = phase_of(observe, "observe", name="observe")
        self.facets = tuple(phase_of(facet, "facet") for facet in facets)
        self.synthesize = phase_of(synthesize, "synthesize", name="synthesize")
        self.decide = decide if isinstance(decide, Agent) else phase_of(decide, "decide", name="decide")
        self.act = None if act is None else phase_of(act, "act", name="act")
        self.tools = tuple(tools)
        self.endorse = endorse
        self.until = until
        self.every = every
        self.guidance = tuple(guidance)
        self.remember = remember
        self.max_cycles = _checked(max_cycles, every, until)
        self._budget = budget or Budget(steps=None, calls=None)
        if not self.facets:
            raise ValueError("Ooda needs at least one facet to orient by")
        self.plan = _plan([facet.name for facet in self.facets], with_observation=len(self.synthesize.inputs) > 1)

    @property
    def output_codec(self) -> TypeCodec:
        return self.synthesize.output

    @property
    def budget(self) -> Budget:
        return self._budget

    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401
        return partial(OodaRun, spec, self, given)


def _checked(max_cycles: int | None, every: float | None, until: object) -> int | None:
    if max_cycles is not None and max_cycles < 1:
        raise ValueError(f"max_cycles={max_cycles}: an Ooda runs at least one cycle; None is without a limit")
    if max_cycles is None and every is None and until is None:
        return _DEFAULT_CYCLES
    return max_cycles


def _plan(facets: list[str], *, with_observation: bool) -> Plan:
    if len(set(facets)) != len(facets):
        raise ValueError(f"two facets have one name: {', '.join(facets)}")
    return Plan(
        {
            "observe": (),
            **{f"facet-{name}": ("observe",) for name in facets},
            "synthesize": (*(f"facet-{name}" for name in facets), *(("observe",) if with_observation else ())),
            "decide": ("synthesize",),
            "act": ("decide", "synthesize"),
        }
    )


@attrs.define(eq=False)
class _Standing:
    """Where a run stands: what its thread says, kept up to date."""

    number: int = 1
    products: Products = attrs.field(factory=dict[str, bytes])
    history: tuple[Past, ...] = ()
    finished: RunFinished | None = None


class OodaRun(RunActor):
    """Conducts one run: a frontier executor over an actor for each phase and facet."""

    given: object
    nodes: dict[str, Ref[Perform]] = attrs.field(init=False, factory=dict[str, Ref[Perform]])
    phase: str = attrs.field(init=False, default="")

    async def conduct(self, ctx: Context) -> Outcome:
        ooda: Ooda[Any, Any] = self.definition
        standing = await self._load()
        if standing.finished is not None:
            return Outcome(output=standing.finished.output)
        await self.write_start(str(self.given))
        if not self.spec.nested:
            await ctx.spawn(ApprovalsActor, self.spec, name="approvals", supervision=CALM)
        await self._spawn_nodes(ctx)
        while True:
            started = ctx.now()
            cycle = Cycle(number=standing.number, history=standing.history, guidance=ooda.guidance)
            view = await self._cycle(standing, cycle, ctx)
            if view is not None:
                await self.spec.append(
                    RunFinished(output=view, cycles=cycle.number), ids=(f"{self.spec.thread}#finished",)
                )
                return Outcome(output=view)
            if ooda.every is not None:
                await ctx.sleep(max(0.0, started + ooda.every - ctx.now()))

    async def _cycle(self, standing: _Standing, cycle: Cycle, ctx: Context) -> bytes | None:
        """One cycle, from wherever it stands; the last view, encoded, if it was the last."""
        ooda: Ooda[Any, Any] = self.definition
        perform = partial(self._perform, cycle)
        commit = partial(self._commit, cycle.number)
        products = await run_frontiers(ooda.plan, standing.products, perform, commit, ctx)
        past = self._past(cycle.number, products)
        standing.number, standing.products = cycle.number + 1, {}
        standing.history = (*standing.history, past)[-ooda.remember :]
        await self.spec.emit(
            CycleComplete(agent=self.spec.name, cycle=past.number, decision=past.decision, actions=past.actions)
        )
        view = products["synthesize"]
        ends = past.decision.stop or (ooda.until is not None and ooda.until(ooda.output_codec.decode(view)))
        return view if ends or cycle.number == ooda.max_cycles else None

    def _past(self, number: int, products: Mapping[str, bytes]) -> Past:
        ooda: Ooda[Any, Any] = self.definition
        actions = ACTIONS.decode_foreign(products["act"]) if ooda.act is None else ()
        return Past(number=number, decision=_DECISION.decode_foreign(products["decide"]), actions=actions)

    async def _perform(self, cycle: Cycle, node: str, inputs: tuple[bytes, ...]) -> bytes:
        ooda: Ooda[Any, Any] = self.definition
        phase = "orient" if node.startswith("facet-") or node == "synthesize" else node
        if phase != self.phase:
            self.phase = phase
            await self.spec.emit(PhaseStarted(agent=self.spec.name, cycle=cycle.number, phase=phase))
        if node == "observe" and ooda.observe.inputs:
            inputs = (ooda.observe.inputs[0].encode(self.given),)
        return await self.nodes[node].ask(Perform(cycle=cycle, inputs=inputs))

    async def _commit(self, cycle: int, products: Mapping[str, bytes]) -> None:
        done = [NodeDone(cycle=cycle, node=node, product=product) for node, product in products.items()]
        await self.spec.append(*done, ids=tuple(f"{self.spec.thread}@{cycle}.{node}" for node in products))

    async def _load(self) -> _Standing:
        """Read the thread: how many cycles are whole, and what the broken one has made."""
        spec, standing, after = self.spec, _Standing(), 0
        by_cycle: dict[int, Products] = {}
        while True:
            page = await spec.system.ledger.read(
                spec.thread, after=after, limit=64, kinds=("boyd.node_done", "boyd.run_finished")
            )
            for entry in page:
                after = entry.seq
                match entry.message():
                    case NodeDone() as done:
                        by_cycle.setdefault(done.cycle, {})[done.node] = done.product
                    case RunFinished() as finished:
                        standing.finished = finished
                    case _:
                        pass
            self._fold(standing, by_cycle)
            if len(page) < 64:  # noqa: PLR2004  # the page size above
                return standing

    def _fold(self, standing: _Standing, by_cycle: dict[int, Products]) -> None:
        ooda: Ooda[Any, Any] = self.definition
        while len(products := by_cycle.get(standing.number, {})) == len(ooda.plan.needs):
            past = self._past(standing.number, products)
            standing.history = (*standing.history, past)[-ooda.remember :]
            del by_cycle[standing.number]
            standing.number += 1
        for node, product in products.items():
            self._codec(node).decode_foreign(product)  # nodes trust what this process hands them
        standing.products = dict(products)

    def _codec(self, node: str) -> TypeCodec:
        ooda: Ooda[Any, Any] = self.definition
        if node == "decide" and isinstance(ooda.decide, Agent):
            return _DECISION
        if node == "act" and ooda.act is None:
            return ACTIONS
        return next(phase.output for name, phase, _ in self._phases() if name == node)

    async def _spawn_nodes(self, ctx: Context) -> None:
        ooda: Ooda[Any, Any] = self.definition
        spec = self.spec
        for node, phase, gather in self._phases():
            needs = tuple(ooda.plan.needs[node])
            named = attrs.evolve(phase, name=node)
            self.nodes[node] = await ctx.spawn(
                NodeActor, spec, named, self.given, needs, gather, name=node, supervision=NODE_SUPERVISION
            )
        if isinstance(ooda.decide, Agent):
            self.nodes["decide"] = await ctx.spawn(
                ModelDecider, spec, ooda.decide, ooda.tools, ooda.output_codec, name="decide", supervision=NODE_SUPERVISION
            )
        if ooda.act is None:
            self.nodes["act"] = await ctx.spawn(
                ActActor, spec, ooda.tools, ooda.output_codec, ooda.endorse, name="act", supervision=NODE_SUPERVISION
            )

    def _phases(self) -> list[tuple[str, Phase, tuple[TypeCodec, ...]]]:
        """The user's phases as (node, phase, codecs to gather by)."""
        ooda: Ooda[Any, Any] = self.definition
        found: list[tuple[str, Phase, tuple[TypeCodec, ...]]] = [("observe", ooda.observe, ())]
        found += [(f"facet-{facet.name}", facet, ()) for facet in ooda.facets]
        found.append(("synthesize", ooda.synthesize, tuple(facet.output for facet in ooda.facets)))
        if isinstance(ooda.decide, Phase):
            found.append(("decide", ooda.decide, ()))
        if ooda.act is not None:
            found.append(("act", ooda.act, ()))
        return found


