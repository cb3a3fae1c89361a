"""What an OODA agent's tools may look up: the cycle that their call belongs to."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, cast

import attrs

from boyd.actors.ooda.cycle import Decision, NodeDone
from boyd.actors.runs.inflight import Acting
from boyd.actors.runs.place import current_call, current_place
from boyd.runtime import Context
from boyd.runtime.codec import codec_for

__all__ = ["Current", "current_cycle"]

V = TypeVar("V")

_DECISION: Final = codec_for(Decision)
_WINDOW: Final = 64


@attrs.frozen(kw_only=True)
class Current(Generic[V]):
    """The orientation and the decision that led to a tool call. The calls of a cycle share it: only read it."""

    number: int
    view: V
    decision: Decision


async def current_cycle(ctx: Context, view: type[V]) -> Current[V]:
    """The cycle that the call at hand belongs to, however late it is made; outside a call, the last that was decided.

    Raises:
        LookupError: no OODA agent of this thread has come to such a decision.
        WireError: the orientation is not a `view`.
    """
    thread, number = ctx.headers.thread, _cycle_of(current_call())
    place = current_place()
    acting = None if place is None else place.spec.inflight.acting.get(thread)
    if acting is None or acting.cycle != number:
        acting = await _written(ctx, thread, number)
    known = acting.read.get(view)
    if known is None:
        known = acting.read[view] = Current(
            number=acting.cycle,
            view=codec_for(view).decode_foreign(acting.view),
            decision=_DECISION.decode_foreign(acting.decision),
        )
    return cast("Current[V]", known)


def _cycle_of(key: str) -> int | None:
    """The cycle that a call's key names: `3.0` is the first call of the third one."""
    cycle = key.partition(".")[0]
    return int(cycle) if cycle.isascii() and cycle.isdecimal() else None


async def _written(ctx: Context, thread: str, number: int | None) -> Acting:
    """A cycle as the thread tells it: that of this number, or the last that has a decision."""
    ledger = ctx.system.ledger
    tip, window = await ledger.tip(thread), _WINDOW
    while True:
        after = max(0, tip - window)
        made: dict[tuple[int, str], bytes] = {}
        for entry in await ledger.read(
            thread, after=after, limit=window, kinds=("boyd.node_done",)
        ):
            done: Any = entry.message()
            if isinstance(done, NodeDone):
                made[done.cycle, done.node] = done.product
        decided = {cycle for cycle, node in made if node == "decide" and number in (None, cycle)}
        cycle = max(decided, default=0)
        if (cycle, "synthesize") in made and decided:
            return Acting(
                cycle=cycle, view=made[cycle, "synthesize"], decision=made[cycle, "decide"]
            )
        if after == 0:
            raise LookupError(f"no OODA agent has decided that in {thread!r}")
        window *= 4
