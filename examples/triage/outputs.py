"""The names of the files that the triage writes: nobody's logs, wherever they lie."""

from typing import Final

REPORT: Final = "triage-report"
BLOCKLIST: Final = "blocklist.txt"
_OWN: Final = {BLOCKLIST, *(f"{REPORT}{suffix}" for suffix in (".md", ".html", ".json"))}


def is_own(name: str) -> bool:
    """Tell whether a file of this name comes from an earlier run."""
    return name in _OWN
