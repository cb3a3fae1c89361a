"""What a system tells about itself: hops, dead letters, decisions of supervisors, mishaps."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from boyd.runtime.envelope import Envelope, Headers
from boyd.runtime.ledger import Entry
from boyd.runtime.supervision import DeadLetter, SupervisorDecided

if TYPE_CHECKING:
    from boyd.runtime.post import Post
    from boyd.runtime.services import Services

__all__ = ["DEAD_TOPIC", "SUPERVISION_TOPIC", "Reports", "Spy"]

DEAD_TOPIC: Final = "boyd.dead"
SUPERVISION_TOPIC: Final = "boyd.supervision"

_log: Final = logging.getLogger("boyd")

Spy = Callable[[str, str, str, bytes], None]
"""Called with sender path, receiver path, message name and msgpack bytes, for every hop."""


class Reports:
    """To topics, the ledger, the log and the wire spies.

    Attributes:
        dead_letters: how many accepted messages nobody handled, by reason.
    """

    def __init__(self, system: Services) -> None:
        self._system = system
        self.dead_letters: dict[str, int] = {}
        self.spies: list[Spy] = []

    def spied(self, envelope: Envelope, post: Post) -> None:
        """Show a hop to the wire spies."""
        sender = envelope.sender.path if envelope.sender else ""
        self._show(sender, post.path, envelope.codec.name, envelope.body)

    def spied_reply(self, envelope: Envelope, post: Post, frame: bytes) -> None:
        """Show a reply to the wire spies."""
        receiver = envelope.sender.path if envelope.sender else ""
        self._show(post.path, receiver, f"reply to {envelope.codec.name}", frame)

    def _show(self, sender: str, receiver: str, name: str, frame: bytes) -> None:
        for spy in self.spies:
            try:
                spy(sender, receiver, name, frame)
            except Exception as error:  # noqa: BLE001  # who watches must not change what happens
                self.mishap(f"a wire spy failed on {name} for {receiver}", error)

    def dead_letter(self, envelope: Envelope, post: Post, reason: str) -> None:
        """Count it and tell who listens."""
        self.dead_letters[reason] = self.dead_letters.get(reason, 0) + 1
        if self._system.is_heard(DEAD_TOPIC):
            letter = DeadLetter(
                path=post.path,
                kind=envelope.codec.name,
                reason=reason,
                sender=envelope.sender.path if envelope.sender else "",
                size=len(envelope.body),
            )
            self._system.publish(DEAD_TOPIC, letter)

    def decided(self, decision: SupervisorDecided, headers: Headers, error: Exception) -> None:
        """Publish, log and write down what a supervisor decided."""
        system = self._system
        system.publish(SUPERVISION_TOPIC, decision)
        text = f"{decision.path} crashed ({decision.error}: {decision.message}); {decision.verdict}"
        self.mishap(text, error)
        thread = f"{headers.thread or system.name}/supervision"
        system.audit.add(thread, Entry.of(decision, id=system.seams.ids.new()))

    def mishap(self, text: str, error: BaseException | None, /) -> None:
        """Something went wrong that the runtime can live with."""
        _log.warning(text, exc_info=error if _log.isEnabledFor(logging.DEBUG) else None)
