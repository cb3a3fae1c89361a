"""Names for the threads of runs that were given none: `agent-1`, `agent-2`, ..."""

from __future__ import annotations

from boyd.runtime import Ledger

__all__ = ["last_thread", "next_thread"]


async def next_thread(ledger: Ledger, name: str) -> str:
    """The first of these names that no thread has."""
    return f"{name}-{await _used(ledger, name) + 1}"


async def last_thread(ledger: Ledger, name: str) -> str | None:
    """The last of these names that a thread has."""
    used = await _used(ledger, name)
    return f"{name}-{used}" if used else None


async def _used(ledger: Ledger, name: str) -> int:
    """How many are taken, found in a few steps however many there are."""
    low, high = 0, 1
    while await ledger.tip(f"{name}-{high}"):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if await ledger.tip(f"{name}-{middle}"):
            low = middle
        else:
            high = middle
    return low
