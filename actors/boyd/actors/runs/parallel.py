"""Fan-out within a handler, whose first failure is raised as it is and cancels the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from boyd.runtime import Context
from boyd.runtime.failure import is_answer

__all__ = ["answer_in", "in_parallel"]


async def in_parallel(ctx: Context, jobs: Sequence[Callable[[], Awaitable[object]]]) -> None:
    """Run all `jobs` at the same time, and return when all have ended."""
    if len(jobs) == 1:
        await jobs[0]()
        return
    failed: list[Exception] = []

    async def one(job: Callable[[], Awaitable[object]]) -> None:
        try:
            await job()
        except Exception as error:  # noqa: BLE001  # raised again below, outside the nursery that would wrap it
            failed.append(error)
            nursery.cancel_scope.cancel()

    async with ctx.open_nursery() as nursery:
        for job in jobs:
            nursery.start_soon(one, job)
    if failed:
        raise failed[0]


def answer_in(group: ExceptionGroup[Exception]) -> Exception | None:
    """The first error of a group in which nothing but answers is, such as budgets that were reached in parallel."""
    found: list[Exception] = []
    for error in group.exceptions:
        one: Exception | None = error
        if isinstance(error, ExceptionGroup):
            one = answer_in(cast("ExceptionGroup[Exception]", error))
        if one is None or not is_answer(one):
            return None
        found.append(one)
    return found[0] if found else None
