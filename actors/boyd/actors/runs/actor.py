"""The actor at the top of a run: told to begin, it conducts the run and reports its end."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs
import trio

from boyd.actors.budget import BudgetExceeded, Spending
from boyd.actors.events import Pending
from boyd.actors.runs.messages import Begin, RunDone, RunFailed, RunStarted
from boyd.actors.runs.place import Place
from boyd.actors.runs.spec import RunSpec
from boyd.runtime import Actor, ActorCrashed, ActorStopped, Context, receives
from boyd.runtime.failure import failure_of

if TYPE_CHECKING:
    from boyd.actors.runs.runnable import Runnable

__all__ = ["Outcome", "RunActor", "StartOver"]

_MOST_SHOWN = 2000


class StartOver(Exception):  # it ends this life, and nothing else
    """The thread says something else than this actor believes: crash, and go on from what the thread says."""


@attrs.frozen(kw_only=True)
class Outcome:
    """How a run ended well: with encoded output, or paused for answers."""

    output: bytes = b""
    pending: tuple[Pending, ...] = ()


class RunActor(Actor[Begin]):
    """Base of the actors behind Agent, Ooda and Swarm.

    It may be made to crash at any moment: its supervisor starts it again,
    `Begin` is redelivered, and `conduct` goes on from what the thread says.
    An error that `conduct` raises ends the run; it is reported, not restarted.
    """

    spec: RunSpec
    definition: Runnable[Any, Any]
    given: Any

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers

    @receives
    async def begin(self, begin: Begin, ctx: Context) -> None:  # noqa: ARG002
        ctx.headers = self.spec.headers
        Place(self.spec, self.definition.name).enter()
        report = await self._report(ctx)
        with suppress(ActorStopped):  # the owner has left its block and wants no report
            await self.spec.owner.send(report)

    async def _report(self, ctx: Context) -> RunDone | RunFailed:
        spec = self.spec
        try:
            outcome = await self._in_time(ctx)
        except (StartOver, ActorCrashed):
            raise  # also where an actor below was made to crash before it had begun
        except Exception as error:  # noqa: BLE001  # the end of a run: told to its owner as a typed failure
            spec.inflight.errors[spec.thread] = error
            return RunFailed(name=spec.name, failure=failure_of(error), used=spec.spending.used)
        return RunDone(
            name=spec.name,
            status="paused" if outcome.pending else "done",
            output=outcome.output,
            pending=outcome.pending,
            used=spec.spending.used,
        )

    async def _in_time(self, ctx: Context) -> Outcome:
        """Conduct the run within the seconds of its budget."""
        deadline = self.spec.spending.deadline
        if deadline is None:
            return await self.conduct(ctx)
        with trio.CancelScope(deadline=deadline):
            return await self.conduct(ctx)
        raise _out_of_time(self.spec.spending)

    @abstractmethod
    async def conduct(self, ctx: Context) -> Outcome:
        """Do the run, from wherever its thread says that it is."""

    async def write_start(self, given: str = "") -> None:
        """The first entry of the thread; again in a later run of it, nothing changes."""
        spec = self.spec
        if await spec.system.ledger.tip(spec.thread):
            return
        started = RunStarted(
            name=self.definition.name,
            kind=type(self.definition).__name__,
            given=given[:_MOST_SHOWN],
            target=spec.target,
            input=self.definition.encode_input(self.given),
        )
        await spec.append(started, ids=(start_id(spec.thread),))


def start_id(thread: str) -> str:
    """The entry id of a thread's `RunStarted`."""
    return f"{thread}#start"


def _out_of_time(spending: Spending) -> BudgetExceeded:
    """The error of the account whose seconds are over."""
    deadline = spending.deadline
    while spending.parent is not None and spending.parent.deadline == deadline:
        spending = spending.parent
    limit = spending.budget.seconds
    assert limit is not None, (
        "an account with a deadline, above which none is as early, has seconds"
    )
    return BudgetExceeded(cap="seconds", limit=limit, used=spending.used.seconds)
