"""The writer task: it alone commits, many callers' work in one transaction.

A caller that is cancelled before the writer took its work has changed nothing
and sees `Cancelled`. Later it waits a second more for the answer, and goes with
`OutcomeUnknown` when there is none; the commit itself is never torn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar, cast

import attrs
import trio

from boyd.runtime.errors import LedgerError, LedgerUnavailable, OutcomeUnknown

__all__ = ["COMMIT_WAIT", "Job", "Writer"]

S = TypeVar("S")
R = TypeVar("R")

COMMIT_WAIT: Final = 1.0
"""Seconds that a cancelled caller waits for a commit under way."""
GROUP_JOBS: Final = 256
GROUP_BYTES: Final = 8 << 20


@attrs.define(eq=False)
class Job(Generic[S]):
    """One caller's work and, later, its outcome.

    Attributes:
        work: runs inside the transaction; raises LedgerError to decline, having written nothing.
        ids: what `OutcomeUnknown` names.
    """

    work: Callable[[S], object]
    thread: str
    ids: tuple[str, ...]
    size: int
    outcome: object = None
    withdrawn: bool = False
    taken: bool = False
    done: trio.Event = attrs.field(factory=trio.Event)

    def settle(self, outcome: object) -> None:
        """Answer the caller, with a value or with the LedgerError to raise."""
        if not self.done.is_set():
            self.outcome = outcome
            self.done.set()

    def unknown(self, cause: BaseException | None = None) -> OutcomeUnknown:
        """What the caller gets when nobody can tell whether it was committed."""
        error = OutcomeUnknown(thread=self.thread, ids=self.ids)
        error.__cause__ = cause
        return error


class Writer(Generic[S]):
    """A queue of jobs in front of one committing task.

    Args:
        commit: does a group of jobs in one transaction and returns an outcome
            for each: a value, or a LedgerError for its caller. What it raises
            goes to all of them.
        where: the store, for messages.
    """

    def __init__(
        self, commit: Callable[[Sequence[Job[S]]], Awaitable[Sequence[object]]], *, where: str
    ) -> None:
        self._commit = commit
        self._where = where
        self._queue: deque[Job[S]] = deque()
        self._waiting = trio.Event()
        self._closed = False

    def check_open(self) -> None:
        """Raises LedgerUnavailable once the writer has ended."""
        if self._closed:
            raise LedgerUnavailable(f"{self._where} is closed")

    async def submit(
        self, work: Callable[[S], R], *, thread: str, ids: tuple[str, ...] = (), size: int = 0
    ) -> R:
        """Have `work` committed, and return what it returned.

        Raises:
            OutcomeUnknown: cancelled, or failed, while it was being committed.
            LedgerUnavailable: the store did not take it.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        self.check_open()
        job: Job[S] = Job(work, thread, ids, size)
        self._queue.append(job)
        self._waiting.set()
        try:
            await job.done.wait()
        except trio.Cancelled:
            if not job.taken:
                job.withdrawn = True
                raise
            # The writer has it and will not give it back: wait for the truth,
            # but not forever, since somebody wants this task to end.
            with trio.move_on_after(COMMIT_WAIT, shield=True):
                await job.done.wait()
            if not job.done.is_set():
                raise job.unknown() from None
        if isinstance(job.outcome, LedgerError):
            raise job.outcome
        return cast("R", job.outcome)

    async def run(self) -> None:
        """Commit until cancelled; then nobody is left waiting."""
        group: Sequence[Job[S]] = ()
        try:
            while True:
                await self._waiting.wait()
                group = self._take()
                if group:
                    try:
                        outcomes = await self._commit(group)
                    except LedgerError as error:
                        outcomes = [_again(error) for _ in group]
                    for job, outcome in zip(group, outcomes, strict=True):
                        job.settle(outcome)
        finally:
            self._closed = True
            for job in group:
                job.settle(job.unknown())
            for job in self._queue:
                job.settle(LedgerUnavailable(f"{self._where} is closed"))

    def _take(self) -> Sequence[Job[S]]:
        """The next group, short enough that another process soon gets its turn."""
        group: list[Job[S]] = []
        size = 0
        while self._queue and len(group) < GROUP_JOBS and size < GROUP_BYTES:
            job = self._queue.popleft()
            if not job.withdrawn:
                job.taken = True
                group.append(job)
                size += job.size
        if not self._queue:
            self._waiting = trio.Event()
        return group


def _again(error: LedgerError) -> LedgerError:
    """The same error for one more caller: a traceback belongs to one."""
    twin = type(error)(*error.args)
    twin.__cause__ = error.__cause__
    return twin
