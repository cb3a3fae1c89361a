"""Two ends of a link over a simulated network, in simulated time."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

from boyd.runtime.link import Delivered, Keys, Link, LinkEvent, LinkOptions, Parcel
from boyd.runtime.testing.network import NetworkFaults, SimulatedNetwork

__all__ = ["SimulatedEnd", "SimulatedLinks"]

_OPTIONS: Final = LinkOptions()
_MOST_FRAMES: Final = 100_000


class SimulatedEnd:
    """One end, and what its owner has seen.

    Attributes:
        life: how often it began, from 1.
        events: of this life, in order.
        uncommitted: what was delivered in this life and is not committed yet.
        commits: commit what is delivered at once.
    """

    def __init__(self, name: str, peer: str) -> None:
        self.name = name
        self.peer = peer
        self.life = 0
        self.events: list[LinkEvent] = []
        self.uncommitted: list[Delivered] = []
        self.commits = True
        self.link: Link

    def delivered(self) -> list[Delivered]:
        """What this life was given."""
        return [event for event in self.events if isinstance(event, Delivered)]

    def commit(self, at: int = 0) -> Delivered:
        """Commit one of `uncommitted`."""
        delivered = self.uncommitted.pop(at)
        self.link.committed(delivered.incarnation, delivered.seq)
        return delivered


class SimulatedLinks:
    """A pair of ends named `left` and `right`.

    Everything follows from the seed and the calls: two runs alike are the same
    to the byte. Subclass it and override `hear` or `sent` to check each step.
    """

    def __init__(
        self,
        seed: int,
        *,
        options: LinkOptions = _OPTIONS,
        keys: Keys | None = None,
        faults: NetworkFaults | None = None,
    ) -> None:
        self.now = 0.0
        self.network = SimulatedNetwork(random.Random(f"{seed} network"), faults)  # noqa: S311
        self._seed = seed
        self._options = options
        self._keys = keys
        self.left = SimulatedEnd("left", "right")
        self.right = SimulatedEnd("right", "left")
        for end in self.ends:
            self.restart(end)

    @property
    def ends(self) -> tuple[SimulatedEnd, SimulatedEnd]:
        """Both."""
        return self.left, self.right

    def other(self, end: SimulatedEnd) -> SimulatedEnd:
        """The peer of an end."""
        return self.right if end is self.left else self.left

    def restart(self, end: SimulatedEnd, marks: Mapping[str, int] | None = None) -> None:
        """A new incarnation that knows nothing but `marks`; the old one says nothing more."""
        end.life += 1
        end.events, end.uncommitted = [], []
        name = f"{end.name}-{end.life}"
        end.link = Link(
            name=end.name,
            peer=end.peer,
            incarnation=name,
            chance=random.Random(f"{self._seed} {name}"),  # noqa: S311
            options=self._options,
            keys=self._keys,
            marks=marks,
        )

    # ------------------------------------------------------------------ to be overridden
    def hear(self, end: SimulatedEnd, event: LinkEvent) -> None:
        """An end was told something."""

    def sent(self, end: SimulatedEnd, frame: bytes) -> None:
        """An end has put a frame on the way."""

    # ------------------------------------------------------------------ time
    def send(self, end: SimulatedEnd, parcel: Parcel) -> int:
        """As `Link.send`; it leaves when time goes on, or at `flush`."""
        return end.link.send(parcel)

    def flush(self) -> None:
        """Let both ends do what is due now."""
        for end in self.ends:
            while end.link.next_at() <= self.now:
                turn = end.link.poll(self.now)
                for event in turn.events:
                    self._tell(end, event)
                for frame in turn.frames:
                    self.sent(end, frame)
                    self.network.put(end.name, end.peer, frame, self.now)

    def _tell(self, end: SimulatedEnd, event: LinkEvent) -> None:
        end.events.append(event)
        self.hear(end, event)
        if isinstance(event, Delivered):
            end.uncommitted.append(event)
            if end.commits:
                end.commit(-1)

    def next_at(self) -> float:
        """When something happens next."""
        return min(self.network.next_at(), *(end.link.next_at() for end in self.ends))

    def run(self, seconds: float) -> None:
        """Let so much time pass.

        Raises:
            AssertionError: the ends never come to rest, but answer each other for ever.
        """
        until = self.now + seconds
        for _ in range(_MOST_FRAMES):
            self.flush()
            soon = self.next_at()
            if soon > until:
                self.now = until
                return
            self.now = max(self.now, soon)
            for flight in self.network.take(self.now):
                end = self.left if flight.target == "left" else self.right
                end.link.receive(flight.frame, self.now)
        raise AssertionError(f"the ends did not come to rest within {seconds:g} s")
