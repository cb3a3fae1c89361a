"""A simulated pair of ends that checks, at every step, what a link promises."""

from __future__ import annotations

import math
from typing import Final, Literal

import attrs

from boyd.runtime.link import (
    Acked,
    Address,
    Delivered,
    GivenBack,
    Key,
    Keys,
    LinkEvent,
    LinkFull,
    LinkOptions,
    Outcome,
    Parcel,
    Restarted,
)
from boyd.runtime.link.auth import open_sealed, seal
from boyd.runtime.link.frames import Data, Frame, Route, Void, decode_frame, encode_frame
from boyd.runtime.link.life import Life
from boyd.runtime.link.parcel import encode_header
from boyd.runtime.testing import NetworkFaults, SimulatedEnd, SimulatedLinks

__all__ = ["FORGERIES", "OPTIONS", "CheckedLinks", "Forgery", "Sent", "parcel"]

OPTIONS: Final = LinkOptions(
    window=6,
    window_size=1 << 20,
    handed=3,
    handed_size=1 << 20,
    early=3,
    early_size=1 << 20,
    resend=0.5,
    resend_most=5.0,
    silence=math.inf,
)
KEYS: Final = Keys(sign=Key(id="k2", secret=b"2" * 32), accept=(Key(id="k1", secret=b"1" * 32),))
STRANGER: Final = Keys(sign=Key(id="k2", secret=b"3" * 32))
FORGED: Final = b"forged"

Forgery = Literal["flipped", "other key", "bare", "noise", "mirrored", "other peer"]
FORGERIES: Final[tuple[Forgery, ...]] = (
    "flipped",
    "other key",
    "bare",
    "noise",
    "mirrored",
    "other peer",
)


def parcel(body: bytes = b"", *, to: str = "right", deadline: float = math.inf) -> Parcel:
    """One to send."""
    return Parcel(kind="t.kind", body=body, to=Address(to, "/a", 1), deadline=deadline)


@attrs.define(eq=False)
class Sent:
    """One parcel that an end accepted, and all that became of it.

    Attributes:
        outcome: acked, or why it was given back, or died: with its sender.
        handled: by which incarnations of the peer.
        safe: no later incarnation of the peer may handle it: it was committed for good, or
            that incarnation cannot know whether it was handled before.
    """

    parcel: Parcel
    outcome: Outcome | Literal["acked", "died"] | None = None
    tries: int = 0
    handled: list[str] = attrs.field(factory=list[str])
    committed: bool = False
    safe: bool = False


