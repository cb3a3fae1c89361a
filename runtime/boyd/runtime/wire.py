"""Bytes to a plain tree and back; the only user of msgpack.

A *plain tree* is None, bool, int, float, str, bytes, list and dict with text
keys. `pack` makes bytes from one. `unpack_own` reads bytes that this process
packed; `unpack_foreign` reads anybody's bytes, under limits, and raises
nothing but `WireError`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NoReturn, cast

import attrs
import msgpack

from boyd.runtime.errors import WireError

__all__ = [
    "DEFAULT_LIMITS",
    "WIRE_VERSION",
    "Limits",
    "check_tree",
    "pack",
    "packer",
    "unpack_foreign",
    "unpack_own",
]

WIRE_VERSION: Final = 1
"""The format of frames and of entry bodies. Changed only with an upcaster beside it."""


@attrs.frozen(kw_only=True)
class Limits:
    """How much of a stranger's frame is accepted.

    Attributes:
        frame: bytes in one frame.
        depth: containers within containers.
        items: elements of one array or map.
        finite: refuse NaN and infinities (for peers' headers; in state they are legal).
    """

    frame: int = 1 << 20
    depth: int = 32
    items: int = 4096
    finite: bool = False


DEFAULT_LIMITS: Final = Limits()


_msgpack: Final = cast("Any", msgpack)  # it has no types
_Timestamp: Final = cast("type", _msgpack.Timestamp)


class _PackerOfThread(threading.local):
    """One long-lived packer a thread: building one costs as much as packing a message."""

    def __init__(self) -> None:
        self.pack = cast("Callable[[object], bytes]", _msgpack.Packer(autoreset=True).pack)


packer: Final = _PackerOfThread()
"""`packer.pack(tree)` is `pack(tree)` without a call in between, for generated code."""

_unpackb = cast("Callable[..., Any]", _msgpack.unpackb)

unpack_own: Final = cast("Callable[[bytes], Any]", _msgpack.unpackb)
"""The tree of bytes that this process packed."""


def pack(tree: object) -> bytes:
    """The bytes of a plain tree.

    Raises:
        TypeError, ValueError, OverflowError: what msgpack says of a tree that is not plain.
    """
    return packer.pack(tree)


def unpack_foreign(frame: bytes, limits: Limits = DEFAULT_LIMITS) -> Any:  # noqa: ANN401
    """The tree of bytes from outside: a peer, a file, a store.

    Raises:
        WireError: for every input that is not one plain tree within `limits`.
    """
    if len(frame) > limits.frame:
        raise WireError(f"a frame of {len(frame)} bytes is over the limit of {limits.frame}")
    try:
        tree = _unpackb(
            frame,
            max_array_len=limits.items,
            max_map_len=limits.items,
            strict_map_key=False,  # the pairs are looked at anyway
            ext_hook=_refuse_extension,
            object_pairs_hook=_unique_text_keys,
        )
    except WireError:
        raise
    except Exception as error:  # msgpack raises six unrelated types here
        raise WireError(f"not a message: {type(error).__name__}") from error
    check_tree(tree, limits)
    return tree


def _refuse_extension(code: int, _data: bytes) -> NoReturn:
    raise WireError(f"extension type {code} is not accepted")


def _unique_text_keys(pairs: Sequence[tuple[object, object]]) -> dict[object, object]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        raise WireError("a map has the same key twice")
    if not all(type(key) is str for key in tree):
        raise WireError("map keys must be text")
    return tree


def check_tree(tree: object, limits: Limits) -> None:
    """Raises WireError where a tree is deeper or longer than `limits`, or has what no plain tree has."""
    # A stack of our own: a hostile frame nests deeper than Python recurses.
    stack: list[tuple[object, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, (dict, list)):
            parts = cast("Collection[object]", node.values() if isinstance(node, dict) else node)
            if depth > limits.depth:
                raise WireError(f"nested deeper than {limits.depth}")
            if len(parts) > limits.items:
                raise WireError(f"an array or map of more than {limits.items} elements")
            stack.extend((part, depth + 1) for part in parts)
        elif isinstance(node, _Timestamp):
            raise WireError("timestamps travel as numbers")
        elif limits.finite and isinstance(node, float) and node - node != 0:
            raise WireError("NaN and infinity are not accepted here")
