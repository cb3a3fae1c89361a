"""What a ref points at: something with a mailbox, an actor's cell or an inbox."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import trio

from boyd.runtime.dispatcher import Waiter
from boyd.runtime.envelope import Envelope, Track, sealed
from boyd.runtime.errors import ActorStopped, AskTimeout, MailboxFull, NotAccepted
from boyd.runtime.mailbox import Mailbox, MailboxQueue, Overflow
from boyd.runtime.messages import MessageCodec, message_codec
from boyd.runtime.origin import current_headers, origin, sender_and_headers, waiting_deadline
from boyd.runtime.ref import Ref
from boyd.runtime.watches import leave_watches

if TYPE_CHECKING:
    from boyd.runtime.statistics import ActorStatistics
    from boyd.runtime.system import System
    from boyd.runtime.timers import Timer

__all__ = ["Post", "current_headers"]

Codecs = dict[type, MessageCodec[Any]]
_NONE: Final[Codecs] = {}
_NO_KINDS: Final[frozenset[type]] = frozenset()


class Post(ABC):
    """A mailbox with an address, in one system.

    Attributes:
        accepted: the message classes that have a handler here.
        codecs: those of `accepted` that have come already, with how they travel; none once closed.
        kind: the name of what reads this mailbox, for people.
        closed: nothing more is accepted.
        idle: whoever reads this mailbox is parked, and must be roused.
        asking: the posts that its handler waits for now.
        watchers: who is told when it closes; `watched`: of whose end it is to be told.
        answers: what reads here answers asks.
    """

    __slots__ = (
        "accepted",
        "asking",
        "closed",
        "codecs",
        "idle",
        "incarnation",
        "kind",
        "path",
        "queue",
        "ref",
        "system",
        "waiter",
        "watched",
        "watchers",
    )

    answers: ClassVar[bool] = True

    def __init__(
        self,
        system: System,
        path: str,
        incarnation: int,
        mailbox: Mailbox,
        *,
        kind: str,
        accepted: Mapping[type, object],
        codecs: Codecs,
    ) -> None:
        self.system = system
        self.path = path
        self.incarnation = incarnation
        self.kind = kind
        self.accepted = accepted
        self.codecs = codecs
        self.queue = MailboxQueue(mailbox)
        self.waiter = Waiter(system.dispatcher)
        self.closed = False
        self.idle = False
        self.asking: list[Post] = []
        self.watchers: dict[Post, None] | None = None  # few posts have any
        self.watched: dict[Post, None] | None = None
        self.ref: Ref[Any] = Ref(system.id, path, incarnation, self)

    @property
    def reentrant(self) -> frozenset[type]:
        """The message classes that may be handled while what reads here waits for an ask."""
        return _NO_KINDS

    @abstractmethod
    def statistics(self) -> ActorStatistics:
        """How it is, now."""

    # ------------------------------------------------------------------ sending
    def tell(self, message: object) -> None:
        """As `Ref.tell`."""
        codec = self.codecs.get(type(message)) or self.codec_of(message)
        if not self.queue.has_room():
            self._tell_when_full(codec, message)
            return
        body = codec.encode(message)
        who, now = origin.get(), self.system.now()
        if who is None:
            envelope = sealed((codec, body, None, current_headers.get(), now, None))
        else:
            envelope = sealed((codec, body, who.ref, who.headers, now, None))
        self.queue.put(envelope)
        if self.idle:
            self.rouse()

    def _tell_when_full(self, codec: MessageCodec[Any], message: object) -> None:
        queue = self.queue
        match queue.overflow:
            case Overflow.REJECT:
                queue.rejected += 1
                raise MailboxFull(self.full_text())
            case Overflow.DROP_NEWEST:
                envelope = self.seal(codec, codec.encode(message))
                queue.dropped += 1
                self.system.dead_letter(envelope, self, "dropped")
            case Overflow.DROP_OLDEST:
                envelope = self.seal(codec, codec.encode(message))
                self.drop_oldest()
                self.deliver(envelope)

    async def send(self, message: object) -> None:
        """As `Ref.send`."""
        codec = self.codec_of(message)
        if self.queue.has_room():
            await self.system.dispatcher.pass_turn()
            self._check_open()
        envelope = self.seal(codec, codec.encode(message))
        # From here to the acceptance there is no checkpoint: Cancelled means not sent.
        if self.queue.has_room():
            self.deliver(envelope)
        else:
            await self._send_when_room(envelope)

    async def _send_when_room(self, envelope: Envelope) -> None:
        with trio.CancelScope(deadline=waiting_deadline()) as scope:
            if not await self.queue.put_when_room(envelope, self.system.dispatcher):
                raise ActorStopped(f"{self.path} stopped while a message waited for room")
        if scope.cancelled_caught:
            raise AskTimeout(
                f"{self.path} had no room before the deadline of the message being handled"
            )

    # ------------------------------------------------------------------ accepting
    def codec_of(self, message: object) -> MessageCodec[Any]:
        """How `message` travels. Raises ActorStopped, NotAccepted."""
        cls = type(message)
        if self.closed or cls not in self.accepted:
            self._check_open()
            names = " or ".join(one.__name__ for one in self.accepted) or "nothing"
            raise NotAccepted(
                f"{self.path} is {self.kind_text()} and accepts {names}, not {cls.__name__}"
            )
        codec = self.codecs[cls] = message_codec(cls)
        return codec

    def kind_text(self) -> str:
        """`an Account`, `a Desk`."""
        return f"{'an' if self.kind[:1].upper() in 'AEIOU' else 'a'} {self.kind}"

    def _check_open(self) -> None:
        if self.closed:
            raise ActorStopped(f"{self.path} has stopped")

    def seal(self, codec: MessageCodec[Any], body: bytes) -> Envelope:
        """A message from whoever's task this is."""
        return Envelope(codec, body, *sender_and_headers(), self.system.now())

    def reserved(self) -> Iterable[Envelope]:
        """The reserved messages that are still to be handled."""
        return self.queue.reserved()

    def take_back(self, envelope: Envelope) -> None:
        """One of them shall not be handled after all."""
        self.queue.remove(envelope)

    def drop_oldest(self) -> None:
        """The oldest messages give way to one more."""
        for envelope in self.queue.drop_oldest():
            self.on_dropped(envelope)

    def on_dropped(self, envelope: Envelope) -> None:
        """A message gave way."""
        if envelope.reply is not None:
            name = envelope.codec.cls.__name__
            envelope.reply.fail(
                MailboxFull(f"{self.path} dropped {name} unhandled, for newer messages")
            )
        self.system.dead_letter(envelope, self, "dropped")

    def full_text(self) -> str:
        """What a sender is told for whom there is no room."""
        oldest = self.queue.oldest
        age = 0.0 if oldest is None else self.system.now() - oldest.at
        return (
            f"{self.path} holds {self.queue.full_text()}, the oldest {age:.1f} s: "
            f"await ref.send(...) to wait, or Mailbox(size=..., overflow=...)"
        )

    def deliver(self, envelope: Envelope) -> None:
        """Accept an envelope whose room is settled, and have its reader woken."""
        self.queue.put(envelope)
        if self.idle:
            self.rouse()

    def offer(self, envelope: Envelope, overflow: Overflow | None = None) -> None:
        """Take part in a publication: as a tell, but what finds no room is a dead letter.

        Args:
            overflow: instead of the mailbox's own policy.
        """
        if self.closed:
            return
        queue = self.queue
        overflow = overflow or queue.overflow
        if queue.has_room():
            self.deliver(envelope)
        elif overflow is Overflow.DROP_OLDEST:
            self.drop_oldest()
            self.deliver(envelope)
        elif overflow is Overflow.DROP_NEWEST:
            queue.dropped += 1
            self.system.dead_letter(envelope, self, "dropped")
        else:
            queue.rejected += 1
            self.system.dead_letter(envelope, self, "full")

    def rouse(self) -> None:
        """Have its reader woken, who is parked."""
        self.idle = False
        self.waiter.wake()

    def reserve(self, message: object, timer: Timer | None = None) -> Envelope:
        """A message of the runtime, or of the actor to itself.

        Raises NotAccepted, EncodeError, ActorStopped.
        """
        codec = self.codec_of(message)
        track = Track(reserved=True, timer=timer)
        return self.seal(codec, codec.encode(message))._replace(track=track)

    # ------------------------------------------------------------------ ending
    def shut(self) -> None:
        """Accept nothing more."""
        self.closed = True
        self.codecs = _NONE
        leave_watches(self)

    def close_mailbox(self, reason: str) -> None:
        """No more mail: what is left becomes dead letters, and its askers learn it."""
        self.shut()
        for envelope in self.queue.close():
            if envelope.reply is not None:
                name = envelope.codec.cls.__name__
                envelope.reply.fail(ActorStopped(f"{self.path} stopped before it answered {name}"))
            self.system.dead_letter(envelope, self, reason)
