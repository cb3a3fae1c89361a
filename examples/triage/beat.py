"""What a scout is sent to, and what it tells of its way."""

import attrs

from boyd.runtime import message

from .sources import Source
from .spool import Feed


@attrs.frozen(kw_only=True)
class Beat:
    """What one scout is sent to: a log, and where a block list would be kept."""

    source: Source
    folder: str = "."
    batch_lines: int = 2000
    feed: Feed | None = None

    def __str__(self) -> str:
        return self.source.path


@message("triage.lines_read")
class LinesRead:
    """To whoever watches: so far a log was read."""

    source: str
    line: int
