"""What can be seen of an actor from outside."""

from __future__ import annotations

from typing import Literal

import attrs

__all__ = ["ActorStatistics", "State"]

State = Literal["starting", "running", "suspended", "backing off", "stopping", "stopped"]


@attrs.frozen(kw_only=True)
class ActorStatistics:
    """One actor at one moment.

    Attributes:
        path: where it is.
        kind: name of its class or function.
        state: "starting", "running", "suspended", "backing off", "stopping" or "stopped".
        handling: name of the message in hand, or "".
        queued: messages in its mailbox, of at most `capacity`.
        handled: messages finished since it was spawned.
        crashed: messages in hand at a crash.
        restarts: how often it was started again.
        rejected: messages refused at the sender for want of room.
        dropped: messages that its overflow policy gave up.
        oldest: age in seconds of the message at the head, 0 when empty.
        children: the same of its children, in start order.
    """

    path: str
    kind: str
    state: State
    handling: str = ""
    queued: int = 0
    capacity: int = 0
    handled: int = 0
    crashed: int = 0
    restarts: int = 0
    rejected: int = 0
    dropped: int = 0
    oldest: float = 0.0
    children: tuple[ActorStatistics, ...] = ()

    def lines(self, depth: int = 0) -> list[str]:
        """An indented line for each actor, for people."""
        name = self.path.rsplit("/", 1)[-1] or "/"
        parts = [f"{'  ' * depth}{name}  {self.kind}, {self.state}"]
        if self.handling:
            parts.append(f"in {self.handling}")
        if self.queued:
            parts.append(f"{self.queued} waiting")
        if self.restarts:
            parts.append(f"{self.restarts} restarts")
        return [
            ", ".join(parts),
            *(line for child in self.children for line in child.lines(depth + 1)),
        ]
