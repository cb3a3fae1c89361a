"""A system of actors inside anybody's Trio program."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar, TypeVarTuple, cast, overload

import trio

from boyd.runtime.actor import Actor
from boyd.runtime.cell import Cell
from boyd.runtime.dump import dump_of, place_of
from boyd.runtime.errors import ActorStopped, MailboxFull, SystemClosed
from boyd.runtime.groups import ACTORS_TOPIC, GROUPS_TOPIC, Spawned
from boyd.runtime.inbox import Inbox, Lag, accepted_kinds
from boyd.runtime.incarnation import Birth, Incarnation
from boyd.runtime.mailbox import DEFAULT_MAILBOX, Mailbox
from boyd.runtime.names import check_name, child_path, default_name
from boyd.runtime.origin import waiting_cell
from boyd.runtime.ref import Ref
from boyd.runtime.reports import DEAD_TOPIC, SUPERVISION_TOPIC
from boyd.runtime.restart import DEFAULT_SUPERVISION, Supervision
from boyd.runtime.services import Services
from boyd.runtime.statistics import ActorStatistics
from boyd.runtime.topics import Hearing, Where

__all__ = ["ACTORS_TOPIC", "DEAD_TOPIC", "GROUPS_TOPIC", "SUPERVISION_TOPIC", "System"]

M = TypeVar("M")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class System(Services):
    """Actors under one nursery, with names, topics, deadlines and a ledger. Made by `open_system`."""

    # ------------------------------------------------------------------ spawning
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

        `factory(*args)` runs now and again at each restart. Cancelled means
        that there is no such actor, unless it shields itself from being stopped.

        Raises:
            NameTaken: a sibling of that name is alive.
            TypeError: `factory` is an actor instead of a factory.
            SystemClosed: the system has ended.
            ActorStopped: it was stopped before it had started.
            Exception: whatever the factory or `started()` raises.
        """
        birth = Birth(factory, args, mailbox or DEFAULT_MAILBOX, supervision or DEFAULT_SUPERVISION)
        return cast("Ref[M]", await self.spawn_under(None, birth, name))

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
        birth = Birth(factory, args, mailbox or DEFAULT_MAILBOX, supervision or DEFAULT_SUPERVISION)
        return cast("Ref[M]", self._start(None, birth, name).ref)

    async def spawn_under(
        self, parent: Incarnation | None, birth: Birth, name: str | None
    ) -> Ref[Any]:
        """The common part of `System.spawn` and `Context.spawn`."""
        await trio.lowlevel.checkpoint_if_cancelled()
        cell = self._start(parent, birth, name)
        cell.spawner_waits = True
        spawner = waiting_cell()
        if spawner is not None:
            spawner.asking.append(
                cell
            )  # so that a child which asks it at its start learns the cycle
        try:
            await cell.started.wait()
        except trio.Cancelled:
            await cell.kill_and_wait()
            raise
        finally:
            cell.spawner_waits = False
            if spawner is not None:
                spawner.asking.remove(cell)
        if cell.start_error is not None:
            raise cell.start_error
        if not cell.lived:
            raise ActorStopped(f"{cell.path} was stopped before it had started")
        return cell.ref

    def _start(self, parent: Incarnation | None, birth: Birth, name: str | None) -> Cell:
        _check_factory(birth.factory)
        if self.closing:
            raise SystemClosed(f"the system {self.name} has ended")
        if parent is not None and not parent.is_living:
            raise ActorStopped(f"{parent.path} is ending a life, and cannot have children now")
        incarnation = self.directory.next_incarnation()
        name = default_name(birth.factory, incarnation) if name is None else check_name(name)
        path = self.directory.free_path(parent, name)
        cell = Cell(self, parent, name, birth, path=path, incarnation=incarnation)
        self.directory.add_cell(cell)
        self.start_soon(cell.run, name=path)
        if self.is_heard(ACTORS_TOPIC):
            self.publish(ACTORS_TOPIC, Spawned(ref=cell.ref, kind=cell.kind))
        return cell

    # ------------------------------------------------------------------ by path
    def lookup(self, path: str, accepts: type[M], /) -> Ref[M]:  # noqa: ARG002  # for type checkers; `tell` checks
        """The living actor at `path`. Raises UnknownActor."""
        return cast("Ref[M]", self.directory.cell(path).ref)

    def group(self, name: str, accepts: type[M], /) -> tuple[Ref[M], ...]:  # noqa: ARG002  # as in `lookup`
        """The living actors that belong to a group now, in order of joining; none, if there is no such group.

        To miss no change, subscribe to `boyd.groups/<name>` first, then look.
        """
        return cast("tuple[Ref[M], ...]", self.groups.members(name))

    def crash(self, path: str, error: Exception | None = None) -> None:
        """Make the actor at `path` fail now, as if its handler had raised. For tests and demonstrations.

        Raises UnknownActor.
        """
        self.directory.cell(path).crash(error)

    def kill(self, path: str) -> None:
        """Stop the actor at `path` now, cancelling its handler. Raises UnknownActor."""
        self.directory.cell(path).kill()

    async def stop_actor(self, ref: Ref[Any], *, drain: bool = False) -> None:
        """Stop one actor politely, by force after its shutdown time. Returns when it has stopped.

        It finishes the message in hand; what waits behind it becomes dead
        letters. With `drain` it handles first all that waits now, however long
        that takes. In one of its own handlers this returns at once.
        """
        post = self.post_of(ref)
        if not isinstance(post, Cell):
            await trio.lowlevel.checkpoint()
        elif drain:
            await post.stop_drained()
        else:
            await post.stop_within(post.supervision.shutdown)

    def suspend(self, path: str) -> None:
        """Have the actor at `path` handle nothing behind the message in hand, until `resume`.

        Its mailbox fills meanwhile, and asks run out of time. Restarts change
        nothing about it; it can be stopped and killed. Idempotent.

        Raises UnknownActor.
        """
        self.directory.cell(path).suspend()

    def resume(self, path: str) -> None:
        """Have the actor at `path` go on where it was suspended. Idempotent. Raises UnknownActor."""
        self.directory.cell(path).resume()

    # ------------------------------------------------------------------ inboxes and channels
    @overload
    def open_subscription(
        self,
        topic: str,
        kind: type[T],
        *,
        size: int = ...,
        lag: Lag = ...,
        where: Where | None = ...,
    ) -> AbstractAsyncContextManager[Inbox[T]]: ...
    @overload
    def open_subscription(
        self,
        topic: str,
        kind: object,
        *,
        size: int = ...,
        lag: Lag = ...,
        where: Where | None = ...,
    ) -> AbstractAsyncContextManager[Inbox[Any]]: ...
    @asynccontextmanager
    async def open_subscription(
        self,
        topic: str,
        kind: object,
        *,
        size: int = 256,
        lag: Lag = Lag.DROP_OLDEST,
        where: Where | None = None,
    ) -> AsyncGenerator[Inbox[Any]]:
        """Hear what is published on `topic` from now on, until the block ends.

        Args:
            topic: a name, or a pattern: `*` is one word, a last `**` any number.
            kind: a message class or a union of them.
            size: messages that may wait.
            lag: a slow reader reads `Lagged(n)` where n messages were dropped, or is disconnected.
            where: hear only messages whose headers it holds for. It must not fail; what it fails on is not heard.
        """
        with self.open_inbox(kind, size=size, lag=lag) as inbox:
            hearing = Hearing(inbox, where=where)
            self.topics.add(topic, hearing)
            try:
                yield inbox
            finally:
                self.topics.remove(topic, hearing)

    @overload
    def open_inbox(self, kind: type[T], *, size: int = ..., lag: Lag | None = ...) -> Inbox[T]: ...
    @overload
    def open_inbox(self, kind: object, *, size: int = ..., lag: Lag | None = ...) -> Inbox[Any]: ...
    def open_inbox(self, kind: object, *, size: int = 64, lag: Lag | None = None) -> Inbox[Any]:
        """A mailbox for the calling task: `with system.open_inbox(Kind) as inbox`.

        `inbox.ref` can be handed on. Without `lag` it rejects what it has no
        room for, so that `send` waits.
        """
        cell = waiting_cell()
        incarnation = self.directory.next_incarnation()
        path = child_path("" if cell is None else cell.path, f"$inbox-{incarnation}")
        kinds = accepted_kinds(kind)
        inbox: Inbox[Any] = Inbox(self, path, incarnation, kinds, size=size, lag=lag)
        self.directory.add_post(inbox)
        return inbox

    async def pump(self, channel: trio.abc.ReceiveChannel[M], ref: Ref[M]) -> None:
        """Tell `ref` what comes out of `channel` until that ends, waiting for room where it rejects."""
        async for message in channel:
            try:
                ref.tell(message)
            except MailboxFull:
                await ref.send(message)

    def exclusive(self, name: str) -> AbstractAsyncContextManager[None]:
        """One block at a time of this name in this system; the others wait, first come first served."""
        return self.turns.open(name)

    # ------------------------------------------------------------------ seeing
    def statistics(self) -> ActorStatistics:
        """All actors now, as a tree under "/"."""
        return ActorStatistics(
            path="/",
            kind=self.name,
            state="stopped" if self.closing else "running",
            children=tuple(cell.statistics() for cell in self.directory.top.values()),
        )

    def tree(self) -> str:
        """The living actors as indented text, one line each."""
        return "\n".join(self.statistics().lines())

    def dump(self) -> str:
        """Why it does not go on, as text: what each actor has in hand, where in the code it waits and
        for whom, and what waits in its mailbox."""
        return dump_of(self, self._tasks())

    def place_of(self, path: str) -> list[str]:
        """Where in the code the handler of the actor at `path` waits, the innermost call last."""
        task = self._tasks().get(path)
        return [] if task is None else place_of(task)

    def _tasks(self) -> dict[str, trio.lowlevel.Task]:
        """By their names, which are the paths of the actors."""
        return {task.name: task for task in self._nursery.child_tasks}

    def paths(self) -> tuple[str, ...]:
        """The paths of all living actors."""
        return self.directory.paths()


def _check_factory(factory: object) -> None:
    if isinstance(factory, Actor):
        kind = type(cast("object", factory)).__name__
        raise TypeError(
            f"spawn takes a factory, because a restart must build a fresh actor: write spawn({kind}, ...)"
        )
    code = getattr(factory, "__code__", None)
    if code is not None and code.co_flags & inspect.CO_COROUTINE:
        raise TypeError(f"{code.co_name} is an async function: decorate it with @actor")
