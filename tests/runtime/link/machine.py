"""Everything that can happen to a link, in any order."""

from __future__ import annotations

import math
from typing import Final

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from boyd.runtime.testing import Flight, NetworkFaults, SimulatedEnd
from tests.runtime.link.world import FORGERIES, CheckedLinks, Forgery

__all__ = ["LinkMachine"]

SIDES: Final = st.sampled_from([0, 1])
PLACES: Final = st.integers(0, 400)
LEFT: Final = st.sampled_from([math.inf, math.inf, 0.0, 0.3, 2.0, 30.0])
SIZES: Final = st.sampled_from([0, 0, 0, 0, 400_000])


class LinkMachine(RuleBasedStateMachine):
    """P1 and P3 after every step; all acknowledged at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.world = CheckedLinks()

    def end(self, side: int) -> SimulatedEnd:
        """Left or right."""
        return self.world.ends[side]

    def flight(self, at: int) -> Flight:
        """Some frame that is on the way."""
        flights = self.world.network.flights
        return flights[at % len(flights)]

    def has_flights(self) -> bool:
        """Something is on the way."""
        return bool(self.world.network.flights)

    @initialize(
        met=st.booleans(),
        seed=st.integers(0, 1 << 16),
        commits=st.tuples(st.booleans(), st.booleans()),
    )
    def begin(self, met: bool, seed: int, commits: tuple[bool, bool]) -> None:
        """Either the two have met before, or not."""
        self.world = CheckedLinks(seed)
        for end, commit in zip(self.world.ends, commits, strict=True):
            end.commits = commit
        if met:
            self.world.run(1)

    @rule(side=SIDES, left=LEFT, size=SIZES, count=st.integers(1, 3))
    def send(self, side: int, left: float, size: int, count: int) -> None:
        """A few parcels; they leave."""
        for _ in range(count):
            self.world.post(self.end(side), left=left, size=size)
        self.world.flush()

    @rule(side=SIDES, left=LEFT)
    def accept(self, side: int, left: float) -> None:
        """One that does not leave yet."""
        self.world.post(self.end(side), left=left)

    @rule(seconds=st.sampled_from([0.0, 0.0015, 0.0015, 0.3, 1.0, 20.0]))
    def deliver(self, seconds: float) -> None:
        """Time passes."""
        self.world.run(seconds)

    @rule(seconds=st.sampled_from([0.01, 10.0]))
    def heal(self, seconds: float) -> None:
        """Everything gets through again, for a while."""
        self.world.network.heal()
        self.world.network.faults = NetworkFaults()
        self.world.run(seconds)

    @rule(
        drop=st.sampled_from([0.0, 0.3]),
        duplicate=st.sampled_from([0.0, 0.5]),
        slowest=st.sampled_from([0.001, 3.0]),
    )
    def change_the_weather(self, drop: float, duplicate: float, slowest: float) -> None:
        """What happens to frames by themselves: they are lost, doubled, and overtake each other."""
        self.world.network.faults = NetworkFaults(drop=drop, duplicate=duplicate, slowest=slowest)

    @precondition(has_flights)
    @rule(
        how=st.sampled_from(["drop", "duplicate", "delay"]),
        at=PLACES,
        seconds=st.sampled_from([0.0005, 0.5, 10.0, 100.0]),
    )
    def drop_duplicate_or_delay(self, how: str, at: int, seconds: float) -> None:
        """One frame is lost, comes twice, or is overtaken."""
        network, flight = self.world.network, self.flight(at)
        if how == "drop":
            network.drop(flight)
        elif how == "duplicate":
            network.duplicate(flight, self.world.now)
        else:
            network.delay(flight, seconds)

    @rule(at=PLACES)
    def replay(self, at: int) -> None:
        """An old one comes again."""
        recorded = self.world.network.recorded
        if recorded:
            self.world.network.replay(recorded[at % len(recorded)], self.world.now)

    @rule(side=SIDES, both_ways=st.booleans())
    def partition(self, side: int, both_ways: bool) -> None:
        """Nothing gets through, one way or both."""
        end = self.end(side)
        self.world.network.partition(end.name, end.peer, both_ways=both_ways)

    @rule(side=SIDES, durable=st.booleans())
    def restart(self, side: int, durable: bool) -> None:
        """One end is another incarnation."""
        self.world.die(self.end(side), durable=durable)

    @rule(side=SIDES, how=st.sampled_from(FORGERIES), at=PLACES)
    def forge(self, side: int, how: Forgery, at: int) -> None:
        """A frame that the peer has not sent."""
        self.world.forge(self.end(side), how, at)

    @rule(side=SIDES, at=PLACES)
    def commit(self, side: int, at: int) -> None:
        """A slow owner commits something, in whatever order."""
        end = self.end(side)
        if end.uncommitted:
            self.world.commit(end, at % len(end.uncommitted))

    @invariant()
    def bounded(self) -> None:
        """Whatever happens."""
        self.world.check_bounds()

    def teardown(self) -> None:
        """All is well in the end."""
        self.world.check_rest()
