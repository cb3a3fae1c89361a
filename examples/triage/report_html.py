"""The report as one HTML file: no script, nothing fetched, all log text escaped."""

from html import escape

from .clock import spoken_time
from .evidence import Evidence, Spot
from .facts import DEEDS
from .incidents import SEVERITIES, STATES, Incident
from .remarks import failure_remark, notes
from .report import Report
from .report_md import spans_text
from .style_css import STYLE
from .summary import SourceSummary
from .text import counted, sentence
from .timeline import timeline_svg

_MOST_SAMPLES = 12
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report_html(report: Report) -> str:
    """Return the report as a self-contained page."""
    dated = {source.name: source.dated for source in report.sources}
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(report.title)}</title><style>{STYLE}</style></head><body><main>",
        f"<header><h1>{escape(report.title)}</h1><p>{escape(report.headline)}.</p></header>",
        _cards(report),
        *_notices(report),
        "<section><h2>When</h2>",
        f'<div class="panel">{timeline_svg(report)}{_legend()}</div></section>',
        "<section><h2>Incidents</h2>",
        "" if report.incidents else f'<p class="panel">{escape(sentence(report.finding))}.</p>',
        *(
            _incident(number, incident, dated=dated.get(incident.source, False))
            for number, incident in enumerate(report.incidents, start=1)
        ),
        "</section>",
        _campaigns(report),
        _sources(report.sources),
        _quieted(report),
        (
            f"<footer>Decided by {escape(', '.join(report.decided_by) or 'nobody')}. "
            "Log text is shown as data; nothing in it was followed.</footer>"
        ),
        "</main></body></html>",
    ]
    return "\n".join(part for part in parts if part)


def _cards(report: Report) -> str:
    cards = [_card(report.lines, "line"), _card(len(report.sources), "source")]
    cards += [
        _card(report.of_severity(severity), severity, severity, kind=severity)
        for severity in reversed(SEVERITIES)
        if report.of_severity(severity)
    ]
    return f'<div class="cards">{"".join(cards)}</div>'


def _card(count: int, noun: str, plural: str = "", *, kind: str = "") -> str:
    value, _, name = counted(count, noun, plural).partition(" ")
    return f'<div class="card {kind}"><b>{value}</b><span>{escape(name)}</span></div>'


def _notices(report: Report) -> list[str]:
    notices: list[str] = []
    if report.pending:
        names = ", ".join(f"<code>{escape(incident.block)}</code>" for incident in report.pending)
        notices.append(f"Waiting for a person: block {names}? Nothing was blocked.")
    if report.instructions:
        found = counted(report.instructions, "instruction")
        notices.append(f"{found} found in the data. None was obeyed.")
    notices += [f"{escape(failure_remark(source))}." for source in report.failed]
    return [f'<p class="notice">{notice}</p>' for notice in notices]


def _legend() -> str:
    marks = "".join(f'<span class="key {s}">{s}</span>' for s in reversed(SEVERITIES))
    return (
        f'<p class="legend"><span class="key lines">lines</span>'
        f'<span class="key bad">failure-like</span>{marks}</p>'
    )


def _incident(number: int, incident: Incident, *, dated: bool) -> str:
    when = _when(incident.evidence, dated=dated)
    facts = [incident.kind, STATES[incident.state], f"<code>{escape(incident.source)}</code>"]
    if when:
        facts.append(escape(when))
    block = ""
    if incident.block:
        block = (
            f'<p class="ask">Proposed: block <code>{escape(incident.block)}</code>. '
            "Pending, needs approval.</p>"
        )
    return "".join(
        (
            f'<article id="incident-{number}" class="incident {incident.severity}">',
            (
                f'<h3><span class="number">{number}</span>{escape(incident.title)}'
                f'<span class="badge {incident.severity}">{incident.severity}</span></h3>'
            ),
            f'<p class="facts">{" · ".join(facts)}</p><p>{escape(sentence(incident.summary))}.</p>',
            block,
            _marks(incident.evidence),
            _said(incident),
            _evidence(incident.evidence),
            _decided(incident),
            "</article>",
        )
    )


def _marks(evidence: Evidence) -> str:
    return "".join(
        f'<p class="facts">Shortly before, line {mark.line:,}: <code>{escape(mark.text)}</code></p>'
        for mark in evidence.marks
    )


