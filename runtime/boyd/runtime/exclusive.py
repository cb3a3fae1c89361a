"""Named turns: one block at a time of each name."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from boyd.runtime.dispatcher import Dispatcher, Gate

__all__ = ["Turns"]


class Turns:
    """First come, first served; who leaves while waiting takes nobody's turn."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._queues: dict[str, deque[Gate]] = {}

    @asynccontextmanager
    async def open(self, name: str) -> AsyncGenerator[None]:
        """Wait for the turn of `name`, and hold it for the block."""
        queue = self._queues.setdefault(name, deque())
        gate = Gate(self._dispatcher)
        queue.append(gate)
        try:
            if queue[0] is gate:
                gate.open()
            await gate.wait()
            yield
        finally:
            queue.remove(gate)
            if queue:
                queue[0].open()
            else:
                del self._queues[name]
