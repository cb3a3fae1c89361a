"""A run, as its reader holds it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

import trio

from boyd.actors.conversation.artifacts import Event, TextDelta
from boyd.actors.events import Pending
from boyd.actors.runs.messages import RunDone, RunFailed
from boyd.actors.runs.result import Result, RunUnfinished
from boyd.actors.tools.approvals import Settle
from boyd.actors.tools.questions import Answer
from boyd.runtime import ActorStopped, Inbox, Ref, System, Terminated
from boyd.runtime.codec import TypeCodec
from boyd.runtime.failure import to_exception

__all__ = ["Run"]

T = TypeVar("T")

_LAST_SECONDS = 10.0


class Run(Generic[T]):
    """An async iterator over the events of a run. Not reading holds the run back.

    Attributes:
        thread: where it is written down.
        system: where its actors live.
    """

    def __init__(self, *, system: System, thread: str, inbox: Inbox[Any], actor: Ref[Any], output: TypeCodec) -> None:
        self.system = system
        self.thread = thread
        self._inbox = inbox
        self._actor = actor
        self._output = output
        self._result: Result[T] | None = None
        self._error: Exception | None = None

    def __aiter__(self) -> Run[T]:
        return self

    async def __anext__(self) -> Event:
        event = await self._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def _next(self) -> Event | None:
        """The next event, or None when the run is over. Raises what ended it."""
        while self._result is None:
            if self._error is not None:
                raise self._error
            message = await self._inbox.receive()
            match message:
                case RunDone():
                    self._finish(message)
                case RunFailed():
                    self._error = to_exception(message.failure)
                case Terminated():
                    self._error = self._ended(message)
                case _:
                    return cast("Event", message)
        return None

    def _finish(self, done: RunDone) -> None:
        value = self._output.decode_foreign(done.output) if done.status == "done" else None
        self._result = Result(
            status="paused" if done.status == "paused" else "done",
            thread=self.thread,
            usage=done.used,
            pending=done.pending,
            value=value,
        )

    def _ended(self, end: Terminated) -> Exception:
        if end.failure is not None:
            return to_exception(end.failure)
        return ActorStopped(f"the run of {self.thread} was stopped")

    async def text(self) -> str:
        """Read to the end; all text that was streamed."""
        return "".join([event.text async for event in self if isinstance(event, TextDelta)])

    async def wait(self) -> Result[T]:
        """Read to the end, and return the result."""
        while await self._next() is not None:
            pass
        return self.result

    @property
    def result(self) -> Result[T]:
        """What it came to. Raises RunUnfinished while it is going."""
        if self._result is None:
            raise RunUnfinished("this run is still going: finish the loop, or await run.wait()")
        return self._result

    async def answer(self, pending: Pending | str, answer: Answer, /) -> None:
        """Settle a question that the run asked. An answer that comes twice counts once.

        Raises:
            ActorStopped: the run is over; resume it with `answers=`.
        """
        path = f"{self._actor.path}/approvals"
        question = pending if isinstance(pending, str) else pending.id
        await self.system.lookup(path, Settle).ask(Settle(question=question, answer=answer))

    def cancel(self) -> None:
        """End it now. Reading on raises ActorStopped."""
        try:
            self.system.kill(self._actor.path)
        except LookupError:
            return

    async def close(self) -> None:
        """End it and wait until nothing of it is alive. Shielded, for at most 10 s."""
        self._inbox.close_now()
        if self._result is None:
            self.cancel()
        with trio.move_on_after(_LAST_SECONDS, shield=True):
            await self.system.stop_actor(self._actor)
