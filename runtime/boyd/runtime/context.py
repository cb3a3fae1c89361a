"""What a handler can do, beside sending to refs that it holds."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import trio

from boyd.runtime.post import background, current_cell, current_headers

if TYPE_CHECKING:
    from boyd.runtime.actor import Actor
    from boyd.runtime.cell import Cell
    from boyd.runtime.envelope import Headers
    from boyd.runtime.mailbox import Mailbox
    from boyd.runtime.ref import Ref
    from boyd.runtime.restart import Supervision
    from boyd.runtime.system import System

__all__ = ["Context", "Fanout", "current_context"]

M = TypeVar("M")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Context:
    """An actor's hands, for one life."""

    __slots__ = ("_cell",)

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    @property
    def ref(self) -> Ref[Any]:
        """The actor itself."""
        return self._cell.ref

    @property
    def system(self) -> System:
        """The system that it lives in."""
        return self._cell.system

    @property
    def sender(self) -> Ref[Any] | None:
        """Who sent the message in hand; None from outside any actor."""
        return self._cell.current.sender if self._cell.current else None

    @property
    def headers(self) -> Headers:
        """What travels with the message in hand, and with all that is sent while handling it."""
        return self._cell.headers

    @headers.setter
    def headers(self, headers: Headers) -> None:
        self._cell.headers = headers

    @property
    def attempt(self) -> int:
        """1, or more when the message in hand was redelivered after a crash."""
        return self._cell.current.attempt if self._cell.current else 1

    @property
    def epoch(self) -> int:
        """1 in the first life, one more after each restart."""
        return self._cell.epoch

    @property
    def random(self) -> random.Random:
        """The system's random numbers."""
        return self._cell.system.random

    def now(self) -> float:
        """Seconds on the system's monotonic clock."""
        return self._cell.system.clock.now()

    async def sleep(self, seconds: float) -> None:
        """Wait; other messages wait too. For a message later, use `start_timer`."""
        await self._cell.system.sleep(seconds)

    async def spawn(
        self,
        factory: Callable[[*Ts], Actor[M]],
        /,
        *args: *Ts,
        name: str | None = None,
        mailbox: Mailbox | None = None,
        supervision: Supervision | None = None,
    ) -> Ref[M]:
        """As `System.spawn`, for a child: it stops when this actor stops or restarts."""
        return await self._cell.system.spawn_under(
            self._cell, factory, args, name, mailbox, supervision
        )

    @asynccontextmanager
    async def open_nursery(self) -> AsyncIterator[Fanout]:
        """Fan-out within a handler: a Trio nursery whose tasks start in the dispatcher's order."""
        async with trio.open_nursery() as nursery:
            yield Fanout(nursery, self._cell.system)
        await self._cell.system.dispatcher.enter()

    def start_soon(self, fn: Callable[[*Ts], Awaitable[object]], /, *args: *Ts) -> None:
        """Long work beside the mailbox, ended with this life. What it returns (if not None) is told to the actor.

        An error in it is a crash of the actor.
        """
        cell, headers = self._cell, self._cell.headers

        async def work() -> None:
            background.set(True)
            current_cell.set(cell)
            current_headers.set(headers)
            try:
                with scope:
                    await cell.system.dispatcher.enter()
                    result = await fn(*args)
                    if result is not None:
                        cell.tell_self(result)
            except Exception as error:  # noqa: BLE001  # it becomes the actor's crash
                if not scope.cancel_called:
                    cell.crash(error)
            finally:
                cell.background.discard(scope)

        scope = trio.CancelScope()
        cell.background.add(scope)
        cell.system.start_soon(work)

    def start_timer(self, key: str, message: object, /, *, after: float) -> None:
        """Have `message` told to this actor in `after` seconds. The same key again replaces it."""
        self.cancel_timer(key)
        cell = self._cell

        def fire() -> None:
            cell.timers.pop(key, None)
            cell.force(message)

        cell.timers[key] = cell.system.deadlines.at(cell.system.clock.now() + after, fire)

    def cancel_timer(self, key: str, /) -> None:
        """It will not fire. Idempotent."""
        due = self._cell.timers.pop(key, None)
        if due is not None:
            due.cancel()

    def watch(self, ref: Ref[Any], /) -> None:
        """Have one `Terminated` told to this actor when `ref` has stopped; at once if it has already."""
        self._cell.system.watch(self._cell, ref)

    def publish(self, topic: str, message: object, /) -> None:
        """To all subscriptions of `topic`."""
        self._cell.system.publish(topic, message)

    def stop(self) -> None:
        """Stop this actor after the message in hand."""
        self._cell.stop()


class Fanout:
    """The nursery of `ctx.open_nursery()`."""

    __slots__ = ("_last", "_nursery", "_system", "cancel_scope")

    def __init__(self, nursery: trio.Nursery, system: System) -> None:
        self._last: trio.Event | None = None
        self._nursery = nursery
        self._system = system
        self.cancel_scope = nursery.cancel_scope

    def start_soon(self, fn: Callable[[*Ts], Awaitable[object]], /, *args: *Ts) -> None:
        """Run `fn(*args)` beside the others; the block ends when all have ended."""

        before, mine = self._last, trio.Event()
        self._last = mine

        async def go() -> None:
            # Trio starts siblings in any order; the dispatcher is to meet them in theirs.
            if before is not None:
                await before.wait()
            mine.set()
            await self._system.dispatcher.enter()
            await fn(*args)

        self._nursery.start_soon(go)


def current_context() -> Context | None:
    """The context of the actor whose handler this task runs, or None outside any actor."""
    cell = current_cell.get()
    return None if cell is None else Context(cell)
