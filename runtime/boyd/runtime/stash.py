"""Messages that an actor has put aside, to be handled in a later state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from boyd.runtime.envelope import Envelope
from boyd.runtime.errors import StashFull
from boyd.runtime.mailbox import is_reserved

if TYPE_CHECKING:
    from boyd.runtime.incarnation import Incarnation

__all__ = ["STASH_SIZE", "Stash"]

STASH_SIZE: Final = 256
"""Messages that one actor may put aside."""


class Stash:
    """In order of arrival. What is in it is not handled yet: an ask still waits, a stop makes dead letters of it."""

    __slots__ = ("_cell", "_items")

    def __init__(self, cell: Incarnation) -> None:
        self._cell = cell
        self._items: list[Envelope] = []

    def __len__(self) -> int:
        return len(self._items)

    def put(self, envelope: Envelope) -> None:
        """Put one aside. Raises StashFull."""
        if len(self._items) >= STASH_SIZE:
            raise StashFull(
                f"{self._cell.path} has put {STASH_SIZE} messages aside, and can take no more"
            )
        self._items.append(envelope)

    def reserved(self) -> list[Envelope]:
        """Those of the runtime, or of the actor to itself."""
        return [one for one in self._items if is_reserved(one)]

    def remove(self, envelope: Envelope) -> bool:
        """Take one out, if it is here."""
        if envelope not in self._items:
            return False
        self._items.remove(envelope)
        return True

    def put_back(self) -> None:
        """All to the head of the mailbox, in order."""
        items, self._items = self._items, []
        for envelope in reversed(items):
            self._cell.queue.put_back(envelope)
