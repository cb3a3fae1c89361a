"""A task that works beside a block and ends with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio

from boyd.runtime.errors import LedgerError

__all__ = ["open_background"]


@asynccontextmanager
async def open_background(task: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    """Run `task` for as long as the block runs.

    What the block raises leaves it unchanged, not in a group, so that a caller
    can catch it by its class. A `LedgerError` of the task cancels the block and
    is raised in its place; any other error of the task is a bug and leaves in a
    group.
    """
    failures: list[LedgerError] = []
    with trio.CancelScope() as block:

        async def guarded() -> None:
            try:
                await task()
            except LedgerError as error:
                failures.append(error)
                block.cancel()

        # By hand, since `async with` would wrap what the block raises.
        manager = trio.open_nursery()
        nursery = await manager.__aenter__()
        nursery.start_soon(guarded)
        try:
            yield
        finally:
            nursery.cancel_scope.cancel()
            await manager.__aexit__(None, None, None)
    if block.cancelled_caught and failures:
        raise failures[0]
