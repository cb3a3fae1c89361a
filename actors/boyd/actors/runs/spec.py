"""What the actors of one run share: identity, rights and where its events go."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from boyd.actors.budget import Budget, Spending
from boyd.actors.conversation.artifacts import Event
from boyd.actors.runs.inflight import InFlight
from boyd.actors.runs.messages import CarryOut, RunDone, RunFailed
from boyd.actors.tools.questions import Answer
from boyd.runtime import ANY, ActorStopped, Entry, Headers, Lease, Ref, System
from boyd.runtime.ledger import AnyTip

__all__ = ["RunSpec", "thread_topic"]


def thread_topic(thread: str) -> str:
    """The topic on which the events of a thread's runs are published."""
    return f"thread/{thread}"


@attrs.frozen(kw_only=True, eq=False)
class RunSpec:
    """One run of one thread, for the actors that carry it out.

    Attributes:
        system: where they live.
        name: of the agent within its swarm, for people.
        id: of this run, and of the turn that it begins with; a restart of its actor is the same run.
        thread: the run's thread.
        sink: who watches, and holds the run back by not reading; its messages are events.
        owner: who is told how it ended.
        lease: the right to write, held by whoever opened the outermost run.
        spending: what was used of the budget, charged to the budgets around it too.
        interactive: somebody reads the events and may answer a `Pending`.
        answers: to pending questions of the thread, by id.
        headers: what the messages of the run carry.
        target: how `boyd run` found the definition, or "".
        nested: it is a run within another run, which owns the approvals.
        approvals: who makes calls that were passed by until they are approved.
        inflight: what is begun and not written down, in memory.
    """

    system: System
    id: str
    name: str
    thread: str
    sink: Ref[Event]
    owner: Ref[RunDone | RunFailed]
    lease: Lease | None
    spending: Spending
    interactive: bool = False
    answers: Mapping[str, Answer] = attrs.field(factory=dict[str, Answer])
    headers: Headers = attrs.field(factory=Headers)
    target: str = ""
    nested: bool = False
    approvals: Ref[CarryOut] | None = None
    inflight: InFlight = attrs.field(factory=InFlight)

    async def emit(self, event: Event) -> None:
        """Show an event: to the run's own reader, who holds the run back, and to all who listen to its thread."""
        self.publish(event)
        try:
            await self.sink.send(event)
        except ActorStopped:
            return  # the reader has left; the run is about to be ended by its owner

    def publish(self, event: Event) -> None:
        """Show an event to those who listen to the thread, and not to the run's own reader."""
        self.system.publish(thread_topic(self.thread), event)

    async def append(
        self, *messages: object, ids: tuple[str, ...] = (), after: int | AnyTip = ANY
    ) -> int:
        """Append messages to the run's thread under its lease, with these ids or fresh ones; the new tip."""
        fresh = self.system.seams.ids.new
        entries = [
            Entry.of(message, id=ids[n] if n < len(ids) else fresh())
            for n, message in enumerate(messages)
        ]
        return await self.system.ledger.append(self.thread, entries, after=after, lease=self.lease)

    def child(self, name: str, owner: Ref[RunDone | RunFailed], budget: Budget) -> RunSpec:
        """A run within this run: its own thread below, the same reader and lease, a budget under this one."""
        thread = f"{self.thread}/{name}"
        spending = Spending(budget, parent=self.spending, clock=self.system.clock.now)
        return attrs.evolve(
            self,
            id=thread,
            name=name,
            thread=thread,
            owner=owner,
            spending=spending,
            headers=attrs.evolve(self.headers, thread=thread),
            nested=True,
        )
