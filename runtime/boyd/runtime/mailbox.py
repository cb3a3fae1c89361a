"""Bounded user lane with a policy, unbounded system lane, and senders that wait for room."""

from __future__ import annotations

import enum
from collections import deque
from typing import TYPE_CHECKING

import attrs

from boyd.runtime.dispatcher import Dispatcher, Waiter

if TYPE_CHECKING:
    from boyd.runtime.envelope import Envelope

__all__ = ["Mailbox", "MailboxQueue", "Overflow"]


class Overflow(enum.Enum):
    """What happens to a told message when there is no room. (`send` waits instead.)"""

    REJECT = enum.auto()
    DROP_OLDEST = enum.auto()
    DROP_NEWEST = enum.auto()


def _positive(_owner: object, field: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise ValueError(f"Mailbox({field.name}={value}): it must be at least 1")


@attrs.frozen(kw_only=True)
class Mailbox:
    """How much an actor lets wait.

    Attributes:
        size: messages.
        max_bytes: bytes of their bodies; one message is accepted by an empty mailbox whatever its size.
        overflow: what `tell` does when there is no room.
    """

    size: int = attrs.field(default=1024, validator=_positive)
    max_bytes: int = attrs.field(default=16 * 2**20, validator=_positive)
    overflow: Overflow = Overflow.REJECT


class MailboxQueue:
    """The user lane of one receiver: FIFO, bounded, at most `size` messages accepted at a time."""

    __slots__ = (
        "_config",
        "_dispatcher",
        "_items",
        "_senders",
        "bytes",
        "dropped",
        "rejected",
        "taken",
    )

    def __init__(self, config: Mailbox, dispatcher: Dispatcher) -> None:
        self._config = config
        self._dispatcher = dispatcher
        self._items: deque[Envelope] = deque()
        self._senders: deque[_Sender] | None = None
        self.bytes = 0
        self.taken = 0
        self.dropped = 0
        self.rejected = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def size(self) -> int:
        return self._config.size

    @property
    def oldest(self) -> Envelope | None:
        return self._items[0] if self._items else None

    def has_room(self) -> bool:
        """Whether one more message may come, before those who wait."""
        return not self._senders and self._fits()

    def _fits(self) -> bool:
        return len(self._items) < self._config.size and self.bytes < self._config.max_bytes

    def put(self, envelope: Envelope) -> None:
        """Accept, without asking for room: callers did, or hold a reserved slot."""
        self._items.append(envelope)
        self.bytes += len(envelope.body)

    def put_back(self, envelope: Envelope) -> None:
        """To the head: it was taken and must be handled again."""
        self._items.appendleft(envelope)
        self.bytes += len(envelope.body)

    def make_room(self) -> Envelope | None:
        """Under DROP_OLDEST: the message that goes, for the newest to come."""
        if self._config.overflow is not Overflow.DROP_OLDEST or not self._items:
            return None
        self.dropped += 1
        return self._pop()

    @property
    def overflow(self) -> Overflow:
        return self._config.overflow

    def _pop(self) -> Envelope:
        envelope = self._items.popleft()
        self.bytes -= len(envelope.body)
        return envelope

    def take(self) -> Envelope | None:
        """The oldest message, or None. Room that it leaves goes to the sender that waits longest."""
        if not self._items:
            return None
        envelope = self._pop()
        self.taken += 1
        if self._senders:
            self._admit()
        return envelope

    def _admit(self) -> None:
        senders = self._senders
        while senders and self._fits():
            sender = senders.popleft()
            self.put(sender.envelope)
            sender.settle(accepted=True)

    async def put_when_room(self, envelope: Envelope) -> bool:
        """Wait for room. True when accepted, False when the mailbox closed; Cancelled means not accepted."""
        if self._senders is None:
            self._senders = deque()
        sender = _Sender(envelope, self._dispatcher)
        self._senders.append(sender)
        try:
            await sender.waiter.wait()
        finally:
            if sender.accepted is None and self._senders is not None and sender in self._senders:
                self._senders.remove(sender)
        return sender.accepted is True

    def close(self) -> list[Envelope]:
        """Take everything out; senders that wait learn that it closed."""
        left = list(self._items)
        self._items.clear()
        self.bytes = 0
        senders, self._senders = self._senders, None
        for sender in senders or ():
            sender.settle(accepted=False)
        return left


class _Sender:
    """Somebody who waits for room, with the message in hand."""

    __slots__ = ("accepted", "envelope", "waiter")

    def __init__(self, envelope: Envelope, dispatcher: Dispatcher) -> None:
        self.envelope = envelope
        self.accepted: bool | None = None
        # Once settled it was sent (or refused), even while the task is still parked: a cancel is too late.
        self.waiter = Waiter(dispatcher, lambda: self.accepted is None)

    def settle(self, *, accepted: bool) -> None:
        self.accepted = accepted
        self.waiter.wake()
