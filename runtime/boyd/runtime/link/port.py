"""A link at work: the protocol, on Trio, between a way for frames and the border of a system."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import attrs
import trio

from boyd.runtime.errors import AskTimeout
from boyd.runtime.ledger.background import open_background
from boyd.runtime.link.asks import Answer, PendingAsks
from boyd.runtime.link.auth import Keys
from boyd.runtime.link.border import Border, FrameWay
from boyd.runtime.link.counts import LinkStatistics
from boyd.runtime.link.errors import LinkClosed, LinkFull, LinkLost
from boyd.runtime.link.events import Acked, Closed, Delivered, GivenBack, LinkEvent
from boyd.runtime.link.options import LinkOptions
from boyd.runtime.link.parcel import Parcel, Purpose
from boyd.runtime.link.protocol import Link
from boyd.runtime.seams import Seams
from boyd.runtime.spans import check_span

__all__ = ["LinkPort", "open_link"]

_ANSWERS: Final = (Purpose.REPLY, Purpose.FAILURE)
_DEFAULT_OPTIONS: Final = LinkOptions()


@attrs.frozen
class _Receipt:
    """Tells the link that what it delivered is safe."""

    port: LinkPort
    delivered: Delivered

    def commit(self) -> None:
        self.port.committed(self.delivered)


class LinkPort:
    """Where a system sends into a link that `open_link` runs."""

    def __init__(self, link: Link, border: Border, seams: Seams) -> None:
        self._link = link
        self._border = border
        self._seams = seams
        self._asks = PendingAsks()
        self._changed = trio.Event()
        self._turn = trio.Lock()
        self._room = trio.Event()
        self._ended = trio.Event()

    # ------------------------------------------------------------------ sending
    def send_nowait(self, parcel: Parcel) -> int:
        """Accept a parcel now, and return its number. Accepted means: `Acked` or given back, once.

        Raises:
            LinkFull: the window has no room, or somebody waits for it.
            LinkClosed: the link has ended.
            EncodeError: it is too large, or its header has no wire form.
        """
        if self._turn.locked() and self._link.error is None:
            raise self._link.full()
        return self._accept(parcel)

    def _accept(self, parcel: Parcel) -> int:
        seq = self._link.send(parcel)
        self._changed.set()
        return seq

    async def send(self, parcel: Parcel) -> int:
        """As `send_nowait`, but wait for room, first come, first served. Cancelled means: nothing was sent.

        Raises:
            LinkClosed, EncodeError: as `send_nowait`.
        """
        async with self._turn:
            while True:
                try:
                    return self._accept(parcel)
                except LinkFull:
                    await self._room.wait()

    async def ask(self, parcel: Parcel, *, within: float) -> Parcel:
        """Send an ask and wait for its one answer: a parcel whose purpose is reply or failure.

        Its correlation is made here, and its deadline is that of the caller's
        cancel scopes or in `within` seconds, whichever is sooner. When the
        caller leaves before an answer, the peer is told so (`WITHDRAW`).

        Raises:
            AskTimeout: no answer within `within` seconds; the request may have run.
            PeerRestarted: the incarnation that was asked is over.
            LinkError: the link ended, or has; its own error says why.
            LinkFull, EncodeError: nothing was sent.
        """
        span = check_span(within, "within", least=0.0)
        limit = min(self._seams.clock.now() + span, parcel.deadline)
        deadline = min(limit, trio.current_effective_deadline())
        correlation = self._seams.ids.new()
        ask = attrs.evolve(parcel, purpose=Purpose.ASK, correlation=correlation, deadline=deadline)
        came: list[Answer] = []
        there = trio.Event()

        def settle(answer: Answer) -> None:
            came.append(answer)
            there.set()

        self.send_nowait(ask)
        self._asks.wait(correlation, settle)
        try:
            with trio.move_on_at(limit):
                await there.wait()
        finally:
            if not came:
                self._withdraw(ask)
        if not came:
            raise AskTimeout(f"{ask.to.path} did not answer {ask.kind} within {within:.1f} s")
        answer = came[0]
        if isinstance(answer, Parcel):
            return answer
        raise answer

    def _withdraw(self, ask: Parcel) -> None:
        """Best effort: where there is no room for it, the deadline ends the request."""
        self._asks.forget(ask.correlation)
        notice = attrs.evolve(ask, purpose=Purpose.WITHDRAW, body=b"", deadline=math.inf)
        with suppress(LinkFull, LinkClosed):
            self._accept(notice)

    # ------------------------------------------------------------------ state
    def statistics(self) -> LinkStatistics:
        """The counts of this end, now."""
        return self._link.statistics()

    def mark_of(self, incarnation: str) -> int | None:
        """As `Link.mark_of`."""
        return self._link.mark_of(incarnation)

    async def wait_settled(self) -> None:
        """Until the peer has committed all that was sent, or the link has ended."""
        await trio.lowlevel.checkpoint()
        while not self._link.settled:
            await self._room.wait()

    def close(self, reason: str = "") -> None:
        """End the link at once: what is not acknowledged is given back. Idempotent."""
        self._link.close(reason)
        self._changed.set()

    def committed(self, delivered: Delivered) -> None:
        """What was delivered is safe here. (For receipts.)"""
        self._link.committed(delivered.incarnation, delivered.seq)
        self._changed.set()

    # ------------------------------------------------------------------ running
    async def run(self, way: FrameWay) -> None:
        """Work until the link has ended and its last frame is sent."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, way)
            await self._write(way)
            nursery.cancel_scope.cancel()
        self._ended.set()

    async def wait_ended(self) -> None:
        """Until the link has ended and its last frame is sent."""
        await self._ended.wait()

    async def _read(self, way: FrameWay) -> None:
        try:
            while True:
                frame = await way.receive()
                self._link.receive(frame, self._seams.clock.now())
                self._changed.set()
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._break_off(error)

    async def _write(self, way: FrameWay) -> None:
        while True:
            turn = self._link.poll(self._seams.clock.now())
            for event in turn.events:
                self._tell(event)
            try:
                for frame in turn.frames:
                    await way.send(frame)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                self._break_off(error)
            if self._link.error is not None and self._link.next_at() == math.inf:
                return
            with trio.move_on_at(self._link.next_at()):
                await self._changed.wait()
            self._changed = trio.Event()

    def _break_off(self, error: Exception) -> None:
        lost = LinkLost(f"the way to {self._link.peer} broke: {error!r}")
        lost.__cause__ = error
        self._link.break_off(lost)
        self._changed.set()

    def end(self) -> None:
        """Close, and tell the owner what that leaves; for a block that ends without time to say more."""
        self._link.close("its block has ended")
        for event in self._link.poll(self._seams.clock.now()).events:
            self._tell(event)

    def _tell(self, event: LinkEvent) -> None:
        self._asks.hear(event)
        match event:
            case Delivered():
                self._deliver(event)
            case GivenBack():
                self._border.give_back(event)
            case _:
                self._border.hear(event)
        if isinstance(event, Acked | GivenBack | Closed):
            self._room.set()
            self._room = trio.Event()

    def _deliver(self, delivered: Delivered) -> None:
        parcel = delivered.parcel
        if parcel.purpose not in _ANSWERS:
            self._border.deliver(parcel, delivered, _Receipt(self, delivered))
            return
        if not self._asks.answer(parcel):
            self._border.unanswered(parcel)
        self.committed(delivered)


