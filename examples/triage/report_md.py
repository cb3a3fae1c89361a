"""The report in Markdown. Whatever comes from a log stands in code, so that it cannot format."""

import re

from .clock import spoken_time
from .evidence import Evidence, Span
from .facts import DEEDS
from .incidents import STATES, Incident
from .remarks import failure_remark, notes
from .report import Report
from .summary import SourceSummary
from .text import counted, number

_MOST_SPOTS = 8
_SHORT = 3


def report_md(report: Report) -> str:
    """Return the report as a Markdown document."""
    parts = [f"# {report.title}", "", f"{report.headline}.", ""]
    for source in report.failed:
        said = failure_remark(source).removeprefix(source.name)
        parts += [f"{code(source.name)}{plain(said)}.", ""]
    if report.pending:
        names = ", ".join(code(incident.block) for incident in report.pending)
        parts += [f"Waiting for approval: block {names}. Nothing was blocked.", ""]
    if report.instructions:
        found = counted(report.instructions, "instruction")
        parts += [f"{found} found in the data; none was obeyed.", ""]
    if report.incidents:
        parts += ["## Incidents", "", *_table(report), ""]
        dated = {source.name: source.dated for source in report.sources}
        for at, incident in enumerate(report.incidents, start=1):
            parts += _incident(at, incident, dated=dated.get(incident.source, False))
    if report.campaigns:
        parts += ["## Across sources", ""]
        parts += [f"- **{plain(c.title)}**: {plain(c.why)}." for c in report.campaigns]
        parts.append("")
    parts += ["## Sources", "", *_sources(report.sources), ""]
    if report.quieted:
        parts += ["## Quieted", ""]
        parts += [f"- {code(fact.source)}: {plain(fact.action.why)}" for fact in report.quieted]
        parts.append("")
    return "\n".join(parts).rstrip("\n") + "\n"


def incident_md(report: Report, number: int) -> str:
    """Return one incident, by its number in the report, with all of its evidence."""
    incident = report.incidents[number - 1]
    dated = any(source.dated for source in report.sources if source.name == incident.source)
    return "\n".join(_incident(number, incident, dated=dated, whole=True))


def _table(report: Report) -> list[str]:
    rows = ["| # | severity | what | source | evidence |", "|--:|---|---|---|---|"]
    for at, incident in enumerate(report.incidents, start=1):
        rows.append(
            f"| {at} | {incident.severity} | {plain(incident.title)} | {code(incident.source)} "
            f"| {plain(incident.summary)} |"
        )
    return rows


def _incident(at: int, incident: Incident, *, dated: bool, whole: bool = False) -> list[str]:
    evidence = incident.evidence
    most_spots, short = (len(evidence.spots), 100) if whole else (_MOST_SPOTS, _SHORT)
    parts = [f"### {at}. {plain(incident.title)}", ""]
    when = _when(evidence, dated=dated)
    parts.append(
        f"{incident.severity}, {STATES[incident.state]}, source {code(incident.source)}"
        f"{', ' + when if when else ''}: {plain(incident.summary)}."
    )
    parts.append("")
    if incident.block:
        parts += [f"Proposed: block {code(incident.block)} (pending, needs approval).", ""]
    for mark in evidence.marks:
        parts += [f"Shortly before, line {mark.line:,}: {code(mark.text)}", ""]
    parts += ["What the facets said:", ""]
    parts += [f"- {said.facet} ({said.score:.2f}): {plain(said.why)}" for said in incident.said]
    parts += ["", "Who decided:", ""]
    parts += [
        f"- {decided.by}: {DEEDS[decided.what]} it, line {decided.line:,}"
        for decided in incident.decided[:short]
    ]
    if len(incident.decided) > short:
        parts.append(f"- and {len(incident.decided) - short:,} more")
    parts += ["", "Evidence:", "", "| lines | count | template |", "|---|--:|---|"]
    for spot in evidence.spots[:most_spots]:
        text = f"{spot.unit}: {spot.text}" if spot.unit else spot.text
        parts.append(f"| {spans_text(spot.spans)} | {spot.count:,} | {code(text)} |")
    left = len(evidence.spots) - most_spots + evidence.more_spots
    if left > 0:
        parts.append(f"| | | and {counted(left, 'more template')} |")
    samples = [spot for spot in evidence.spots if spot.sample][:short]
    if samples:
        samples.sort(key=lambda spot: spot.line)
        width = max(len(number(spot.line)) for spot in samples)
        text = "\n".join(f"{number(spot.line):>{width}}  {spot.sample}" for spot in samples)
        parts += ["", fenced(text)]
    parts.append("")
    return parts


def _sources(sources: tuple[SourceSummary, ...]) -> list[str]:
    return [
        "| source | format | lines | templates | from | to | notes |",
        "|---|---|--:|--:|---|---|---|",
        *map(_source, sources),
    ]


def _source(source: SourceSummary) -> str:
    return (
        f"| {code(source.name)} | {source.shape} | {source.lines:,} | {source.templates:,} "
        f"| {spoken_time(source.first_time, dated=source.dated)} "
        f"| {spoken_time(source.last_time, dated=source.dated)} "
        f"| {plain('; '.join(notes(source)))} |"
    )


def _when(evidence: Evidence, *, dated: bool) -> str:
    first = spoken_time(evidence.first_time, dated=dated)
    last = spoken_time(evidence.last_time, dated=dated)
    return f"{first} to {last}" if first and first != last else first


def spans_text(spans: tuple[Span, ...], most: int = 6) -> str:
    """Return line numbers as people read them: `12, 40-61, ...`."""
    told = [
        number(span.first) if span.first == span.last else f"{span.first:,}-{span.last:,}"
        for span in spans[:most]
    ]
    return ", ".join(told) + (", ..." if len(spans) > most else "")


def code(text: str) -> str:
    """Return foreign text as a code span that also may stand in a table."""
    text = text.replace("|", "\\|")
    ticks = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (ticks + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def fenced(text: str) -> str:
    """Return foreign lines as a code block."""
    ticks = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}text\n{text}\n{fence}"


def plain(text: str) -> str:
    """Return a sentence that may hold foreign words, without power to format."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text).replace("\n", " ")
