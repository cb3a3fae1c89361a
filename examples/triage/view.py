"""What a person sees of a swarm at work: rows that follow its events, and a line for what matters."""

from collections.abc import Iterable

import attrs

from boyd.actors import Event, MemberFinished, Notice, PhaseStarted
from boyd.actors.cli.console import Row, say, warn
from boyd.runtime import SupervisorDecided, System
from boyd.runtime.errors import ActorStopped

from .actions import Noted
from .beat import LinesRead
from .facts import Fact

_QUIET = {"extend", "quiet"}


@attrs.define
class _Scout:
    name: str
    source: str
    total: int | None
    lines: int = 0
    phase: str = "starting"
    note: str = ""
    state: str = "running"


class SwarmView:
    """Rows by agent. Feed it events, facts and decisions; read `rows`."""

    def __init__(
        self, system: System, swarm: str, scouts: Iterable[tuple[str, str, int | None]]
    ) -> None:
        """Begin with every scout (member name, source name, number of lines if known) at its start."""
        self._system = system
        self._swarm = swarm
        self._scouts = {name: _Scout(name, source, total) for name, source, total in scouts}
        self._by_source = {scout.source: scout for scout in self._scouts.values()}
        self.incidents = 0
        self.failed: dict[str, str] = {}

    def rows(self) -> list[Row]:
        """One for each scout, and one for the lead."""
        return [
            Row(
                name=scout.source,
                phase=scout.phase,
                done=scout.lines,
                total=scout.total,
                queued=self._queued(scout.name),
                note=scout.note,
                state=scout.state,  # type: ignore[arg-type]  # one of the three
            )
            for scout in self._scouts.values()
        ]

    @property
    def lines(self) -> int:
        """How many lines were read, in all logs."""
        return sum(scout.lines for scout in self._scouts.values())

    def lines_of(self, source: str) -> int:
        """How far a log was read."""
        return self._by_source[source].lines

    def share_of(self, source: str) -> float:
        """The part of a log that was read, 0 to 1; 0 where its length is unknown."""
        scout = self._by_source[source]
        return scout.lines / scout.total if scout.total else 0.0

    def member_of(self, source: str) -> str:
        """The name of the scout of a log."""
        return self._by_source[source].name

    def _queued(self, name: str) -> int:
        try:
            return sum(
                child.queued
                for child in self._system.lookup(f"/{self._swarm}/{name}", object)
                .statistics()
                .children
            )
        except (LookupError, ActorStopped):
            return 0

    def saw(self, event: Event) -> None:
        """An event of the run."""
        match event:
            case PhaseStarted(agent=agent, phase=phase) if agent in self._scouts:
                self._scouts[agent].phase = phase
            case MemberFinished(member=member, failure=failure) if member in self._scouts:
                scout = self._scouts[member]
                scout.state, scout.phase = ("failed" if failure else "done"), ""
                if failure:
                    self.failed[scout.source] = failure.message
                    scout.note = failure.message
            case Notice(content=content):
                warn(content)
            case _:
                pass

    def read(self, progress: LinesRead) -> None:
        """A scout has read on."""
        scout = self._by_source.get(progress.source)
        if scout is not None:
            scout.lines = progress.line
            scout.total = None if scout.total is None else max(scout.total, progress.line)

    def noted(self, noted: Noted) -> None:
        """A scout has done something."""
        fact = noted.fact
        if fact.action.what in _QUIET:
            return
        self.incidents += 1
        scout = self._by_source.get(fact.source)
        if scout is not None:
            scout.note = fact.action.title
        say(f"{fact.source}:{fact.line:,}  {fact.action.title}  ({_short(fact)})")

    def decided(self, decision: SupervisorDecided) -> None:
        """A supervisor has dealt with a crash."""
        parts = decision.path.split("/")
        scout = self._scouts.get(parts[2]) if len(parts) > 2 else None
        who = "/".join((scout.source if scout else parts[-1], *parts[3:]))
        if decision.verdict == "restart":
            place = f", goes on at line {scout.lines + 1:,}, 0 lost" if scout else ""
            say(f"{who} crashed -> restarted ({decision.crash} of {decision.budget}){place}")
        else:
            say(f"{who} crashed -> {decision.verdict}: {decision.message}")


def _short(fact: Fact) -> str:
    return fact.action.why if len(fact.action.why) < 90 else f"{fact.action.why[:87]}..."
