"""`Swarm`: the actor that starts the members and the lead, and writes down who comes to an end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from boyd.actors.conversation.artifacts import Event
from boyd.actors.runs.actor import Outcome, RunActor
from boyd.actors.runs.messages import Begin, CarryOut, RunDone, RunFailed, RunFinished
from boyd.actors.runs.opening import RUN_SUPERVISION
from boyd.actors.runs.run import raised_by
from boyd.actors.runs.settling import settle_calls
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.approvals import APPROVALS_SUPERVISION, ApprovalsActor
from boyd.runtime import (
    ActorCrashed,
    ActorStopped,
    BoydError,
    Context,
    IdConflict,
    Inbox,
    Ref,
    Terminated,
    UnknownActor,
    failure,
    message,
)
from boyd.runtime.failure import Failure

if TYPE_CHECKING:
    from boyd.actors.runs.runnable import Bound
    from boyd.actors.swarm.swarm import Swarm

__all__ = ["LEAD", "MemberFinished", "MemberRestarted", "SwarmChanged", "SwarmRun", "SwarmStarted"]

LEAD: Final = "lead"
_GONE: Final = Failure(type="boyd.ActorStopped", message="it was stopped")


@message("boyd.swarm_started")
class SwarmStarted(Event):
    """First fact of a swarm's shared thread: who is in it."""

    members: tuple[str, ...]


@message("boyd.member_finished")
class MemberFinished(Event):
    """Fact of the shared thread: a member has come to its end; `failure` says so if it was a bad one."""

    member: str
    failure: Failure | None = None


@message("boyd.member_restarted")
class MemberRestarted(Event):
    """Fact of the shared thread: a member that had failed begins again, in a resume."""

    member: str


@failure("boyd.SwarmChanged")
class SwarmChanged(BoydError):
    """A thread was resumed by a swarm of other members than it began with."""


Report = RunDone | RunFailed | Terminated


@attrs.frozen(kw_only=True)
class Standing:
    """What the thread of a swarm says.

    Attributes:
        rounds: how often the swarm has come to an end.
        again: members that failed in an earlier run, and have not done better since.
        failed: members that failed in this run, before the swarm's own actor was started again.
        output: of an end behind which nothing is left to do.
    """

    rounds: int
    again: tuple[str, ...]
    failed: tuple[str, ...]
    output: bytes | None


