"""The report as data: everything that the written forms show, in a fixed order."""

from collections.abc import Iterable, Sequence

import attrs

from .board import Board
from .correlate import Campaign, correlate
from .facts import Fact
from .incidents import SEVERITIES, Incident
from .summary import SourceSummary
from .text import counted, listed


@attrs.frozen(kw_only=True)
class Report:
    """What a run found out. Incidents are numbered from 1 in the order they stand here."""

    sources: tuple[SourceSummary, ...]
    incidents: tuple[Incident, ...]
    campaigns: tuple[Campaign, ...] = ()
    quieted: tuple[Fact, ...] = ()
    decided_by: tuple[str, ...] = ()
    title: str = "Triage report"

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return sum(source.lines for source in self.sources)

    @property
    def judged(self) -> int:
        """About how many of them something was decided."""
        return sum(source.judged for source in self.sources)

    @property
    def failed(self) -> tuple[SourceSummary, ...]:
        """The sources that could not be read or judged to their end."""
        return tuple(source for source in self.sources if source.error)

    @property
    def pending(self) -> tuple[Incident, ...]:
        """The incidents whose block waits for a person."""
        return tuple(incident for incident in self.incidents if incident.block)

    @property
    def instructions(self) -> int:
        """How many orders to an agent were found in the data."""
        return sum(
            incident.numbers.get("lines", 0)
            for incident in self.incidents
            if incident.kind == "instruction"
        )

    def of_severity(self, severity: str) -> int:
        """Return how many incidents are so bad."""
        return sum(1 for incident in self.incidents if incident.severity == severity)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        read = f"{counted(self.lines, 'line')} of {counted(len(self.sources), 'source')}"
        failed = f"; {self._failure}" if self.failed else ""
        return f"{read}: {self.finding}{failed}"

    @property
    def finding(self) -> str:
        """What was found, and in how much of the lines."""
        if not self.lines and not self.failed:
            return "there was nothing to read"
        if not self.judged:
            return "nothing was judged"
        worst = [
            f"{self.of_severity(severity):,} {severity}"
            for severity in reversed(SEVERITIES)
            if self.of_severity(severity)
        ]
        found = f"{counted(len(self.incidents), 'incident')} ({', '.join(worst)})"
        part = f" in the {counted(self.judged, 'line')} judged" if self.judged < self.lines else ""
        return f"{found if self.incidents else 'nothing stands out'}{part}"

    @property
    def _failure(self) -> str:
        names = listed((source.name for source in self.failed), 3)
        return f"{names} failed"


def make_report(
    board: Board,
    sources: Iterable[SourceSummary],
    *,
    proposed: Sequence[Fact] = (),
    title: str = "Triage report",
) -> Report:
    """Fold facts, proposals that wait and summaries into a report. No order of arrival matters."""
    summaries = tuple(sorted(sources, key=lambda source: source.name))
    lines = {source.name: source.lines for source in summaries}
    incidents = board.incidents(lines, proposed=proposed)
    return Report(
        title=title,
        sources=summaries,
        incidents=incidents,
        campaigns=correlate(incidents, summaries),
        quieted=board.quieted(),
        decided_by=tuple(sorted({fact.by for fact in (*board.facts(), *proposed)})),
    )
