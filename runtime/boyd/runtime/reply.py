"""Exactly one outcome for each ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boyd.runtime.dispatcher import Waiter
from boyd.runtime.errors import AskTimeout
from boyd.runtime.failure import (
    FAILURES,
    encode_failure,
    failure_of,
    failure_of_crash,
    to_exception,
)

if TYPE_CHECKING:
    from trio import CancelScope

    from boyd.runtime.codec import TypeCodec
    from boyd.runtime.messages import MessageCodec
    from boyd.runtime.post import Post

__all__ = ["ReplySlot"]


class ReplySlot(Waiter):
    """Where one asker waits; settled once, by whoever comes first. Later answers are late.

    Attributes:
        sent, limit: when it was asked, and when that ends in `AskTimeout`.
        began: when its handler was entered; None before.
        handling: what a handler runs in that is to end when nobody waits for it.
        settled: it has its outcome, or the asker has left.
    """

    __slots__ = (
        "_ahead",
        "_cause",
        "_failure",
        "_post",
        "_request",
        "_value",
        "began",
        "handling",
        "limit",
        "sent",
        "settled",
    )

    def __init__(self, post: Post, request: MessageCodec[Any], sent: float, limit: float) -> None:
        super().__init__(post.system.dispatcher)
        self._post = post
        self._request = request
        self._ahead = len(post.queue)
        self._value: bytes | None = None
        self._failure: bytes | None = None
        self._cause: BaseException | None = None
        self.sent = sent
        self.limit = limit
        self.began: float | None = None
        self.handling: CancelScope | None = None
        self.settled = False

    @property
    def _codec(self) -> TypeCodec:
        codec = self._request.reply
        assert codec is not None, "only what declares a reply is asked"
        return codec

    def encode(self, value: object) -> bytes:
        """The frame of a reply. Raises EncodeError: it is not of the type that the message promises."""
        return self._codec.encode(value)

    def answer(self, frame: bytes) -> None:
        """Settle with an encoded reply."""
        if not self.settled:
            self._value = frame
            self._settle()
            self.wake()

    def fail(self, error: Exception) -> None:
        """Settle with an error of the runtime, or one that is an answer. It travels as a `Failure`."""
        self._fail(encode_failure(failure_of(error)), error)

    def crash(self, error: Exception) -> None:
        """Settle with the error of a handler that crashed."""
        self._fail(encode_failure(failure_of_crash(error)), error)

    def expire(self) -> None:
        """Its time has come. For `Deadlines`."""
        self.settled = True
        error = AskTimeout(self._timeout_text())
        self._failure, self._cause = encode_failure(failure_of(error)), error
        self._cancel_handler()
        self.wake()

    def abandon(self) -> None:
        """The asker has left. What has not begun is never handled. Idempotent."""
        if not self.settled:
            self._settle()
            self._cancel_handler()

    def _cancel_handler(self) -> None:
        if self.handling is not None:
            self.handling.cancel()

    def give_up(self) -> None:
        """The asker was cancelled, and leaves."""
        self.abandon()

    def _fail(self, frame: bytes, cause: Exception) -> None:
        if not self.settled:
            self._failure = frame
            self._cause = cause
            self._settle()
            self.wake()

    def _settle(self) -> None:
        self.settled = True
        self._post.system.deadlines.forget_one()

    def _timeout_text(self) -> str:
        began = self.limit if self.began is None else self.began
        behind = f"it waited {began - self.sent:.1f} s behind {self._ahead:,} messages"
        seconds = self.limit - self.sent
        name = self._request.cls.__name__
        text = f"{self._post.path} did not answer {name} within {seconds:.1f} s: {behind}"
        return text if self.began is None else f"{text} and is still being handled"

    def result(self) -> Any:  # noqa: ANN401  # the reply's own type is known to the asker
        """The decoded reply, or raise the decoded error."""
        if self._failure is not None:
            raise to_exception(FAILURES.decode(self._failure), self._cause)
        assert self._value is not None, "result() before the slot was settled"
        return self._codec.decode(self._value)
