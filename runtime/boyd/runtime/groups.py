"""The registry: who is alive, and groups of actors under one name; and the news of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from boyd.runtime.messages import message
from boyd.runtime.names import check_topic
from boyd.runtime.post import Post
from boyd.runtime.ref import Ref

__all__ = ["ACTORS_TOPIC", "GROUPS_TOPIC", "Groups", "Joined", "Left", "Spawned"]

ACTORS_TOPIC: Final = "boyd.actors"
"""Where `Spawned` and `Terminated` of every actor are published."""

GROUPS_TOPIC: Final = "boyd.groups"
"""Where `Joined` and `Left` are published: of the group `g` on `boyd.groups/g`."""


@message("boyd.spawned")
class Spawned:
    """An actor is alive, and begins its first life."""

    ref: Ref[object]
    kind: str


@message("boyd.joined")
class Joined:
    """An actor belongs to a group."""

    group: str
    ref: Ref[object]


@message("boyd.left")
class Left:
    """An actor belongs to a group no more: it left, or has ended."""

    group: str
    ref: Ref[object]


class Groups:
    """Actors by group and groups by actor, both in order of joining."""

    def __init__(self, publish: Callable[[str, object], None]) -> None:
        self._publish = publish
        self._members: dict[str, dict[Post, None]] = {}
        self._groups: dict[Post, dict[str, None]] = {}

    def members(self, group: str) -> tuple[Ref[Any], ...]:
        """Those that belong to `group` now."""
        return tuple(post.ref for post in self._members.get(group, ()))

    def join(self, post: Post, group: str) -> None:
        """Idempotent. Raises ValueError: a name that no group can have."""
        members = self._members.setdefault(check_topic(group), {})
        if post not in members:
            members[post] = None
            self._groups.setdefault(post, {})[group] = None
            self._publish(f"{GROUPS_TOPIC}/{group}", Joined(group=group, ref=post.ref))

    def leave(self, post: Post, group: str) -> None:
        """Idempotent."""
        members = self._members.get(group, {})
        if post not in members:
            return
        del members[post], self._groups[post][group]
        if not members:
            del self._members[group]
        if not self._groups[post]:
            del self._groups[post]
        self._publish(f"{GROUPS_TOPIC}/{group}", Left(group=group, ref=post.ref))

    def leave_all(self, post: Post) -> None:
        """It has ended."""
        for group in tuple(self._groups.get(post, ())):
            self.leave(post, group)