@asynccontextmanager
async def open_link(
    way: FrameWay,
    border: Border,
    *,
    name: str,
    peer: str,
    seams: Seams,
    options: LinkOptions = _DEFAULT_OPTIONS,
    keys: Keys | None = None,
    marks: Mapping[str, int] | None = None,
    drain: float = 1.0,
) -> AsyncGenerator[LinkPort]:
    """One end of a link, at work for as long as the block runs. It has an incarnation of its own.

    A link that ends by itself (`LinkLost`, `PeerClosed`, `LinkGap`) does not
    end the block: the border hears `Closed`, and everything that is sent or
    asked from then on raises. A block that ends without an error waits for acks
    before it closes; one that raises or is cancelled says nothing more to the
    peer, who learns it as of a process that died. However it ends, what was not acknowledged has been given
    back when `open_link` returns, and nothing of it goes on.

    Args:
        name, peer, options, keys, marks: as `Link`.
        drain: seconds that the end of the block may wait for acks, and then for
            the last frame to leave.

    Raises:
        ValueError: as `Link`.
        Exception: what the block raises, unchanged; and what the border raises, which it
            must not, in a group.
    """
    link = Link(
        name=name,
        peer=peer,
        incarnation=seams.ids.new(),
        chance=seams.random,
        options=options,
        keys=keys,
        marks=marks,
    )
    port = LinkPort(link, border, seams)
    try:
        async with open_background(lambda: port.run(way)):
            yield port
            with trio.move_on_after(drain):
                await port.wait_settled()
            port.close()
            with trio.move_on_after(drain):
                await port.wait_ended()
    finally:
        port.end()
