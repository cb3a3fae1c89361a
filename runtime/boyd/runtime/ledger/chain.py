"""The hash chain of a thread: every entry seals all that stands before it.

It shows damage, and tampering by somebody who did not recompute what follows.
It is no signature.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import Final

__all__ = ["GENESIS", "LINK_SIZE", "link"]

LINK_SIZE: Final = 16
GENESIS: Final = bytes(LINK_SIZE)
"""The link before the first entry."""

_head = struct.Struct(">QdII").pack


def link(before: bytes, *, seq: int, at: float, id: str, kind: str, body: bytes) -> bytes:  # noqa: A002
    """The link of an entry, from the link of the one before it."""
    name, tag = id.encode(), kind.encode()
    # The lengths stand in front, so that no two entries give the same bytes.
    head = _head(seq, at, len(name), len(tag))
    return blake2b(b"".join((before, head, name, tag, body)), digest_size=LINK_SIZE).digest()
