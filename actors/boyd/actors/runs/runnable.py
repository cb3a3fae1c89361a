"""What Agent, Ooda and Swarm have in common: definitions are values that can be run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar, cast

from boyd.actors.budget import Budget
from boyd.actors.events import Pending
from boyd.actors.runs.actor import RunActor
from boyd.actors.runs.messages import RunStarted
from boyd.actors.runs.opening import Options, first_entry, open_the_run
from boyd.actors.runs.result import Result
from boyd.actors.runs.run import Run
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.questions import Answer, pending_in
from boyd.runtime import System, UnknownThread
from boyd.runtime.codec import TypeCodec

__all__ = ["Bound", "Runnable"]

I = TypeVar("I")  # noqa: E741  # Input
T = TypeVar("T")


class Runnable(ABC, Generic[I, T]):
    """A definition that can be run, watched, paused and resumed.

    Attributes:
        name: of its actors and threads.
    """

    name: str

    @property
    @abstractmethod
    def output_codec(self) -> TypeCodec:
        """How the output of a run travels."""

    @abstractmethod
    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401  # I, or nothing in a resume
        """A factory of the actor that conducts one run."""

    @property
    def budget(self) -> Budget:
        """The caps of a run that is given none."""
        return Budget()

    def encode_input(self, given: object) -> bytes:  # noqa: ARG002
        """What a run was given, as its thread remembers it; b"" if it need not or cannot."""
        return b""

    def recorded_input(self, recorded: bytes) -> Any:  # noqa: ANN401, ARG002  # I, or nothing
        """What a resume is given, from what `encode_input` made; None goes on without.

        Raises:
            ValueError: it needs an input, and none was recorded.
        """
        return None

    def toolbelts(self, thread: str) -> Mapping[str, Sequence[AnyTool]]:
        """The threads of a run of `thread` in which questions may stand, with the tools that those are about."""
        return {thread: ()}

    async def run(
        self,
        given: I,
        /,
        *,
        system: System | None = None,
        thread: str | None = None,
        answers: Mapping[str, Answer] | None = None,
        budget: Budget | None = None,
    ) -> Result[T]:
        """Run to the end. Nobody watches, so a question that must be answered pauses it: `Result.pending`.

        Raises:
            LeaseHeld: another process runs this thread.
            BudgetExceeded: a cap is reached; what was done up to it stands in the thread.
            Exception: what ended it: its own class where that can travel, else `RemoteFailure`.
        """
        options = Options(
            system=system, thread=thread, answers=answers, budget=budget, interactive=False
        )
        async with open_the_run(self, given, options) as run:
            return cast("Result[T]", await run.wait())

    def open_run(
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
    ) -> AbstractAsyncContextManager[Run[T]]:
        """A run, read event by event: `async with x.open_run(...) as run: async for event in run: ...`.

        When the block ends, nothing of the run is alive, and its thread is valid.
        A thread that is being run in this system waits its turn.

        Args:
            system: where its actors live. Within an actor that one's; elsewhere a
                private one over a ledger in memory.
            thread: what it is written down in; a new one without.
            answers: to questions that the thread has asked, by id.
            budget: in place of the definition's; a budget around it holds too.
            buffer: events that may wait for the reader; then the run waits.
            target: how `boyd run` found the definition.
            interactive: False if nobody will answer, so that a question pauses the run.

        Raises:
            LeaseHeld: another process runs this thread.
            ValueError: it is the thread of a run that this one would be part of.
        """
        options = Options(
            system=system,
            thread=thread,
            answers=answers,
            budget=budget,
            buffer=buffer,
            interactive=interactive,
            target=target,
        )
        return open_the_run(self, given, options)

    async def resume(
        self,
        thread: str,
        /,
        *,
        system: System,
        answers: Mapping[str, Answer] | None = None,
        given: I | None = None,
        budget: Budget | None = None,
    ) -> Result[T]:
        """Go on with a thread that stopped, was killed, or waits for `answers`.

        Raises:
            UnknownThread: there is none of that name.
            ValueError: its input has no wire form, so it must be `given` again.
            LeaseHeld: another process runs this thread.
        """
        started = await first_entry(system.ledger, thread)
        if started is None:
            raise UnknownThread(f"the ledger has no thread {thread}, so there is nothing to resume")
        if given is None:
            recorded = started.input if isinstance(started, RunStarted) else b""
            given = self.recorded_input(recorded)
        options = Options(
            system=system, thread=thread, answers=answers, budget=budget, interactive=False
        )
        async with open_the_run(self, given, options) as run:
            return cast("Result[T]", await run.wait())

    async def pending(self, thread: str, /, *, system: System) -> tuple[Pending, ...]:
        """The questions of a run that nobody has answered yet."""
        found = [await pending_in(system.ledger, one) for one in self.toolbelts(thread)]
        return tuple(pending for some in found for pending in some)

    def on(self, given: I) -> Bound[T]:
        """The same definition with its input fixed, for a swarm."""
        return Bound(self, given)


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
