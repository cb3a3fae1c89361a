"""What a ref points at: something with a mailbox, an actor's cell or an inbox."""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import trio

from boyd.runtime.dispatcher import Waiter
from boyd.runtime.envelope import NO_HEADERS, Envelope, Headers
from boyd.runtime.errors import ActorStopped, AskCycle, AskTimeout, MailboxFull, NotAccepted
from boyd.runtime.mailbox import Mailbox, MailboxQueue, Overflow
from boyd.runtime.messages import MessageCodec, message_codec
from boyd.runtime.reply import ReplySlot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from boyd.runtime.cell import Cell
    from boyd.runtime.ref import Ref
    from boyd.runtime.statistics import ActorStatistics
    from boyd.runtime.system import System

__all__ = ["Post", "background", "current_cell", "current_headers", "decoding_system"]

current_cell: Final[ContextVar[Cell | None]] = ContextVar("current_cell", default=None)
"""The actor whose handler this task runs, if any. Its sends carry that handler's headers and deadline."""

background: Final[ContextVar[bool]] = ContextVar("background", default=False)
"""True in tasks that an actor's handler does not wait for."""

current_headers: Final[ContextVar[Headers]] = ContextVar("current_headers", default=NO_HEADERS)
"""What messages carry that are sent outside a handler."""

decoding_system: Final[ContextVar[System | None]] = ContextVar("decoding_system", default=None)
"""Where refs in a message that is being decoded are looked up."""


