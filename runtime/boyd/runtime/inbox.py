"""A mailbox that a task reads: for subscriptions, probes, streams and runs."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, get_args

import attrs
import trio

from boyd.runtime.envelope import Envelope
from boyd.runtime.mailbox import Mailbox, Overflow
from boyd.runtime.post import Post
from boyd.runtime.statistics import ActorStatistics

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

    __slots__ = ("_dropped", "_ended", "_kinds", "_lag", "_reading")

    def __init__(
        self,
        system: System,
        path: str,
        incarnation: int,
        kinds: Mapping[type, object],
        size: int,
        lag: Lag | None,
    ) -> None:
        overflow = Overflow.DROP_OLDEST if lag is Lag.DROP_OLDEST else Overflow.REJECT
        super().__init__(system, path, incarnation, Mailbox(size=size, overflow=overflow))
        self._kinds = kinds
        self._lag = lag
        self._dropped = 0
        self._ended = False
        self._reading = False

    @property
    def accepted(self) -> Mapping[type, object]:
        return self._kinds

    @property
    def kind(self) -> str:
        return "Inbox"

    def on_dropped(self, envelope: Envelope) -> None:  # noqa: ARG002  # counted, and told to the reader
        self._dropped += 1

    def offer(self, envelope: Envelope) -> None:
        """Take part in a publication, under this inbox's lag policy."""
        if self.closed or self._ended:
            return
        if not self.queue.has_room() and self._lag is Lag.DISCONNECT:
            self._ended = True
            self.waiter.wake()
            return
        if self._make_room():
            self.deliver(envelope)

    def end(self) -> None:
        """No more will come: the reader finishes what is here, then its channel ends."""
        self._ended = True
        self.waiter.wake()

    async def receive(self) -> T_co:
        """The next message; a checkpoint.

        Raises:
            trio.EndOfChannel: it has ended.
            trio.BrokenResourceError: it was disconnected for being slow.
            trio.BusyResourceError: another task is reading.
            trio.ClosedResourceError: it was closed here.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._reading:
            raise trio.BusyResourceError("another task is already reading this inbox")
        if len(self.queue) or self._dropped:
            await trio.lowlevel.cancel_shielded_checkpoint()
        self._reading = True
        try:
            while True:
                if self.closed:
                    raise trio.ClosedResourceError
                if self._dropped or len(self.queue):
                    return self.receive_nowait()
                if self._ended:
                    if self._lag is Lag.DISCONNECT:
                        raise trio.BrokenResourceError(
                            f"{self.path} was too slow and was disconnected"
                        )
                    raise trio.EndOfChannel
                await self.waiter.wait()
        finally:
            self._reading = False

    def receive_nowait(self) -> T_co:
        """The next message if it is here already, else raise `trio.WouldBlock`."""
        if self._dropped:
            count, self._dropped = self._dropped, 0
            return cast("T_co", Lagged(count))
        envelope = self.queue.take()
        if envelope is None:
            raise trio.WouldBlock
        self.system.spied(envelope, self)
        return cast("T_co", self._in_system(lambda: envelope.codec.decode(envelope.body)))

    async def aclose(self) -> None:
        """Stop receiving; senders learn that it is closed. Idempotent."""
        self.close_now()
        await trio.lowlevel.checkpoint()

    def close_now(self) -> None:
        """As `aclose`, without the checkpoint."""
        if not self.closed:
            self.close_mailbox("closed")
            self.system.forget_post(self)
            self.waiter.wake()

    def statistics(self) -> ActorStatistics:
        return ActorStatistics(
            path=self.path,
            kind="Inbox",
            state="stopped" if self.closed else "running",
            queued=len(self.queue),
            capacity=self.queue.size,
            handled=self.queue.taken,
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
    members = get_args(kind) or (kind,)
    for member in members:
        if not isinstance(member, type):
            raise TypeError(f"{member!r} is not a message class")
    return Kinds(tuple(members))
