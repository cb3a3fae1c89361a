"""A system of actors inside anybody's Trio program."""

from __future__ import annotations

import itertools
import logging
import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeVar, TypeVarTuple, cast

import trio

from boyd.runtime.actor import Actor
from boyd.runtime.audit import Audit
from boyd.runtime.cell import Cell
from boyd.runtime.deadlines import Deadlines
from boyd.runtime.dispatched import DispatchedLedger
from boyd.runtime.dispatcher import Dispatcher, Gate, Waiter
from boyd.runtime.envelope import Envelope, Headers
from boyd.runtime.errors import MailboxFull, NameTaken, SystemClosed, UnknownActor
from boyd.runtime.inbox import Inbox, Lag, accepted_kinds
from boyd.runtime.ledger import Entry, Ledger, open_ledger, open_memory_ledger
from boyd.runtime.mailbox import Mailbox
from boyd.runtime.messages import message_codec
from boyd.runtime.names import check_name, child_path
from boyd.runtime.post import Post, current_cell, current_headers
from boyd.runtime.ref import Ref
from boyd.runtime.restart import Supervision
from boyd.runtime.seams import Seams
from boyd.runtime.statistics import ActorStatistics
from boyd.runtime.supervision import DeadLetter, SupervisorDecided, Terminated
from boyd.runtime.topics import Topics

__all__ = ["DEAD_TOPIC", "SUPERVISION_TOPIC", "System", "open_system"]

M = TypeVar("M")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DEAD_TOPIC: Final = "boyd.dead"
SUPERVISION_TOPIC: Final = "boyd.supervision"

_log: Final = logging.getLogger("boyd")

Spy = Callable[[str, str, str, bytes], None]
"""Called with sender path, receiver path, message name and msgpack bytes, for every hop."""


