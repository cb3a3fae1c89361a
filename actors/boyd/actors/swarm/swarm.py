"""`Swarm`: members at work at the same time, a lead among them, one shared thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from boyd.actors.budget import Budget
from boyd.actors.runs.actor import RunActor
from boyd.actors.runs.runnable import Bound, Runnable
from boyd.actors.runs.spec import RunSpec
from boyd.actors.swarm.conduct import (
    LEAD,
    MemberFinished,
    MemberRestarted,
    SwarmChanged,
    SwarmRun,
    SwarmStarted,
)
from boyd.actors.tools.define import AnyTool
from boyd.runtime.codec import TypeCodec
from boyd.runtime.names import check_name

__all__ = ["LEAD", "MemberFinished", "MemberRestarted", "Swarm", "SwarmChanged", "SwarmStarted"]

T = TypeVar("T")

# Actors and threads below the swarm, and ids of facts in its thread: `lead.2` looks anew.
_OWN: Final = re.compile(r"(lead|finished)(\.\d+)?|start|members|approvals|supervision", re.ASCII)


class Swarm(Runnable[None, T]):
    """Agents that share one thread.

    Members and lead start together, each with a thread of its own below the
    shared one. They meet on the `Blackboard`. A member that fails is a fact of
    the shared thread, and the others go on; the swarm's output is the lead's,
    and the swarm ends with it. Where a member pauses for an answer that nobody
    is there to give, the swarm does. A resume has members that failed try
    again; behind an end with failures only those, and then the lead look anew.

    Args:
        members: by name, each a definition with its input: `scout.on(source)`.
        lead: the same, for the one whose output counts.
        budget: of all together; the members' own hold below it.

    Raises:
        ValueError: no members, a name that no actor can have, or one that the swarm itself uses.
    """

    def __init__(
        self,
        *,
        members: Mapping[str, Bound[Any]],
        lead: Bound[T],
        name: str = "swarm",
        budget: Budget | None = None,
    ) -> None:
        if not members:
            raise ValueError("a swarm needs at least one member")
        for member in members:
            if _OWN.fullmatch(check_name(member)):
                raise ValueError(
                    f"a member cannot be called {member!r}: the swarm itself uses that name"
                )
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

    def toolbelts(self, thread: str) -> Mapping[str, Sequence[AnyTool]]:
        found: dict[str, Sequence[AnyTool]] = {}
        for name, bound in {**self.members, LEAD: self.lead}.items():
            found.update(bound.definition.toolbelts(f"{thread}/{name}"))
        return found

    def actor(self, given: Any, spec: RunSpec) -> Callable[[], RunActor]:  # noqa: ANN401  # None
        return partial(SwarmRun, spec, self, given)
