"""How many actors have something to do, and how many tasks live; nothing polls."""

from __future__ import annotations

from boyd.runtime.dispatcher import Dispatcher, Gate

__all__ = ["Count"]


class Count:
    """A number that somebody waits to be zero."""

    __slots__ = ("_dispatcher", "_gates", "now")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._gates: list[Gate] = []
        self.now = 0

    def up(self) -> None:
        """One more."""
        self.now += 1

    def down(self) -> None:
        """One less."""
        self.now -= 1
        if not self.now:
            gates, self._gates = self._gates, []
            for gate in gates:
                gate.open()

    async def wait_zero(self) -> None:
        """Return when it is zero."""
        while self.now:
            gate = Gate(self._dispatcher)
            self._gates.append(gate)
            await gate.wait()
