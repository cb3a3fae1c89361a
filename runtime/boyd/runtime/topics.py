"""Topics: named fan-out. A message is encoded once; every subscriber decodes its own copy."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from boyd.runtime.envelope import Envelope
from boyd.runtime.post import Post

__all__ = ["Hearing", "Listener", "Topics", "matches"]


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
    """An actor's subscription of one topic: what it accepts of what is published there.

    Attributes:
        echo: it hears what it publishes itself.
    """

    __slots__ = ("echo", "post")

    def __init__(self, post: Post, *, echo: bool) -> None:
        self.post = post
        self.echo = echo

    @property
    def accepted(self) -> Container[type]:
        return self.post.accepted

    def offer(self, envelope: Envelope, /) -> None:
        if self.echo or envelope.sender is not self.post.ref:
            self.post.offer(envelope)


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
