"""A message on its way: the bytes of its body, and what travels beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import attrs

if TYPE_CHECKING:
    from boyd.runtime.messages import MessageCodec
    from boyd.runtime.ref import Ref
    from boyd.runtime.reply import ReplySlot
    from boyd.runtime.timers import Timer

__all__ = ["NO_HEADERS", "Envelope", "Headers", "Track", "sealed"]


@attrs.frozen(kw_only=True)
class Headers:
    """What every message of a run carries, inherited by the messages that its handlers send.

    Attributes:
        thread: ledger thread of the run, or "".
        provenance: where the run came from (a conduit, a user), or "".
        trace: W3C traceparent, or "".
        labels: origin and integrity of what the run has read, name to value.
    """

    thread: str = ""
    provenance: str = ""
    trace: str = ""
    labels: Mapping[str, str] = attrs.field(factory=dict[str, str])


NO_HEADERS: Final = Headers()


@attrs.define(eq=False)
class Track:
    """What is known of a message beyond a plain told one. Few have one, and those pay for it.

    Attributes:
        reply: where its asker waits.
        deadline: by when its asker needs it handled.
        reserved: a message of the runtime or of the actor to itself: no overflow policy drops it.
        attempt: 1, and one more for each redelivery.
        timer: the timer that sent it.
        last: no message but a mark: whoever comes to it stops.
    """

    reply: ReplySlot | None = None
    deadline: float = math.inf
    reserved: bool = False
    attempt: int = 1
    timer: Timer | None = None
    last: bool = False


class Envelope(NamedTuple):
    """One message for its receivers. `body` is msgpack, in process too.

    Attributes:
        at: when it was sent.
    """

    codec: MessageCodec[Any]
    body: bytes
    sender: Ref[Any] | None
    headers: Headers
    at: float
    track: Track | None = None

    @property
    def reply(self) -> ReplySlot | None:
        """Where its asker waits."""
        return None if self.track is None else self.track.reply

    @property
    def attempt(self) -> int:
        """1, or more when it was redelivered after a crash."""
        return 1 if self.track is None else self.track.attempt

    def again(self) -> Envelope:
        """The same message for one more attempt."""
        track = Track() if self.track is None else self.track
        return self._replace(track=attrs.evolve(track, attempt=track.attempt + 1))

    def __repr__(self) -> str:
        return f"<{self.codec.name}, {len(self.body)} bytes>"


_Fields: TypeAlias = (
    "tuple[MessageCodec[Any], bytes, Ref[Any] | None, Headers, float, Track | None]"
)
sealed: Final = cast(
    "Callable[[_Fields], Envelope]",
    partial(tuple.__new__, Envelope),  # pyright: ignore[reportUnknownMemberType]
)
"""An envelope of a tuple of its fields, at half the cost of its constructor: it is made for every message."""
