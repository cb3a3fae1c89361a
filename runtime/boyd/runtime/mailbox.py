"""Bounded user lane with a policy, and senders that wait for room."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import attrs

from boyd.runtime.dispatcher import Dispatcher, Waiter

if TYPE_CHECKING:
    from boyd.runtime.envelope import Envelope

__all__ = ["DEFAULT_MAILBOX", "Mailbox", "MailboxQueue", "Overflow", "is_reserved"]


class Overflow(enum.Enum):
    """What happens to a told message when there is no room. (`send` waits instead.)"""

    REJECT = enum.auto()
    """`tell` raises `MailboxFull`; nothing was sent."""
    DROP_OLDEST = enum.auto()
    """The oldest message becomes a dead letter; one that was asked fails with `MailboxFull`."""
    DROP_NEWEST = enum.auto()
    """The told message becomes a dead letter; an ask raises `MailboxFull`."""


def _positive(_owner: object, field: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise ValueError(f"Mailbox({field.name}={value}): it must be at least 1")


@attrs.frozen(kw_only=True)
class Mailbox:
    """How much an actor lets wait.

    Attributes:
        size: messages.
        max_bytes: bytes of their bodies; there is room while less than this waits, so that a
            message of any size finds room in an empty mailbox.
        overflow: what `tell` does when there is no room.
    """

    size: int = attrs.field(default=1024, validator=_positive)
    max_bytes: int = attrs.field(default=16 * 2**20, validator=_positive)
    overflow: Overflow = Overflow.REJECT


DEFAULT_MAILBOX: Final = Mailbox()
"""Of an actor that was given none."""


def _bytes_text(count: int) -> str:
    """`512 bytes`, `1.5 KiB`, `16.0 MiB`."""
    if count < 2**10:
        return f"{count} bytes"
    unit, name = (2**20, "MiB") if count >= 2**20 else (2**10, "KiB")
    return f"{count / unit:,.1f} {name}"


def is_reserved(envelope: Envelope) -> bool:
    """Whether it is of the runtime, or of the actor to itself."""
    return envelope.track is not None and envelope.track.reserved


class MailboxQueue:
    """The user lane of one receiver: FIFO and bounded.

    Reserved messages (timers, `Terminated`, results of the actor's own work)
    stand in the same order, but take no room and are never dropped.

    Attributes:
        bytes: of the bodies that wait and take room.
        taken, dropped, rejected: how many messages were, so far.
    """

    __slots__ = (
        "_items",
        "_max_bytes",
        "_reserved",
        "_senders",
        "_size",
        "bytes",
        "dropped",
        "overflow",
        "rejected",
        "taken",
    )

    def __init__(self, config: Mailbox) -> None:
        self._size = config.size
        self._max_bytes = config.max_bytes
        self.overflow = config.overflow
        self._items: deque[Envelope] = deque()
        self._senders: deque[_Sender] | None = None  # few mailboxes ever have one
        self._reserved = 0
        self.bytes = 0
        self.taken = 0
        self.dropped = 0
        self.rejected = 0

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Envelope]:
        return iter(tuple(self._items))

    def reserved(self) -> Iterator[Envelope]:
        """The reserved messages that wait, in order."""
        return filter(is_reserved, tuple(self._items)) if self._reserved else iter(())

    def remove(self, envelope: Envelope) -> None:
        """Take one out of turn: it was wanted back."""
        self._items.remove(envelope)
        self._leaves(envelope)
        if self._senders:
            self._admit(self._senders)

    # `put` and `take` have these two in line: they run for every message.
    def _comes(self, envelope: Envelope) -> None:
        if is_reserved(envelope):
            self._reserved += 1
        else:
            self.bytes += len(envelope.body)

    def _leaves(self, envelope: Envelope) -> None:
        if is_reserved(envelope):
            self._reserved -= 1
        else:
            self.bytes -= len(envelope.body)

    @property
    def size(self) -> int:
        return self._size

    @property
    def _taking_room(self) -> int:
        return len(self._items) - self._reserved

    @property
    def oldest(self) -> Envelope | None:
        return self._items[0] if self._items else None

    def has_room(self) -> bool:
        """Whether one more message may come, before those who wait."""
        return (
            len(self._items) - self._reserved < self._size
            and self.bytes < self._max_bytes
            and not self._senders
        )

    def _fits(self) -> bool:
        return len(self._items) - self._reserved < self._size and self.bytes < self._max_bytes

    def full_text(self) -> str:
        """How full it is, for people."""
        if self.bytes >= self._max_bytes:
            held, limit = _bytes_text(self.bytes), _bytes_text(self._max_bytes)
            plural = "" if self._taking_room == 1 else "s"
            return f"{held} of {limit} in {self._taking_room:,} message{plural}"
        return f"{self._taking_room:,} of {self._size:,} messages"

    def put(self, envelope: Envelope) -> None:
        """Accept, without asking for room: callers did, or the envelope is reserved."""
        self._items.append(envelope)
        if envelope.track is not None and envelope.track.reserved:
            self._reserved += 1
        else:
            self.bytes += len(envelope.body)

    def put_back(self, envelope: Envelope) -> None:
        """To the head: it was taken and must be handled again."""
        self._items.appendleft(envelope)
        self._comes(envelope)
        self.taken -= 1

    def _pop(self) -> Envelope:
        envelope = self._items.popleft()
        self._leaves(envelope)
        return envelope

    def drop_oldest(self) -> list[Envelope]:
        """Take out as many of the oldest messages as it takes for one more to fit."""
        dropped: list[Envelope] = []
        spared: list[Envelope] = []
        while self._items and not self._fits():
            envelope = self._pop()
            (spared if is_reserved(envelope) else dropped).append(envelope)
        for envelope in reversed(spared):
            self._items.appendleft(envelope)
            self._comes(envelope)
        self.dropped += len(dropped)
        return dropped

    def take(self) -> Envelope | None:
        """The oldest message, or None. Room that it leaves goes to the sender that waits longest."""
        if not self._items:
            return None
        envelope = self._items.popleft()
        self.taken += 1
        if envelope.track is not None and envelope.track.reserved:
            self._reserved -= 1
        else:
            self.bytes -= len(envelope.body)
        if self._senders:
            self._admit(self._senders)
        return envelope

    def _admit(self, senders: deque[_Sender]) -> None:
        while senders and self._fits():
            sender = senders.popleft()
            self.put(sender.envelope)
            sender.settle(accepted=True)

    async def put_when_room(self, envelope: Envelope, dispatcher: Dispatcher) -> bool:
        """Wait for room. True when accepted, False when the mailbox closed; Cancelled means not accepted."""
        if self._senders is None:
            self._senders = deque()
        sender = _Sender(envelope, dispatcher, self._senders)
        self._senders.append(sender)
        await sender.wait()
        return sender.accepted

    def refuse_senders(self) -> None:
        """Senders that wait learn that no more is accepted."""
        while self._senders:
            self._senders.popleft().settle(accepted=False)

    def close(self) -> list[Envelope]:
        """Take everything out, and refuse the senders that wait."""
        left = list(self._items)
        self._items.clear()
        self.bytes = 0
        self._reserved = 0
        self.refuse_senders()
        return left


class _Sender(Waiter):
    """Somebody who waits for room, with the message in hand."""

    __slots__ = ("_senders", "accepted", "envelope")

    def __init__(self, envelope: Envelope, dispatcher: Dispatcher, senders: deque[_Sender]) -> None:
        super().__init__(dispatcher)
        self.envelope = envelope
        self.accepted = False
        self._senders = senders

    def settle(self, *, accepted: bool) -> None:
        """Out of the queue, one way or the other."""
        self.accepted = accepted
        self.wake()

    def give_up(self) -> None:
        """Cancelled: from now on it must not be accepted."""
        self._senders.remove(self)
