"""`open_system`: the only way to have actors alive."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import trio

from boyd.runtime.ledger import Ledger, open_ledger, open_memory_ledger
from boyd.runtime.ref import homes
from boyd.runtime.restart import Strategy
from boyd.runtime.seams import Seams
from boyd.runtime.spans import check_span
from boyd.runtime.system import System

__all__ = ["open_system"]


@asynccontextmanager
async def open_system(
    *,
    name: str = "boyd",
    ledger: Ledger | str | None = None,
    ask_timeout: float = 30.0,
    drain: float = 5.0,
    grace: float = 5.0,
    strategy: Strategy = Strategy.ONE_FOR_ONE,
    seams: Seams | None = None,
) -> AsyncGenerator[System]:
    """A system for as long as the block runs; nothing of it outlives the block.

    A normal end finishes accepted mail for at most `drain` seconds, then stops
    all actors, last started first, within `grace` seconds, then kills. An
    exception skips the drain. So does a cancel: it unwinds the block, and does
    not reach the actors before the block's end stops them.

    Args:
        ledger: an open ledger, which stays yours; or "sqlite:PATH" or
            "memory:", opened and closed here. Default: a memory ledger.
        ask_timeout: seconds that an ask takes at most unless it says less.
        strategy: which of the actors at the top are restarted when one of them crashes.
        seams: the sources of chance.

    Raises:
        ValueError: a number of seconds is none.
        ExceptionGroup: with the original error of an actor whose restart
            budget is used up; a note on it says which actor, and what it handled.
    """
    for name_of_span, span in (("ask_timeout", ask_timeout), ("drain", drain), ("grace", grace)):
        check_span(span, name_of_span, least=0.0)
    seams = seams if seams is not None else Seams()
    async with AsyncExitStack() as stack:
        if ledger is None:
            ledger = await stack.enter_async_context(open_memory_ledger(seams=seams))
        elif isinstance(ledger, str):
            ledger = await stack.enter_async_context(open_ledger(ledger, seams=seams))
        async with trio.open_nursery() as nursery:
            system = System(
                name=name,
                seams=seams,
                ledger=ledger,
                nursery=nursery,
                ask_timeout=ask_timeout,
                grace=grace,
                strategy=strategy,
            )
            homes[system.id] = system
            nursery.start_soon(system.run)
            try:
                yield system
                await system.settle(drain)
            finally:
                await system.shut_down()
                del homes[system.id]
