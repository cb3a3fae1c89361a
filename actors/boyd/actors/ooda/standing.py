"""Where an OODA run stands: what its thread says, folded, and kept up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from boyd.actors.graph.frontier import Products
from boyd.actors.ooda.act import ACTIONS
from boyd.actors.ooda.cycle import Decision, NodeDone, Past
from boyd.actors.ooda.flow import facet_node
from boyd.actors.runs.messages import RunFinished
from boyd.runtime import Ledger
from boyd.runtime.codec import TypeCodec, codec_for

if TYPE_CHECKING:
    from boyd.actors.ooda.agent import Ooda

__all__ = ["Standing", "load_standing"]

_DECISION: Final = codec_for(Decision)
_PAGE: Final = 64


@attrs.define(eq=False)
class Standing:
    """What is done and what is next.

    Attributes:
        number: of the cycle at hand, from 1.
        products: what its nodes have made.
        history: the cycles before, as many as the definition remembers.
        last: the view of a cycle that was to be the last one.
        output: of a run that has come to its end.
    """

    definition: Ooda[Any, Any]
    number: int = 1
    products: Products = attrs.field(factory=dict[str, bytes])
    history: tuple[Past, ...] = ()
    last: bytes | None = None
    output: bytes | None = None

    def finish_cycle(self, products: Mapping[str, bytes]) -> Past:
        """The cycle at hand is over; the next one begins, unless `last` says otherwise."""
        ooda, number = self.definition, self.number
        actions = ACTIONS.decode(products["act"]) if ooda.act is None else ()
        past = Past(number=number, decision=_DECISION.decode(products["decide"]), actions=actions)
        self.number, self.products = number + 1, {}
        self.history = (*self.history, past)[-ooda.remember :]
        view = products["synthesize"]
        capped = ooda.max_cycles is not None and number >= ooda.max_cycles
        ends = past.decision.stop or capped
        if ends or (ooda.until is not None and ooda.until(ooda.output_codec.decode(view))):
            self.last = view
        return past

    def take(self, cycle: int, made: Products) -> None:
        """A cycle as it stands in the ledger, whole or not; its bytes are checked: nodes trust what they get."""
        for node, product in made.items():
            codec = _codec_of(self.definition, node)
            if codec is not None:
                codec.decode_foreign(product)
        if cycle == self.number:
            if "act" in made:
                self.last = None  # it was not the last one, for here is another
                self.finish_cycle(made)
            else:
                self.products = made


def _codec_of(ooda: Ooda[Any, Any], node: str) -> TypeCodec | None:
    """How a node's product travels; None for one that the definition had once, and has no more."""
    from boyd.actors.ooda.phases import Phase

    phases = {facet_node(facet.name): facet for facet in ooda.facets}
    phases |= {"observe": ooda.observe, "synthesize": ooda.synthesize}
    if node == "decide":
        return ooda.decide.output if isinstance(ooda.decide, Phase) else _DECISION
    if node == "act":
        return ACTIONS if ooda.act is None else ooda.act.output
    return phases[node].output if node in phases else None


async def load_standing(ooda: Ooda[Any, Any], ledger: Ledger, thread: str) -> Standing:
    """Read a thread. Cycle by cycle, so that a long one is never held as a whole."""
    standing, cycle, made, after = Standing(ooda), 0, Products(), 0
    while True:
        kinds = ("boyd.node_done", "boyd.run_finished")
        page = await ledger.read(thread, after=after, limit=_PAGE, kinds=kinds)
        for entry in page:
            after = entry.seq
            match entry.message():
                case NodeDone() as done:
                    if done.cycle != cycle:
                        standing.take(cycle, made)
                        cycle, made = done.cycle, {}
                    made[done.node] = done.product
                case RunFinished(output=output):
                    ooda.output_codec.decode_foreign(output)
                    standing.output = output
                case _:
                    pass
        if len(page) < _PAGE:
            standing.take(cycle, made)
            return standing
