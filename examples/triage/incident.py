"""`boyd show THREAD --incident N`: one incident with its evidence and the raw lines."""

from boyd.runtime import Ledger

from .gather import gather
from .report_md import incident_md


async def show_incident(ledger: Ledger, thread: str, number: int) -> str:
    """The incident of that number in the report, in Markdown; a sentence if there is none."""
    report = await gather(ledger, thread)
    if not 1 <= number <= len(report.incidents):
        return f"{thread} has {len(report.incidents)} incident(s), so there is no incident {number}"
    return incident_md(report, number)
