"""The sending half of a link: numbers, the window, acks, and sending again.

Numbers count from 1 through the whole life of this end, whatever becomes of
the peer, so that (incarnation, number) names a parcel for ever. What has been
sent is always a run of numbers without a hole, from `first` on.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Iterable, Iterator

import attrs

from boyd.runtime.errors import WireError
from boyd.runtime.link.events import GivenBack, Outcome
from boyd.runtime.link.options import LinkOptions, resend_delay
from boyd.runtime.link.parcel import Parcel

__all__ = ["Outbox", "Outgoing"]


@attrs.define(eq=False)
class Outgoing:
    """A parcel in the window.

    Attributes:
        parcel: None once it is late: then its number alone is still to be sent.
        tries: how often it was sent; `step` of those without an answer in this session.
        due: when it is to be sent again.
        held: the peer has it, and has not committed it.
    """

    seq: int
    parcel: Parcel | None
    header: bytes
    size: int
    tries: int = 0
    step: int = 0
    due: float = math.inf
    held: bool = False


class Outbox:
    """What was accepted for sending and is not known to be committed by the peer.

    Attributes:
        first: the lowest number that may still be sent.
        size: bytes in the window.
    """

    def __init__(self, options: LinkOptions, chance: random.Random) -> None:
        self.first = 1
        self.size = 0
        self._options = options
        self._chance = chance
        self._next = 1
        self._window: dict[int, Outgoing] = {}
        self._unsent: deque[int] = deque()
        self._resends: list[tuple[float, int]] = []
        self._deadlines: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._window)

    def has_room(self, size: int) -> bool:
        """Whether a parcel of so many bytes of header and body is accepted now."""
        options = self._options
        return len(self._window) < options.window and self.size + size <= options.window_size

    def put(self, parcel: Parcel, header: bytes) -> int:
        """Take a parcel for which there is room, and return its number."""
        seq = self._next
        self._next += 1
        size = len(header) + len(parcel.body)
        self._window[seq] = Outgoing(seq, parcel, header, size)
        self.size += size
        self._unsent.append(seq)
        self._watch(seq, parcel)
        return seq

    def _watch(self, seq: int, parcel: Parcel | None) -> None:
        if parcel is None or parcel.deadline == math.inf:
            return
        if len(self._deadlines) > self._most_times():
            self._deadlines = [
                (one.parcel.deadline, one.seq) for one in self._window.values() if one.parcel
            ]
            heapq.heapify(self._deadlines)
        else:
            heapq.heappush(self._deadlines, (parcel.deadline, seq))

    def _most_times(self) -> int:
        """A heap keeps times of what has long been committed; beyond this it is made anew."""
        return 2 * len(self._window) + 64

    # ------------------------------------------------------------------ time
    def next_at(self, *, sending: bool) -> float:
        """When `expire` or, within a session, `take` has something to do."""
        deadline = self._deadlines[0][0] if self._deadlines else math.inf
        if not sending:
            return deadline
        if self._unsent:
            return -math.inf
        return min(deadline, self._resends[0][0] if self._resends else math.inf)

    def expire(self, now: float) -> Iterator[GivenBack]:
        """Give back whose deadline has passed. Its number is still sent: the peer must not wait for it."""
        while self._deadlines and self._deadlines[0][0] <= now:
            _, seq = heapq.heappop(self._deadlines)
            one = self._window.get(seq)
            # What the peer holds is not sent again anyway; whether it is late is seen there.
            if one is None or one.parcel is None or one.held:
                continue
            parcel = one.parcel
            one.parcel, one.header = None, b""
            self.size -= one.size
            one.size = 0
            if one.tries:
                self._schedule(one, now)
            yield GivenBack(seq=seq, parcel=parcel, outcome=Outcome.LATE, tries=one.tries)

    def take(self, now: float) -> tuple[list[Outgoing], bool]:
        """What is to be sent now, new things in order; and whether to ask the peer what it has committed."""
        found: list[Outgoing] = []
        probe = False
        while self._resends and self._resends[0][0] <= now:
            due, seq = heapq.heappop(self._resends)
            one = self._window.get(seq)
            if one is None or one.due != due:
                continue
            if one.held:
                probe = True
            else:
                one.tries += 1
                found.append(one)
            self._back_off(one, now)
        while self._unsent:
            one = self._window[self._unsent.popleft()]
            one.tries = 1
            found.append(one)
            self._back_off(one, now)
        return found, probe

    def _back_off(self, one: Outgoing, now: float) -> None:
        delay = resend_delay(one.step, options=self._options, jitter=self._chance.random())
        one.step += 1
        self._schedule(one, now + delay)

    def _schedule(self, one: Outgoing, due: float) -> None:
        one.due = due
        if len(self._resends) > self._most_times():
            self._resends = [(one.due, one.seq) for one in self._window.values() if one.tries]
            heapq.heapify(self._resends)
        else:
            heapq.heappush(self._resends, (due, one.seq))

    # ------------------------------------------------------------------ what the peer says
    def check_mark(self, mark: int) -> None:
        """Raises WireError: nothing of this number was sent yet."""
        if mark >= self._next - len(self._unsent):
            raise WireError(f"number {mark} is acknowledged, and was not sent")

    def commit(self, mark: int) -> bool:
        """All up to `mark` is committed by the peer. Returns whether that was news."""
        news = mark >= self.first
        while self.first <= mark:
            self._forget(self.first)
            self.first += 1
        return news

    def hold(self, ranges: Iterable[tuple[int, int]]) -> None:
        """The peer holds these, beyond what it has committed. They have been checked."""
        for low, high in ranges:
            for seq in range(max(low, self.first), high + 1):
                self._window[seq].held = True

    def _forget(self, seq: int) -> Outgoing:
        one = self._window.pop(seq)
        self.size -= one.size
        return one

    # ------------------------------------------------------------------ sessions
    def renew(self, mark: int | None, now: float) -> list[GivenBack]:
        """A session begins with a peer that has committed all up to `mark` of this incarnation.

        A peer that does not know this incarnation (None) could not tell a
        repetition from the first try: what has left before is given back.
        Otherwise it is sent again, under its number.
        """
        if mark is None:
            return self._give_back(self._next - len(self._unsent))
        self.commit(mark)
        for one in self._window.values():
            if one.tries:
                one.held, one.step = False, 0
                self._schedule(one, now)
                self._watch(one.seq, one.parcel)
        return []

    def give_back(self) -> list[GivenBack]:
        """Everything."""
        found = self._give_back(self._next)
        self._unsent.clear()
        return found

    def _give_back(self, end: int) -> list[GivenBack]:
        """All below the number `end`, but what was given back as late."""
        found: list[GivenBack] = []
        while self.first < end:
            one = self._forget(self.first)
            self.first += 1
            if one.parcel is not None:
                outcome = Outcome.UNKNOWN if one.tries else Outcome.UNSENT
                found.append(
                    GivenBack(seq=one.seq, parcel=one.parcel, outcome=outcome, tries=one.tries)
                )
        return found
