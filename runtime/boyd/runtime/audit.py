"""What the runtime itself writes into the ledger: the decisions of supervisors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import trio

from boyd.runtime.errors import LedgerError
from boyd.runtime.ledger import ANY, Entry, Ledger

__all__ = ["Audit"]

_MOST_WAITING = 4096
_LAST_SECONDS = 2.0


class _Reports(Protocol):
    def __call__(self, text: str, error: BaseException | None, /) -> None: ...


class Audit:
    """Appends entries in the background; at most `_MOST_WAITING` wait, older ones are reported and given up."""

    def __init__(self, ledger: Callable[[], Ledger], report: _Reports) -> None:
        self._ledger = ledger
        self._report = report
        self._waiting: deque[tuple[str, Entry]] = deque(maxlen=_MOST_WAITING)
        self._more = trio.Event()

    def add(self, thread: str, entry: Entry) -> None:
        """Have `entry` appended to `thread` soon."""
        if len(self._waiting) == _MOST_WAITING:
            self._report(
                "the ledger is too slow for the supervisors' decisions; the oldest is not written",
                None,
            )
        self._waiting.append((thread, entry))
        self._more.set()

    async def run(self) -> None:
        """Write what comes, until cancelled; then what is left, for at most 2 s."""
        try:
            while True:
                await self._more.wait()
                self._more = trio.Event()
                await self._write()
        finally:
            with trio.move_on_after(_LAST_SECONDS, shield=True):
                await self._write()

    async def _write(self) -> None:
        while self._waiting:
            thread, entry = self._waiting[0]
            try:
                await self._ledger().append(thread, [entry], after=ANY)
            except LedgerError as error:
                self._report(f"a supervisor's decision could not be written to {thread}", error)
            if self._waiting and self._waiting[0][1] is entry:
                self._waiting.popleft()
