"""A message on its way: the bytes of its body, and what travels beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from boyd.runtime.messages import MessageCodec
    from boyd.runtime.ref import Ref
    from boyd.runtime.reply import ReplySlot
    from boyd.runtime.timers import Timer

__all__ = ["NO_HEADERS", "Envelope", "Headers"]


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


class Envelope:
    """One message for one receiver. `body` is msgpack, in process too.

    Attributes:
        at: when it was sent.
        attempt: 1, and one more for each redelivery.
        reserved: a message of the runtime or of the actor to itself: no overflow policy drops it.
        timer: the timer that sent it.
    """

    __slots__ = (
        "at",
        "attempt",
        "body",
        "codec",
        "deadline",
        "headers",
        "reply",
        "reserved",
        "sender",
        "timer",
    )

    def __init__(  # noqa: PLR0917  # by keyword it would take twice as long
        self,
        codec: MessageCodec[Any],
        body: bytes,
        sender: Ref[Any] | None,
        headers: Headers,
        at: float,
        deadline: float = math.inf,
        reply: ReplySlot | None = None,
    ) -> None:
        self.codec = codec
        self.body = body
        self.sender = sender
        self.headers = headers
        self.deadline = deadline
        self.reply = reply
        self.at = at
        self.attempt = 1
        self.reserved = False
        self.timer: Timer | None = None

    def __repr__(self) -> str:
        return f"<{self.codec.name}, {len(self.body)} bytes>"
