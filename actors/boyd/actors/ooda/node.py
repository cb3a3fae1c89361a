"""The actor behind each phase and facet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from boyd.actors.ooda.cycle import Cycle, NodeDone
from boyd.actors.ooda.phases import Phase
from boyd.actors.runs.spec import RunSpec
from boyd.runtime import Actor, Context, Replies, Supervision, message, receives
from boyd.runtime.codec import TypeCodec

__all__ = ["NODE_SUPERVISION", "NodeActor", "Perform", "node_products"]

NODE_SUPERVISION = Supervision(redeliver=2, significant=False, shutdown=1.0)
"""A node that was made to crash is built again, remembers its past, and makes its product anew."""


@message("boyd.perform", within=3600.0)
class Perform(Replies[bytes]):
    """Make a node's product in a cycle from what it needs; inputs and product are encoded by their types."""

    cycle: Cycle
    inputs: tuple[bytes, ...]


class NodeActor(Actor[Perform]):
    """Runs one phase or facet of the user's, one cycle at a time.

    Attributes:
        given: the input of the run.
        needs: the nodes whose products it is given.
        gather: with codecs, its first input is the list of that many products.
    """

    spec: RunSpec
    phase: Phase
    given: object
    needs: tuple[str, ...]
    gather: tuple[TypeCodec, ...] = ()
    call: Callable[..., Any] = attrs.field(init=False)

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers
        self.call = self.phase.make(self.given)
        if self.phase.remembers:
            await self._recall()

    def released(self) -> None:
        close = getattr(getattr(self, "call", None), "close", None)
        if callable(close):
            close()

    @receives
    async def perform(self, request: Perform, ctx: Context) -> bytes:
        options: dict[str, object] = {}
        if self.phase.wants_cycle:
            options[self.phase.wants_cycle] = request.cycle
        if self.phase.wants_context:
            options[self.phase.wants_context] = ctx
        product = await self.call(*self._decoded(request.inputs, foreign=False), **options)
        return self.phase.output.encode(product)

    def _decoded(self, inputs: Sequence[bytes], *, foreign: bool) -> list[object]:
        """Inputs by their types: from other nodes of this process, or (`foreign`) from the ledger, which is not trusted."""
        count = len(self.gather)
        codecs = (*self.gather, *(self.phase.inputs[1:] if count else self.phase.inputs))
        values = [
            codec.decode_foreign(one) if foreign else codec.decode(one)
            for codec, one in zip(codecs, inputs, strict=False)
        ]
        return [values[:count], *values[count:]] if count else values

    async def _recall(self) -> None:
        """Tell the new instance what it was given and what it made, cycle by cycle."""
        wanted = (*self.needs, self.phase.name)
        cycle, products = 0, dict[str, bytes]()
        async for done in node_products(self.spec):
            if done.cycle != cycle:
                cycle, products = done.cycle, {}
            if done.node in wanted:
                products[done.node] = done.product
            if done.node == self.phase.name:
                inputs = [products[needed] for needed in self.needs]
                self.call.recall(*self._decoded(inputs, foreign=True), self.phase.output.decode_foreign(done.product))  # type: ignore[attr-defined]


class node_products:  # noqa: N801  # used as a function: `async for done in node_products(spec)`
    """The products of a run's thread in order, a page at a time; nothing is held open between pages."""

    _PAGE = 64

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._after = 0
        self._page: list[NodeDone] = []
        self._last = False

    def __aiter__(self) -> node_products:
        return self

    async def __anext__(self) -> NodeDone:
        while not self._page:
            if self._last:
                raise StopAsyncIteration
            await self._read()
        return self._page.pop()

    async def _read(self) -> None:
        entries = await self._spec.system.ledger.read(
            self._spec.thread, after=self._after, limit=self._PAGE, kinds=("boyd.node_done",)
        )
        self._last = len(entries) < self._PAGE
        if entries:
            self._after = entries[-1].seq
        found = [message for entry in entries if isinstance(message := entry.message(), NodeDone)]
        self._page = found[::-1]
