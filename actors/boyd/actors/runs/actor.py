"""The actor at the top of a run: told to begin, it conducts the run and reports its end."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs

from boyd.actors.events import Pending
from boyd.actors.runs.messages import Begin, RunDone, RunFailed, RunStarted
from boyd.actors.runs.spec import RunSpec
from boyd.runtime import Actor, ActorStopped, Context, receives
from boyd.runtime.failure import failure_of

__all__ = ["Outcome", "RunActor"]


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
    definition: Any

    @receives
    async def begin(self, begin: Begin, ctx: Context) -> None:  # noqa: ARG002
        spec = self.spec
        ctx.headers = spec.headers
        try:
            outcome = await self.conduct(ctx)
            report: RunDone | RunFailed = RunDone(
                name=spec.name,
                status="paused" if outcome.pending else "done",
                output=outcome.output,
                pending=outcome.pending,
                used=spec.spending.used,
            )
        except Exception as error:  # noqa: BLE001  # the end of a run: told to its owner as a typed failure
            report = RunFailed(name=spec.name, failure=failure_of(error), used=spec.spending.used)
        try:
            await spec.owner.send(report)
        except ActorStopped:
            return  # the owner has left its block and wants no report

    @abstractmethod
    async def conduct(self, ctx: Context) -> Outcome:
        """Do the run, from wherever its thread says that it is."""

    async def write_start(self, given: str = "") -> None:
        """The first entry of the thread; again in a later run of it, nothing changes."""
        kind = type(self.definition).__name__
        started = RunStarted(name=self.definition.name, kind=kind, given=given[:2000], target=self.spec.target)
        if await self.spec.system.ledger.tip(self.spec.thread) == 0:
            await self.spec.append(started, ids=(f"{self.spec.thread}#start",))

