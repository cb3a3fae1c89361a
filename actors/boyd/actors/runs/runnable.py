"""What Agent, Ooda, Graph and Swarm have in common: definitions are values that can be run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Generic, TypeVar


from boyd.actors.budget import Budget, Spending
from boyd.actors.conversation.artifacts import Event
from boyd.actors.events import Pending
from boyd.actors.runs.actor import RunActor
from boyd.actors.runs.messages import Begin, RunDone, RunFailed
from boyd.actors.runs.result import Result
from boyd.actors.runs.run import Run
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.questions import Answer, pending_in
from boyd.runtime import (
    Headers,
    Supervision,
    System,
    Terminated,
    current_context,
    open_lease,
    open_system,
)
from boyd.runtime.codec import TypeCodec

__all__ = ["RUN_SUPERVISION", "Runnable"]

I = TypeVar("I")  # noqa: E741  # Input
T = TypeVar("T")

RUN_SUPERVISION = Supervision(redeliver=3, restarts=3, per=30.0, significant=False, shutdown=0.1)
"""A run survives crashes of its top actor; when they go on, the run fails, and not the system."""


class Runnable(ABC, Generic[I, T]):
    """A definition that can be run, watched, paused and resumed."""

    name: str

    @property
    @abstractmethod
    def output_codec(self) -> TypeCodec:
        """How the output of a run travels."""

    @abstractmethod
    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401
        """A factory of the actor that conducts one run."""

    @property
    def budget(self) -> Budget:
        """The caps of a run that is given none."""
        return Budget()

    async def run(  # noqa: PLR0913
        self,
        given: I,
        /,
        *,
        system: System | None = None,
        thread: str | None = None,
        answers: Mapping[str, Answer] | None = None,
        budget: Budget | None = None,
    ) -> Result[T]:
        """Run to the end. Nobody watches, so a question that must be answered pauses it: `Result.pending`."""
        async with self._open(given, system, thread, answers, budget, 64, interactive=False) as run:
            return await run.wait()

    @asynccontextmanager
    async def open_run(  # noqa: PLR0913
        self,
        given: I,
        /,
        *,
        system: System | None = None,
        thread: str | None = None,
        answers: Mapping[str, Answer] | None = None,
        budget: Budget | None = None,
        buffer: int = 64,
        target: str = "",
        interactive: bool = True,
    ) -> AsyncGenerator[Run[T], None]:
        """A run, read event by event: `async with x.open_run(...) as run: async for event in run: ...`.

        At most `buffer` events wait for the reader, then the run waits. When
        the block ends, nothing of the run is alive, and its thread is valid.
        A thread that is being run in this system waits its turn. Without
        `interactive` nobody will answer, so a question pauses the run.

        Raises:
            LeaseHeld: another process runs this thread.
        """
        async with self._open(given, system, thread, answers, budget, buffer, interactive=interactive, target=target) as run:
            yield run

    async def resume(
        self, thread: str, /, *, system: System, answers: Mapping[str, Answer] | None = None, given: I | None = None
    ) -> Result[T]:
        """Go on with a thread that stopped, was killed, or waits for `answers`."""
        async with self._open(given, system, thread, answers, None, 64, interactive=False) as run:
            return await run.wait()

    async def pending(self, thread: str, /, *, system: System) -> tuple[Pending, ...]:
        """The questions of a thread that nobody has answered yet."""
        return await pending_in(system.ledger, thread)

    def on(self, given: I) -> Bound[T]:
        """The same definition with its input fixed, for a swarm."""
        return Bound(self, given)

    @asynccontextmanager
    async def _open(  # noqa: PLR0913
        self,
        given: Any,  # noqa: ANN401
        system: System | None,
        thread: str | None,
        answers: Mapping[str, Answer] | None,
        budget: Budget | None,
        buffer: int,
        *,
        interactive: bool,
        target: str = "",
    ) -> AsyncGenerator[Run[T], None]:
        ctx = current_context()
        if system is None and ctx is None:
            async with _private_system() as own:
                async with self._open(
                    given, own, thread, answers, budget, buffer, interactive=interactive, target=target
                ) as run:
                    yield run
            return
        home = system if system is not None else ctx.system if ctx is not None else None
        assert home is not None
        inside = ctx is not None and ctx.system is home
        outer = ctx.headers.thread if inside and ctx is not None else ""
        if thread is None:
            fresh = home.seams.ids.new()
            thread = f"{outer}/{self.name}.{fresh}" if outer else f"{self.name}-{fresh}"
        async with AsyncExitStack() as stack:
            lease = None
            if not (outer and (thread == outer or thread.startswith(f"{outer}/"))):
                await stack.enter_async_context(home.exclusive(thread))
                lease = await stack.enter_async_context(_lease(home, thread))
            inbox = stack.enter_context(
                home.open_inbox(Event | RunDone | RunFailed | Terminated, size=buffer)  # type: ignore[arg-type]
            )
            spec = RunSpec(
                system=home,
                id=home.seams.ids.new(),
                name=self.name,
                thread=thread,
                sink=inbox.ref,
                owner=inbox.ref,
                lease=lease,
                spending=Spending(budget or self.budget, clock=home.clock.now),
                interactive=interactive,
                answers=dict(answers or {}),
                headers=Headers(thread=thread),
                target=target,
            )
            actor = await _spawn(home, self, given, spec)
            run: Run[T] = Run(system=home, thread=thread, inbox=inbox, actor=actor, output=self.output_codec)
            home.watch(inbox, actor)
            actor.tell(Begin())
            try:
                yield run
            finally:
                await run.close()


async def _spawn(system: System, definition: Runnable[Any, Any], given: object, spec: RunSpec) -> Any:  # noqa: ANN401
    taken = set(system.paths())
    name, n = definition.name, 1
    while f"/{name}" in taken:
        n += 1
        name = f"{definition.name}-{n}"
    return await system.spawn(definition.actor(given, spec), name=name, supervision=RUN_SUPERVISION)


@asynccontextmanager
async def _private_system() -> AsyncGenerator[System, None]:
    """A system for one run, whose errors leave it as they are."""
    failed: Exception | None = None
    async with open_system(name="run", drain=0.0, grace=2.0) as system:
        try:
            yield system
        except Exception as error:  # noqa: BLE001  # raised again below, outside the nursery that would wrap it
            failed = error
    if failed is not None:
        raise failed


@asynccontextmanager
async def _lease(system: System, thread: str) -> AsyncGenerator[Any, None]:
    """The lease of a thread, whose errors leave the block unwrapped."""
    async with open_lease(system.ledger, thread, owner=system.seams.process, clock=system.clock) as lease:
        yield lease


class Bound(Generic[T]):
    """A runnable with its input.

    Attributes:
        definition, given: what is run on what.
        name: the definition's.
    """

    def __init__(self, definition: Runnable[Any, T], given: object) -> None:
        self.definition = definition
        self.given = given
        self.name = definition.name


