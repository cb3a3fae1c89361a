"""`Ooda`: the actor that conducts one run, on the frontier executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import attrs

from boyd.actors.graph.frontier import run_frontiers
from boyd.actors.ooda.act import ActActor
from boyd.actors.ooda.cycle import Cycle, CycleComplete, NodeDone, Past, PhaseStarted
from boyd.actors.ooda.decider import Heard, ModelDecider
from boyd.actors.ooda.flow import facet_node
from boyd.actors.ooda.node import NODE_SUPERVISION, NodeActor, Perform
from boyd.actors.ooda.phases import Phase
from boyd.actors.ooda.standing import Standing, load_standing
from boyd.actors.runs.actor import Outcome, RunActor, StartOver
from boyd.actors.runs.messages import CarryOut, RunFinished
from boyd.actors.tools.approvals import APPROVALS_SUPERVISION, ApprovalsActor
from boyd.runtime import ActorCrashed, ActorStopped, Context, IdConflict, Ref
from boyd.runtime.codec import TypeCodec

if TYPE_CHECKING:
    from boyd.actors.ooda.agent import Ooda

__all__ = ["OodaRun"]


class OodaRun(RunActor):
    """Has an actor for each phase and facet make its product, frontier by frontier, cycle by cycle.

    Attributes:
        told: the nodes that are shown the cycles before.
    """

    nodes: dict[str, Ref[Perform]] = attrs.field(init=False, factory=dict[str, Ref[Perform]])
    told: set[str] = attrs.field(init=False, factory=set[str])
    hears: Ref[Heard] | None = attrs.field(init=False, default=None)
    phase: str = attrs.field(init=False, default="")

    @property
    def ooda(self) -> Ooda[Any, Any]:
        return cast("Ooda[Any, Any]", self.definition)

    async def conduct(self, ctx: Context) -> Outcome:
        spec, ooda = self.spec, self.ooda
        standing = await load_standing(ooda, spec.system.ledger, spec.thread)
        if standing.output is not None:
            return Outcome(output=standing.output)
        await self.write_start("" if self.given is None else str(self.given))
        approvals = spec.approvals or await ctx.spawn(
            ApprovalsActor,
            spec,
            ooda.toolbelts(spec.thread),
            name="approvals",
            supervision=APPROVALS_SUPERVISION,
        )
        await self._spawn_nodes(ctx)
        while standing.last is None:
            await self._wait_for_turn(standing.number, ctx)
            self._look_for_approvals(approvals)
            await self._cycle(standing, ctx)
        await self._finish(standing.last, standing.number - 1, approvals)
        return Outcome(output=standing.last)

    async def _wait_for_turn(self, cycle: int, ctx: Context) -> None:
        """With `every=`, until so many seconds after the cycle before began. One that has begun goes on at once."""
        every, begun = self.ooda.every, self.spec.inflight.cycles
        number, at = begun.get(self.spec.thread, (0, 0.0))
        if number == cycle:
            return
        if every is not None and number:
            await ctx.sleep(max(0.0, at + every - ctx.now()))
        begun[self.spec.thread] = (cycle, ctx.now())

    def _look_for_approvals(self, approvals: Ref[CarryOut]) -> None:
        """While calls wait for approval, somebody in another process may have given it."""
        thread = self.spec.thread
        if thread in self.spec.inflight.asked:
            with suppress(ActorStopped):
                if not approvals.statistics().queued:
                    approvals.tell(CarryOut(thread=thread))

    async def _cycle(self, standing: Standing, ctx: Context) -> None:
        """One cycle, from wherever it stands."""
        ooda, spec = self.ooda, self.spec
        cycle = Cycle(number=standing.number, history=standing.history, guidance=ooda.guidance)
        products = await run_frontiers(
            ooda.plan,
            standing.products,
            partial(self._perform, cycle),
            partial(self._commit, cycle.number),
            ctx,
            enter=partial(self._enter, cycle.number),
        )
        past = standing.finish_cycle(products)
        await self._tell_decider(past)
        await spec.emit(
            CycleComplete(
                agent=spec.name, cycle=past.number, decision=past.decision, actions=past.actions
            )
        )

    async def _enter(self, cycle: int, frontier: Sequence[str]) -> None:
        node = frontier[0]
        orients = node == "synthesize" or node in {facet_node(one.name) for one in self.ooda.facets}
        phase = "orient" if orients else node
        if phase != self.phase:
            self.phase = phase
            await self.spec.emit(PhaseStarted(agent=self.spec.name, cycle=cycle, phase=phase))

    async def _perform(self, cycle: Cycle, node: str, inputs: tuple[bytes, ...]) -> bytes:
        observe = self.ooda.observe
        if node == "observe" and observe.inputs:
            inputs = (observe.inputs[0].encode(self.given),)
        if node not in self.told:
            cycle = attrs.evolve(cycle, history=())  # it grows long, and nobody would read it
        return await self.nodes[node].ask(Perform(cycle=cycle, inputs=inputs))

    async def _commit(self, cycle: int, products: Mapping[str, bytes]) -> None:
        done = [
            NodeDone(cycle=cycle, node=node, product=product) for node, product in products.items()
        ]
        ids = tuple(f"{self.spec.thread}@{cycle}.{node}" for node in products)
        try:
            await self.spec.append(*done, ids=ids)
        except IdConflict as error:
            # An append of the life before went through after this one had read the thread.
            raise StartOver(str(error)) from error

    async def _tell_decider(self, past: Past) -> None:
        if self.hears is not None and past.decision.calls:
            await self.hears.ask(Heard(past=past))

    async def _finish(self, output: bytes, cycles: int, approvals: Ref[CarryOut]) -> None:
        """Make what was approved meanwhile, then write down that this is the end."""
        thread = self.spec.thread
        if thread in self.spec.inflight.asked:
            with suppress(ActorStopped, ActorCrashed):
                await approvals.ask(CarryOut(thread=thread))
        finished = RunFinished(output=output, cycles=cycles)
        await self.spec.append(finished, ids=(f"{thread}#finished",))

    async def _spawn_nodes(self, ctx: Context) -> None:
        ooda, spec = self.ooda, self.spec
        for node, phase, gather in self._phases():
            needs = tuple(ooda.plan.needs[node])
            if phase.wants_cycle:
                self.told.add(node)
            self.nodes[node] = await ctx.spawn(
                NodeActor,
                spec,
                attrs.evolve(phase, name=node),
                self.given,
                needs,
                gather,
                name=node,
                supervision=NODE_SUPERVISION,
            )
        if not isinstance(ooda.decide, Phase):
            decider = await ctx.spawn(
                ModelDecider,
                spec,
                ooda.decide,
                ooda.tools,
                ooda.output_codec,
                name="decide",
                supervision=NODE_SUPERVISION,
            )
            self.nodes["decide"] = self.hears = decider
            self.told.add("decide")
        if ooda.act is None:
            self.nodes["act"] = await ctx.spawn(
                ActActor,
                spec,
                ooda.tools,
                ooda.output_codec,
                ooda.endorse,
                name="act",
                supervision=NODE_SUPERVISION,
            )

    def _phases(self) -> list[tuple[str, Phase, tuple[TypeCodec, ...]]]:
        """The user's phases as (node, phase, codecs to gather by)."""
        ooda = self.ooda
        found: list[tuple[str, Phase, tuple[TypeCodec, ...]]] = [("observe", ooda.observe, ())]
        found += [(facet_node(facet.name), facet, ()) for facet in ooda.facets]
        readings = tuple(facet.output for facet in ooda.facets)
        found.append(("synthesize", ooda.synthesize, readings))
        if isinstance(ooda.decide, Phase):
            found.append(("decide", ooda.decide, ()))
        if ooda.act is not None:
            found.append(("act", ooda.act, ()))
        return found
