"""What every store decides alike: pure functions, so that all stores agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from boyd.runtime.errors import IdConflict, SequenceConflict
from boyd.runtime.ledger.protocol import (
    ANY,
    MAX_APPEND,
    MAX_BODY,
    MAX_ENTRIES,
    MAX_NAME,
    AnyTip,
    Entry,
    LedgerRefused,
)

__all__ = ["check_entries", "check_name", "check_page", "new_entries", "parse_cursor"]

_MAX_INTEGER: Final = (1 << 63) - 1
_CURSOR: Final = re.compile(r"[0-9]{1,18}\.[0-9]{1,18}")


def check_name(what: str, name: object) -> None:
    """Names are stored exactly or not at all.

    Raises:
        LedgerRefused: it is not text that every store can hold.
    """
    if not isinstance(name, str):
        raise LedgerRefused(f"{what} must be text, not {type(name).__name__}")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise LedgerRefused(f"{what} has half a character in it: {name!a:.80}") from None
    if not size or size > MAX_NAME or "\0" in name:
        raise LedgerRefused(f"{what} must have 1 to {MAX_NAME} bytes and no NUL: {name!a:.80}")


def check_entries(thread: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries of an append, once they are known to be storable.

    Raises:
        LedgerRefused: a name or a size is out of bounds.
    """
    check_name("the name of a thread", thread)
    if len(entries) > MAX_ENTRIES:
        raise LedgerRefused(
            f"{thread}: {len(entries)} entries in one append, {MAX_ENTRIES} are allowed"
        )
    total = 0
    for entry in entries:
        check_name("the id of an entry", entry.id)
        check_name("the kind of an entry", entry.kind)
        if type(entry.body) is not bytes:
            raise LedgerRefused(
                f"{thread}: the body of {entry.id} must be bytes, not {type(entry.body).__name__}"
            )
        if len(entry.body) > MAX_BODY:
            raise LedgerRefused(
                f"{thread}: {entry.id} has {len(entry.body)} bytes, {MAX_BODY} are allowed"
            )
        total += len(entry.body)
    if total > MAX_APPEND:
        raise LedgerRefused(f"{thread}: {total} bytes in one append, {MAX_APPEND} are allowed")
    return tuple(entries)


def check_page(
    after: int, limit: int, kinds: Collection[str] = ()
) -> tuple[int, int, tuple[str, ...]]:
    """The bounds of a page as every store can use them."""
    if limit < 1:
        raise LedgerRefused(f"a page has at least one entry, not {limit}")
    if len(kinds) > MAX_ENTRIES:
        raise LedgerRefused(f"{len(kinds)} kinds in one read, {MAX_ENTRIES} are allowed")
    wanted = (kinds,) if isinstance(kinds, str) else tuple(dict.fromkeys(kinds))
    for kind in wanted:
        check_name("the kind of an entry", kind)
    return min(max(after, 0), _MAX_INTEGER), min(limit, _MAX_INTEGER), wanted


def parse_cursor(cursor: str | None) -> tuple[int, int]:
    """The place in the listing of threads behind which a page begins.

    Raises:
        LedgerRefused: no store gave it.
    """
    if cursor is None:
        return _MAX_INTEGER, _MAX_INTEGER
    if not _CURSOR.fullmatch(cursor):
        raise LedgerRefused(f"not a cursor of a ledger: {cursor!a:.80}")
    activity, key = cursor.split(".")
    return int(activity), int(key)


def new_entries(
    thread: str,
    entries: Sequence[Entry],
    *,
    after: int | AnyTip,
    tip: int,
    known: Callable[[str], tuple[str, bytes] | None],
) -> Sequence[Entry]:
    """Which entries an append adds: those whose id is not known yet.

    Args:
        known: kind and body of the thread's entry with an id, or None.

    Raises:
        IdConflict: an id is known with other content.
        SequenceConflict: there is something to add, and the tip is not `after`.
    """
    added: dict[str, Entry] = {}
    for entry in entries:
        twin = added.get(entry.id)
        old = (twin.kind, twin.body) if twin else known(entry.id)
        if old is None:
            added[entry.id] = entry
        elif old != (entry.kind, entry.body):
            raise IdConflict(thread=thread, id=entry.id)
    repeated = entries and not added
    if not repeated and after is not ANY and after != tip:
        raise SequenceConflict(thread=thread, expected=after, actual=tip)
    return tuple(added.values())
