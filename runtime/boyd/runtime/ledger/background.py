"""A task that works beside a block and ends with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio

from boyd.runtime.errors import LedgerError

__all__ = ["open_background"]


@asynccontextmanager
async def open_background(task: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    """Run `task` for as long as the block runs, also while a cancel from outside unwinds the block.

    What the block raises leaves it unchanged, not in a group, so that a caller
    can catch it by its class. A `LedgerError` of the task cancels the block and
    is raised in its place; any other error of the task is a bug and leaves in a
    group.
    """
    failures: list[LedgerError] = []
    with trio.CancelScope() as block:
        # A cancel reaches the block first: its clean-up may still need the task.
        alive = trio.CancelScope(shield=True)

        async def guarded() -> None:
            try:
                with alive:
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
            alive.cancel()
            await manager.__aexit__(None, None, None)
    if block.cancelled_caught and failures:
        raise failures[0]
