"""Topics: named fan-out. A message is encoded once; every subscriber decodes its own copy."""

from __future__ import annotations

from typing import Any

from boyd.runtime.inbox import Inbox

__all__ = ["Topics", "matches"]


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
        self._inboxes: dict[str, list[Inbox[Any]]] = {}
        self._heard: dict[str, tuple[Inbox[Any], ...]] = {}

    def add(self, pattern: str, inbox: Inbox[Any]) -> None:
        self._inboxes.setdefault(pattern, []).append(inbox)
        self._heard.clear()

    def remove(self, pattern: str, inbox: Inbox[Any]) -> None:
        inboxes = self._inboxes.get(pattern, [])
        if inbox in inboxes:
            inboxes.remove(inbox)
        if not inboxes:
            self._inboxes.pop(pattern, None)
        self._heard.clear()

    def listeners(self, topic: str) -> tuple[Inbox[Any], ...]:
        """The inboxes that hear `topic`, in order of subscription within a pattern."""
        if not self._inboxes:
            return ()
        found = self._heard.get(topic)
        if found is None:
            found = tuple(
                inbox
                for pattern, inboxes in self._inboxes.items()
                if matches(pattern, topic)
                for inbox in inboxes
            )
            if len(self._heard) < 4096:  # noqa: PLR2004  # a cache, bounded
                self._heard[topic] = found
        return found
