"""Exactly one outcome for each ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boyd.runtime.dispatcher import Dispatcher, Waiter
from boyd.runtime.failure import FAILURES, failure_of, to_exception

if TYPE_CHECKING:
    from boyd.runtime.codec import TypeCodec

__all__ = ["ReplySlot"]


class ReplySlot:
    """Owned by the asker's block; settled once, by whoever comes first. Later answers are late."""

    __slots__ = ("_cause", "_codec", "_failure", "_value", "begun", "settled", "waiter")

    def __init__(self, codec: TypeCodec, dispatcher: Dispatcher) -> None:
        self._codec = codec
        self._value: bytes | None = None
        self._failure: bytes | None = None
        self._cause: BaseException | None = None
        self.settled = False
        self.begun = False
        self.waiter = Waiter(dispatcher)

    def answer(self, value: object) -> bytes:
        """Encode the reply and settle. Raises EncodeError: the handler returned something else than it promised."""
        frame = self._codec.encode(value)
        self._value = frame
        self._settle()
        return frame

    def fail(self, error: BaseException) -> None:
        """Settle with an error, which travels as a `Failure`; the live object rides along as its cause."""
        if not self.settled:
            self._failure = FAILURES.encode(failure_of(error))
            self._cause = error
            self._settle()

    def abandon(self) -> None:
        """The asker has left. What has not begun is never handled."""
        self.settled = True

    def _settle(self) -> None:
        self.settled = True
        self.waiter.wake()

    def result(self) -> Any:  # noqa: ANN401  # the reply's own type is known to the asker
        """The decoded reply, or raise the decoded error."""
        if self._failure is not None:
            raise to_exception(FAILURES.decode(self._failure), self._cause)
        assert self._value is not None, "result() before the slot was settled"
        return self._codec.decode(self._value)
