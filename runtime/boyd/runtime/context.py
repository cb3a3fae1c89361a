"""What a handler can do, beside sending to refs that it holds."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import trio

from boyd.runtime.dispatcher import Beginnings, Dispatcher
from boyd.runtime.envelope import NO_HEADERS
from boyd.runtime.errands import Errands
from boyd.runtime.errors import ActorStopped, NotAccepted
from boyd.runtime.incarnation import Birth, Incarnation
from boyd.runtime.mailbox import DEFAULT_MAILBOX, Mailbox, Overflow
from boyd.runtime.origin import Aside, Reentry, origin
from boyd.runtime.restart import DEFAULT_SUPERVISION, Supervision
from boyd.runtime.spans import check_span
from boyd.runtime.supervision import Terminated
from boyd.runtime.timers import Timers
from boyd.runtime.topics import Hearing, Where

if TYPE_CHECKING:
    from boyd.runtime.actor import Actor
    from boyd.runtime.envelope import Envelope, Headers
    from boyd.runtime.ref import Ref
    from boyd.runtime.system import System

__all__ = ["Context", "Fanout", "current_context"]

M = TypeVar("M")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Context:
    """An actor's hands, for one life.

    When that life has ended, there is no message in hand, what would begin
    something raises `ActorStopped`, though the actor may live again, and what
    would end something does nothing.
    """

    __slots__ = ("_cell", "_epoch")

    def __init__(self, cell: Incarnation, epoch: int) -> None:
        self._cell = cell
        self._epoch = epoch

    @property
    def _is_over(self) -> bool:
        return self._epoch != self._cell.epoch or not self._cell.is_living

    @property
    def _life(self) -> Incarnation:
        """The actor, if this life of it goes on. Raises ActorStopped."""
        if self._is_over:
            raise ActorStopped(
                f"life {self._epoch} of {self._cell.path} is over, and begins nothing more"
            )
        return self._cell

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
        current = self._current
        return current.sender if current else None

    @property
    def _current(self) -> Envelope | None:
        who = origin.get()
        if isinstance(who, Reentry) and who.cell is self._cell:
            return who.current
        return None if self._epoch != self._cell.epoch else self._cell.current

    @property
    def headers(self) -> Headers:
        """What travels with the message in hand, and with all that is sent while handling it."""
        bearer = self._bearer
        if bearer is self._cell and self._epoch != self._cell.epoch:
            return NO_HEADERS
        return bearer.headers

    @headers.setter
    def headers(self, headers: Headers) -> None:
        bearer = self._bearer
        if bearer is not self._cell or self._epoch == self._cell.epoch:
            bearer.headers = headers

    @property
    def _bearer(self) -> Incarnation | Aside:
        who = origin.get()
        return who if isinstance(who, Aside) and who.cell is self._cell else self._cell

    @property
    def attempt(self) -> int:
        """1, or more when the message in hand was redelivered after a crash."""
        current = self._current
        return current.attempt if current else 1

    @property
    def epoch(self) -> int:
        """1 in the first life, one more after each restart."""
        return self._epoch

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
        birth = Birth(factory, args, mailbox or DEFAULT_MAILBOX, supervision or DEFAULT_SUPERVISION)
        cell = self._life
        return await cell.system.spawn_under(cell, birth, name)

    @asynccontextmanager
    async def open_nursery(self) -> AsyncGenerator[Fanout]:
        """Fan-out within a handler: a Trio nursery under the dispatcher."""
        try:
            async with trio.open_nursery() as nursery:
                yield Fanout(nursery, self._cell.system.dispatcher)
        finally:
            # Trio has woken this task when the last of the others ended.
            await self._cell.system.dispatcher.enter()

    def start_soon(self, fn: Callable[[*Ts], Awaitable[object]], /, *args: *Ts) -> None:
        """Long work beside the mailbox, ended with this life.

        What it returns (if not None) is told to the actor. An error in it is a crash of the actor.
        """
        cell = self._life
        if cell.errands is None:
            cell.errands = Errands(cell)
        cell.errands.start_soon(fn, args)

    def start_timer(
        self, key: str, message: object, /, *, after: float, repeat: bool = False
    ) -> None:
        """Have `message` told to this actor in `after` seconds, whether or not its mailbox is full.

        With `repeat` also every `after` seconds from then on, but never while the
        last one still waits to be handled: times that were missed are left out.
        The same key again replaces it: what was replaced or cancelled never
        arrives. Timers do not outlive a restart.

        Raises:
            ValueError: `after` is no number, or it would repeat without a pause.
            NotAccepted, EncodeError: as `Ref.tell`, and now.
        """
        check_span(after, "after")
        if repeat and not after > 0:
            raise ValueError(f"start_timer({key!r}, after={after}, repeat=True) would never pause")
        cell = self._life
        if cell.timers is None:
            cell.timers = Timers(cell)
        cell.timers.start(key, message, after, after if repeat else None)

    def cancel_timer(self, key: str, /) -> None:
        """It will not arrive. Idempotent."""
        if self._cell.timers is not None and not self._is_over:
            self._cell.timers.cancel(key)

    def stash(self) -> None:
        """Put the message in hand aside, to be handled after `unstash_all`; what the handler returns is no reply.

        At most 256 are kept. A restart puts them back first; a stop makes dead
        letters of them.

        Raises:
            StashFull: there are that many.
            LookupError: no message is in hand.
        """
        cell = self._life
        if isinstance(origin.get(), Reentry):
            text = f"{cell.path} cannot put aside what its own ask waits for"
            raise LookupError(text)  # noqa: TRY004  # as for any message that cannot be
        cell.put_aside()

    def unstash_all(self) -> None:
        """Have all that was put aside handled next, in order of arrival, before newer mail."""
        if self._cell.stash is not None and not self._is_over:
            self._cell.stash.put_back()

    def watch(self, ref: Ref[Any], /) -> None:
        """Have one `Terminated` told to this actor when `ref` has stopped; at once if it has already.

        It comes after the last message of `ref`, also into a full mailbox, and
        to a later life of this actor if need be. Until a handler has it in hand,
        watching `ref` again changes nothing.

        Raises:
            NotAccepted: this actor has no method for `Terminated`.
        """
        cell = self._life
        if Terminated not in cell.accepted:
            raise NotAccepted(
                f"{cell.kind} cannot watch: it has no @receives method for Terminated"
            )
        cell.system.watch(cell, ref)

    def unwatch(self, ref: Ref[Any], /) -> None:
        """Take the watch of `ref` back, also where its `Terminated` waits, or was put aside. Idempotent."""
        if not self._is_over:
            self._cell.system.unwatch(self._cell, ref)

    def subscribe(
        self,
        topic: str,
        /,
        *,
        echo: bool = False,
        where: Where | None = None,
        overflow: Overflow | None = None,
    ) -> None:
        """Hear, of what is published on `topic`, all that this actor accepts, until it stops or unsubscribes.

        Subscribing again replaces the subscription: nothing is heard twice.

        Args:
            topic: a name, or a pattern: `*` is one word, a last `**` any number.
            echo: hear what this actor publishes itself.
            where: hear only messages whose headers it holds for. It must not fail; what it fails on is not heard.
            overflow: what becomes of a message that finds no room, by default as the mailbox has it. To
                reject makes a dead letter `full` of it, for a publisher is never refused. To drop the
                oldest drops whatever waits longest, told messages too.
        """
        cell = self._life
        hearing = Hearing(cell, echo=echo, where=where, overflow=overflow)
        cell.system.subscribe(cell, topic, hearing)

    def unsubscribe(self, topic: str, /) -> None:
        """Hear no more of `topic`, as it was subscribed to. Idempotent."""
        if not self._is_over:
            self._cell.system.unsubscribe(self._cell, topic)

    def join(self, group: str, /) -> None:
        """Belong to `group`, where `System.group` finds this actor, until it stops or leaves. Idempotent.

        Restarts change nothing. `Joined` is published on the topic `boyd.groups/<group>`, and `Left` at the end.

        Raises:
            ValueError: a name that no group can have.
        """
        cell = self._life
        cell.system.groups.join(cell, group)

    def leave(self, group: str, /) -> None:
        """Belong to `group` no more. Idempotent."""
        if not self._is_over:
            self._cell.system.groups.leave(self._cell, group)

    def publish(self, topic: str, message: object, /) -> None:
        """To all subscriptions of `topic`."""
        self._cell.system.publish(topic, message)

    def stop(self) -> None:
        """Stop this actor after the message in hand. A `Restart.PERMANENT` one begins a fresh life."""
        if not self._is_over:
            self._cell.stop_itself()


class Fanout:
    """The nursery of `ctx.open_nursery()`."""

    __slots__ = ("_beginnings", "_nursery", "cancel_scope")

    def __init__(self, nursery: trio.Nursery, dispatcher: Dispatcher) -> None:
        self._nursery = nursery
        self._beginnings = Beginnings(dispatcher)
        self.cancel_scope = nursery.cancel_scope

    def start_soon(self, fn: Callable[[*Ts], Awaitable[object]], /, *args: *Ts) -> None:
        """Run `fn(*args)` beside the others, which begin in the order of these calls.

        The block ends when all have ended.
        """
        self._beginnings.start_soon(self._nursery, partial(fn, *args))


def current_context() -> Context | None:
    """The context of the actor whose handler or background work this task runs, or None outside any actor."""
    who = origin.get()
    if who is None:
        return None
    if isinstance(who, Aside):
        return Context(who.cell, who.epoch)
    return Context(who, who.epoch)
