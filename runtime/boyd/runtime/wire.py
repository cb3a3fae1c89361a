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


_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})


def check_tree(tree: object, limits: Limits) -> None:
    """Raises WireError where a tree is deeper or longer than `limits`, or has what no plain tree has."""
    # Level by level: a hostile frame nests deeper than Python recurses.
    level = _containers((tree,), limits)
    depth = 0
    while level:
        depth += 1
        if depth > limits.depth:
            raise WireError(f"nested deeper than {limits.depth}")
        deeper: list[Collection[Any]] = []
        for parts in level:
            if len(parts) > limits.items:
                raise WireError(f"an array or map of more than {limits.items} elements")
            deeper += _containers(parts, limits)
        level = deeper


def _containers(parts: Collection[Any], limits: Limits) -> list[Collection[Any]]:
    """What is in the containers among `parts`; the others are checked here."""
    kinds = set(map(type, parts))
    if limits.finite and not all(one - one == 0 for one in parts if isinstance(one, float)):
        raise WireError("NaN and infinity are not accepted here")
    if kinds <= _SCALARS:
        return []
    if any(issubclass(kind, _Timestamp) for kind in kinds):
        raise WireError("timestamps travel as numbers")
    return [
        one.values() if isinstance(one, dict) else one
        for one in parts
        if isinstance(one, (dict, list))
    ]
