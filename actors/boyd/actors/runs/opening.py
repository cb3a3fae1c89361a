"""How a definition becomes a run: where it lives, in which thread, under whose budget and lease."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import trio

from boyd.actors.budget import Budget, Spending
from boyd.actors.conversation.artifacts import Event
from boyd.actors.runs.inflight import InFlight, is_within
from boyd.actors.runs.messages import Begin, RunDone, RunFailed, RunLinked, RunStarted
from boyd.actors.runs.place import Place, current_place
from boyd.actors.runs.run import Run
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.questions import Answer
from boyd.runtime import (
    Context,
    Headers,
    Inbox,
    Ledger,
    NameTaken,
    Ref,
    Supervision,
    System,
    Terminated,
    current_context,
    open_lease,
    open_system,
)
from boyd.runtime.origin import current_headers, waiting_deadline

if TYPE_CHECKING:
    from boyd.actors.runs.runnable import Runnable

__all__ = ["RUN_SUPERVISION", "Options", "first_entry", "open_the_run"]

RUN_SUPERVISION = Supervision(redeliver=3, restarts=3, per=30.0, significant=False, shutdown=0.0)
"""A run survives crashes of its top actor; when they go on, the run fails, and not the system."""


@attrs.frozen(kw_only=True)
class Options:
    """What may be said about one run. `Runnable.open_run` tells what each means."""

    system: System | None = None
    thread: str | None = None
    answers: Mapping[str, Answer] | None = None
    budget: Budget | None = None
    buffer: int = 64
    interactive: bool = True
    target: str = ""


@attrs.frozen(kw_only=True)
class _Around:
    """What a new run finds around it: its system, and the run and the actor that it is begun in, if it is in one.

    Attributes:
        thread: what the code at hand works for, or "".
        deadline: of the message being handled.
    """

    system: System
    ctx: Context | None = None
    place: Place | None = None
    headers: Headers = attrs.field(factory=Headers)
    deadline: float = math.inf

    @property
    def thread(self) -> str:
        return self.headers.thread if self.place is None else self.place.spec.thread

    @property
    def spec(self) -> RunSpec | None:
        return None if self.place is None else self.place.spec


def _look_around(system: System | None) -> _Around | None:
    """None: neither a system nor an actor, so the run needs a system of its own."""
    ctx = current_context()
    if ctx is not None and (system is None or ctx.system is system):
        return _Around(
            system=ctx.system,
            ctx=ctx,
            place=current_place(),
            headers=ctx.headers,
            deadline=waiting_deadline(),
        )
    return None if system is None else _Around(system=system, headers=current_headers.get())


@asynccontextmanager
async def open_the_run(
    definition: Runnable[Any, Any], given: object, options: Options
) -> AsyncGenerator[Run[Any]]:
    """`Runnable.open_run`, in whatever system is right."""
    around = _look_around(options.system)
    async with AsyncExitStack() as stack:
        if around is None:
            around = _Around(system=await stack.enter_async_context(_private_system()))
        yield await stack.enter_async_context(_open_around(definition, given, options, around))


@asynccontextmanager
async def _open_around(
    definition: Runnable[Any, Any], given: object, options: Options, around: _Around
) -> AsyncGenerator[Run[Any]]:
    home, outer = around.system, around.spec
    thread = await _thread_for(definition, given, options, around)
    async with AsyncExitStack() as stack:
        stack.enter_context(trio.fail_at(around.deadline))
        await stack.enter_async_context(home.exclusive(thread))
        if outer is not None and outer.lease and is_within(thread, outer.lease.thread):
            lease = outer.lease
        else:
            owner = home.seams.process
            held = open_lease(home.ledger, thread, owner=owner, clock=home.clock)
            lease = await stack.enter_async_context(held)
        if outer is not None and is_within(thread, outer.thread):
            link = RunLinked(thread=thread, name=definition.name)
            await outer.append(link, ids=(f"{thread}#link",))
        inbox: Inbox[Any] = stack.enter_context(
            home.open_inbox(Event | RunDone | RunFailed | Terminated, size=options.buffer)
        )
        automatic = outer is not None and options.thread is None
        spec = RunSpec(
            system=home,
            id=thread if automatic else home.seams.ids.new(),
            name=definition.name,
            thread=thread,
            sink=inbox.ref,
            owner=inbox.ref,
            lease=lease,
            spending=Spending(
                options.budget or definition.budget,
                parent=None if outer is None else outer.spending,
                clock=home.clock.now,
            ),
            interactive=options.interactive,
            answers=dict(options.answers or {}),
            headers=attrs.evolve(around.headers, thread=thread),
            target=options.target,
            inflight=InFlight(),
        )
        actor = await _spawn(definition, given, spec, around)
        run: Run[Any] = Run(spec=spec, inbox=inbox, actor=actor, output=definition.output_codec)
        try:
            home.watch(inbox, actor)
            actor.tell(Begin())
            yield run
        finally:
            await run.close()


async def _thread_for(
    definition: Runnable[Any, Any], given: object, options: Options, around: _Around
) -> str:
    """The thread that was asked for, or a new one below that of the run around it.

    Raises:
        ValueError: it is the thread of the run around it, or one above.
    """
    thread, outer = options.thread, around.thread
    if thread is not None:
        if outer and is_within(outer, thread):
            raise ValueError(
                f"a run within the run of {outer} cannot use the thread {thread}: leave thread= out"
            )
        return thread
    if around.place is not None:
        return await _thread_at(around.place, definition.encode_input(given))
    fresh = around.system.seams.ids.new()
    return f"{outer}/{definition.name}.{fresh}" if outer else f"{definition.name}-{fresh}"


async def _thread_at(place: Place, given: bytes) -> str:
    """The next thread of a place that is new, or that was begun with the same input before a crash."""
    while True:
        thread = place.next_thread()
        started = await first_entry(place.spec.system.ledger, thread)
        if started is None or (isinstance(started, RunStarted) and started.input == given):
            return thread


async def first_entry(ledger: Ledger, thread: str) -> object | None:
    """The message of a thread's first entry; None where there is no such thread."""
    entries = await ledger.read(thread, limit=1)
    return (entries[0].message() or entries[0]) if entries else None


async def _spawn(
    definition: Runnable[Any, Any], given: object, spec: RunSpec, around: _Around
) -> Ref[Begin]:
    """Under the actor that the run is begun in, or at the top; with a number where the name is taken."""
    factory, number, name = definition.actor(given, spec), 1, definition.name
    spawn = around.system.spawn if around.ctx is None else around.ctx.spawn
    while True:
        try:
            return await spawn(factory, name=name, supervision=RUN_SUPERVISION)
        except NameTaken:
            number += 1
            name = f"{definition.name}-{number}"


@asynccontextmanager
async def _private_system() -> AsyncGenerator[System]:
    """A system for one run, whose errors leave it as they are."""
    failed: Exception | None = None
    async with open_system(name="run", drain=0.0, grace=2.0) as system:
        try:
            yield system
        except Exception as error:  # noqa: BLE001  # raised again below, outside the nursery that would wrap it
            failed = error
    if failed is not None:
        raise failed
