"""Faults by counting: fail the k-th operation, cancel at the k-th checkpoint, k = 1, 2, 3 ..."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

__all__ = ["Faulty", "InjectedFault", "cancel_at_each_checkpoint", "fail_kth"]


class InjectedFault(OSError):
    """The error that `fail_kth` raises unless it is told another."""


class Faulty:
    """Stands before an object; its k-th async call raises instead of running. `count` is how many were made.

    Async context managers (`open_...`) and what is not callable pass through.
    """

    def __init__(self, target: object, k: int, error: Exception) -> None:
        self._target = target
        self._k = k
        self._error = error
        self.count = 0

    @property
    def reached(self) -> bool:
        """Whether the k-th operation was attempted."""
        return self.count >= self._k

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # it is whatever the target has
        found = getattr(self._target, name)
        if not callable(found) or name.startswith("open_"):
            return found

        async def call(*args: object, **options: object) -> object:
            self.count += 1
            if self.count == self._k:
                raise self._error
            result: Any = found(*args, **options)
            return await result

        return call


def fail_kth(target: object, k: int, error: Exception | None = None) -> Any:  # noqa: ANN401
    """`target`, but its k-th async operation (from 1) raises `error`, once.

    Loop over k until `.reached` stays False: then every operation of the
    scenario has failed once.
    """
    return Faulty(target, k, error or InjectedFault(f"operation {k} was made to fail"))


class _CancelAtStep(trio.abc.Instrument):
    """Cancels a scope before the k-th step of the run's tasks."""

    def __init__(self, k: int, scope: trio.CancelScope) -> None:
        self._left = k
        self._scope = scope
        self.done = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002
        self._left -= 1
        if not self._left and not self.done:
            self._scope.cancel()


async def cancel_at_each_checkpoint(
    scenario: Callable[[], Awaitable[None]],
    check: Callable[[], Awaitable[None]] | None = None,
    *,
    limit: int = 10_000,
    every: int = 1,
) -> int:
    """Run `scenario` again and again, cancelled at its 1st, 2nd, 3rd ... task step, until it ends by itself.

    All tasks of the Trio run count, so that actors that work for the scenario
    are interrupted between any two of their steps. After each run `check()` is
    awaited, uncancelled. Returns how many places there were.

    Args:
        every: try each n-th place only, for long scenarios.

    Raises AssertionError: the scenario has more than `limit` steps.
    """
    for k in range(1, limit + 1, every):
        with trio.CancelScope() as scope:
            instrument = _CancelAtStep(k, scope)
            trio.lowlevel.add_instrument(instrument)
            try:
                await scenario()
            finally:
                instrument.done = True
                trio.lowlevel.remove_instrument(instrument)
        if check is not None:
            await check()
        if not scope.cancel_called:
            return k - 1
    raise AssertionError(f"the scenario has more than {limit} steps")
