"""Times of log lines as seconds, with the year carried from line to line.

A stamp with a year gives seconds since 1970 in UTC; without a zone it is read as UTC. Where the
year is missing it is a fixed one (1972, a leap year): such a time orders events within a log and
can be compared with others by its place in the year. The year goes up when December is followed
by January; once a line of the same log names a year, that year is taken. No clock is read.
"""

import math
import re
from datetime import UTC, datetime
from functools import lru_cache

import attrs

BASE_YEAR = 1972
_DAY = 86_400.0
_HALF_YEAR = 180 * _DAY
_EARLIEST, _LATEST = 2.0e8, 8.0e9
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTHS = {name: number for number, name in enumerate(_NAMES, start=1)}
_SECONDS = re.compile(r"([0-6]\d)(\.\d{1,9})?Z(?!\w)")
_MOST_KNOWN = 4096


@attrs.frozen(kw_only=True)
class ClockState:
    """What has to be known of the lines before to read the next stamp."""

    year: int = BASE_YEAR
    last: float | None = None
    dated: bool = False


class Clock:
    """Turns the fields of stamps into seconds, and carries the year from line to line."""

    __slots__ = ("_known", "_span", "dated", "last", "year")

    def __init__(self, state: ClockState | None = None) -> None:
        """Go on from a state, or begin."""
        state = state or ClockState()
        self.year = state.year
        self.last = state.last
        self.dated = state.dated
        self._known: dict[str, float] = {}
        self._span = (0.0, 0.0, 0)  # of the year of the last number: its begin, its end, itself

    def state(self) -> ClockState:
        """Return what a later clock needs to go on from here."""
        return ClockState(year=self.year, last=self.last, dated=self.dated)

    def at(self, year: int, month: int, day: int, seconds: float) -> float:
        """Return the time of a stamp that names its year."""
        time = _days(year, month, day) * _DAY + seconds
        if not self.dated:
            self.dated = True
            self._known.clear()
        if year != self.year:
            self.year = year
            self._known.clear()
        self.last = time
        return time

    def without_year(self, month: int, day: int, seconds: float) -> float:
        """Return the time of a stamp that names a day of some year."""
        time = _days(self.year, month, day) * _DAY + seconds
        last = self.last
        if last is None or -_HALF_YEAR < time - last < _HALF_YEAR:
            self.last = time
        elif time < last:
            self.year += 1
            self._known.clear()
            time = _days(self.year, month, day) * _DAY + seconds
            self.last = time
        else:  # a late line of the year before, behind a line of January
            time = _days(self.year - 1, month, day) * _DAY + seconds
        return time

    def syslog(self, stamp: str) -> float | None:
        """Return the time of `Dec 10 06:55:46`."""
        minute = stamp[:-2]
        base = self._known.get(minute)
        try:
            if base is None:
                month = MONTHS[stamp[:3]]
                clock = stamp[-8:]
                seconds = int(clock[:2]) * 3600 + int(clock[3:5]) * 60
                base = self.without_year(month, int(stamp[4:6]), seconds)
                if len(self._known) > _MOST_KNOWN:
                    self._known.clear()
                if self.last == base:
                    self._known[minute] = base
            elif self.last is None or not -_HALF_YEAR < base - self.last < _HALF_YEAR:
                self._known.clear()
                return self.syslog(stamp)
            else:
                self.last = base
            return base + int(stamp[-2:])
        except (KeyError, ValueError):
            return None

    def iso(self, text: str, at: int) -> tuple[float, int] | None:
        """Return the time and end of `2024-01-02T03:04:05.678Z`, if its minute was seen before."""
        base = self._known.get(text[at : at + 17])
        rest = _SECONDS.match(text, at + 17) if base is not None else None
        if rest is None or base is None:
            return None
        self.last = seconds_after(base, *rest.groups())
        return self.last, rest.end()

    def saw_iso(self, minute: str, time: float) -> None:
        """Remember when the minute of a stamp in UTC begins."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known[minute] = time

    def of_day(self, seconds: float) -> float:
        """Return the time of a stamp that names only hours, minutes and seconds."""
        last = self.last if self.last is not None else _days(self.year, 1, 1) * _DAY
        day = last // _DAY
        time = day * _DAY + seconds
        if time < last - _DAY / 2:
            time += _DAY
        self.last = time
        return time

    def since_1970(self, seconds: float) -> float | None:
        """Return the time of a number that counts seconds, or thousandths and less, from 1970."""
        if not math.isfinite(seconds):
            return None
        while seconds > _LATEST:
            seconds /= 1000.0
        if seconds < _EARLIEST:
            return None
        begin, end, year = self._span
        if not begin <= seconds < end:
            year = datetime.fromtimestamp(seconds, UTC).year
            self._span = _days(year, 1, 1) * _DAY, _days(year + 1, 1, 1) * _DAY, year
        if year != self.year or not self.dated:
            self.year, self.dated = year, True
            self._known.clear()
        self.last = seconds
        return seconds


def seconds_after(minute: float, second: str, fraction: str | None) -> float:
    """Return the time so many seconds, and a fraction such as `.678`, after the full minute."""
    time = minute + int(second)
    return time + float(fraction) if fraction else time


@lru_cache(maxsize=4096)
def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a date of the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def in_base_year(time: float) -> float:
    """Return the same day and moment in the year of undated logs, to compare with them."""
    day, seconds = divmod(time, _DAY)
    date = datetime.fromtimestamp(day * _DAY, UTC)
    return _days(BASE_YEAR, date.month, date.day) * _DAY + seconds


def spoken_time(time: float | None, *, dated: bool) -> str:
    """Return a time as people read it, in UTC; without the year where it is unknown."""
    if time is None or not 0 <= time < _LATEST:
        return ""
    moment = datetime.fromtimestamp(time, UTC)
    if dated:
        return f"{moment:%Y-%m-%d %H:%M:%S}"
    if time < 300 * _DAY:  # seconds since a machine started
        return f"+{time:,.0f} s"
    return f"{moment:%b} {moment.day} {moment:%H:%M:%S}"
