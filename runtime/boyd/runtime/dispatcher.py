"""Who goes on next: the seam through which every actor is woken.

A task of an actor waits in a `Waiter`. Whatever it waits for (mail, a reply,
room in a mailbox, a timer, a gate) calls `waiter.wake()`, and the dispatcher
decides when the task really goes on. The default lets Trio run it at once;
the test world puts a seeded choice in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import trio
from trio.lowlevel import Abort, RaiseCancelT, Task, current_task, reschedule, wait_task_rescheduled

__all__ = ["Dispatcher", "Gate", "TaskDispatcher", "Waiter"]


class Dispatcher(Protocol):
    """Decides the order in which parked tasks go on.

    Attributes:
        batch: messages that one actor may handle before it lets others go.
    """

    batch: int

    def ready(self, waiter: Waiter, /) -> None:
        """`waiter` may go on: call its `resume`, now or later, once."""
        ...

    async def enter(self) -> None:
        """A task that something else woke (a thread, a socket, a new nursery child) asks for its turn."""
        ...

    async def pass_turn(self) -> None:
        """A task that could go on lets others go first. Always a checkpoint."""
        ...

    async def run(self) -> None:
        """Runs in the system's nursery for as long as the system does; may return at once."""
        ...


class TaskDispatcher:
    """A Trio task per actor; Trio's scheduler chooses."""

    def __init__(self, batch: int = 64) -> None:
        self.batch = batch

    def ready(self, waiter: Waiter, /) -> None:
        waiter.resume()

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
    """

    __slots__ = ("_dispatcher", "_granted", "_on_abort", "_task")

    def __init__(self, dispatcher: Dispatcher, on_abort: Callable[[], bool] | None = None) -> None:
        self._dispatcher = dispatcher
        self._task: Task | None = None
        self._granted = False
        self._on_abort = on_abort

    async def wait(self) -> None:
        """Wait for a `wake`. A cancel is honoured, unless `on_abort` answers False: then the wake is sure to come."""
        self._task = current_task()
        self._granted = False
        await wait_task_rescheduled(self._abort)

    def wake(self) -> None:
        """Let the waiting task go on, when the dispatcher chooses."""
        if self._task is not None and not self._granted:
            self._granted = True
            self._dispatcher.ready(self)

    def resume(self) -> None:
        """For dispatchers: run the task now."""
        task, self._task = self._task, None
        if task is not None:
            reschedule(task)

    def _abort(self, _raise_cancel: RaiseCancelT) -> Abort:
        if self._on_abort is not None and not self._on_abort():
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
            if waiter in self._waiters:
                self._waiters.remove(waiter)
