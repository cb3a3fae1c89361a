"""The frames of a link, and their bytes.

Each is a msgpack array that begins alike:

    [version, kind, sender, incarnation, epoch, recipient, incarnation, epoch, ...]

Sender and recipient are the names of the two systems. The recipient's
incarnation is "" and its epoch 0 where the sender does not know them yet. Then

    1 hello   phase, first, mark    shake hands: see `handshake`
    2 data    seq, left, header, body
    3 void    seq                   a number that nothing will come for
    4 ack     mark, ranges          committed up to `mark`; `ranges` of what else is held
    5 close   reason

What is behind the last known field is ignored, so that fields can be appended.
"""

from __future__ import annotations

import enum
import math
from typing import Final, TypeAlias, cast

import attrs

from boyd.runtime.errors import WireError
from boyd.runtime.link.life import Life
from boyd.runtime.wire import DEFAULT_LIMITS, Limits, pack, unpack_foreign

__all__ = [
    "FRAME_LIMITS",
    "LINK_VERSION",
    "LONGEST_NAME",
    "MOST_RANGES",
    "Ack",
    "Close",
    "Data",
    "Frame",
    "Hello",
    "Phase",
    "Route",
    "Void",
    "check_name",
    "decode_frame",
    "encode_frame",
]

LINK_VERSION: Final = 1
"""The format of these frames. A frame of another version is refused."""
FRAME_LIMITS: Final = Limits(frame=DEFAULT_LIMITS.frame, depth=3, items=64, finite=True)
"""What of a stranger's frame is accepted: 1 MiB, and nothing deep or long outside header and body."""
MOST_RANGES: Final = 16
"""Of one ack; what does not fit is told by a later one. (A TCP segment has room for 4, RFC 2018.)"""
LONGEST_NAME: Final = 255
"""Of a system's name and of an incarnation, in characters."""
_MOST: Final = (1 << 63) - 1
_LONGEST_REASON: Final = 1_000


class Phase(enum.IntEnum):
    """How far a handshake is, as the sender of a hello sees it. The numbers are the wire's."""

    KNOCK = 0
    """I am not in a session with you."""
    OPEN = 1
    """I am, but I do not know whether you are with me. Also: are you there?"""
    SURE = 2
    """I am, and I know that you are. This needs no answer."""


@attrs.frozen(kw_only=True)
class Route:
    """From which life of which system a frame comes, and for which it is.

    Attributes:
        to: None where the sender does not know the recipient's life.
    """

    sender: str
    life: Life
    recipient: str
    to: Life | None


@attrs.frozen(kw_only=True)
class Hello:
    """A step of the handshake, or within a session the question whether the other is there.

    Attributes:
        first: the lowest number that the sender may still send. Binding from `Phase.OPEN` on.
        mark: all up to this number, of the recipient's incarnation, is committed at the
            sender; None: it knows nothing of that incarnation.
    """

    route: Route
    phase: Phase
    first: int
    mark: int | None


@attrs.frozen(kw_only=True)
class Data:
    """One parcel.

    Attributes:
        seq: its number among all that the sender's incarnation sends over this link, from 1.
        left: seconds until its deadline, when this frame was made; infinite where it has none.
    """

    route: Route
    seq: int
    left: float
    header: bytes = attrs.field(repr=lambda part: f"<{len(part)} bytes>")
    body: bytes = attrs.field(repr=lambda part: f"<{len(part)} bytes>")


@attrs.frozen(kw_only=True)
class Void:
    """Do not wait for this number: its deadline has passed. (RFC 3758 does so for SCTP.)"""

    route: Route
    seq: int


@attrs.frozen(kw_only=True)
class Ack:
    """What need not be sent again.

    Attributes:
        mark: all up to here is committed (cumulative, as in RFC 9293), and may be forgotten.
        ranges: first and last of what is held beyond it, not committed yet or not in
            turn: to be kept, but not sent again within this session (RFC 2018).
    """

    route: Route
    mark: int
    ranges: tuple[tuple[int, int], ...] = ()


@attrs.frozen(kw_only=True)
class Close:
    """The sender has closed the link, and will send nothing more."""

    route: Route
    reason: str


Frame: TypeAlias = Hello | Data | Void | Ack | Close

_HELLO, _DATA, _VOID, _ACK, _CLOSE = range(1, 6)


def check_name(what: str, name: str) -> str:
    """A system's name or an incarnation that a frame can carry.

    Raises:
        ValueError: it is empty, long, or not printable.
    """
    if not _is_name(name):
        raise ValueError(f"{what} is 1 to {LONGEST_NAME} printable characters, not {name!a:.80}")
    return name


