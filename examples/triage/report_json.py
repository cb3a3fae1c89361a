"""The report for machines: plain dictionaries, lists, strings and numbers."""

from typing import cast

import attrs

from .clock import spoken_time
from .incidents import Incident
from .report import Report
from .summary import SourceSummary

VERSION = 1


def report_json(report: Report) -> dict[str, object]:
    """Return the report as JSON has it. Fields are added in later versions, never changed."""
    dated = {source.name: source.dated for source in report.sources}
    return {
        "version": VERSION,
        "title": report.title,
        "headline": report.headline,
        "lines": report.lines,
        "judged": report.judged,
        "failed": [source.name for source in report.failed],
        "decided_by": list(report.decided_by),
        "sources": [_source(source) for source in report.sources],
        "incidents": [
            _incident(number, incident, dated=dated.get(incident.source, False))
            for number, incident in enumerate(report.incidents, start=1)
        ],
        "campaigns": [_plain(campaign) for campaign in report.campaigns],
        "pending": [
            {"block": incident.block, "incident": incident.key} for incident in report.pending
        ],
        "instructions_in_data": report.instructions,
        "quieted": [
            {"source": fact.source, "template": fact.action.template, "why": fact.action.why}
            for fact in report.quieted
        ],
    }


def _source(source: SourceSummary) -> dict[str, object]:
    return {
        "name": source.name,
        "format": source.shape,
        "lines": source.lines,
        "judged": source.judged,
        "failing": source.failing,
        "templates": source.templates,
        "done": source.done,
        "error": source.error,
        "first_time": spoken_time(source.first_time, dated=source.dated),
        "last_time": spoken_time(source.last_time, dated=source.dated),
        "bad_lines": dict(source.bad),
        "calls": source.calls,
        "failed_calls": source.failed_calls,
    }


def _incident(number: int, incident: Incident, *, dated: bool) -> dict[str, object]:
    evidence = incident.evidence
    return {
        "number": number,
        "key": incident.key,
        "source": incident.source,
        "kind": incident.kind,
        "title": incident.title,
        "summary": incident.summary,
        "severity": incident.severity,
        "state": incident.state,
        "score": incident.score,
        "subject": incident.subject,
        "unit": incident.unit,
        "numbers": dict(incident.numbers),
        "block": incident.block,
        "first_time": spoken_time(evidence.first_time, dated=dated),
        "last_time": spoken_time(evidence.last_time, dated=dated),
        "evidence": _plain(evidence),
        "facets": [_plain(said) for said in incident.said],
        "decisions": [_plain(decided) for decided in incident.decided],
    }


def _plain(value: object) -> object:
    """Return a value with classes as dictionaries and tuples as lists."""
    kind = type(value)
    if attrs.has(kind):
        return {field.name: _plain(getattr(value, field.name)) for field in attrs.fields(kind)}
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    return value
