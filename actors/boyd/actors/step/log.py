"""The turns of one thread, read once and appended by one step."""

from __future__ import annotations

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
    """

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._turns: list[Turn] = []
        self._ids: set[str] = set()
        self._tip = 0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of the thread that are known here."""
        return tuple(self._turns)

    def find(self, turn_id: str) -> Turn | None:
        """The turn of that id, if it was appended already."""
        if turn_id not in self._ids:
            return None
        return next(turn for turn in self._turns if turn.id == turn_id)

    async def load(self) -> int:
        """Read what is new in the thread; the number of turns among it."""
        ledger, before = self._spec.system.ledger, len(self._turns)
        while True:
            page = await ledger.read(self._spec.thread, after=self._tip, limit=_PAGE)
            for entry in page:
                self._tip = entry.seq
                if entry.kind == "boyd.turn":
                    turn = entry.message()
                    assert isinstance(turn, Turn)
                    self._add(turn)
            if len(page) < _PAGE:
                return len(self._turns) - before

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
        if turn.id not in self._ids:
            self._ids.add(turn.id)
            self._turns.append(turn)
