"""What the phases of an OODA agent have made, read from its thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from boyd.actors.ooda.cycle import NodeDone
from boyd.runtime import Ledger
from boyd.runtime.codec import codec_for

__all__ = ["Product", "read_products"]


@attrs.frozen(kw_only=True)
class Product:
    """One product of a phase, of the type that was asked for, and the place of its entry in the thread."""

    seq: int
    cycle: int
    phase: str
    value: Any


async def read_products(
    ledger: Ledger, thread: str, kinds: Mapping[str, Any], *, after: int = 0, limit: int = 64
) -> tuple[list[Product], int]:
    """The products of some phases behind `after`, from one page of the thread.

    Returns them in order, and where to read on; that is `after` again when there was nothing more.

    Args:
        kinds: the phases that are wanted ("observe", "synthesize", "decide", ...), each with the
            type of what it makes.

    Raises:
        WireError: a product is not of its type.
    """
    codecs = {phase: codec_for(kind) for phase, kind in kinds.items()}
    entries = await ledger.read(thread, after=after, limit=limit, kinds=("boyd.node_done",))
    found: list[Product] = []
    for entry in entries:
        done = entry.message()
        if isinstance(done, NodeDone) and done.node in codecs:
            value = codecs[done.node].decode_foreign(done.product)
            found.append(Product(seq=entry.seq, cycle=done.cycle, phase=done.node, value=value))
    return found, entries[-1].seq if entries else after
