"""Background tasks of an actor: they end with its life."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import trio

from boyd.runtime.dispatcher import Beginnings, Gate
from boyd.runtime.origin import Errand, Reentry, origin

if TYPE_CHECKING:
    from boyd.runtime.incarnation import Incarnation

__all__ = ["Errands"]

_LEAST: Final = 0.1
"""Seconds that a cancelled task has to end in, even where nothing else is waited for: it must run once more."""


class Errands:
    """What one actor does beside its mailbox. A result is told to it, an error is its crash."""

    __slots__ = ("_beginnings", "_cell", "_gate", "_scopes")

    def __init__(self, cell: Incarnation) -> None:
        self._cell = cell
        self._scopes: dict[trio.CancelScope, None] = {}
        self._gate: Gate | None = None
        self._beginnings = Beginnings(cell.system.dispatcher)

    def __len__(self) -> int:
        return len(self._scopes)

    def start_soon(self, fn: Callable[..., Awaitable[object]], args: tuple[Any, ...]) -> None:
        """Run `fn(*args)` beside the mailbox, and tell the actor what it returns, if that is not None."""
        cell = self._cell
        scope = trio.CancelScope(shield=True)

        async def work() -> None:
            result = await fn(*args)
            if result is not None and not scope.cancel_called:
                cell.deliver(cell.reserve(result))

        self._begin(work, Errand(cell, cell.headers), scope)

    def reenter(self, handle: Callable[[], Awaitable[object]], entry: Reentry) -> None:
        """Run `handle` as the handler of what `entry` is about."""
        self._begin(handle, entry, trio.CancelScope(shield=True))

    def _begin(
        self,
        work: Callable[[], Awaitable[object]],
        who: Errand | Reentry,
        scope: trio.CancelScope,
    ) -> None:
        cell = self._cell

        async def run() -> None:
            origin.set(who)
            try:
                with scope:
                    await work()
            except Exception as error:  # noqa: BLE001  # it becomes the actor's crash
                if not scope.cancel_called:
                    cell.crash(error)
                else:
                    cell.system.report(
                        f"{cell.path}: a background task failed as it was cancelled", error
                    )
            finally:
                del self._scopes[scope]
                if not self._scopes and self._gate is not None:
                    self._gate.open()
                cell.system.tasks.down()

        self._scopes[scope] = None
        cell.system.start_soon(run, name=f"{cell.path} errand", after=self._beginnings)

    def cancel(self) -> None:
        """Have them end."""
        for scope in self._scopes:
            scope.cancel()

    async def wait_ended(self, seconds: float) -> None:
        """Wait for cancelled tasks to end, at most so long; then report that they hold on."""
        if not self._scopes:
            return
        self._gate = Gate(self._cell.system.dispatcher)
        with trio.move_on_after(max(seconds, _LEAST)):
            await self._gate.wait()
        if self._scopes:
            self._cell.system.report(
                f"{self._cell.path}: {len(self._scopes)} background tasks do not end", None
            )
