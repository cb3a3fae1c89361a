"""The actor behind each phase and facet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from boyd.actors.ooda.cycle import Cycle, NodeDone
from boyd.actors.ooda.phases import Phase
from boyd.actors.runs.parallel import answer_in
from boyd.actors.runs.place import Place
from boyd.actors.runs.spec import RunSpec
from boyd.runtime import Actor, Context, Replies, Supervision, message, receives
from boyd.runtime.codec import TypeCodec

__all__ = ["NODE_SUPERVISION", "NodeActor", "Perform"]

NODE_SUPERVISION = Supervision(redeliver=2, significant=False, shutdown=0.0)
"""A node that was made to crash is built again, remembers its past, and makes its product anew."""

_PAGE = 64


@message("boyd.perform", within=30 * 24 * 3600.0)
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
    remembered: int = attrs.field(init=False, default=0)
    read: int = attrs.field(init=False, default=0)

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers
        self.call = self.phase.make(self.given)

    def released(self) -> None:
        close = getattr(getattr(self, "call", None), "close", None)
        if callable(close):
            close()

    @receives
    async def perform(self, request: Perform, ctx: Context) -> bytes:
        number = request.cycle.number
        if self.phase.remembers and self.remembered < number - 1:
            await self._recall(before=number)
        Place(self.spec, f"{self.phase.name}.{number}").enter()
        options: dict[str, object] = {}
        if self.phase.wants_cycle:
            options[self.phase.wants_cycle] = request.cycle
        if self.phase.wants_context:
            options[self.phase.wants_context] = ctx
        inputs = self._decoded(request.inputs, foreign=False)
        try:
            product = await self.call(*inputs, **options)
        except ExceptionGroup as group:  # of the user's own nursery
            raise answer_in(group) or group from group
        await (
            ctx.system.dispatcher.enter()
        )  # the user's code may have waited for something of its own
        self.remembered = number
        return self.phase.output.encode(product)

    def _decoded(self, inputs: Sequence[bytes], *, foreign: bool) -> list[object]:
        """Inputs by their types: from nodes of this process, or (`foreign`) from the ledger, which is not trusted."""
        count = len(self.gather)
        codecs = (*self.gather, *(self.phase.inputs[1:] if count else self.phase.inputs))
        values = [
            codec.decode_foreign(one) if foreign else codec.decode(one)
            for codec, one in zip(codecs, inputs, strict=False)
        ]
        return [values[:count], *values[count:]] if count else values

    async def _recall(self, *, before: int) -> None:
        """Tell the instance what it was given and what it made in the cycles that it has not seen, in order.

        Only now, at the first message of a life: all earlier cycles are written
        down by now, and the one at hand is this instance's own.
        """
        wanted = (*self.needs, self.phase.name)
        cycle, products = 0, dict[str, bytes]()
        while True:
            page = await self.spec.system.ledger.read(
                self.spec.thread, after=self.read, limit=_PAGE, kinds=("boyd.node_done",)
            )
            for entry in page:
                self.read = entry.seq
                done = entry.message()
                if not isinstance(done, NodeDone) or not self.remembered < done.cycle < before:
                    continue
                if done.cycle != cycle:
                    cycle, products = done.cycle, {}
                if done.node in wanted:
                    products[done.node] = done.product
                if done.node == self.phase.name:
                    self._tell(products)
            if len(page) < _PAGE:
                self.remembered = before - 1
                return

    def _tell(self, products: dict[str, bytes]) -> None:
        inputs = self._decoded([products[needed] for needed in self.needs], foreign=True)
        given = [self.given] if self.phase.inputs and not self.needs else []
        product = self.phase.output.decode_foreign(products[self.phase.name])
        self.call.recall(*given, *inputs, product)  # type: ignore[attr-defined]  # `remembers` says that it is there
