"""The tool that writes the report: Markdown, HTML and JSON, each file whole or not at all."""

import json
from pathlib import Path

from boyd.actors import Blackboard, Effect, tool
from boyd.runtime import Context

from .gather import gather
from .outputs import REPORT
from .report import Report
from .report_html import report_html
from .report_json import report_json
from .report_md import report_md


@tool(effect=Effect.IDEMPOTENT)
async def write_report(ctx: Context, folder: str) -> str:
    """Write triage-report.md, .html and .json into a folder."""
    board = Blackboard.of(ctx)
    report = await gather(board.ledger, board.thread)
    await ctx.system.offload(write_files, report, Path(folder))
    return str(Path(folder) / f"{REPORT}.html")


def write_files(report: Report, folder: Path) -> None:
    """Write all three forms of a report.

    Raises:
        OSError: the folder cannot be written to.
    """
    forms = {
        ".md": report_md(report),
        ".html": report_html(report),
        ".json": json.dumps(report_json(report), indent=1) + "\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in forms.items():
        fresh = folder / f".{REPORT}{suffix}.new"
        try:
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(folder / f"{REPORT}{suffix}")
        finally:
            fresh.unlink(missing_ok=True)
