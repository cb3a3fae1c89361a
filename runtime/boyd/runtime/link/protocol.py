"""One end of a link: a machine without I/O, clock or tasks, which drivers share.

A driver calls `send`, `receive`, `committed` and `close` when those things
happen, and after each, and at `next_at()`, `poll`: it returns the frames to
put on the way and the events to tell the owner. Frames may be lost, doubled,
reordered and delayed at will.

What is promised: `Delivered` has ascending numbers for each incarnation of the
peer, and each number once (P1, P3). A parcel is acknowledged after the owner
has committed it. Each parcel that `send` accepted ends in exactly one of
`Acked` and `GivenBack`. All buffers are bounded (`LinkOptions`). Whatever bytes
come, the only outcomes are events.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Final

import attrs

from boyd.runtime.errors import EncodeError, WireError
from boyd.runtime.link import events
from boyd.runtime.link.auth import Keys
from boyd.runtime.link.counts import LinkStatistics
from boyd.runtime.link.errors import (
    FrameForged,
    LinkClosed,
    LinkError,
    LinkFull,
    LinkGap,
    LinkLost,
    PeerClosed,
)
from boyd.runtime.link.frames import (
    Ack,
    Close,
    Data,
    Frame,
    Hello,
    Phase,
    Route,
    Void,
    check_name,
)
from boyd.runtime.link.gate import Gate
from boyd.runtime.link.handshake import Handshake, Verdict
from boyd.runtime.link.intake import Intake
from boyd.runtime.link.life import Life
from boyd.runtime.link.options import MOST_PARCEL, LinkOptions, resend_delay
from boyd.runtime.link.outbox import Outbox, Outgoing
from boyd.runtime.link.parcel import Parcel, decode_header, encode_header

__all__ = ["Link", "Turn"]

_DEFAULT_OPTIONS: Final = LinkOptions()


@attrs.frozen
class Turn:
    """What `poll` found to do.

    Attributes:
        frames: bytes for the peer, in order.
        events: for the owner, in order.
    """

    frames: tuple[bytes, ...]
    events: tuple[events.LinkEvent, ...]


class Link:
    """One end of a link between two systems.

    Args:
        name, peer: the names of this system and of the other, as both know them.
        incarnation: of this end; never used before by this name (`Seams.ids`).
        chance: where the jitter of the back-off comes from (`Seams.random`).
        keys: of this peer. Without them every frame is believed, which is for
            ends within one process and for ways that nobody else can write to.
        marks: how far the incarnations of the peer were committed by an earlier
            incarnation of this end, from a store that committed them together
            with the effects. Only with it is a parcel, that was committed just
            before a restart of this end, not handled again (P3).

    Raises:
        ValueError: a name or an option cannot be used.
    """

    def __init__(
        self,
        *,
        name: str,
        peer: str,
        incarnation: str,
        chance: random.Random,
        options: LinkOptions = _DEFAULT_OPTIONS,
        keys: Keys | None = None,
        marks: Mapping[str, int] | None = None,
    ) -> None:
        self.name = check_name("the name of a system", name)
        self.peer = check_name("the name of a peer", peer)
        self.incarnation = check_name("an incarnation", incarnation)
        self.error: LinkError | None = None
        """Why it has ended, once it has."""
        self._options = options
        self._chance = chance
        self._gate = Gate(name, peer, keys)
        self._hands = Handshake(incarnation)
        self._outbox = Outbox(options, chance)
        self._intake = Intake(options, marks or {}, peer=peer)
        self._counts = LinkStatistics()
        self._events: list[events.LinkEvent] = []
        self._ack_due = False
        self._offer_due = False
        self._hello_due: Phase | None = None
        self._hello_at = -math.inf
        self._hello_step = 0
        self._heard = 0.0
        self._last_words: Close | None = None

    # ------------------------------------------------------------------ what the owner sees
    @property
    def session(self) -> Life | None:
        """The peer's life that this end speaks with, or None before the first."""
        return self._hands.peer

    @property
    def settled(self) -> bool:
        """Nothing that was sent waits for an ack."""
        return not len(self._outbox)

    @property
    def sure(self) -> bool:
        """Both ends are in the session, and this one knows it."""
        return self._hands.sure

    def mark_of(self, incarnation: str) -> int | None:
        """All up to which number of an incarnation of the peer is committed: what `marks` is made of."""
        return self._intake.mark_of(incarnation)

    def statistics(self) -> LinkStatistics:
        """A copy of the counts, now."""
        return attrs.evolve(
            self._counts,
            waiting=len(self._outbox),
            waiting_size=self._outbox.size,
            handed=self._intake.handed,
            handed_size=self._intake.handed_size,
            early=self._intake.early,
            early_size=self._intake.early_size,
        )

    # ------------------------------------------------------------------ what happens to it
    def send(self, parcel: Parcel) -> int:
        """Accept a parcel for sending, in order behind those before, and return its number.

        Raises:
            LinkFull: the send window has no room.
            LinkClosed: the link has ended.
            EncodeError: it is larger than `MOST_PARCEL`, or its header has no wire form.
        """
        self._check_open()
        header = encode_header(parcel)
        size = len(header) + len(parcel.body)
        if size > MOST_PARCEL:
            raise EncodeError(
                f"{parcel.kind}: {size} bytes with its header, {MOST_PARCEL} may cross a link"
            )
        if not self._outbox.has_room(size):
            raise self.full()
        return self._outbox.put(parcel, header)

    def full(self) -> LinkFull:
        """The error of a window without room."""
        return LinkFull(peer=self.peer, messages=len(self._outbox), size=self._outbox.size)

    def _check_open(self) -> None:
        if self.error is not None:
            raise LinkClosed(f"the link to {self.peer} has ended: {self.error}") from self.error

    def committed(self, incarnation: str, seq: int) -> None:
        """The owner has committed what was `Delivered` under these: now the peer may forget it. Idempotent.

        Raises:
            ValueError: nothing was delivered under these.
        """
        self._intake.commit(incarnation, seq)
        self._ack_due = True
        if self.error is None:
            self._deliver()

    def receive(self, frame: bytes, now: float) -> None:
        """Take bytes that came. Those that are no frame for this end become a `Refused`."""
        if self.error is not None:
            return
        try:
            self._take(self._gate.into(frame), now)
        except FrameForged as error:
            self._counts.forged += 1
            self._refuse(error)
        except WireError as error:
            self._refuse(error)
        except LinkGap as error:
            self._end(error)

    def close(self, reason: str = "") -> None:
        """End it: everything that is not acknowledged is given back. Idempotent."""
        if self.error is None:
            self._end(LinkClosed(reason or "this end closed it"))

    def break_off(self, error: LinkError) -> None:
        """End it because the way to the peer is no more. Idempotent."""
        if self.error is None:
            self._end(error)

    # ------------------------------------------------------------------ time
    def next_at(self) -> float:
        """When `poll` has something to do, if nothing happens before."""
        if self._events or self._last_words is not None:
            return -math.inf
        if self.error is not None:
            return math.inf
        ack_due = self._ack_due and self._intake.flow is not None
        if ack_due or self._offer_due or self._hello_due is not None:
            return -math.inf
        outbox = self._outbox.next_at(sending=self._hands.peer is not None)
        return min(outbox, self._hello_at, self._lost_at())

    def _lost_at(self) -> float:
        return math.inf if self._hands.peer is None else self._heard + self._options.silence

    def poll(self, now: float) -> Turn:
        """Do what is due."""
        if self.error is None and now >= self._lost_at():
            self._end(LinkLost(f"nothing was heard of {self.peer} for {self._options.silence:g} s"))
        if self.error is None:
            for late in self._outbox.expire(now):
                self._counts.late += 1
                self._give_back(late)
        frames = [*self._due(now)] if self.error is None else []
        if self._last_words is not None:
            # What is committed is said before, or the peer would call it unknown.
            frames += self._ack_if_due()
            frames.append(self._last_words)
            self._last_words = None
        told, self._events = self._events, []
        return Turn(tuple(map(self._gate.out, frames)), tuple(told))

    def _due(self, now: float) -> list[Frame]:
        """The frames that are to be sent now."""
        items: list[Outgoing] = []
        if self._hands.peer is not None:
            items, probe = self._outbox.take(now)
            if probe:
                self._hello_due = Phase.OPEN
        self._hello_by_time(now)
        frames: list[Frame] = []
        if self._offer_due:
            self._offer_due = False
            frames.append(self._hello(self._offer_route(), Phase.KNOCK))
        if self._hello_due is not None:
            phase, self._hello_due = self._hello_due, None
            frames.append(self._hello(self._route(), phase))
        frames += self._ack_if_due()
        return frames + [self._frame_of(one, now) for one in items]

    def _ack_if_due(self) -> list[Ack]:
        flow = self._intake.flow
        if not self._ack_due or flow is None:
            return []
        self._ack_due = False
        return [Ack(route=self._route(), mark=flow.mark, ranges=self._intake.ranges())]

    def _hello_by_time(self, now: float) -> None:
        """Knock until there is a session and the peer is in it too; then ask whether it is there, at times."""
        if now < self._hello_at:
            return
        hands = self._hands
        if hands.sure:
            quiet = self._options.silence / 3
            if now >= self._heard + quiet:
                self._hello_due = Phase.OPEN
                self._hello_at = now + quiet
            else:
                self._hello_at = self._heard + quiet
            return
        self._hello_due = Phase.KNOCK if hands.peer is None else Phase.OPEN
        jitter = self._chance.random()
        self._hello_at = now + resend_delay(self._hello_step, options=self._options, jitter=jitter)
        self._hello_step += 1

    # ------------------------------------------------------------------ frames out
    def _route(self) -> Route:
        hands = self._hands
        life = hands.offered if hands.peer is None else hands.me
        return Route(sender=self.name, life=life, recipient=self.peer, to=hands.peer)

    def _offer_route(self) -> Route:
        hands = self._hands
        return Route(sender=self.name, life=hands.offered, recipient=self.peer, to=hands.offered_to)

    def _hello(self, route: Route, phase: Phase) -> Hello:
        mark = None if route.to is None else self._intake.mark_of(route.to.incarnation)
        return Hello(route=route, phase=phase, first=self._outbox.first, mark=mark)

    def _frame_of(self, one: Outgoing, now: float) -> Data | Void:
        if one.tries > 1:
            self._counts.resent += 1
        else:
            self._counts.sent += 1
        route, parcel = self._route(), one.parcel
        if parcel is None:
            return Void(route=route, seq=one.seq)
        left = parcel.deadline - now
        return Data(route=route, seq=one.seq, left=left, header=one.header, body=parcel.body)

    # ------------------------------------------------------------------ frames in
    def _refuse(self, error: WireError) -> None:
        self._counts.refused += 1
        self._events.append(events.Refused(error=error))

    def _take(self, frame: Frame, now: float) -> None:
        route, hands = frame.route, self._hands
        match hands.judge(route.life, route.to, hello=isinstance(frame, Hello)):
            case Verdict.STALE:
                self._counts.stale += 1
            case Verdict.KNOCKS:
                hands.offer(route.life)
                self._offer_due = True
            case Verdict.RENEWS:
                assert isinstance(frame, Hello), "nothing else renews"
                self._renew(frame, now)
                self._take_current(frame, now)
            case Verdict.CURRENT:
                self._take_current(frame, now)

    def _renew(self, hello: Hello, now: float) -> None:
        if hello.mark is not None:
            self._outbox.check_mark(hello.mark)
        life = hello.route.life
        before = self._hands.adopt(life)
        self._hello_step, self._hello_at = 0, -math.inf
        self._ack_due, self._hello_due = False, None
        self._intake.renew(life.incarnation)
        if before is None:
            self._events.append(events.Opened(peer=life))
        elif before.incarnation != life.incarnation:
            self._counts.restarts += 1
            self._events.append(events.Restarted(before=before, peer=life))
        for given in self._outbox.renew(hello.mark, now):
            self._give_back(given)

    def _take_current(self, frame: Frame, now: float) -> None:
        self._heard = now
        match frame:
            case Hello():
                self._take_hello(frame)
            case Ack():
                self._acknowledge(frame.mark, frame.ranges)
            case Data():
                parcel = decode_header(frame.header, frame.body, now + frame.left)
                self._take_number(frame.seq, parcel, len(frame.header) + len(frame.body))
            case Void():
                self._take_number(frame.seq, None, 0)
            case Close():
                self._end(PeerClosed(f"{self.peer} closed the link: {frame.reason}"))

    def _take_hello(self, hello: Hello) -> None:
        if hello.mark is not None:
            self._acknowledge(hello.mark, ())
        hands = self._hands
        if hello.phase >= Phase.OPEN and not hands.sure:
            hands.sure = True
            self._hello_at = -math.inf
            self._intake.begin(hello.first)
        if hello.phase < Phase.SURE:
            self._hello_due = Phase.SURE if hands.sure else Phase.OPEN

    def _acknowledge(self, mark: int, ranges: tuple[tuple[int, int], ...]) -> None:
        self._outbox.check_mark(ranges[-1][1] if ranges else mark)
        if self._outbox.commit(mark):
            self._events.append(events.Acked(through=mark))
        self._outbox.hold(ranges)

    def _take_number(self, seq: int, parcel: Parcel | None, size: int) -> None:
        if self._intake.flow is None:  # the hello before it was lost, or comes later
            self._counts.no_room += 1
            self._hello_due = Phase.OPEN
            return
        self._ack_due = True
        if self._intake.has(seq):
            self._counts.repeated += 1
        elif self._intake.accept(seq, parcel, size):
            self._deliver()
        else:
            self._counts.no_room += 1

    def _deliver(self) -> None:
        peer = self._hands.peer
        for seq, parcel in self._intake.deliver():
            assert peer is not None, "parcels come within a session"
            self._counts.delivered += 1
            self._events.append(
                events.Delivered(incarnation=peer.incarnation, seq=seq, parcel=parcel)
            )

    # ------------------------------------------------------------------ ends
    def _give_back(self, given: events.GivenBack) -> None:
        self._counts.given_back += 1
        self._events.append(given)

    def _end(self, error: LinkError) -> None:
        if self._hands.peer is not None and not isinstance(error, PeerClosed):
            self._last_words = Close(route=self._route(), reason=str(error))
        self.error = error
        for given in self._outbox.give_back():
            self._give_back(given)
        self._events.append(events.Closed(error=error))
