"""Two ends and a way without any faults, for tests that look at one thing."""

from __future__ import annotations

import math
import random
from typing import TypeVar

from boyd.runtime.link import Keys, Link, LinkEvent, LinkOptions
from boyd.runtime.link.frames import Frame, decode_frame
from boyd.runtime.testing import SimulatedEnd, SimulatedLinks

__all__ = ["end_of", "frames_of", "met", "of_kind"]

E = TypeVar("E", bound=LinkEvent)


def met(
    *, options: LinkOptions | None = None, keys: Keys | None = None, commits: bool = True
) -> SimulatedLinks:
    """Two ends that have shaken hands."""
    links = SimulatedLinks(1, options=options or LinkOptions(silence=math.inf), keys=keys)
    links.left.commits = links.right.commits = commits
    links.run(1)
    assert links.left.link.sure
    assert links.right.link.sure
    return links


def end_of(name: str = "left", peer: str = "right", *, options: LinkOptions | None = None) -> Link:
    """One end that has met nobody."""
    return Link(
        name=name,
        peer=peer,
        incarnation=f"{name}-1",
        chance=random.Random(1),
        options=options or LinkOptions(),
    )


def frames_of(link: Link, now: float) -> list[Frame]:
    """What it has to say now."""
    return [decode_frame(frame) for frame in link.poll(now).frames]


def of_kind(end: SimulatedEnd, kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in end.events if isinstance(event, kind)]
