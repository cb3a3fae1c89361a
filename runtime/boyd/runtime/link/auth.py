"""Frames that only the holder of a key can have made: HMAC-SHA-256 (RFC 2104) around each.

    c1 | version | length of key id | key id | mac, 32 bytes | frame

`c1` begins no msgpack value, so that a sealed frame and a bare one cannot be
taken for each other. The mac covers everything else: version, key id and the
frame, in which are the names of both ends, the sender's incarnation, number,
seconds left and body. It is compared before a byte of the frame is decoded.
A replayed frame has a true mac: that it is old is seen by its lives and its
number (`handshake`, `intake`).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

import attrs

from boyd.runtime.link.errors import FrameForged

__all__ = ["Key", "Keys", "open_sealed", "seal"]

_MARK: Final = b"\xc1"
_VERSION: Final = 1
_MAC: Final = 32
_LEAST_SECRET: Final = 32
_LONGEST_ID: Final = 64


@attrs.frozen(kw_only=True)
class Key:
    """A secret that one pair of systems shares.

    Attributes:
        id: what frames call it, ASCII, 1 to 64 characters; not secret.
        secret: at least 32 random bytes; never shown.
    """

    id: str
    secret: bytes = attrs.field(repr=False)

    def __attrs_post_init__(self) -> None:
        if not (self.id.isascii() and self.id.isprintable() and 0 < len(self.id) <= _LONGEST_ID):
            raise ValueError(f"the id of a key is 1 to {_LONGEST_ID} ASCII characters")
        if len(self.secret) < _LEAST_SECRET:
            raise ValueError(f"the secret of a key has {_LEAST_SECRET} bytes or more")


@attrs.frozen(kw_only=True)
class Keys:
    """The keys of one peer, and of no other: that a frame fits one of them says who sent it.

    To rotate without a gap: let both ends accept the new key, then let both
    sign with it, then let neither accept the old one.

    Attributes:
        sign: the key for what is sent.
        accept: further keys for what is received; `sign` is always accepted.
    """

    sign: Key
    accept: tuple[Key, ...] = ()
    _by_id: Mapping[bytes, Key] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        found = {key.id.encode(): key for key in (*self.accept, self.sign)}
        if len(found) != len({*self.accept, self.sign}):
            raise ValueError("two keys of one peer have the same id")
        object.__setattr__(self, "_by_id", found)

    def find(self, id: bytes) -> Key | None:  # noqa: A002
        """The key of an id, where it is one of this peer's."""
        return self._by_id.get(id)


def seal(frame: bytes, keys: Keys) -> bytes:
    """`frame` with the mac of the key to sign with."""
    id_ = keys.sign.id.encode()
    head = _MARK + bytes((_VERSION, len(id_))) + id_
    return head + _mac(keys.sign, head, frame) + frame


def open_sealed(sealed: bytes, keys: Keys) -> bytes:
    """The frame within, which a holder of one of `keys` has made.

    Raises:
        FrameForged: for all other bytes.
    """
    begin = len(_MARK) + 2
    if sealed[:1] != _MARK or len(sealed) < begin or sealed[1] != _VERSION:
        raise FrameForged("a frame without a mac, where each must have one")
    end = begin + sealed[2]
    head, mac, frame = sealed[:end], sealed[end : end + _MAC], sealed[end + _MAC :]
    key = keys.find(head[begin:])
    if key is None:
        raise FrameForged("a frame with a key that this peer does not have")
    if not hmac.compare_digest(mac, _mac(key, head, frame)):
        raise FrameForged("a frame whose mac is wrong")
    return frame


def _mac(key: Key, head: bytes, frame: bytes) -> bytes:
    return hmac.digest(key.secret, head + frame, "sha256")