class CheckedLinks(SimulatedLinks):
    """Raises AssertionError where a promise is broken."""

    def __init__(self, seed: int = 0, *, options: LinkOptions = OPTIONS) -> None:
        self.known: dict[tuple[str, int], Sent] = {}
        self.last: dict[tuple[str, str], int] = {}
        self.frames = 0
        self._bodies = 0
        super().__init__(seed, options=options, keys=KEYS)
        self.options = options

    # ------------------------------------------------------------------ what is done
    def post(self, end: SimulatedEnd, *, left: float = math.inf, size: int = 0) -> bool:
        """Send a parcel unlike all others; False where there was no room."""
        self._bodies += 1
        body = f"{self._bodies} of {end.name}".encode().ljust(size, b".")
        sent = parcel(body, to=end.peer, deadline=self.now + left)
        before = end.link.statistics()
        whole = size + len(encode_header(sent))
        try:
            seq = self.send(end, sent)
        except LinkFull:
            options = self.options
            full = before.waiting == options.window
            assert full or before.waiting_size + whole > options.window_size, "it had room"
            return False
        assert (end.link.incarnation, seq) not in self.known, "a number was used again"
        self.known[end.link.incarnation, seq] = Sent(sent)
        return True

    def commit_all(self, end: SimulatedEnd) -> None:
        """Whatever waits for it."""
        while end.uncommitted:
            self.commit(end, 0)

    def commit(self, end: SimulatedEnd, at: int) -> None:
        """One of what waits for it."""
        self.known_of(end.uncommitted[at]).committed = True
        end.commit(at)

    def die(self, end: SimulatedEnd, *, durable: bool) -> None:
        """Restart an end, with or without the memory of what it has committed."""
        old = end.link.incarnation
        peers = [f"{end.peer}-{life}" for life in range(1, self.other(end).life + 1)]
        marks = {name: mark for name in peers if (mark := end.link.mark_of(name)) is not None}
        for (incarnation, seq), sent in self.known.items():
            if incarnation == old and sent.outcome is None:
                sent.outcome = "died"
            # An end that remembers nothing knows none of these numbers, and must not be sent them.
            if incarnation in peers and (seq <= marks.get(incarnation, 0) or not durable):
                sent.safe = bool(sent.tries)
        self.restart(end, marks if durable else None)

    def forge(self, end: SimulatedEnd, how: Forgery, at: int) -> None:
        """Send an end something that its peer has not sent."""
        old = (
            self.network.recorded[at % len(self.network.recorded)]
            if self.network.recorded
            else None
        )
        frame = old.frame if old else b"\x93"
        peer = self.other(end).link
        life = end.link.session or Life(peer.incarnation, 1)
        route = Route(
            sender=end.peer, life=life, recipient=end.name, to=Life(end.link.incarnation, 1)
        )
        if how == "other peer":
            route = attrs.evolve(route, sender="third")
        header = encode_header(parcel(to=end.name))
        data = Data(route=route, seq=at + 1, left=math.inf, header=header, body=FORGED)
        match how:
            case "flipped":
                place = at % len(frame)
                frame = frame[:place] + bytes([frame[place] ^ 1 << at % 8]) + frame[place + 1 :]
            case "other key":
                frame = seal(encode_frame(data), STRANGER)
            case "bare":
                frame = encode_frame(data)
            case "noise":
                frame = frame[at % len(frame) :]
            case "other peer":
                frame = seal(encode_frame(data), KEYS)
            case "mirrored":
                end = self.left if old and old.source == "left" else self.right
        if how == "noise" and at % len(frame or b"-") == 0:
            frame = b"\xc1" + frame
        refused = end.link.statistics().refused
        end.link.receive(frame, self.now)
        assert end.link.statistics().refused == refused + 1, f"a frame {how} was not refused"

    # ------------------------------------------------------------------ what is checked
    def known_of(self, delivered: Delivered) -> Sent:
        """What was delivered, as it was sent."""
        return self.known[delivered.incarnation, delivered.seq]

    def hear(self, end: SimulatedEnd, event: LinkEvent) -> None:
        """Check what an end is told."""
        match event:
            case Delivered():
                self._check_delivered(end, event)
            case Acked():
                self._check_acked(end, event)
            case GivenBack():
                sent = self.known[end.link.incarnation, event.seq]
                assert sent.outcome is None, "a parcel had two outcomes"
                assert event.parcel == sent.parcel
                assert event.tries == sent.tries
                sent.outcome = event.outcome
                if event.outcome is Outcome.LATE:
                    assert sent.parcel.deadline <= self.now
                if event.outcome is Outcome.UNSENT:
                    assert not sent.tries
            case Restarted():
                lives = [
                    int(life.incarnation.rpartition("-")[2]) for life in (event.before, event.peer)
                ]
                assert lives[0] < lives[1], "a session began with a life that was over"
            case _:
                pass

    def _check_delivered(self, end: SimulatedEnd, delivered: Delivered) -> None:
        found, seq = delivered.parcel, delivered.seq
        assert (delivered.incarnation, seq) in self.known, "something forged was handled"
        sent = self.known_of(delivered)
        same = attrs.evolve(found, deadline=sent.parcel.deadline) == sent.parcel
        assert same, "something else was handled"
        if sent.parcel.deadline == math.inf:
            assert found.deadline == math.inf
        else:
            assert found.deadline >= sent.parcel.deadline - 1e-6
        key = (end.link.incarnation, delivered.incarnation)
        assert self.last.get(key, 0) < seq, "out of order, or handled again"
        self.last[key] = seq
        assert not sent.safe, "what must not be was handled again"
        sent.handled.append(end.link.incarnation)
        assert sent.tries, "it was handled and never sent"
        if end.commits:
            sent.committed = True

    def _check_acked(self, end: SimulatedEnd, acked: Acked) -> None:
        for seq in range(acked.through, 0, -1):
            sent = self.known[end.link.incarnation, seq]
            if sent.outcome == "acked":
                break
            if sent.outcome is None:
                assert sent.committed, "an ack came before the commit"
                sent.outcome = "acked"

    def sent(self, end: SimulatedEnd, frame: bytes) -> None:
        """Check what an end puts on the way."""
        self.frames += 1
        found: Frame = decode_frame(open_sealed(frame, KEYS))
        if not isinstance(found, Data | Void):
            return
        sent = self.known[end.link.incarnation, found.seq]
        if isinstance(found, Data):
            assert sent.parcel.deadline > self.now, "it was late, and sent"
            assert sent.outcome is None, "it was given back or acked, and sent"
            left = sent.parcel.deadline - self.now
            assert found.left == left or math.isclose(found.left, left)
            sent.tries += 1

    def check_bounds(self) -> None:
        """No buffer is over its limit."""
        options = self.options
        for end in self.ends:
            now = end.link.statistics()
            assert now.waiting <= options.window
            assert now.waiting_size <= options.window_size
            assert now.handed <= options.handed
            assert now.handed_size <= options.handed_size
            assert now.early <= options.early
            assert now.early_size <= options.early_size
            assert end.link.error is None, "a link ended by itself"

    def check_rest(self) -> None:
        """Once all is well for a while everything is acknowledged, each parcel had one outcome, and all is quiet."""
        for end in self.ends:
            self.commit_all(end)
            end.commits = True
        self.flush()  # what is said of these commits may still be lost
        self.network.heal()
        self.network.faults = NetworkFaults()
        self.run(600)
        for end in self.ends:
            assert end.link.sure, "no session"
            assert end.link.settled, "something is not acknowledged"
            assert end.link.session is not None
            assert end.link.session.incarnation == self.other(end).link.incarnation
            now = end.link.statistics()
            assert (now.early, now.early_size, now.handed, now.handed_size) == (0, 0, 0, 0)
        for sent in self.known.values():
            assert sent.outcome is not None, "a parcel had no outcome"
            if sent.outcome == "acked":
                assert sent.handled, "it was acknowledged and not handled"
        frames = self.frames
        self.run(600)
        assert self.frames == frames, "two ends that have nothing to say talk"