def _said(incident: Incident) -> str:
    rows = "".join(
        f"<tr><th>{escape(said.facet)}</th>"
        f'<td class="score"><span style="width:{100 * said.score:.0f}%"></span></td>'
        f"<td>{escape(said.why)}</td></tr>"
        for said in incident.said
    )
    return f'<table class="said">{rows}</table>'


def _evidence(evidence: Evidence) -> str:
    spots = evidence.spots
    if not spots:
        return ""
    rows = "".join(_spot(spot) for spot in spots)
    if evidence.more_spots:
        rows += f'<tr><td colspan="3">and {counted(evidence.more_spots, "more template")}</td></tr>'
    samples = sorted((s for s in spots if s.sample), key=lambda s: s.line)[:_MOST_SAMPLES]
    raw = "\n".join(f"{spot.line:>9,}  {spot.sample}" for spot in samples)
    label = f"Evidence: {counted(evidence.count, 'line')}, {counted(len(spots), 'template')}"
    shown = f"<pre>{escape(raw)}</pre>" if raw else ""
    return (
        f"<details><summary>{label}</summary>"
        '<div class="scroll"><table><thead><tr><th class="n">count</th><th>template</th>'
        f"<th>lines</th></tr></thead><tbody>{rows}</tbody></table></div>{shown}</details>"
    )


def _spot(spot: Spot) -> str:
    unit = f"<b>{escape(spot.unit)}</b> " if spot.unit else ""
    return (
        f'<tr><td class="n">{spot.count:,}</td><td>{unit}<code>{escape(spot.text)}</code></td>'
        f'<td class="where">{escape(spans_text(spot.spans))}</td></tr>'
    )


def _decided(incident: Incident) -> str:
    rows = "".join(
        f"<li>{escape(made.by)}: {DEEDS[made.what]} it, line {made.line:,}. "
        f"<small>{escape(made.why)}</small></li>"
        for made in incident.decided
    )
    return f"<details><summary>Who decided, and why</summary><ul>{rows}</ul></details>"


def _campaigns(report: Report) -> str:
    if not report.campaigns:
        return ""
    numbers = {incident.key: n for n, incident in enumerate(report.incidents, start=1)}
    rows = "".join(
        f"<li><b>{escape(campaign.title)}</b>: {escape(campaign.why)} "
        + " ".join(
            f'<a href="#incident-{numbers[key]}">{numbers[key]}</a>'
            for key in campaign.incidents
            if key in numbers
        )
        + "</li>"
        for campaign in report.campaigns
    )
    return f'<section><h2>Across sources</h2><ul class="panel list">{rows}</ul></section>'


def _sources(sources: tuple[SourceSummary, ...]) -> str:
    rows = "".join(_source(source) for source in sources)
    return (
        '<section><h2>Sources</h2><div class="panel scroll"><table><thead><tr><th>source</th>'
        '<th>format</th><th class="n">lines</th><th class="n">failure-like</th>'
        '<th class="n">templates</th><th>from</th><th>to</th><th>notes</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _source(source: SourceSummary) -> str:
    first = spoken_time(source.first_time, dated=source.dated)
    last = spoken_time(source.last_time, dated=source.dated)
    return (
        f"<tr><td><code>{escape(source.name)}</code></td><td>{escape(source.shape)}</td>"
        f'<td class="n">{source.lines:,}</td><td class="n">{source.failing:,}</td>'
        f'<td class="n">{source.templates:,}</td><td>{escape(first)}</td><td>{escape(last)}</td>'
        f"<td>{escape('; '.join(notes(source)))}</td></tr>"
    )


def _quieted(report: Report) -> str:
    if not report.quieted:
        return ""
    rows = "".join(
        f"<li><code>{escape(fact.source)}</code> {escape(fact.action.why)}</li>"
        for fact in report.quieted
    )
    return f'<section><h2>Quieted</h2><ul class="panel list">{rows}</ul></section>'


def _when(evidence: Evidence, *, dated: bool) -> str:
    first = spoken_time(evidence.first_time, dated=dated)
    last = spoken_time(evidence.last_time, dated=dated)
    return f"{first} to {last}" if first and first != last else first
