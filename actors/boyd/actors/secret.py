"""A string that does not show itself."""

from __future__ import annotations

import hmac
from typing import NoReturn

__all__ = ["Secret", "redact"]

MASK = "<secret>"
SHORTEST_REDACTED = 4  # shorter ones would blank half of every message


class Secret:
    """Holds a key or a password. Only `reveal()` gives it away.

    It has no repr, str or format that shows it, and no pickle, wire or JSON
    form at all.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str, /) -> None:
        self.__value = value

    def reveal(self) -> str:
        """The string itself. Call it as late as possible, and keep the result nowhere."""
        return self.__value

    def __repr__(self) -> str:
        return MASK

    def __format__(self, format_spec: str, /) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        ours, theirs = (one.reveal().encode("utf-8", "surrogatepass") for one in (self, other))
        return hmac.compare_digest(ours, theirs)

    __hash__ = None  # type: ignore[assignment]  # a dict key is printed sooner or later

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, object], /) -> Secret:
        return self

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret has no state to show")

    def __reduce_ex__(self, protocol: object, /) -> NoReturn:
        raise TypeError("a Secret cannot be pickled: pass it by reference, or read it again")


def redact(text: str, *secrets: Secret) -> str:
    """`text` with every secret in it masked, for words that came from outside."""
    for secret in secrets:
        value = secret.reveal()
        if len(value) >= SHORTEST_REDACTED:
            text = text.replace(value, MASK)
    return text
