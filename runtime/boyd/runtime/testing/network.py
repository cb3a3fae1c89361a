"""A network that does all that a network may do, by a seed or by hand. It has no clock: time is passed in."""

from __future__ import annotations

import math
import random
from collections import deque
from typing import Final

import attrs

__all__ = ["Flight", "NetworkFaults", "SimulatedNetwork"]

_RECORDED: Final = 256


@attrs.frozen(kw_only=True)
class NetworkFaults:
    """What happens to each frame by itself.

    Attributes:
        drop, duplicate: how likely it is lost, or comes twice, each from 0 to 1.
        quickest, slowest: seconds on the way, evenly spread; frames overtake each other.
    """

    drop: float = 0.0
    duplicate: float = 0.0
    quickest: float = 0.001
    slowest: float = 0.001


@attrs.frozen(kw_only=True)
class Flight:
    """One frame on its way.

    Attributes:
        due: when it arrives.
        number: of all flights, ascending; it decides between equal times.
    """

    due: float
    number: int
    source: str
    target: str
    frame: bytes = attrs.field(repr=lambda frame: f"<{len(frame)} bytes>")


class SimulatedNetwork:
    """Frames between named places. The same seed and the same calls make the same flights.

    Attributes:
        flights: what is on the way, in the order in which it was sent. A test may choose
            among them for `drop`, `duplicate` and `delay`.
        recorded: what was sent, the last 256, for `replay`.
        faults: may be replaced at any time.
    """

    def __init__(
        self, chance: random.Random, faults: NetworkFaults | None = None, *, most: int = 10_000
    ) -> None:
        self.flights: list[Flight] = []
        self.recorded: deque[Flight] = deque(maxlen=_RECORDED)
        self.faults = faults or NetworkFaults()
        self._chance = chance
        self._most = most
        self._number = 0
        self._cut: set[tuple[str, str]] = set()

    def next_at(self) -> float:
        """When the next frame arrives."""
        return min((flight.due for flight in self.flights), default=math.inf)

    def put(self, source: str, target: str, frame: bytes, now: float) -> None:
        """Send a frame. Across a partition, or beyond `most` on the way, it is lost."""
        faults, chance = self.faults, self._chance
        copies = 1 + (chance.random() < faults.duplicate)
        lost = chance.random() < faults.drop or (source, target) in self._cut
        for _ in range(copies):
            flight = self._flight(source, target, frame, now)
            self.recorded.append(flight)
            if not lost and len(self.flights) < self._most:
                self.flights.append(flight)

    def _flight(self, source: str, target: str, frame: bytes, now: float) -> Flight:
        self._number += 1
        due = now + self._chance.uniform(self.faults.quickest, self.faults.slowest)
        return Flight(due=due, number=self._number, source=source, target=target, frame=frame)

    def take(self, now: float) -> list[Flight]:
        """What has arrived, in the order of arrival."""
        arrived = [flight for flight in self.flights if flight.due <= now]
        self.flights = [flight for flight in self.flights if flight.due > now]
        return sorted(arrived, key=lambda flight: (flight.due, flight.number))

    # ------------------------------------------------------------------ by hand
    def drop(self, flight: Flight) -> None:
        """Lose it."""
        self.flights.remove(flight)

    def duplicate(self, flight: Flight, now: float) -> None:
        """Send it once more."""
        self.replay(flight, now)

    def delay(self, flight: Flight, seconds: float) -> None:
        """Let it arrive later than it would: others overtake it."""
        at = self.flights.index(flight)
        self.flights[at] = attrs.evolve(flight, due=flight.due + seconds)

    def replay(self, flight: Flight, now: float) -> None:
        """Send again what was sent before, however long ago; a partition does not stop who does that."""
        if len(self.flights) < self._most:
            self.flights.append(self._flight(flight.source, flight.target, flight.frame, now))

    def forge(self, source: str, target: str, frame: bytes, now: float) -> None:
        """Bytes that pretend to come from `source`."""
        if len(self.flights) < self._most:
            self.flights.append(self._flight(source, target, frame, now))

    def partition(self, one: str, other: str, *, both_ways: bool = True) -> None:
        """From now on nothing gets from `one` to `other`. What is on the way arrives."""
        self._cut.add((one, other))
        if both_ways:
            self._cut.add((other, one))

    def heal(self) -> None:
        """Everything gets everywhere again."""
        self._cut.clear()
