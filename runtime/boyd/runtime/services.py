"""What the actors of a system share, and how all of it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, TypeVarTuple

import trio

from boyd.runtime.activity import Count
from boyd.runtime.audit import Audit
from boyd.runtime.deadlines import Deadlines
from boyd.runtime.directory import Directory
from boyd.runtime.dispatched import DispatchedLedger
from boyd.runtime.dispatcher import Beginnings, Dispatcher, Gate, Waiter
from boyd.runtime.envelope import Envelope
from boyd.runtime.errors import NotAccepted, SystemClosed
from boyd.runtime.exclusive import Turns
from boyd.runtime.groups import Groups
from boyd.runtime.inbox import Inbox
from boyd.runtime.incarnation import Incarnation
from boyd.runtime.ledger import Ledger
from boyd.runtime.messages import message_codec
from boyd.runtime.origin import sender_and_headers
from boyd.runtime.post import Post
from boyd.runtime.ref import Ref, homes
from boyd.runtime.reports import Reports
from boyd.runtime.restart import Strategy
from boyd.runtime.seams import Seams, time_of
from boyd.runtime.siblings import Siblings
from boyd.runtime.spans import check_span
from boyd.runtime.supervision import Terminated
from boyd.runtime.topics import Hearing, Topics
from boyd.runtime.watches import begin_watch, end_watch

__all__ = ["Services"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Services:
    """Clock, dispatcher, deadlines, ledger, addresses, topics and reports of one system.

    Attributes:
        name: for people, and the first part of the threads that the system itself writes.
        id: unique among the systems of all processes; refs carry it.
        ledger: the store of threads.
        cancel_scope: cancelling it unwinds the block, which stops all actors within `grace`,
            without a drain.
        dead_letters: how many accepted messages nobody handled, by reason.
        busy: how many actors have mail or a message in hand.
        tasks: how many tasks actors have.
    """

    def __init__(
        self,
        *,
        name: str,
        seams: Seams,
        ledger: Ledger,
        nursery: trio.Nursery,
        ask_timeout: float,
        grace: float,
        strategy: Strategy,
    ) -> None:
        self.name = name
        self.seams = seams
        self.clock = seams.clock
        self.now = time_of(seams.clock)
        self.random = seams.random
        self.ask_timeout = ask_timeout
        self.grace = grace
        self.strategy = strategy
        self.siblings = Siblings(self, None)
        self.id = seams.ids.new()
        while self.id in homes:  # a second system of the same seed, at the same time
            self.id = seams.ids.new()
        self.dispatcher: Dispatcher = seams.dispatcher()
        self.deadlines = Deadlines()
        self.ledger: Ledger = DispatchedLedger(ledger, self.dispatcher)
        self.reports = Reports(self)
        self.report = self.reports.mishap
        self.dead_letter = self.reports.dead_letter
        self.dead_letters = self.reports.dead_letters
        self.spies = self.reports.spies
        self.audit = Audit(ledger, self.report)
        self.busy = Count(self.dispatcher)
        self.directory = Directory()
        self.topics = Topics()
        self.groups = Groups(self.publish)
        self.turns = Turns(self.dispatcher)
        self.cancel_scope = nursery.cancel_scope
        self.closing = False
        self._nursery = nursery
        self.tasks = Count(self.dispatcher)
        self._services = trio.CancelScope(shield=True)
        self._stopped = Gate(self.dispatcher)

    # ------------------------------------------------------------------ refs and topics
    def find_post(self, path: str, incarnation: int) -> Post | None:
        """What a ref points at, while it lives."""
        return self.directory.post(path, incarnation)

    def post_of(self, ref: Ref[Any]) -> Post | None:
        """What `ref` points at while it lives, in whichever system."""
        home = homes.get(ref.system_id)
        return None if home is None else home.find_post(ref.path, ref.incarnation)

    def watch(self, watcher: Post, ref: Ref[Any]) -> None:
        """As `Context.watch`, for any mailbox.

        Raises:
            NotAccepted: `watcher` does not take `Terminated`.
        """
        if Terminated not in watcher.accepted:
            raise NotAccepted(
                f"{watcher.path} is {watcher.kind_text()} and does not accept Terminated"
            )
        begin_watch(watcher, ref, self.post_of(ref))

    def unwatch(self, watcher: Post, ref: Ref[Any]) -> None:
        """Take a watch back, also where its `Terminated` was not read yet. Idempotent."""
        end_watch(watcher, ref, self.post_of(ref))

    def is_heard(self, topic: str) -> bool:
        """Whether anybody listens to `topic`."""
        return bool(self.topics.listeners(topic))

    def publish(self, topic: str, message: object) -> None:
        """Offer `message` to every subscription that hears `topic`; each has its own lag policy.

        Never waits.

        Raises:
            EncodeError: a value in the message has no wire form.
        """
        kind = type(message)
        listeners = [one for one in self.topics.listeners(topic) if kind in one.accepted]
        if not listeners:
            return
        codec, now = message_codec(kind), self.now()
        body = codec.encode(message)
        sender, headers = sender_and_headers()
        envelope = Envelope(codec, body, sender, headers, now)
        for listener in listeners:
            listener.offer(envelope)

    def subscribe(self, cell: Incarnation, pattern: str, hearing: Hearing) -> None:
        """Have an actor hear `pattern` until its end, once however often it subscribes."""
        self.unsubscribe(cell, pattern)
        if cell.hearings is None:
            cell.hearings = {}
        cell.hearings[pattern] = hearing
        self.topics.add(pattern, hearing)

    def unsubscribe(self, cell: Incarnation, pattern: str) -> None:
        """It hears no more of `pattern`. Idempotent."""
        hearing = cell.hearings.pop(pattern, None) if cell.hearings else None
        if hearing is not None:
            self.topics.remove(pattern, hearing)

    # ------------------------------------------------------------------ time, threads, tasks
    async def sleep(self, seconds: float) -> None:
        """Wait on the system's clock; woken through the dispatcher. Raises SystemClosed, ValueError."""
        check_span(seconds, "seconds")
        if self._services.cancel_called:
            raise SystemClosed(f"the system {self.name} has ended")
        waiter = Waiter(self.dispatcher)
        due = self.deadlines.at(self.now() + seconds, waiter.wake)
        try:
            await waiter.wait()
        finally:
            due.cancel()

    async def offload(self, fn: Callable[[*Ts], T], /, *args: *Ts, abandon: bool = False) -> T:
        """Run a blocking function through the offload seam.

        It is waited for, also when cancelled; with `abandon` a cancel leaves it
        to end by itself, which only a read that changes nothing may.
        """
        try:
            return await self.seams.offload.run(fn, *args, abandon=abandon)
        finally:
            await self.dispatcher.enter()

    def start_soon(
        self, fn: Callable[[], Awaitable[object]], *, name: str, after: Beginnings | None = None
    ) -> None:
        """A task of an actor: it shields itself, and calls `tasks.down()` as its last act."""
        self.tasks.up()
        (after or self.dispatcher).start_soon(self._nursery, fn, name=name)

    # ------------------------------------------------------------------ ending
    async def settle(self, seconds: float) -> None:
        """Wait until no actor has mail or a message in hand, for at most `seconds`."""
        with trio.move_on_after(seconds):
            await self.busy.wait_zero()

    async def stop(self) -> None:
        """Finish the message in hand of every actor, then stop: children before parents, last started first.

        In a handler it does not wait for the actor of that handler.
        """
        for cell in reversed(tuple(self.directory.top.values())):
            await cell.stop_within(min(cell.supervision.shutdown, self.grace))
        self._stopped.open()

    async def wait_stopped(self) -> None:
        """Return when `stop` has finished."""
        await self._stopped.wait()

    async def shut_down(self) -> None:
        """Stop all actors within the grace, then by force; end the services when no task is left."""
        with trio.CancelScope(shield=True):
            with trio.move_on_after(self.grace):
                await self.stop()
            self.closing = True
            for cell in tuple(self.directory.top.values()):
                cell.kill()
            await self.tasks.wait_zero()
            for post in self.directory:
                if isinstance(post, Inbox):
                    post.end()
            self._stopped.open()
            self._services.cancel()

    async def run(self) -> None:
        """Deadlines, the audit, the dispatcher: until every other task has ended."""
        with self._services:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.deadlines.run)
                nursery.start_soon(self.audit.run)
                nursery.start_soon(self.dispatcher.run)