class SwarmRun(RunActor):
    """Has a run actor for each member and for the lead below it, and waits for the lead."""

    members: dict[str, tuple[RunSpec, Ref[Begin]]] = attrs.field(
        init=False, factory=dict[str, tuple[RunSpec, Ref[Begin]]]
    )

    @property
    def swarm(self) -> Swarm[Any]:
        return cast("Swarm[Any]", self.definition)

    async def conduct(self, ctx: Context) -> Outcome:
        labels = {**self.spec.headers.labels, "board": self.spec.thread}
        headers = attrs.evolve(self.spec.headers, labels=labels)
        spec = attrs.evolve(self.spec, headers=headers)
        await self._check_members()
        standing = await self._standing()
        if standing.output is not None:
            return Outcome(output=standing.output)
        await self.write_start(", ".join(self.swarm.members))
        started = SwarmStarted(members=tuple(self.swarm.members))
        with suppress(IdConflict):  # in another order
            await spec.append(started, ids=(f"{spec.thread}#members",))
        spec = await self._with_approvals(spec, ctx)
        reports: Inbox[Report] = ctx.system.open_inbox(Report)
        with reports:
            outcome = await self._round(standing, spec, reports, ctx)
        await self._stop(self.members, ctx)
        if not outcome.pending:
            await self._finish(spec, outcome.output, standing.rounds)
        return outcome

    async def _check_members(self) -> None:
        """The lead waits for those that the thread names, so it must be the same ones. Raises SwarmChanged."""
        kinds = ("boyd.swarm_started",)
        for entry in await self.spec.system.ledger.read(self.spec.thread, kinds=kinds, limit=1):
            started = entry.message()
            if isinstance(started, SwarmStarted) and {*started.members} != {*self.swarm.members}:
                raise SwarmChanged(
                    f"{self.spec.thread} is of the members {', '.join(started.members)}, "
                    f"and not of {', '.join(self.swarm.members)}"
                )

    async def _standing(self) -> Standing:
        rounds, output = 0, None
        ill: dict[str, str] = {}
        after = 0
        kinds = ("boyd.run_finished", "boyd.member_finished")
        while page := await self.spec.system.ledger.read(
            self.spec.thread, after=after, kinds=kinds
        ):
            after = page[-1].seq
            for entry in page:
                match entry.message():
                    case RunFinished() as finished:
                        rounds, output = rounds + 1, finished.output
                    case MemberFinished() as member:
                        ill[member.member] = "" if member.failure is None else entry.id
                        output = None  # the lead has not seen this
                    case _:
                        pass
        here = f"!{self.spec.id}"
        bad = [name for name in self.swarm.members if ill.get(name)]
        again = tuple(name for name in bad if not ill[name].endswith(here))
        failed = tuple(name for name in bad if ill[name].endswith(here))
        output = None if again else output
        return Standing(rounds=rounds, again=again, failed=failed, output=output)

    async def _with_approvals(self, spec: RunSpec, ctx: Context) -> RunSpec:
        if spec.approvals is not None:
            return spec
        approvals = await ctx.spawn(
            ApprovalsActor,
            spec,
            self.swarm.toolbelts(spec.thread),
            name="approvals",
            supervision=APPROVALS_SUPERVISION,
        )
        return attrs.evolve(spec, approvals=approvals)

    async def _round(
        self, standing: Standing, spec: RunSpec, reports: Inbox[Report], ctx: Context
    ) -> Outcome:
        """All members and the lead; or, behind an end with failures, who failed, and then the lead anew."""
        for name in standing.again:
            fact = f"{spec.thread}#{name}?{spec.id}"
            await spec.append(MemberRestarted(member=name), ids=(fact,))
        if not standing.rounds:
            members = {**self.swarm.members, LEAD: self.swarm.lead}
            for name in standing.failed:
                del members[name]
            await self._start(members, spec, reports, ctx)
            return await self._outcome(LEAD, spec, reports, ctx)
        again = {name: self.swarm.members[name] for name in standing.again}
        await self._start(again, spec, reports, ctx)
        outcome = await self._outcome("", spec, reports, ctx)
        if outcome.pending:
            return outcome
        lead = f"{LEAD}.{standing.rounds + 1}"
        await self._start({lead: self.swarm.lead}, spec, reports, ctx)
        return await self._outcome(lead, spec, reports, ctx)

    async def _start(
        self,
        members: Mapping[str, Bound[Any]],
        spec: RunSpec,
        reports: Inbox[Report],
        ctx: Context,
    ) -> None:
        owner = cast("Ref[RunDone | RunFailed]", reports.ref)
        for name, bound in members.items():
            child = spec.child(name, owner, bound.definition.budget)
            factory = bound.definition.actor(bound.given, child)
            actor = await ctx.spawn(factory, name=name, supervision=RUN_SUPERVISION)
            self.members[name] = (child, actor)
            ctx.system.watch(reports, actor)
            await actor.send(Begin())

    async def _outcome(
        self, lead: str, spec: RunSpec, reports: Inbox[Report], ctx: Context
    ) -> Outcome:
        """Write down who finishes, until the lead does, or all where there is none. Raises what ended the lead."""
        while self.members:
            report = await reports.receive()
            name = _who(report)
            if name not in self.members:
                continue  # it has reported before, and was stopped since
            member, _ = self.members[name]
            if isinstance(report, RunDone) and report.pending:
                return Outcome(pending=report.pending)
            if name == lead:
                if isinstance(report, RunDone):
                    return Outcome(output=report.output)
                raise raised_by(_failure(report) or _GONE, member)
            await self._stop([name], ctx)
            await settle_calls(member)
            await self._write_down(spec, name, _failure(report))
        return Outcome()

    async def _write_down(self, spec: RunSpec, name: str, failure: Failure | None) -> None:
        finished = MemberFinished(member=name, failure=failure)
        # A member that finished well has done so for good; one that failed may do better in a resume.
        fact = f"{spec.thread}#{name}" if failure is None else f"{spec.thread}#{name}!{spec.id}"
        with suppress(IdConflict):  # it failed in this run before, with other words
            await spec.append(finished, ids=(fact,))
        await spec.emit(finished)

    async def _stop(self, names: Iterable[str], ctx: Context) -> None:
        """Whoever is still at work stops at once; its thread says how far it came."""
        going = [self.members.pop(name) for name in list(names)]
        for _, actor in going:
            with suppress(UnknownActor):
                ctx.system.kill(actor.path)
        for _, actor in going:
            await ctx.system.stop_actor(actor)

    async def _finish(self, spec: RunSpec, output: bytes, rounds: int) -> None:
        if spec.approvals is not None and spec.inflight.asked:
            with suppress(ActorStopped, ActorCrashed):
                await spec.approvals.ask(CarryOut())
        number = f".{rounds + 1}" if rounds else ""
        await spec.append(RunFinished(output=output), ids=(f"{spec.thread}#finished{number}",))


def _who(report: Report) -> str:
    return report.ref.path.rsplit("/", 1)[-1] if isinstance(report, Terminated) else report.name


def _failure(report: Report) -> Failure | None:
    match report:
        case RunDone():
            return None
        case RunFailed():
            return report.failure
        case Terminated():
            return report.failure or _GONE
