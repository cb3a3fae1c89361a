"""`boyd show THREAD --incident N`: one incident with its evidence and the raw lines."""

from boyd.actors.cli import console
from boyd.runtime import Ledger

from .gather import gather
from .report_md import incident_md
from .text import counted


async def show_incident(ledger: Ledger, thread: str, number: int) -> str:
    """The incident of that number in the report, in Markdown. Raises UsageError if there is none."""
    report = await gather(ledger, thread)
    if not 1 <= number <= len(report.incidents):
        has = counted(len(report.incidents), "incident")
        raise console.UsageError(f"{thread} has {has}, so there is no incident {number}")
    return incident_md(report, number)
