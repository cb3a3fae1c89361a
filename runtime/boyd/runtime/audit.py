"""What the runtime itself writes into the ledger: the decisions of supervisors."""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import trio

from boyd.runtime.errors import LedgerError
from boyd.runtime.ledger import ANY, Entry, Ledger

__all__ = ["Audit"]

_MOST_WAITING: Final = 4096
_LAST_SECONDS: Final = 1.0


class _Reports(Protocol):
    def __call__(self, text: str, error: BaseException | None, /) -> None: ...


class Audit:
    """Appends entries in the background; when too many wait, the oldest are reported and given up."""

    def __init__(self, ledger: Ledger, report: _Reports) -> None:
        self._ledger = ledger
        self._report = report
        self._waiting: deque[tuple[str, Entry]] = deque()
        self._more = trio.Event()

    def add(self, thread: str, entry: Entry) -> None:
        """Have `entry` appended to `thread` soon."""
        if len(self._waiting) == _MOST_WAITING:
            self._waiting.popleft()
            self._report(
                "the ledger is too slow for the supervisors' decisions; the oldest is not written",
                None,
            )
        self._waiting.append((thread, entry))
        self._more.set()

    async def run(self) -> None:
        """Write what comes, until cancelled; then what is left, for at most 1 s."""
        try:
            while True:
                await self._more.wait()
                self._more = trio.Event()
                await self._write()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _LAST_SECONDS):
                await self._write()
            if self._waiting:
                self._report(
                    f"{len(self._waiting)} decisions of supervisors were not written in time", None
                )

    async def _write(self) -> None:
        while self._waiting:
            thread, entry = self._waiting[0]
            try:
                # Its id makes the append idempotent, so a cancelled one may be tried again.
                await self._ledger.append(thread, [entry], after=ANY)
            except LedgerError as error:
                self._report(f"a supervisor's decision could not be written to {thread}", error)
            if self._waiting and self._waiting[0][1] is entry:
                self._waiting.popleft()
