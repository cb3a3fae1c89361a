"""The one error that a model request ends in."""

from __future__ import annotations

from boyd.runtime.errors import BoydError
from boyd.runtime.failure import failure

__all__ = ["ModelError", "is_retryable"]


@failure("boyd.ModelError")
class ModelError(BoydError, RuntimeError):
    """A model gave no whole answer. The message is one sentence for people, without secrets.

    Attributes:
        code: a stable word for programs: the provider's own if it sent one,
            else one of ours, such as `timeout`, `cut` or `http_503`.
        status: of the HTTP answer, or the one that an error in a stream names.
        retry_after: seconds that the provider asked to wait.
        partial: the text that had arrived.
        retryable: whether the same request may succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        partial: str = "",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.retry_after = retry_after
        self.partial = partial
        self.retryable = retryable


def is_retryable(status: int | None, code: str = "") -> bool:
    """Whether an answer with this status or code is about the moment, not about the request."""
    if code in _FINAL:
        return False
    return status is not None and (status in _MOMENTARY or status >= 500)  # noqa: PLR2004


_MOMENTARY = frozenset({408, 425, 429})
_FINAL = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
