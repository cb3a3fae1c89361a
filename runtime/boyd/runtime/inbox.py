"""A mailbox that a task reads: for subscriptions, probes, streams and runs."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, Union, cast, get_args, get_origin

import attrs
import trio

from boyd.runtime.envelope import Envelope
from boyd.runtime.mailbox import Mailbox, Overflow
from boyd.runtime.post import Post
from boyd.runtime.statistics import ActorStatistics
from boyd.runtime.supervision import Terminated
from boyd.runtime.watches import tell_watchers

if TYPE_CHECKING:
    from boyd.runtime.system import System

__all__ = ["Inbox", "Lag", "Lagged"]

T_co = TypeVar("T_co", covariant=True)


class Lag(enum.Enum):
    """What happens to a subscriber that is slower than what it listens to."""

    DROP_OLDEST = enum.auto()
    """It loses the oldest messages and reads `Lagged(n)` in their place."""
    DISCONNECT = enum.auto()
    """Its channel ends with `trio.BrokenResourceError` after what it holds."""


@attrs.frozen
class Lagged:
    """`count` messages were dropped here, because their reader was slow."""

    count: int


class Inbox(Post, trio.abc.ReceiveChannel[T_co], Generic[T_co]):
    """A receive channel with a ref: whoever has `inbox.ref` can tell and send to it."""

    __slots__ = ("_disconnected", "_lag", "_lagged", "_reading", "_shut")

    answers: ClassVar[bool] = False

    def __init__(
        self,
        system: System,
        path: str,
        incarnation: int,
        kinds: Kinds,
        *,
        size: int,
        lag: Lag | None,
    ) -> None:
        overflow = Overflow.DROP_OLDEST if lag is Lag.DROP_OLDEST else Overflow.REJECT
        mailbox = Mailbox(size=size, overflow=overflow)
        super().__init__(
            system, path, incarnation, mailbox, kind="Inbox", accepted=kinds, codecs={}
        )
        self._lag = lag
        self._lagged = 0
        self._disconnected = False
        self._shut = False
        self._reading = False

    def on_dropped(self, envelope: Envelope) -> None:  # noqa: ARG002  # counted, and told to the reader
        """Its reader learns how many."""
        self._lagged += 1

    def offer(self, envelope: Envelope, overflow: Overflow | None = None) -> None:  # noqa: ARG002  # its own rules
        """Take part in a publication, under this inbox's lag policy."""
        if self.closed:
            return
        if self.queue.has_room():
            self.deliver(envelope)
        elif self._lag is Lag.DROP_OLDEST:
            self.drop_oldest()
            self.deliver(envelope)
        else:
            self._disconnected = True
            self.queue.dropped += 1
            self.end()

    def end(self) -> None:
        """No more is accepted: the reader finishes what is here, then its channel ends. Idempotent."""
        if not self.closed:
            self.shut()
            self.queue.refuse_senders()
            self.system.directory.forget(self)
            tell_watchers(self, Terminated(ref=self.ref, reason="stopped"))
            self.rouse()

    async def receive(self) -> T_co:
        """The next message; a checkpoint.

        Raises:
            trio.EndOfChannel: it has ended.
            trio.BrokenResourceError: it was disconnected for being slow.
            trio.BusyResourceError: another task is reading.
            trio.ClosedResourceError: it was closed here.
        """
        if self._reading:
            raise trio.BusyResourceError("another task is already reading this inbox")
        self._reading = True
        try:
            if self._is_ready():
                await trio.lowlevel.checkpoint()
            while not self._is_ready():
                self.idle = True
                await self.waiter.wait()
            return self._next()
        finally:
            self._reading = self.idle = False

    def receive_nowait(self) -> T_co:
        """The next message if it is here already, else raise `trio.WouldBlock`, or as `receive`."""
        if not self._is_ready():
            raise trio.WouldBlock
        return self._next()

    def _is_ready(self) -> bool:
        """Whether a reader has not to wait: there is a message, or an end."""
        return len(self.queue) > 0 or self._lagged > 0 or self.closed

    def _next(self) -> T_co:
        if self._shut:
            raise trio.ClosedResourceError("this inbox was closed")
        if self._lagged:
            count, self._lagged = self._lagged, 0
            return cast("T_co", Lagged(count))
        envelope = self.queue.take()
        if envelope is not None:
            if self.system.spies:
                self.system.reports.spied(envelope, self)
            return cast("T_co", envelope.codec.decode(envelope.body))
        if self._disconnected:
            raise trio.BrokenResourceError(f"{self.path} was too slow and was disconnected")
        raise trio.EndOfChannel

    async def aclose(self) -> None:
        """Stop receiving; senders learn that it is closed. Idempotent."""
        self.close_now()
        await trio.lowlevel.checkpoint()

    def close_now(self) -> None:
        """As `aclose`, without the checkpoint."""
        if not self._shut:
            self._shut = True
            self.end()
            self.close_mailbox("closed")
            self.rouse()

    def statistics(self) -> ActorStatistics:
        """How it is, now."""
        return ActorStatistics(
            path=self.path,
            kind="Inbox",
            state="stopped" if self.closed else "running",
            queued=len(self.queue),
            capacity=self.queue.size,
            handled=self.queue.taken,
            rejected=self.queue.rejected,
            dropped=self.queue.dropped,
        )

    def __enter__(self) -> Inbox[T_co]:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close_now()


class Kinds(Mapping[type, object]):
    """The message classes that an inbox takes: the named ones and what derives from them."""

    __slots__ = ("_known", "_named")

    def __init__(self, named: tuple[type, ...]) -> None:
        self._named = named
        self._known: dict[object, bool] = dict.fromkeys(named, True)

    def __contains__(self, kind: object) -> bool:
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = isinstance(kind, type) and issubclass(kind, self._named)
        return known

    def __getitem__(self, kind: type) -> object:
        if kind in self:
            return None
        raise KeyError(kind)

    def __iter__(self) -> Iterator[type]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


def accepted_kinds(kind: Any) -> Kinds:  # noqa: ANN401  # a class or a union of classes
    """The message classes of a class or a union, and what derives from them."""
    union = get_origin(kind) in (Union, types.UnionType)
    members = get_args(kind) if union else (kind,)
    for member in members:
        if not isinstance(member, type):
            raise TypeError(f"{member!r} is not a message class")
    return Kinds(tuple(members))
