"""Children that are restarted together: stopped in reverse order, started in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import attrs
import trio

from boyd.runtime.dispatcher import Dispatcher, Gate
from boyd.runtime.origin import origin
from boyd.runtime.restart import Restart, Strategy

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.services import Services

__all__ = ["Hold", "Siblings", "affected"]

T = TypeVar("T")


def affected(children: Sequence[T], crashed: T, strategy: Strategy) -> Sequence[T]:
    """Which of `children`, in start order, a restart of `crashed` is for, itself included."""
    match strategy:
        case Strategy.ONE_FOR_ONE:
            return [crashed]
        case Strategy.ONE_FOR_ALL:
            return list(children)
        case Strategy.REST_FOR_ONE:
            return children[list(children).index(crashed) :]


@attrs.frozen(eq=False)
class Hold:
    """One actor between two lives, until its siblings are there too.

    Attributes:
        ended: its last life has.
        go: it may begin the next.
        begun: it has, or never will.
    """

    ended: Gate
    go: Gate
    begun: Gate

    @classmethod
    def under(cls, dispatcher: Dispatcher) -> Hold:
        """All of it still to come."""
        return cls(Gate(dispatcher), Gate(dispatcher), Gate(dispatcher))

    def release(self) -> None:
        """Nobody needs to wait for anything of it any more."""
        for gate in (self.ended, self.go, self.begun):
            gate.open()


class Siblings:
    """The children of one parent, under a strategy that restarts several of them.

    Attributes:
        crashes: the times of those that still count, of all of them.
    """

    __slots__ = ("_delay", "_parent", "_system", "_wanted", "_working", "crashes")

    def __init__(self, system: Services, parent: Cell | None) -> None:
        self._system = system
        self._parent = parent
        self._wanted: set[Cell] = set()
        self._delay = 0.0
        self._working = False
        self.crashes: tuple[float, ...] = ()

    def _children(self) -> Sequence[Cell]:
        top = self._system.directory.top
        return tuple((top if self._parent is None else self._parent.children).values())

    @property
    def strategy(self) -> Strategy:
        """That of the parent, or of the system for actors at the top."""
        parent = self._parent
        return self._system.strategy if parent is None else parent.supervision.strategy

    def with_it(self, cell: Cell) -> Sequence[Cell]:
        """Who is restarted when `cell` is, itself left out, in start order."""
        found = affected(self._children(), cell, self.strategy)
        return [one for one in found if one is not cell and not one.is_ending]

    def restart_with(self, cell: Cell, delay: float) -> None:
        """Have `cell`, which has just crashed, and those with it begin a new life after `delay` seconds."""
        others = self.with_it(cell)
        self._wanted |= {cell, *others}
        self._delay = max(self._delay, delay)
        cell.hold_back(Hold.under(self._system.dispatcher))
        if not self._working:
            self._working = True
            self._system.start_soon(self._work, name="siblings")

    async def _work(self) -> None:
        origin.set(None)  # it is nobody's work, though one of them has begun it
        try:
            with trio.CancelScope(shield=True):
                while self._wanted:
                    await self._restart()
        finally:
            self._working = False
            self._system.tasks.down()

    async def _restart(self) -> None:
        cells = [one for one in self._children() if one in self._wanted]
        delay, self._delay, self._wanted = self._delay, 0.0, set()
        for cell in reversed(cells):
            if cell.supervision.restart is Restart.TEMPORARY:
                await cell.stop_within(cell.supervision.shutdown)
            else:
                await cell.end_life_within(cell.supervision.shutdown)
        if delay > 0:
            await self._system.sleep(delay)
        for cell in cells:
            hold = cell.hold
            if hold is not None and cell not in self._wanted:
                hold.go.open()
                await hold.begun.wait()
