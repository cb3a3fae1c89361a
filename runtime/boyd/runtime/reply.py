"""Exactly one outcome for each ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boyd.runtime.dispatcher import Dispatcher, Waiter
from boyd.runtime.failure import (
    FAILURES,
    encode_failure,
    failure_of,
    failure_of_crash,
    to_exception,
)

if TYPE_CHECKING:
    from boyd.runtime.codec import TypeCodec

__all__ = ["ReplySlot"]


class ReplySlot(Waiter):
    """Where one asker waits; settled once, by whoever comes first. Later answers are late.

    Attributes:
        ahead: messages before this one, when it was sent.
        began: when its handler was entered; None before.
        settled: it has its outcome, or the asker has left.
    """

    __slots__ = ("_cause", "_codec", "_failure", "_value", "ahead", "began", "settled")

    def __init__(self, codec: TypeCodec, dispatcher: Dispatcher, ahead: int) -> None:
        super().__init__(dispatcher)
        self._codec = codec
        self._value: bytes | None = None
        self._failure: bytes | None = None
        self._cause: BaseException | None = None
        self.ahead = ahead
        self.began: float | None = None
        self.settled = False

    def encode(self, value: object) -> bytes:
        """The frame of a reply. Raises EncodeError: it is not of the type that the message promises."""
        return self._codec.encode(value)

    def answer(self, frame: bytes) -> None:
        """Settle with an encoded reply."""
        if not self.settled:
            self._value = frame
            self._settle()

    def fail(self, error: Exception) -> None:
        """Settle with an error of the runtime, or one that is an answer. It travels as a `Failure`."""
        self._fail(encode_failure(failure_of(error)), error)

    def crash(self, error: Exception) -> None:
        """Settle with the error of a handler that crashed."""
        self._fail(encode_failure(failure_of_crash(error)), error)

    def abandon(self) -> None:
        """The asker has left. What has not begun is never handled."""
        self.settled = True

    def give_up(self) -> None:
        """The asker was cancelled, and leaves."""
        self.settled = True

    def _fail(self, frame: bytes, cause: Exception) -> None:
        if not self.settled:
            self._failure = frame
            self._cause = cause
            self._settle()

    def _settle(self) -> None:
        self.settled = True
        self.wake()

    def result(self) -> Any:  # noqa: ANN401  # the reply's own type is known to the asker
        """The decoded reply, or raise the decoded error."""
        if self._failure is not None:
            raise to_exception(FAILURES.decode(self._failure), self._cause)
        assert self._value is not None, "result() before the slot was settled"
        return self._codec.decode(self._value)
