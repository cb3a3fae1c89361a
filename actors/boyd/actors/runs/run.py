"""A run, as its reader holds it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

import trio

from boyd.actors.conversation.artifacts import Event, TextDelta
from boyd.actors.events import Approve, Lifecycle, Pending, TurnComplete
from boyd.actors.runs.inflight import is_within
from boyd.actors.runs.messages import CarryOut, RunDone, RunFailed
from boyd.actors.runs.result import Result, RunUnfinished
from boyd.actors.runs.settling import settle_calls
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.questions import (
    Answer,
    UnknownQuestion,
    find_question,
    record_answer,
    thread_of,
)
from boyd.runtime import ActorCrashed, ActorStopped, Inbox, Ref, System, Terminated, UnknownActor
from boyd.runtime.codec import TypeCodec
from boyd.runtime.failure import Failure, to_exception

__all__ = ["Run", "raised_by"]

T = TypeVar("T")

_LAST_SECONDS = 10.0


class Run(Generic[T]):
    """An async iterator over the events of a run. Not reading holds the run back.

    Attributes:
        thread: where it is written down.
        system: where its actors live.
    """

    def __init__(
        self, *, spec: RunSpec, inbox: Inbox[Any], actor: Ref[Any], output: TypeCodec
    ) -> None:
        self.system: System = spec.system
        self.thread = spec.thread
        self._spec = spec
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
                case RunFailed(failure=failure):
                    self._fail(raised_by(failure, self._spec))
                case Terminated(failure=failure):
                    stopped = ActorStopped(f"the run of {self.thread} was stopped")
                    self._fail(stopped if failure is None else raised_by(failure, self._spec))
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
        if done.status == "done":
            self._spec.publish(Lifecycle(phase="done"))

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._spec.publish(Lifecycle(phase="done"))

    async def text(self) -> str:
        """Read to the end; all text of the turns that were made, without what a model had to begin again."""
        said: list[str] = []
        provisional: list[str] = []
        async for event in self:
            match event:
                case TextDelta(text=text):
                    provisional.append(text)
                case Lifecycle(phase="submitted"):
                    provisional.clear()
                case TurnComplete():
                    said += provisional
                    provisional.clear()
                case _:
                    pass
        return "".join(said)

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
        """Settle a question that the run asked. It is in the ledger when this returns; a second answer changes nothing.

        A run that waits goes on. An approved call that an OODA agent has passed
        by is made first. Nobody needs to read events meanwhile.

        Raises:
            ActorStopped: the run is over; resume it with `answers=`.
            UnknownQuestion: this run has not asked that.
        """
        question = pending if isinstance(pending, str) else pending.id
        if self._result is not None or self._error is not None or self._inbox.closed:
            raise ActorStopped(f"the run of {self.thread} is over: resume it with answers=")
        if not is_within(thread_of(question), self.thread):
            raise UnknownQuestion(f"{self.thread} has not asked {question!r}")
        ledger = self.system.ledger
        asked = await find_question(ledger, question)
        await record_answer(ledger, asked, answer, self._spec.lease)
        if isinstance(answer, Approve) and not asked.asked.waits:
            # Gone or restarting, they look at the ledger when they start.
            with suppress(UnknownActor, ActorStopped, ActorCrashed):
                approvals = self.system.lookup(f"{self._actor.path}/approvals", CarryOut)
                await approvals.ask(CarryOut(thread=thread_of(question)))

    def cancel(self) -> None:
        """End it now. Reading on raises ActorStopped."""
        with suppress(UnknownActor):
            self.system.kill(self._actor.path)

    async def close(self) -> None:
        """End it, and wait until nothing of it is alive and its thread is valid. Shielded, for at most 10 s."""
        self._inbox.close_now()
        over = self._result is not None or self._error is not None
        if self._result is None:
            self.cancel()
        with trio.move_on_after(_LAST_SECONDS, shield=True) as scope:
            await self.system.stop_actor(self._actor)
            await settle_calls(self._spec)
        if scope.cancelled_caught:
            late = f"the run of {self.thread} has not ended {_LAST_SECONDS:g} s after it was left"
            self.system.report(late, None)
        self._spec.inflight.closed = True
        if not over:
            self._spec.publish(Lifecycle(phase="cancelled"))
            self._spec.publish(Lifecycle(phase="done"))


def raised_by(failure: Failure, spec: RunSpec) -> Exception:
    """The error that ended the run: of its own class where it can travel, caused by the one raised."""
    original = spec.inflight.errors.pop(spec.thread, None)
    error = to_exception(failure, original)
    return original if original is not None and type(original) is type(error) else error
