"""Who goes on next: the seam through which every actor is woken.

A task of an actor waits in a `Waiter`. Whatever it waits for (mail, a reply,
room in a mailbox, a timer, a gate) calls `waiter.wake()`, and the dispatcher
decides when the task really goes on. The default lets Trio run it at once;
the test world puts a seeded choice in between, for new tasks and cancels too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import trio
from trio.lowlevel import Abort, RaiseCancelT, Task, current_task

from boyd.runtime.parking import park, unpark

__all__ = ["Beginnings", "Dispatcher", "Gate", "TaskDispatcher", "Waiter"]

_Job = Callable[[], Awaitable[object]]


class Dispatcher(Protocol):
    """Decides the order in which parked tasks go on.

    Attributes:
        batch: messages that one actor may handle before it lets others go.
        orders_cancels: a cancelled wait ends in the dispatcher's order, not in Trio's.
    """

    batch: int
    orders_cancels: bool

    def ready(self, waiter: Waiter, /) -> None:
        """`waiter` may go on: call its `resume`, now or later, once."""
        ...

    def start_soon(self, nursery: trio.Nursery, job: _Job, /, *, name: str | None = None) -> None:
        """Begin a task, in the order of these calls and of everything else that is ready."""
        ...

    async def enter(self) -> None:
        """A task that something else woke (a thread, a socket) asks for its turn. Not cancellable."""
        ...

    async def pass_turn(self) -> None:
        """A task that could go on lets others go first. Always a checkpoint."""
        ...

    async def run(self) -> None:
        """Runs until the last task of the system has ended; may return at once."""
        ...


class TaskDispatcher:
    """A Trio task per actor; Trio's scheduler chooses."""

    orders_cancels = False

    def __init__(self, batch: int = 64) -> None:
        self.batch = batch

    def ready(self, waiter: Waiter, /) -> None:
        waiter.resume()

    def start_soon(self, nursery: trio.Nursery, job: _Job, /, *, name: str | None = None) -> None:
        nursery.start_soon(job, name=name)

    async def enter(self) -> None:
        return

    async def pass_turn(self) -> None:
        await trio.lowlevel.checkpoint()

    async def run(self) -> None:
        return


class Waiter:
    """A place where one task at a time waits to be woken.

    A wake that comes while nobody waits is not remembered: callers look at
    their own state first, and `wait` between looking and waiting has no gap.
    Once woken it is too late to cancel, however long the dispatcher takes.
    """

    __slots__ = ("_dispatcher", "_granted", "_raise_cancel", "_task")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._task: Task | None = None
        self._granted = False
        self._raise_cancel: RaiseCancelT | None = None

    async def wait(self) -> None:
        """Wait for a `wake`. Cancelled means that none came."""
        self._task = current_task()
        self._granted = False
        await park(self._abort)
        if self._raise_cancel is not None:
            raise_cancel, self._raise_cancel = self._raise_cancel, None
            raise_cancel()

    async def wait_turn(self) -> None:
        """For dispatchers: wait to be resumed, this waiter being among the ready ones already."""
        self._task = current_task()
        self._granted = True
        await park(self._abort)

    def wake(self) -> None:
        """Let the waiting task go on, when the dispatcher chooses."""
        if self._task is not None and not self._granted:
            self._granted = True
            self._dispatcher.ready(self)

    def resume(self) -> None:
        """For dispatchers: run the task now."""
        task, self._task = self._task, None
        if task is not None:
            unpark(task)

    def give_up(self) -> None:
        """The wait was cancelled, just now: before the task goes on, somebody may act who must know."""

    def _abort(self, raise_cancel: RaiseCancelT) -> Abort:
        if self._granted:
            return Abort.FAILED
        self.give_up()
        if self._dispatcher.orders_cancels:
            self._raise_cancel = raise_cancel
            self.wake()
            return Abort.FAILED
        self._task = None
        return Abort.SUCCEEDED


class Gate:
    """Opens once; any number of tasks wait for it through the dispatcher."""

    __slots__ = ("_dispatcher", "_waiters", "is_open")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._waiters: list[Waiter] = []
        self.is_open = False

    def open(self) -> None:
        """Let all go on, and whoever comes later. Idempotent."""
        self.is_open = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.wake()

    async def wait(self) -> None:
        """Return when it is open. A checkpoint."""
        if self.is_open:
            await trio.lowlevel.checkpoint()
            return
        waiter = Waiter(self._dispatcher)
        self._waiters.append(waiter)
        try:
            await waiter.wait()
        finally:
            if not self.is_open:
                self._waiters.remove(waiter)


class Beginnings:
    """Tasks that begin one after the other, in the order in which they were made.

    Trio begins the new tasks of one moment in an order by chance, and other
    dispatchers in one of theirs. But whoever counts its own work, to find it
    again in a later life, must count it in the same order.
    """

    __slots__ = ("_dispatcher", "_turns")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._turns: deque[Waiter] = deque()

    def start_soon(self, nursery: trio.Nursery, job: _Job, /, *, name: str | None = None) -> None:
        """As `Dispatcher.start_soon`; `job` takes its first step when the ones before have."""
        turn, turns = Waiter(self._dispatcher), self._turns

        async def begin() -> None:
            if turns[0] is not turn:
                with trio.CancelScope(shield=True):
                    await turn.wait()
            turns.popleft()
            if turns:
                turns[0].wake()
            await job()

        self._dispatcher.start_soon(nursery, begin, name=name)
        turns.append(turn)
