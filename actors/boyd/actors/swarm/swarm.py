"""`Swarm`: members at work at the same time, a lead among them, one shared thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from boyd.actors.agent import CALM
from boyd.actors.budget import Budget
from boyd.actors.conversation.artifacts import Event
from boyd.actors.runs.actor import Outcome, RunActor
from boyd.actors.runs.messages import Begin, RunDone, RunFailed, RunFinished
from boyd.actors.runs.runnable import RUN_SUPERVISION, Bound, Runnable
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.approvals import ApprovalsActor
from boyd.runtime import Context, Inbox, Terminated
from boyd.runtime.codec import TypeCodec
from boyd.runtime.failure import Failure, to_exception
from boyd.runtime.messages import message
from boyd.runtime.names import check_name

__all__ = ["MemberFinished", "Swarm", "SwarmStarted"]

T = TypeVar("T")

LEAD: Final = "lead"


@message("boyd.swarm_started")
class SwarmStarted(Event):
    """First fact of a swarm's shared thread: who is in it."""

    members: tuple[str, ...]


@message("boyd.member_finished")
class MemberFinished(Event):
    """Fact of the shared thread: a member has come to its end; `failure` says so if it was a bad one."""

    member: str
    failure: Failure | None = None


class Swarm(Runnable[None, T]):
    """Agents that share one thread.

    Members and lead start together, each with a thread of its own below the
    shared one. They meet on the `Blackboard`. A member that fails is a fact of
    the shared thread, and the others go on; the swarm's output is the lead's.

    Args:
        members: by name, each a definition with its input: `scout.on(source)`.
        lead: the same, for the one whose output counts.

    Raises:
        ValueError: no members, or a name that no actor can have.
    """

    def __init__(
        self, *, members: Mapping[str, Bound[Any]], lead: Bound[T], name: str = "swarm", budget: Budget | None = None
    ) -> None:
        if not members:
            raise ValueError("a swarm needs at least one member")
        for member in members:
            if check_name(member) == LEAD:
                raise ValueError(f"a member cannot be called {LEAD!r}")
        self.name = check_name(name)
        self.members = dict(members)
        self.lead = lead
        self._budget = budget or Budget(steps=None, calls=None)

    @property
    def output_codec(self) -> TypeCodec:
        return self.lead.definition.output_codec

    @property
    def budget(self) -> Budget:
        return self._budget

    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401, ARG002
        return partial(SwarmRun, spec, self)


class SwarmRun(RunActor):
    """Starts the members and the lead as actors below it, and waits for the lead."""

    async def conduct(self, ctx: Context) -> Outcome:
        swarm: Swarm[Any] = self.definition
        labels = {**self.spec.headers.labels, "board": self.spec.thread}
        spec = attrs.evolve(self.spec, headers=attrs.evolve(self.spec.headers, labels=labels))
        done = await self._finished()
        if done is not None:
            return Outcome(output=done)
        await self.write_start(", ".join(swarm.members))
        await spec.append(SwarmStarted(members=tuple(swarm.members)), ids=(f"{spec.thread}#members",))
        await ctx.spawn(ApprovalsActor, spec, name="approvals", supervision=CALM)
        with ctx.system.open_inbox(RunDone | RunFailed | Terminated) as reports:
            for name, bound in {**swarm.members, LEAD: swarm.lead}.items():
                child = spec.child(name, reports.ref)
                actor = await ctx.spawn(bound.definition.actor(bound.given, child), name=name, supervision=RUN_SUPERVISION)
                ctx.system.watch(reports, actor)
                await actor.send(Begin())
            output = await self._lead_output(spec, reports)
        await spec.append(RunFinished(output=output), ids=(f"{spec.thread}#finished",))
        return Outcome(output=output)

    async def _finished(self) -> bytes | None:
        """The output of a run of this thread that came to its end with every member well."""
        output: bytes | None = None
        ill: dict[str, bool] = {}
        kinds = ("boyd.run_finished", "boyd.member_finished")
        for entry in await self.spec.system.ledger.read(self.spec.thread, kinds=kinds):
            match entry.message():
                case RunFinished() as finished:
                    output = finished.output
                case MemberFinished() as member:
                    ill[member.member] = member.failure is not None
                case _:
                    pass
        return None if any(ill.values()) else output

    async def _lead_output(self, spec: RunSpec, reports: Inbox[RunDone | RunFailed | Terminated]) -> bytes:
        """Write down who finishes, until the lead does. Raises what ended the lead."""
        open_members = set(self.definition.members)
        async for report in reports:
            name, failure = _who(report), _failure(report)
            if name == LEAD:
                if isinstance(report, RunDone):
                    return report.output
                raise to_exception(failure or _GONE)
            if name in open_members:
                open_members.discard(name)
                finished = MemberFinished(member=name, failure=failure)
                await spec.append(finished)
                await spec.emit(finished)
        raise AssertionError("the inbox is open while this block runs")


_GONE: Final = Failure(type="boyd.ActorStopped", message="it was stopped")


def _who(report: RunDone | RunFailed | Terminated) -> str:
    return report.ref.path.rsplit("/", 1)[-1] if isinstance(report, Terminated) else report.name


def _failure(report: RunDone | RunFailed | Terminated) -> Failure | None:
    match report:
        case RunDone():
            return None
        case RunFailed():
            return report.failure
        case Terminated():
            return report.failure or _GONE
