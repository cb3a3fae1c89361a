"""Leases: who may drive a thread, decided without trusting a wall clock.

Time is measured by a clock that all processes of a machine share and nobody
can set, so a jump of the wall clock lets nobody in. A holder that sleeps past
its time may be taken over; the token then fences its late writes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import attrs
import trio

from boyd.runtime.errors import LeaseHeld, LeaseLost, LedgerError, LedgerUnavailable, OutcomeUnknown
from boyd.runtime.ledger.background import open_background
from boyd.runtime.ledger.protocol import Lease, Ledger, LedgerRefused
from boyd.runtime.ledger.rules import check_name
from boyd.runtime.seams import Clock, SystemClock

__all__ = ["LeaseRecord", "check_fence", "check_terms", "next_lease", "open_lease"]

RELEASE_WAIT: Final = 2.0
RENEWALS_PER_TTL: Final = 3


@attrs.frozen(kw_only=True)
class LeaseRecord:
    """What a store remembers of a thread's latest lease, also after its release.

    Attributes:
        beat: when it was acquired or last renewed, in the store's monotonic seconds.
        held: not released.
    """

    owner: str
    token: int
    ttl: float
    beat: float
    held: bool

    def seconds_left(self, now: float) -> float:
        """Until it may be taken over; 0.0 when it may be now."""
        if not self.held or now < self.beat:  # a clock that went back has begun anew: a reboot
            return 0.0
        return max(0.0, self.ttl - (now - self.beat))


def check_terms(thread: str, owner: str, ttl: float) -> None:
    """Raises LedgerRefused for what cannot be a lease."""
    check_name("the name of a thread", thread)
    check_name("the owner of a lease", owner)
    if not 0 < ttl < float("inf"):
        raise LedgerRefused(f"{thread}: a lease lasts a positive number of seconds, not {ttl}")


def next_lease(
    thread: str, record: LeaseRecord | None, *, owner: str, ttl: float, now: float, dead: bool
) -> LeaseRecord:
    """The lease after this one.

    Args:
        dead: the holder's process is known to have ended.

    Raises:
        LeaseHeld: this one still holds.
    """
    if record and not dead and (left := record.seconds_left(now)) > 0:
        raise LeaseHeld(thread=thread, owner=record.owner, left=left)
    token = record.token + 1 if record else 1
    return LeaseRecord(owner=owner, token=token, ttl=ttl, beat=now, held=True)


def check_fence(lease: Lease, record: LeaseRecord | None) -> LeaseRecord:
    """The record of a lease that still counts.

    One that ran out but was not taken over counts: nobody else writes.

    Raises:
        LeaseLost: it was taken over or released.
    """
    if record is None or not record.held or record.token != lease.token:
        raise LeaseLost(thread=lease.thread, token=lease.token)
    return record


@asynccontextmanager
async def open_lease(
    ledger: Ledger, thread: str, *, owner: str, ttl: float = 10.0, clock: Clock | None = None
) -> AsyncGenerator[Lease]:
    """Hold the lease of a thread for as long as the block runs.

    It is renewed in the background. When somebody takes it over, the block is
    cancelled and left with `LeaseLost`; when the ledger cannot be reached for
    `ttl` seconds, with what it said last.

    Raises:
        LeaseHeld: somebody else runs the thread.
        LeaseLost: somebody took it over.
    """
    lease = await ledger.acquire(thread, owner=owner, ttl=ttl)
    try:
        async with open_background(partial(_keep, ledger, lease, clock or SystemClock())):
            yield lease
    finally:
        # Not released it runs out by itself, so a failure here costs only time.
        with trio.move_on_after(RELEASE_WAIT, shield=True), suppress(LedgerError):
            await ledger.release(lease)


async def _keep(ledger: Ledger, lease: Lease, clock: Clock) -> None:
    renewed = clock.now()
    while True:
        await trio.sleep(lease.ttl / RENEWALS_PER_TTL)
        begun = clock.now()
        try:
            await ledger.renew(lease)
        except (LedgerUnavailable, OutcomeUnknown):
            if clock.now() - renewed >= lease.ttl:
                raise
        else:
            renewed = begun
