"""Topics: named fan-out. A message is encoded once; every subscriber decodes its own copy."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Protocol, TypeAlias

from boyd.runtime.envelope import Envelope, Headers
from boyd.runtime.mailbox import Overflow
from boyd.runtime.post import Post

__all__ = ["Hearing", "Listener", "Topics", "Where", "matches"]

Where: TypeAlias = Callable[[Headers], bool]
"""A filter of a subscription, on what travels beside a message."""


class Listener(Protocol):
    """Who hears topics: an inbox, or an actor by a `Hearing`."""

    @property
    def accepted(self) -> Container[type]:
        """The message classes that it wants."""
        ...

    def offer(self, envelope: Envelope, /) -> None:
        """Take part in a publication; never waits, and raises nothing."""
        ...


class Hearing:
    """A subscription of one topic: what its mailbox accepts of what is published there.

    Attributes:
        echo: it hears what it publishes itself.
        where: only messages whose headers it holds for are heard.
        overflow: what becomes of a message that finds no room, where the mailbox's own policy is not meant.
    """

    __slots__ = ("echo", "overflow", "post", "where")

    def __init__(
        self,
        post: Post,
        *,
        echo: bool = True,
        where: Where | None = None,
        overflow: Overflow | None = None,
    ) -> None:
        self.post = post
        self.echo = echo
        self.where = where
        self.overflow = overflow

    @property
    def accepted(self) -> Container[type]:
        return self.post.accepted

    def offer(self, envelope: Envelope, /) -> None:
        if self._hears(envelope):
            self.post.offer(envelope, self.overflow)

    def _hears(self, envelope: Envelope) -> bool:
        if not self.echo and envelope.sender is self.post.ref:
            return False
        if self.where is None:
            return True
        try:
            return self.where(envelope.headers)
        except Exception as error:  # noqa: BLE001  # who listens must not make publishers fail
            name = envelope.codec.name
            self.post.system.report(f"{self.post.path}: its filter failed on {name}", error)
            return False


def matches(pattern: str, topic: str) -> bool:
    """Whether a subscription to `pattern` hears `topic`.

    Names are words joined by "/" ; in a pattern `*` is one word and a last `**` any number of words.
    """
    wanted, given = pattern.split("/"), topic.split("/")
    if wanted[-1] == "**":
        wanted = wanted[:-1]
        given = given[: len(wanted)] if len(given) >= len(wanted) else given
    return len(wanted) == len(given) and all(
        w in ("*", g) for w, g in zip(wanted, given, strict=True)
    )


class Topics:
    """Who listens to what."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}
        self._heard: dict[str, tuple[Listener, ...]] = {}

    def add(self, pattern: str, listener: Listener) -> None:
        self._listeners.setdefault(pattern, []).append(listener)
        self._heard.clear()

    def remove(self, pattern: str, listener: Listener) -> None:
        listeners = self._listeners.get(pattern, [])
        if listener in listeners:
            listeners.remove(listener)
        if not listeners:
            self._listeners.pop(pattern, None)
        self._heard.clear()

    def listeners(self, topic: str) -> tuple[Listener, ...]:
        """Those that hear `topic`, in order of subscription within a pattern."""
        if not self._listeners:
            return ()
        found = self._heard.get(topic)
        if found is None:
            found = tuple(
                listener
                for pattern, listeners in self._listeners.items()
                if matches(pattern, topic)
                for listener in listeners
            )
            if len(self._heard) < 4096:  # noqa: PLR2004  # a cache, bounded
                self._heard[topic] = found
        return found