class Post:
    """A mailbox with an address, in one system."""

    __slots__ = ("closed", "incarnation", "path", "queue", "ref", "system", "waiter")

    def __init__(self, system: System, path: str, incarnation: int, mailbox: Mailbox) -> None:
        from boyd.runtime.ref import Ref

        self.system = system
        self.path = path
        self.incarnation = incarnation
        self.queue = MailboxQueue(mailbox, system.dispatcher)
        self.waiter = Waiter(system.dispatcher)
        self.closed = False
        self.ref: Ref[Any] = Ref(path, incarnation, self)

    # What kinds of posts differ in.
    @property
    def accepted(self) -> Mapping[type, object]:
        """The message classes that have a handler here."""
        raise NotImplementedError

    @property
    def kind(self) -> str:
        """The name of what reads this mailbox, for people."""
        raise NotImplementedError

    def statistics(self) -> ActorStatistics:
        """How it is, now."""
        raise NotImplementedError

    # ------------------------------------------------------------------ sending
    def tell(self, message: object) -> None:
        codec = self._codec(message)
        if not self._make_room():
            self.system.dead_letter(
                self._seal(codec, codec.encode(message), math.inf, None), self, "dropped"
            )
            self.queue.dropped += 1
            return
        self.deliver(self._seal(codec, codec.encode(message), math.inf, None))

    async def send(self, message: object) -> None:
        codec = self._codec(message)
        if self.queue.has_room():
            await trio.lowlevel.cancel_shielded_checkpoint()
            if self.closed:
                raise ActorStopped(f"{self.path} has stopped")
        envelope = self._seal(codec, codec.encode(message), math.inf, None)
        if self.queue.has_room():
            self.deliver(envelope)
            return
        await self._wait_for_room(envelope)

    async def _wait_for_room(self, envelope: Envelope) -> None:
        waits = _waiting_handler()
        with trio.CancelScope(deadline=math.inf if waits is None else waits.deadline) as scope:
            if not await self.queue.put_when_room(envelope):
                raise ActorStopped(f"{self.path} stopped while a message waited for room")
            self.waiter.wake()
        if scope.cancelled_caught:
            raise AskTimeout(
                f"{self.path} had no room before the deadline of the message being handled"
            )

    async def ask(self, message: object, within: float | None) -> Any:  # noqa: ANN401  # typed by Ref.ask
        codec = self._codec(message)
        if codec.reply is None:
            raise NotAccepted(
                f"{codec.cls.__name__} declares no reply, so it cannot be asked: derive it from Replies[...]"
            )
        waits = _waiting_handler()
        now = self.system.clock.now()
        limit = now + min(
            codec.within or self.system.ask_timeout, math.inf if within is None else within
        )
        if waits is not None:
            _refuse_cycle(waits, self)
            limit = min(limit, waits.deadline)
        if not self._make_room():
            raise MailboxFull(self._full_text())
        slot = ReplySlot(codec.reply, self.system.dispatcher)
        deadline = min(limit, trio.current_effective_deadline())
        self.deliver(self._seal(codec, codec.encode(message), deadline, slot))
        if waits is not None:
            waits.asking.append(self)
        # A deadline of the caller's cancel scopes is left to Trio, so that `move_on_after` moves on.
        due = self.system.deadlines.at(
            limit, lambda: slot.fail(self._timeout(slot, codec, limit - now))
        )
        try:
            while not slot.settled:
                await slot.waiter.wait()
        finally:
            due.cancel()
            slot.abandon()
            if waits is not None:
                waits.asking.remove(self)
        return self._in_system(slot.result)

    def _timeout(self, slot: ReplySlot, codec: MessageCodec[Any], seconds: float) -> AskTimeout:
        did = f"{self.path} did not answer {codec.cls.__name__} within {seconds:.1f} s"
        if slot.begun:
            return AskTimeout(f"{did}: it is still handling it")
        return AskTimeout(f"{did}: it waited behind {len(self.queue) - 1:,} messages")

    def _in_system(self, decode: Any) -> Any:  # noqa: ANN401
        if decoding_system.get() is self.system:
            return decode()
        token = decoding_system.set(self.system)
        try:
            return decode()
        finally:
            decoding_system.reset(token)

    # ------------------------------------------------------------------ accepting
    def _codec(self, message: object) -> MessageCodec[Any]:
        if self.closed:
            raise ActorStopped(f"{self.path} has stopped")
        cls = type(message)
        if cls not in self.accepted:
            names = " or ".join(one.__name__ for one in self.accepted) or "nothing"
            article = "an" if self.kind[:1] in "AEIOU" else "a"
            raise NotAccepted(
                f"{self.path} is {article} {self.kind} and accepts {names}, not {cls.__name__}"
            )
        return message_codec(cls)

    def _seal(
        self, codec: MessageCodec[Any], body: bytes, deadline: float, reply: ReplySlot | None
    ) -> Envelope:
        cell = current_cell.get()
        if cell is None:
            return Envelope(
                codec, body, None, current_headers.get(), deadline, reply, self.system.clock.now()
            )
        headers = current_headers.get() if background.get() else cell.headers
        return Envelope(codec, body, cell.ref, headers, deadline, reply, self.system.clock.now())

    def _make_room(self) -> bool:
        """True: put it. False: drop the newest. Raises MailboxFull under REJECT."""
        queue = self.queue
        if queue.has_room():
            return True
        match queue.overflow:
            case Overflow.REJECT:
                queue.rejected += 1
                raise MailboxFull(self._full_text())
            case Overflow.DROP_NEWEST:
                return False
            case Overflow.DROP_OLDEST:
                dropped = queue.make_room()
                if dropped is not None:
                    self.on_dropped(dropped)
                return True

    def on_dropped(self, envelope: Envelope) -> None:
        """The oldest message gave way."""
        self.system.dead_letter(envelope, self, "dropped")

    def _full_text(self) -> str:
        oldest = self.queue.oldest
        age = 0.0 if oldest is None else self.system.clock.now() - oldest.at
        return (
            f"{self.path} holds {len(self.queue):,} of {self.queue.size:,} messages, the oldest {age:.1f} s: "
            f"await ref.send(...) to wait, or Mailbox(size=..., overflow=...)"
        )

    def deliver(self, envelope: Envelope) -> None:
        """Accept an envelope whose room is settled, and have its reader woken."""
        self.queue.put(envelope)
        self.waiter.wake()

    def force(self, message: object) -> None:
        """Accept a message of the runtime itself, in a reserved slot; dropped silently once closed."""
        if not self.closed and type(message) in self.accepted:
            codec = message_codec(type(message))
            self.deliver(self._seal(codec, codec.encode(message), math.inf, None))

    def close_mailbox(self, reason: str) -> None:
        """No more mail: what is left becomes dead letters, and its askers learn it."""
        self.closed = True
        for envelope in self.queue.close():
            if envelope.reply is not None:
                envelope.reply.fail(
                    ActorStopped(
                        f"{self.path} stopped before it answered {envelope.codec.cls.__name__}"
                    )
                )
            self.system.dead_letter(envelope, self, reason)


def _waiting_handler() -> Cell | None:
    """The actor that does nothing else until this task goes on, if there is one."""
    return None if background.get() else current_cell.get()


def _refuse_cycle(asker: Cell, target: Post) -> None:
    """Follow who waits for whom from `target`; finding `asker` there, this ask would wait for itself."""
    from boyd.runtime.cell import Cell

    stack: list[tuple[Post, tuple[str, ...]]] = [(target, (asker.path, target.path))]
    seen: set[int] = set()
    while stack:
        post, way = stack.pop()
        if post is asker:
            raise AskCycle(f"{' -> '.join(way)} would wait for itself; tell instead")
        if id(post) not in seen and isinstance(post, Cell):
            seen.add(id(post))
            stack.extend((waited, (*way, waited.path)) for waited in post.asking)
