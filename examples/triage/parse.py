"""One line of a log in, its fields out, whatever the format."""

from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from .clock import Clock, ClockState
from .generic import generic
from .shapes import (
    Fields,
    Shape,
    access,
    apt,
    bracketed,
    dpkg,
    json_line,
    syslog,
    syslog_5424,
    syslog_iso,
)
from .structured import logfmt

SHAPES: dict[str, Shape] = {
    "syslog": syslog,
    "syslog-5424": syslog_5424,
    "syslog-iso": syslog_iso,
    "json": json_line,
    "access": access,
    "apache-error": bracketed,
    "dpkg": dpkg,
    "apt": apt,
    "logfmt": logfmt,
}
GENERIC = "generic"
_SNIFFED = 50


@attrs.frozen(kw_only=True)
class Record:
    """What one line says. The time is in seconds (see `clock`), None where there is none."""

    time: float | None
    host: str
    unit: str
    level: str
    message: str


@attrs.frozen(kw_only=True)
class ParserState:
    """What a parser must be told to go on in the middle of a source."""

    shape: str = ""
    clock: ClockState = attrs.field(factory=ClockState)


def detect(lines: Iterable[str]) -> str:
    """Return the name of the shape that fits most of the lines, or `generic` if none fits half."""
    votes: Counter[str] = Counter()
    seen = 0
    for line in lines:
        if not line.strip():
            continue
        seen += 1
        for name, shape in SHAPES.items():
            if shape(line, Clock()) is not None:
                votes[name] += 1
                break
    if not votes:
        return GENERIC
    best, count = max(votes.items(), key=lambda vote: vote[1])
    return best if count * 2 >= seen else GENERIC


class Parser:
    """Reads the lines of one source in order. The first lines decide which shape is tried first."""

    def __init__(self, state: ParserState | None = None) -> None:
        """Go on from a state, or begin."""
        state = state or ParserState()
        self.shape = state.shape
        self._clock = Clock(state.clock)

    @property
    def dated(self) -> bool:
        """Whether the times have a real year."""
        return self._clock.dated

    def state(self) -> ParserState:
        """Return what another parser needs to go on from here."""
        return ParserState(shape=self.shape, clock=self._clock.state())

    def parse(self, line: str) -> Record:
        """Read one line. Every text is a record: at worst, the message is the whole line."""
        time, host, unit, level, message = self.fields([line])[0]
        return Record(time=time, host=host, unit=unit, level=level, message=message)

    def fields(self, lines: Sequence[str]) -> list[Fields]:
        """Read many lines, as plain tuples in the order of a `Record`: the quick way."""
        if not self.shape:
            self.shape = detect(lines[:_SNIFFED])
        clock, first = self._clock, SHAPES.get(self.shape)
        found: list[Fields] = []
        append = found.append
        if first is None:
            for line in lines:
                append(_other(line, clock, None))
            return found
        for line in lines:
            append(first(line, clock) or _other(line, clock, first))
        return found


def _other(line: str, clock: Clock, tried: Shape | None) -> Fields:
    """Read a line that is not of its source's shape."""
    head = line[:1]
    if head == "{" and tried is not json_line:
        fields = json_line(line, clock)
        if fields is not None:
            return fields
    if head == "<" and tried is not syslog_5424:
        fields = syslog_5424(line, clock) or syslog(line, clock)
        if fields is not None:
            return fields
    if head.isupper() and tried is not syslog and line[3:4] == " ":
        fields = syslog(line, clock)
        if fields is not None:
            return fields
    return generic(line, clock)