# ------------------------------------------------------------------ to bytes
def encode_frame(frame: Frame) -> bytes:
    """The bytes of a frame. It may be longer than a peer accepts: its maker knows the limit."""
    route = frame.route
    to = Life("", 0) if route.to is None else route.to
    kind, rest = _parts(frame)
    head = [LINK_VERSION, kind, route.sender, *_of_life(route.life), route.recipient]
    return pack([*head, *_of_life(to), *rest])


def _of_life(life: Life) -> tuple[str, int]:
    return life.incarnation, life.epoch


def _parts(frame: Frame) -> tuple[int, list[object]]:
    match frame:
        case Hello():
            return _HELLO, [int(frame.phase), frame.first, frame.mark]
        case Data():
            left = None if frame.left == math.inf else frame.left
            return _DATA, [frame.seq, left, frame.header, frame.body]
        case Void():
            return _VOID, [frame.seq]
        case Ack():
            return _ACK, [frame.mark, [list(one) for one in frame.ranges]]
        case Close():
            return _CLOSE, [frame.reason[:_LONGEST_REASON]]


# ------------------------------------------------------------------ from bytes
def decode_frame(frame: bytes, limits: Limits = FRAME_LIMITS) -> Frame:
    """The frame of anybody's bytes. The header of a parcel is left as it is (`parcel.decode_header`).

    Raises:
        WireError: for every input that is no frame of this version within `limits`.
    """
    match unpack_foreign(frame, limits):
        case [version, *_] if type(version) is not int or version != LINK_VERSION:
            raise WireError(f"a frame of version {version!r:.20}: this end speaks {LINK_VERSION}")
        case [_, int(kind), sender, inc, epoch, recipient, to_inc, to_epoch, *rest]:
            route = _route(sender, inc, epoch, recipient, to_inc, to_epoch)
            return _frame(_number(kind, _HELLO, _CLOSE), route, cast("list[object]", rest))
        case _:
            raise WireError("not a frame of a link")


def _route(  # noqa: PLR0917  # in the order of the wire
    sender: object, inc: object, epoch: object, recipient: object, to_inc: object, to_epoch: object
) -> Route:
    unknown = to_inc == "" and type(to_epoch) is int and to_epoch == 0
    return Route(
        sender=_name(sender),
        life=Life(_name(inc), _number(epoch, 1)),
        recipient=_name(recipient),
        to=None if unknown else Life(_name(to_inc), _number(to_epoch, 1)),
    )


def _frame(kind: int, route: Route, rest: list[object]) -> Frame:
    match kind, rest:
        case (1, [phase, first, mark, *_]):
            return Hello(
                route=route,
                phase=Phase(_number(phase, 0, Phase.SURE)),
                first=_number(first, 1),
                mark=None if mark is None else _number(mark, 0),
            )
        case (2, [seq, left, bytes(header), bytes(body), *_]):
            return Data(
                route=route, seq=_number(seq, 1), left=_seconds(left), header=header, body=body
            )
        case (3, [seq, *_]):
            return Void(route=route, seq=_number(seq, 1))
        case (4, [mark, ranges, *_]):
            least = _number(mark, 0)
            return Ack(route=route, mark=least, ranges=_ranges(ranges, least))
        case (5, [str(reason), *_]):
            return Close(route=route, reason=reason[:_LONGEST_REASON])
        case _:
            raise WireError(f"no frame of kind {kind} looks like this")


def _ranges(tree: object, above: int) -> tuple[tuple[int, int], ...]:
    """Ascending, without overlap."""
    if not isinstance(tree, list) or len(cast("list[object]", tree)) > MOST_RANGES:
        raise WireError(f"expected at most {MOST_RANGES} ranges")
    found: list[tuple[int, int]] = []
    for one in cast("list[object]", tree):
        pair = cast("list[object]", one) if isinstance(one, list) else []
        if len(pair) != 2:  # noqa: PLR2004
            raise WireError("a range is [first, last]")
        first = _number(pair[0], above + 1)
        above = _number(pair[1], first)
        found.append((first, above))
    return tuple(found)


def _number(value: object, least: int, most: int = _MOST) -> int:
    if type(value) is not int or not least <= value <= most:
        raise WireError(f"expected a number from {least}")
    return value


def _seconds(value: object) -> float:
    if value is None:
        return math.inf
    if type(value) not in (int, float) or cast("float", value) < 0:
        raise WireError("expected the seconds that are left, or nil")
    return float(cast("float", value))


def _name(value: object) -> str:
    if not isinstance(value, str) or not _is_name(value):
        raise WireError("expected the name of a system or an incarnation")
    return value


def _is_name(value: str) -> bool:
    return 0 < len(value) <= LONGEST_NAME and value.isprintable()
