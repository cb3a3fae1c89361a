"""Faults by counting: fail the k-th operation, cancel at the k-th checkpoint, k = 1, 2, 3 ..."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

__all__ = ["Faulty", "InjectedFault", "cancel_at_each_checkpoint", "fail_kth"]


class InjectedFault(OSError):
    """The error that `fail_kth` raises unless it is told another."""


class Faulty:
    """Stands before an object; its k-th async call raises instead of running. `count` is how many were made."""

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

        async def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401
            self.count += 1
            if self.count == self._k:
                raise self._error
            return await found(*args, **options)

        return call


def fail_kth(target: object, k: int, error: Exception | None = None) -> Any:  # noqa: ANN401
    """`target`, but its k-th async operation (from 1) raises `error`, once.

    Loop over k until `.reached` stays False: then every operation of the
    scenario has failed once.
    """
    return Faulty(target, k, error or InjectedFault(f"operation {k} was made to fail"))


class _CancelAtStep(trio.abc.Instrument):
    """Cancels a scope before the k-th step of the run's tasks."""

    def __init__(self, k: int) -> None:
        self._k = k
        self.steps = 0
        self.scope: trio.CancelScope | None = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002
        if self.scope is None:
            return
        self.steps += 1
        if self.steps == self._k:
            self.scope.cancel()


async def cancel_at_each_checkpoint(
    scenario: Callable[[], Awaitable[None]],
    check: Callable[[], Awaitable[None]] | None = None,
    *,
    limit: int = 10_000,
    every: int = 1,
) -> int:
    """Run `scenario` again and again, cancelled at its 1st, 2nd, 3rd ... task step, until it ends by itself.

    After each run `check()` is awaited, uncancelled. Returns how many places
    there were.

    Raises AssertionError: the scenario has more than `limit` steps.
    """
    for k in range(1, limit + 1, every):
        instrument = _CancelAtStep(k)
        trio.lowlevel.add_instrument(instrument)
        try:
            with trio.CancelScope() as scope:
                instrument.scope = scope
                await scenario()
            instrument.scope = None
        finally:
            trio.lowlevel.remove_instrument(instrument)
        if check is not None:
            await check()
        if not scope.cancel_called:
            return k - 1
    raise AssertionError(f"the scenario has more than {limit} steps")
