"""The turns of one thread, read once and appended by one step."""

from __future__ import annotations

from collections import deque

from boyd.actors.conversation.turns import Turn
from boyd.actors.runs.spec import RunSpec
from boyd.runtime import SequenceConflict

__all__ = ["ThreadLog"]

_PAGE = 500
_TRIES = 8


class ThreadLog:
    """Turns in order, with the tip that an append must follow.

    Facts, questions and journal entries may come between turns from other
    actors of the run; another writer's *turn* may not.

    Args:
        keep: how many of the last turns are known here; None is all.
    """

    def __init__(self, spec: RunSpec, keep: int | None = None) -> None:
        self._spec = spec
        self._turns: deque[Turn] = deque(maxlen=keep)
        self._ids: set[str] = set()
        self._tip = 0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the thread that are known here."""
        return tuple(self._turns)

    def find(self, turn_id: str) -> Turn | None:
        """The turn of that id, if it was appended already."""
        if turn_id not in self._ids:
            return None
        return next((turn for turn in reversed(self._turns) if turn.id == turn_id), None)

    async def load(self) -> int:
        """Read what is new in the thread; the number of turns among it."""
        ledger, new = self._spec.system.ledger, 0
        while True:
            page = await ledger.read(self._spec.thread, after=self._tip, limit=_PAGE)
            for entry in page:
                self._tip = entry.seq
                turn = entry.message() if entry.kind == "boyd.turn" else None
                if isinstance(turn, Turn) and turn.id not in self._ids:
                    self._add(turn)
                    new += 1
            if len(page) < _PAGE:
                return new

    async def append(self, turn: Turn) -> int:
        """Append one turn behind all that is known; its seq.

        Raises:
            SequenceConflict: somebody else appended a turn to this thread.
        """
        for _ in range(_TRIES):
            try:
                tip = await self._spec.append(turn, ids=(turn.id,), after=self._tip)
            except SequenceConflict:
                if await self.load():
                    raise
                continue
            self._tip = tip
            self._add(turn)
            return tip
        raise SequenceConflict(thread=self._spec.thread, expected=self._tip, actual=self._tip + 1)

    def _add(self, turn: Turn) -> None:
        if len(self._turns) == self._turns.maxlen:
            self._ids.discard(self._turns[0].id)
        self._ids.add(turn.id)
        self._turns.append(turn)