class System:
    """Actors under one nursery, with names, topics, deadlines and a ledger. Made by `open_system`.

    Attributes:
        name: for people, and the first part of the threads that the system itself writes.
        ledger: the store of threads.
        cancel_scope: cancelling it unwinds the block, which stops all actors within `grace`, without a drain.
        dead_letters: how many accepted messages nobody handled, by reason.
    """

    def __init__(
        self,
        *,
        name: str,
        seams: Seams,
        ledger: Ledger,
        nursery: trio.Nursery,
        cancel_scope: trio.CancelScope,
        ask_timeout: float,
        grace: float,
    ) -> None:
        self.name = name
        self.seams = seams
        self.clock = seams.clock
        self.random = seams.random
        self.ask_timeout = ask_timeout
        self.dispatcher: Dispatcher = seams.dispatcher()
        self.deadlines = Deadlines()
        self.ledger: Ledger = DispatchedLedger(ledger, self.dispatcher)
        self.cancel_scope = cancel_scope
        self.dead_letters: dict[str, int] = {}
        self.spies: list[Spy] = []
        self.closing = False
        self._grace = grace
        self._nursery = nursery
        self._children: dict[str, Cell] = {}
        self._posts: dict[str, Post] = {}
        self._incarnations = itertools.count(1)
        self._topics = Topics()
        self._exclusive: dict[str, deque[Gate]] = {}
        self._audit = Audit(lambda: self.ledger, self.report)
        self._stopped = Gate(self.dispatcher)

    # ------------------------------------------------------------------ spawning and finding
    async def spawn(
        self,
        factory: Callable[[*Ts], Actor[M]],
        /,
        *args: *Ts,
        name: str | None = None,
        mailbox: Mailbox | None = None,
        supervision: Supervision | None = None,
    ) -> Ref[M]:
        """Start an actor, and return when its `started()` has.

        `factory(*args)` runs now and again at each restart.

        Raises:
            NameTaken: a sibling of that name is alive.
            TypeError: `factory` is an actor instead of a factory.
            SystemClosed: the system has ended.
            Exception: whatever the factory or `started()` raises.
        """
        return cast(
            "Ref[M]", await self.spawn_under(None, factory, args, name, mailbox, supervision)
        )

    def spawn_nowait(
        self,
        factory: Callable[[*Ts], Actor[M]],
        /,
        *args: *Ts,
        name: str | None = None,
        mailbox: Mailbox | None = None,
        supervision: Supervision | None = None,
    ) -> Ref[M]:
        """As `spawn`, without waiting: an error in `started()` is then a crash like any other."""
        return self._start(None, factory, args, name, mailbox, supervision).ref

    async def spawn_under(
        self,
        parent: Cell | None,
        factory: Callable[..., Actor[Any]],
        args: tuple[Any, ...],
        name: str | None,
        mailbox: Mailbox | None,
        supervision: Supervision | None,
    ) -> Ref[Any]:
        """The common part of `System.spawn` and `Context.spawn`."""
        await trio.lowlevel.checkpoint_if_cancelled()
        cell = self._start(parent, factory, args, name, mailbox, supervision)
        cell.spawner_waits = True
        try:
            await cell.started.wait()
        except trio.Cancelled:
            cell.kill()
            raise
        finally:
            cell.spawner_waits = False
        if cell.failure is not None:
            raise cell.failure
        return cell.ref

    def _start(
        self,
        parent: Cell | None,
        factory: Callable[..., Actor[Any]],
        args: tuple[Any, ...],
        name: str | None,
        mailbox: Mailbox | None,
        supervision: Supervision | None,
    ) -> Cell:
        if isinstance(factory, Actor):
            kind = type(factory).__name__
            raise TypeError(
                f"spawn takes a factory, because a restart must build a fresh actor: write spawn({kind}, ...)"
            )
        if self.closing:
            raise SystemClosed(f"the system {self.name} has ended")
        siblings = self._children if parent is None else parent.children
        incarnation = next(self._incarnations)
        name = (
            check_name(name)
            if name is not None
            else f"{getattr(factory, '__name__', 'actor').lower()}-{incarnation}"
        )
        path = child_path("" if parent is None else parent.path, name)
        if name in siblings:
            raise NameTaken(f"{path} is alive already")
        cell = Cell(
            self,
            parent,
            name,
            path,
            incarnation,
            factory,
            args,
            mailbox or Mailbox(),
            supervision or Supervision(),
        )
        siblings[name] = cell
        self._posts[path] = cell
        self._nursery.start_soon(cell.run, name=path)
        return cell

    def lookup(self, path: str, accepts: type[M], /) -> Ref[M]:  # noqa: ARG002  # for type checkers; `tell` checks
        """The living actor at `path`. Raises UnknownActor."""
        return cast("Ref[M]", self._find(path).ref)

    def _find(self, path: str) -> Cell:
        post = self._posts.get(path)
        if not isinstance(post, Cell):
            raise UnknownActor(f"no living actor at {path}")
        return post

    def find_post(self, path: str, incarnation: int) -> Post | None:
        """What a ref points at, while it lives."""
        post = self._posts.get(path)
        return post if post is not None and post.incarnation == incarnation else None

    def crash(self, path: str, error: Exception | None = None) -> None:
        """Make the actor at `path` fail now, as if its handler had raised. For tests and demonstrations.

        Raises UnknownActor.
        """
        self._find(path).crash(error)

    def kill(self, path: str) -> None:
        """Stop the actor at `path` now, cancelling its handler. Raises UnknownActor."""
        self._find(path).kill()

    async def stop_actor(self, ref: Ref[Any]) -> None:
        """Stop one actor politely, by force after its shutdown time. Returns when it has stopped."""
        post = self.find_post(ref.path, ref.incarnation)
        if isinstance(post, Cell):
            await post.stop_within(post.supervision.shutdown)

    # ------------------------------------------------------------------ topics, inboxes, channels
    def publish(self, topic: str, message: object) -> None:
        """Offer `message` to every subscription that hears `topic`; each has its own lag policy. Never waits."""
        listeners = self._topics.listeners(topic)
        if not listeners:
            return
        codec = message_codec(type(message))
        body: bytes | None = None
        cell = current_cell.get()
        sender = None if cell is None else cell.ref
        headers = current_headers.get() if cell is None else cell.headers
        for inbox in listeners:
            if type(message) in inbox.accepted:
                body = codec.encode(message) if body is None else body
                inbox.offer(
                    Envelope(codec, body, sender, headers, float("inf"), None, self.clock.now())
                )

    @asynccontextmanager
    async def open_subscription(
        self,
        topic: str,
        kind: type[T] | Any,
        *,
        size: int = 256,
        lag: Lag = Lag.DROP_OLDEST,
    ) -> AsyncGenerator[Inbox[T], None]:
        """Hear what is published on `topic` from now on, until the block ends.

        `kind` is a message class or a union of them. A slow reader reads
        `Lagged(n)` where n messages were dropped (`Lag.DROP_OLDEST`), or is
        disconnected.
        """
        with self.open_inbox(kind, size=size, lag=lag) as inbox:
            self._topics.add(topic, inbox)
            try:
                yield inbox
            finally:
                self._topics.remove(topic, inbox)

    def open_inbox(
        self, kind: type[T] | Any, *, size: int = 64, lag: Lag | None = None
    ) -> Inbox[T]:
        """A mailbox for the calling task, used as `with system.open_inbox(Kind) as inbox`; `inbox.ref` can be handed on.

        Without `lag` it rejects what it has no room for, so that `send` waits.
        """
        cell = current_cell.get()
        incarnation = next(self._incarnations)
        path = child_path("" if cell is None else cell.path, f"$inbox-{incarnation}")
        inbox: Inbox[T] = Inbox(self, path, incarnation, accepted_kinds(kind), size, lag)
        self._posts[path] = inbox
        return inbox

    async def pump(self, channel: trio.abc.ReceiveChannel[M], ref: Ref[M]) -> None:
        """Tell `ref` what comes out of `channel`, waiting for room where it rejects, until the channel ends."""
        async for message in channel:
            try:
                ref.tell(message)
            except MailboxFull:
                await ref.send(message)

    # ------------------------------------------------------------------ time, threads, tasks
    async def sleep(self, seconds: float) -> None:
        """Wait on the system's clock; woken through the dispatcher."""
        waiter = Waiter(self.dispatcher)
        due = self.deadlines.at(self.clock.now() + seconds, waiter.wake)
        try:
            await waiter.wait()
        finally:
            due.cancel()

    async def offload(self, fn: Callable[[*Ts], T], /, *args: *Ts, abandon: bool = False) -> T:
        """Run a blocking function through the offload seam.

        It is waited for, also when cancelled; with `abandon` a cancel leaves it
        to end by itself, which only a read that changes nothing may.
        """
        result = await self.seams.offload.run(fn, *args, abandon=abandon)
        await self.dispatcher.enter()
        return result

    def start_soon(self, fn: Callable[[], Awaitable[object]]) -> None:
        """A task of the runtime in the system's nursery."""
        self._nursery.start_soon(fn)

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncGenerator[None, None]:
        """One block at a time of this name in this system; others wait their turn, first come first served."""
        queue = self._exclusive.setdefault(name, deque())
        gate = Gate(self.dispatcher)
        queue.append(gate)
        try:
            if queue[0] is not gate:
                await gate.wait()
            yield
        finally:
            queue.remove(gate)
            if queue:
                queue[0].open()
            else:
                self._exclusive.pop(name, None)

    # ------------------------------------------------------------------ ending
    async def stop(self) -> None:
        """Finish the message in hand of every actor, then stop: children before parents, last started first."""
        for cell in reversed(tuple(self._children.values())):
            await cell.stop_within(min(cell.supervision.shutdown, self._grace))
        self._stopped.open()

    async def wait_stopped(self) -> None:
        """Return when `stop` has finished."""
        await self._stopped.wait()

    async def settle(self, seconds: float) -> None:
        """Wait until no actor has mail or a message in hand, for at most `seconds`."""
        with trio.move_on_after(seconds):
            while any(
                isinstance(post, Cell) and (post.current or len(post.queue))
                for post in self._posts.values()
            ):
                await self.sleep(0.005)

    async def shut_down(self, drain: float) -> None:
        """The normal end of the block: mail, then actors, then force."""
        await self.settle(drain)
        with trio.move_on_after(self._grace):
            await self.stop()
        self.closing = True

    # ------------------------------------------------------------------ seeing
    def statistics(self) -> ActorStatistics:
        """All actors now, as a tree under "/"."""
        children = tuple(cell.statistics() for cell in self._children.values())
        state = "stopped" if self.closing else "running"
        return ActorStatistics(path="/", kind=self.name, state=state, children=children)

    def tree(self) -> str:
        """The living actors as indented text, one line each."""
        return "\n".join(self.statistics().lines())

    def paths(self) -> tuple[str, ...]:
        """The paths of all living actors."""
        return tuple(path for path, post in self._posts.items() if isinstance(post, Cell))

    def spied(self, envelope: Envelope, post: Post) -> None:
        """Show a hop to the wire spies."""
        for spy in self.spies:
            spy(
                envelope.sender.path if envelope.sender else "",
                post.path,
                envelope.codec.name,
                envelope.body,
            )

    def spied_reply(self, envelope: Envelope, post: Post, frame: bytes) -> None:
        """Show a reply to the wire spies."""
        for spy in self.spies:
            receiver = envelope.sender.path if envelope.sender else ""
            spy(post.path, receiver, f"reply to {envelope.codec.name}", frame)

    # ------------------------------------------------------------------ for cells
    def watch(self, watcher: Post, ref: Ref[Any]) -> None:
        """Register for one `Terminated`."""
        post = self.find_post(ref.path, ref.incarnation)
        if isinstance(post, Cell) and post.state != "stopped":
            post.watchers.append(watcher)
        else:
            watcher.force(Terminated(ref=ref, reason="stopped"))

    def dead_letter(self, envelope: Envelope, post: Post, reason: str) -> None:
        """Count it and tell who listens."""
        self.dead_letters[reason] = self.dead_letters.get(reason, 0) + 1
        if self._topics.listeners(DEAD_TOPIC):
            sender = envelope.sender.path if envelope.sender else ""
            size = len(envelope.body)
            letter = DeadLetter(
                path=post.path, kind=envelope.codec.name, reason=reason, sender=sender, size=size
            )
            self.publish(DEAD_TOPIC, letter)

    def decided(self, decision: SupervisorDecided, headers: Headers, error: Exception) -> None:
        """Publish, log and write down what a supervisor decided."""
        self.publish(SUPERVISION_TOPIC, decision)
        self.report(
            f"{decision.path} crashed ({decision.error}: {decision.message}); {decision.verdict}",
            error,
        )
        thread = f"{headers.thread or self.name}/supervision"
        self._audit.add(thread, Entry.of(decision, id=self.seams.ids.new()))

    def report(self, text: str, error: BaseException | None, /) -> None:
        """Something went wrong that the runtime can live with."""
        _log.warning(text, exc_info=error if _log.isEnabledFor(logging.DEBUG) else None)

    def forget_cell(self, cell: Cell) -> None:
        """A cell has stopped."""
        siblings = self._children if cell.parent is None else cell.parent.children
        if siblings.get(cell.name) is cell:
            del siblings[cell.name]
        self.forget_post(cell)

    def forget_post(self, post: Post) -> None:
        """A path is free again."""
        if self._posts.get(post.path) is post:
            del self._posts[post.path]

    async def run_services(self) -> None:
        """The background of the system: deadlines, the audit, the dispatcher."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.deadlines.run)
            nursery.start_soon(self._audit.run)
            nursery.start_soon(self.dispatcher.run)


@asynccontextmanager
async def open_system(
    *,
    name: str = "boyd",
    ledger: Ledger | str | None = None,
    ask_timeout: float = 30.0,
    drain: float = 5.0,
    grace: float = 5.0,
    seams: Seams | None = None,
) -> AsyncGenerator[System, None]:
    """A system for as long as the block runs; nothing of it outlives the block.

    A normal end finishes accepted mail for at most `drain` seconds, then stops
    all actors, last started first, within `grace` seconds, then kills. An
    exception or a cancel skips the drain.

    Args:
        ledger: an open ledger, which stays yours; or "sqlite:PATH" or
            "memory:", opened and closed here. Default: a memory ledger.
        ask_timeout: seconds that an ask takes at most unless it says less.
        seams: the sources of chance.

    Raises:
        ExceptionGroup: with the original error of an actor whose restart
            budget is used up; a note on it says which actor, and what it handled.
    """
    seams = seams if seams is not None else Seams()
    async with AsyncExitStack() as stack:
        if ledger is None:
            ledger = await stack.enter_async_context(open_memory_ledger(seams=seams))
        elif isinstance(ledger, str):
            ledger = await stack.enter_async_context(open_ledger(ledger, seams=seams))
        alive = trio.CancelScope(shield=True)
        async with _one_group(), trio.open_nursery() as outer:
            try:
                # Shielded for one turn of the loop: a start that is cancelled would wait for the stage's end.
                with trio.CancelScope(shield=True):
                    nursery: trio.Nursery = await outer.start(_hold_stage, alive)
                system = System(
                    name=name,
                    seams=seams,
                    ledger=ledger,
                    nursery=nursery,
                    cancel_scope=outer.cancel_scope,
                    ask_timeout=ask_timeout,
                    grace=grace,
                )
                nursery.start_soon(system.run_services)
                try:
                    yield system
                    await system.shut_down(drain)
                finally:
                    if sys.exc_info()[0] is not None:
                        await _stop_in_passing(system, grace)
                    system.closing = True
            finally:
                alive.cancel()


async def _hold_stage(
    alive: trio.CancelScope, task_status: trio.TaskStatus[trio.Nursery]
) -> None:
    """Keep the actors' nursery, which a cancel from outside does not reach, until `alive` is cancelled.

    Such a cancel unwinds the user's block; its end then stops the actors, who
    can still finish what must be finished. An actor's failure leaves through
    here and cancels the block.
    """
    with alive:
        async with trio.open_nursery() as nursery:
            task_status.started(nursery)
            await trio.sleep_forever()


@asynccontextmanager
async def _one_group() -> AsyncGenerator[None, None]:
    """What leaves two nurseries leaves in one group."""
    try:
        yield
    except BaseExceptionGroup as group:
        flat: list[BaseException] = []
        for error in group.exceptions:
            inner = isinstance(error, BaseExceptionGroup) and error.message == group.message
            flat += error.exceptions if isinstance(error, BaseExceptionGroup) and inner else [error]
        raise group.derive(flat) from None


async def _stop_in_passing(system: System, grace: float) -> None:
    """After an error or a cancel: let actors end their lives, shielded and bounded."""
    with trio.move_on_after(grace, shield=True):
        await system.stop()
