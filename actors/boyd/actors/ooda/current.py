"""What an OODA agent's tools may look up: the cycle that their call belongs to."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import attrs

from boyd.actors.ooda.cycle import Decision, NodeDone
from boyd.runtime import Context
from boyd.runtime.codec import codec_for

__all__ = ["Current", "current_cycle"]

V = TypeVar("V")

_DECISION: Final = codec_for(Decision)
_WINDOW: Final = 64


@attrs.frozen(kw_only=True)
class Current(Generic[V]):
    """The orientation and the decision that led to a tool call."""

    number: int
    view: V
    decision: Decision


async def current_cycle(ctx: Context, view: type[V]) -> Current[V]:
    """The cycle in whose act phase `ctx` makes a call, read from the ledger.

    Raises:
        LookupError: no OODA agent of this thread has come to a decision.
    """
    ledger, thread = ctx.system.ledger, ctx.headers.thread
    tip = await ledger.tip(thread)
    window, made = _WINDOW, dict[str, NodeDone]()
    while not {"synthesize", "decide"} <= made.keys():
        after = max(0, tip - window)
        for entry in await ledger.read(
            thread, after=after, limit=window, kinds=("boyd.node_done",)
        ):
            done = entry.message()
            if isinstance(done, NodeDone):
                made[done.node] = done
        if after == 0:
            break
        window *= 4
    if not {"synthesize", "decide"} <= made.keys():
        raise LookupError(f"no OODA agent has decided anything in {thread!r}")
    return Current(
        number=made["decide"].cycle,
        view=codec_for(view).decode_foreign(made["synthesize"].product),
        decision=_DECISION.decode_foreign(made["decide"].product),
    )
