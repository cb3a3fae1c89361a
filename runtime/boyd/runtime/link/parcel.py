"""An envelope as it crosses a border: addresses and headers as plain values, the body untouched.

The header is the msgpack array

    [purpose, kind, to, sender, correlation, thread, provenance, trace, labels]

where `to` and `sender` are `[system, path, incarnation]` (the wire form of a
ref) and `sender` may be nil. As with messages, a shorter array takes defaults
and what is behind the last known field is ignored. The deadline is not in the
header: it changes with each transmission (`frames`).
"""

from __future__ import annotations

import enum
import math
from typing import Final, NamedTuple, cast

import attrs

from boyd.runtime.codec import pack_tree
from boyd.runtime.envelope import NO_HEADERS, Headers
from boyd.runtime.errors import EncodeError, WireError
from boyd.runtime.wire import Limits, unpack_foreign

__all__ = ["HEADER_LIMITS", "Address", "Parcel", "Purpose", "decode_header", "encode_header"]

HEADER_LIMITS: Final = Limits(frame=64 << 10, depth=2, items=64, finite=True)
"""Of the header of one parcel: 64 KiB, at most 64 labels."""


class Purpose(enum.IntEnum):
    """Why a parcel travels. The numbers are the wire's."""

    TELL = 1
    ASK = 2
    REPLY = 3
    FAILURE = 4
    WITHDRAW = 5


class Address(NamedTuple):
    """An actor of some system, as its ref travels."""

    system: str
    path: str
    incarnation: int


@attrs.frozen(kw_only=True)
class Parcel:
    """One message on its way between systems.

    Attributes:
        kind: tag of the message, or "" for a reply, whose type the asker knows. One
            that is not registered here stays opaque.
        body: msgpack, the array of the message's fields; it is never looked into on the way.
        to, sender: whom it is for, and who sent it, where somebody did.
        purpose: a tell, an ask, one of the two answers to an ask, or its withdrawal.
        correlation: the ask that this belongs to, as its asker calls it, or "".
        headers: what every message of a run carries.
        deadline: by when it must be handled, on the clock of *this* system. It travels as
            the seconds that are left, because two machines' clocks differ; what the way
            takes is on top. (gRPC's `grpc-timeout` is relative for the same reason.)
    """

    kind: str
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")
    to: Address
    sender: Address | None = None
    purpose: Purpose = Purpose.TELL
    correlation: str = ""
    headers: Headers = NO_HEADERS
    deadline: float = math.inf


def encode_header(parcel: Parcel) -> bytes:
    """All of a parcel but its body and its deadline.

    Raises:
        EncodeError: it is larger than a peer would accept, or no text where text belongs.
    """
    headers = parcel.headers
    tree = [
        int(parcel.purpose),
        parcel.kind,
        list(parcel.to),
        None if parcel.sender is None else list(parcel.sender),
        parcel.correlation,
        headers.thread,
        headers.provenance,
        headers.trace,
        dict(headers.labels),
    ]
    frame = pack_tree(tree, "the header of a parcel")
    try:
        decode_header(frame, b"", math.inf)
    except WireError as error:
        raise EncodeError(f"no peer would accept this header: {error}") from None
    return frame


def decode_header(header: bytes, body: bytes, deadline: float) -> Parcel:
    """The parcel of a stranger's header.

    Raises:
        WireError: the header is not one within `HEADER_LIMITS`.
    """
    match unpack_foreign(header, HEADER_LIMITS):
        case [int(purpose), str(kind), to, *rest] if _is_purpose(purpose):
            sender, *texts = _padded(cast("list[object]", rest))
        case _:
            raise WireError("not the header of a parcel")
    return Parcel(
        kind=kind,
        body=body,
        to=_address(to),
        sender=None if sender is None else _address(sender),
        purpose=Purpose(purpose),
        correlation=_text(texts[0]),
        headers=_headers(texts[1:]),
        deadline=deadline,
    )


_PURPOSES: Final = frozenset(int(one) for one in Purpose)


def _is_purpose(number: int) -> bool:
    return type(number) is int and number in _PURPOSES


_DEFAULTS: Final[tuple[object, ...]] = (None, "", "", "", "", {})


def _padded(rest: list[object]) -> tuple[object, ...]:
    known = rest[: len(_DEFAULTS)]
    return (*known, *_DEFAULTS[len(known) :])


def _headers(parts: list[object]) -> Headers:
    thread, provenance, trace, labels = parts
    if not isinstance(labels, dict):
        raise WireError("the labels of a parcel are a map of texts")
    texts = {name: _text(value) for name, value in cast("dict[str, object]", labels).items()}
    if (thread, provenance, trace, texts) == ("", "", "", {}):
        return NO_HEADERS
    return Headers(
        thread=_text(thread), provenance=_text(provenance), trace=_text(trace), labels=texts
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise WireError("expected text in the header of a parcel")
    return value


def _address(tree: object) -> Address:
    match tree:
        case [str(system), str(path), int(incarnation)] if type(incarnation) is int:
            return Address(system, path, incarnation)
        case _:
            raise WireError("expected an address: [system, path, incarnation]")
