"""The receiving half of a link: each number once, in order, and what of it is committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from boyd.runtime.link.errors import LinkGap
from boyd.runtime.link.frames import MOST_RANGES
from boyd.runtime.link.options import DEDUP_WINDOW, LinkOptions
from boyd.runtime.link.parcel import Parcel

__all__ = ["REMEMBERED", "Inflow", "Intake"]

REMEMBERED: Final = 4
"""Incarnations of the peer whose numbers are known. One that is forgotten is met as a new one."""


@attrs.define(eq=False)
class Inflow:
    """How far one incarnation of the peer has come.

    Attributes:
        mark: all up to here is committed.
        delivered: all up to here was delivered, or is void.
        handed: what was delivered and is not committed, with its size; `handed_size` of all.
        beyond: what is committed beyond `mark`.
    """

    mark: int
    delivered: int
    handed_size: int = 0
    handed: dict[int, int] = attrs.field(factory=dict[int, int])
    beyond: set[int] = attrs.field(factory=set[int])

    def commit(self, seq: int) -> None:
        """One number more; those up to the first hole are what `mark` is about."""
        self.handed_size -= self.handed.pop(seq, 0)
        if seq > self.mark:
            self.beyond.add(seq)
        while self.mark + 1 in self.beyond:
            self.mark += 1
            self.beyond.remove(self.mark)

    def hand(self, size: int) -> int:
        """The next number is delivered, of so many bytes; which it is."""
        self.delivered += 1
        self.handed[self.delivered] = size
        self.handed_size += size
        return self.delivered

    def skip(self, mark: int) -> None:
        """The sender will not send up to `mark` any more."""
        self.mark = max(self.mark, mark)
        self.delivered = max(self.delivered, mark)
        self.beyond = {seq for seq in self.beyond if seq > self.mark}
        self.commit(self.mark)


class Intake:
    """What has come from the peer, and not been committed here.

    Attributes:
        flow: of the peer's incarnation in this session; None until its first number is known.
        early_size: bytes of what came before its turn.
    """

    def __init__(self, options: LinkOptions, marks: Mapping[str, int], *, peer: str) -> None:
        self.flow: Inflow | None = None
        self.early_size = 0
        self._peer = peer
        self._options = options
        self._incarnation = ""
        self._flows = {name: Inflow(mark, mark) for name, mark in marks.items()}
        self._early: dict[int, tuple[Parcel | None, int]] = {}

    @property
    def early(self) -> int:
        """How many came before their turn."""
        return len(self._early)

    @property
    def handed(self) -> int:
        """How many are delivered and not committed, of this incarnation of the peer."""
        return 0 if self.flow is None else len(self.flow.handed)

    @property
    def handed_size(self) -> int:
        """Their bytes."""
        return 0 if self.flow is None else self.flow.handed_size

    # ------------------------------------------------------------------ sessions
    def mark_of(self, incarnation: str) -> int | None:
        """All up to which number of an incarnation is committed; None where it is not known."""
        flow = self._flows.get(incarnation)
        return None if flow is None else flow.mark

    def renew(self, incarnation: str) -> None:
        """A session begins: what came before its turn in the one before is forgotten."""
        self._early.clear()
        self.early_size = 0
        self.flow = None
        self._incarnation = incarnation

    def begin(self, first: int) -> None:
        """In this session the peer sends nothing below `first`."""
        flow = self._flows.pop(self._incarnation, None)
        if flow is None:
            flow = Inflow(first - 1, first - 1)
        else:
            flow.skip(first - 1)
        self.flow = self._flows[self._incarnation] = flow
        while len(self._flows) > REMEMBERED:
            del self._flows[next(iter(self._flows))]

    # ------------------------------------------------------------------ what comes
    def accept(self, seq: int, parcel: Parcel | None, size: int) -> bool:
        """Take a number that the peer sent: a parcel, or a void (None). Returns False where there is no room.

        Raises:
            LinkGap: it is too far ahead.
        """
        flow = self._flow()
        assert not self.has(seq), "a repetition is told before"
        if seq > flow.mark + DEDUP_WINDOW:
            raise LinkGap(peer=self._peer, mark=flow.mark, seq=seq, window=DEDUP_WINDOW)
        in_turn = seq == flow.delivered + 1 and self._can_hand(parcel, size)
        if not in_turn and not self._can_keep(size):
            return False
        self._early[seq] = parcel, size
        self.early_size += size
        return True

    def has(self, seq: int) -> bool:
        """Whether a number has come before."""
        return seq <= self._flow().delivered or seq in self._early

    def _can_keep(self, size: int) -> bool:
        options = self._options
        return len(self._early) < options.early and self.early_size + size <= options.early_size

    def _can_hand(self, parcel: Parcel | None, size: int) -> bool:
        options = self._options
        return parcel is None or (
            self.handed < options.handed and self.handed_size + size <= options.handed_size
        )

    def deliver(self) -> Iterator[tuple[int, Parcel]]:
        """What is in turn and has room at the owner. Voids are passed over, and count as committed."""
        flow = self.flow
        while flow is not None and (found := self._early.get(flow.delivered + 1)) is not None:
            parcel, size = found
            if not self._can_hand(parcel, size):
                return
            seq = flow.hand(size)
            del self._early[seq]
            self.early_size -= size
            if parcel is None:
                flow.commit(seq)
            else:
                yield seq, parcel

    def _flow(self) -> Inflow:
        assert self.flow is not None, "nothing is taken before the peer's first number is known"
        return self.flow

    # ------------------------------------------------------------------ what is said of it
    def commit(self, incarnation: str, seq: int) -> None:
        """The owner has committed a parcel that was delivered to it. Idempotent.

        Raises:
            ValueError: it was not.
        """
        flow = self._flows.get(incarnation)
        if flow is None:  # forgotten: nobody can ask for it any more
            return
        if not 0 < seq <= flow.delivered:
            raise ValueError(f"number {seq} of {incarnation} was not delivered")
        flow.commit(seq)

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """What is here beyond `mark`: first and last of each run, ascending."""
        flow = self._flow()
        found = [(flow.mark + 1, flow.delivered)] if flow.delivered > flow.mark else []
        for seq in sorted(self._early):
            if found and found[-1][1] + 1 == seq:
                found[-1] = found[-1][0], seq
            elif len(found) < MOST_RANGES:
                found.append((seq, seq))
            else:
                break
        return tuple(found)
