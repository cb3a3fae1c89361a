"""The shared thread of a swarm: facts that its members post and read."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from boyd.actors.runs.inflight import is_within
from boyd.actors.runs.place import current_place
from boyd.runtime import ANY, Context, Entry, Lease, Ledger

__all__ = ["Blackboard", "Posted"]

_PAGE = 500


@attrs.frozen(kw_only=True)
class Posted:
    """A fact with its place in the shared thread."""

    seq: int
    at: float
    fact: object


class Blackboard:
    """Facts are messages with a tag; a key names a fact, and posting it again changes nothing.

    Attributes:
        lease: of the run that posts, so that one which was taken over can post no more.
    """

    def __init__(self, ledger: Ledger, thread: str, *, lease: Lease | None = None) -> None:
        self.ledger = ledger
        self.thread = thread
        self.lease = lease

    @classmethod
    def of(cls, ctx: Context) -> Blackboard:
        """The blackboard of the swarm that `ctx` works for; alone, an agent's own thread.

        Raises:
            LookupError: nothing of a run is being handled.
        """
        thread = ctx.headers.labels.get("board", "") or ctx.headers.thread
        if not thread:
            raise LookupError("there is no blackboard outside a run")
        place = current_place()
        lease = None if place is None else place.spec.lease
        fenced = lease is not None and is_within(thread, lease.thread)
        return cls(ctx.system.ledger, thread, lease=lease if fenced else None)

    async def post(self, fact: object, *, key: str) -> int:
        """Append `fact`, once for each key; the tip.

        Raises:
            IdConflict: another fact has this key.
            EncodeError: its class has no tag.
            LeaseLost: another process has taken the run over.
        """
        entry = Entry.of(fact, id=key)
        return await self.ledger.append(self.thread, [entry], after=ANY, lease=self.lease)

    async def read(self, *kinds: str, after: int = 0) -> Sequence[Posted]:
        """All facts behind `after`, of all kinds or of these tags. Kinds unknown here are left out."""
        found: list[Posted] = []
        while True:
            page = await self.ledger.read(self.thread, after=after, limit=_PAGE, kinds=kinds)
            for entry in page:
                fact = entry.message()
                if fact is not None:
                    found.append(Posted(seq=entry.seq, at=entry.at, fact=fact))
            if len(page) < _PAGE:
                return found
            after = page[-1].seq

    async def wait_news(self, *, after: int) -> None:
        """Return when the shared thread is longer than `after`."""
        async with self.ledger.open_follow(self.thread, after=after, size=1) as entries:
            await entries.receive()
