"""What the phases of an OODA agent have made, read from its thread."""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from boyd.actors.ooda.cycle import NodeDone
from boyd.runtime import Ledger
from boyd.runtime.codec import codec_for

__all__ = ["Product", "read_products"]

P = TypeVar("P")


@attrs.frozen(kw_only=True)
class Product(Generic[P]):
    """One product of a phase, and the place of its entry in the thread."""

    seq: int
    cycle: int
    value: P


async def read_products(
    ledger: Ledger, thread: str, phase: str, kind: type[P], *, after: int = 0, limit: int = 64
) -> tuple[list[Product[P]], int]:
    """The products of one phase ("observe", "synthesize", "decide", ...) behind `after`, from one page of the thread.

    Returns them in order, and where to read on; that is `after` again when there was nothing more.

    Raises:
        WireError: a product is not a `kind`.
    """
    codec = codec_for(kind)
    entries = await ledger.read(thread, after=after, limit=limit, kinds=("boyd.node_done",))
    found: list[Product[P]] = []
    for entry in entries:
        done = entry.message()
        if isinstance(done, NodeDone) and done.node == phase:
            found.append(
                Product(seq=entry.seq, cycle=done.cycle, value=codec.decode_foreign(done.product))
            )
    return found, entries[-1].seq if entries else after
