"""Time stamps of log lines, in the many shapes in use, as seconds.

A stamp with a year gives seconds since 1970 in UTC; without a zone it is read as UTC. Where the
year is missing it is a fixed one (1972, a leap year): such a time orders events within a log and
can be compared with others by its place in the year. The year goes up when December is followed
by January; once a line of the same log names a year, that year is taken. No clock is read.
"""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

import attrs

BASE_YEAR = 1972
_DAY = 86_400.0
_HALF_YEAR = 180 * _DAY
_EARLIEST, _LATEST = 2.0e8, 8.0e9
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, start=1)}


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
                month = _MONTHS[stamp[:3]]
                clock = stamp[-8:]
                seconds = int(clock[:2]) * 3600 + int(clock[3:5]) * 60
                base = self.without_year(month, int(stamp[4:6]), seconds)
                if len(self._known) > 4096:
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
        second, fraction = rest.groups()
        time = base + int(second)
        if fraction:
            time += float(fraction)
        self.last = time
        return time, rest.end()

    def saw_iso(self, minute: str, time: float) -> None:
        """Remember when the minute of a stamp in UTC begins."""
        if len(self._known) > 4096:
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


@lru_cache(maxsize=4096)
def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a date of the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _zone(text: str | None) -> float:
    """Return the seconds that a zone such as `+01:00` is ahead of UTC."""
    if not text or text[0] not in "+-":
        return 0.0
    digits = text[1:].replace(":", "")
    ahead = int(digits[:2]) * 3600.0 + int(digits[2:4] or 0) * 60.0
    return -ahead if text[0] == "-" else ahead


def _clock_seconds(hour: str, minute: str, second: str, fraction: str | None = None) -> float:
    seconds = int(hour) * 3600.0 + int(minute) * 60.0 + int(second)
    return seconds + float(f"0.{fraction}") if fraction else seconds


def _iso(m: re.Match[str], clock: Clock) -> float | None:
    year, month, day, hour, minute, second, fraction, zone = m.groups()
    begin = int(hour) * 3600.0 + int(minute) * 60.0 - _zone(zone)
    seconds = begin + _clock_seconds("0", "0", second, fraction)
    time = clock.at(int(year), int(month), int(day), seconds)
    if zone == "Z" and m[0][16:17] == ":":
        clock.saw_iso(m[0][:17], time - (seconds - begin))
    return time


def _short_year(m: re.Match[str], clock: Clock) -> float | None:
    year, month, day, hour, minute, second = m.groups()
    return clock.at(2000 + int(year), int(month), int(day), _clock_seconds(hour, minute, second))


def _month_first(m: re.Match[str], clock: Clock) -> float | None:
    month, day, year, hour, minute, second, half = m.groups()
    seconds = _clock_seconds(hour, minute, second)
    if half:
        seconds = seconds % (12 * 3600) + (12 * 3600 if half == "PM" else 0)
    return clock.at(int(year), int(month), int(day), seconds)


def _access(m: re.Match[str], clock: Clock) -> float | None:
    day, month, year, hour, minute, second, zone = m.groups()
    seconds = _clock_seconds(hour, minute, second) - _zone(zone)
    return clock.at(int(year), _MONTHS[month], int(day), seconds)


def _named_month(m: re.Match[str], clock: Clock) -> float | None:
    month, day, year, hour, minute, second, fraction, after = m.groups()
    seconds = _clock_seconds(hour, minute, second, fraction)
    if year or after:
        return clock.at(int(year or after), _MONTHS[month], int(day), seconds)
    return clock.without_year(_MONTHS[month], int(day), seconds)


def _no_year(m: re.Match[str], clock: Clock) -> float | None:
    month, day, hour, minute, second, fraction = m.groups()
    return clock.without_year(int(month), int(day), _clock_seconds(hour, minute, second, fraction))


def _of_day(m: re.Match[str], clock: Clock) -> float | None:
    return clock.of_day(_clock_seconds(*m.groups()))


def _number(m: re.Match[str], clock: Clock) -> float | None:
    return clock.since_1970(float(m[1]))


def _since_boot(m: re.Match[str], clock: Clock) -> float | None:
    clock.last = float(m[1])
    return clock.last


_HMS = r"([01]\d|2[0-3]):([0-5]\d):([0-6]\d)"
_MD = r"(0[1-9]|1[0-2])[-./](0[1-9]|[12]\d|3[01])"
_MON = "(" + "|".join(_MONTHS) + ")"
_SECONDS = re.compile(r"([0-6]\d)(\.\d{1,9})?Z(?!\w)")
_Shape = tuple[re.Pattern[str], Callable[[re.Match[str], Clock], float | None]]

_DIGIT_SHAPES: tuple[_Shape, ...] = (
    (
        re.compile(
            rf"((?:19|20)\d\d)[-/.]{_MD}(?:[T_]|[ -]{{1,2}})([01]\d|2[0-3])[:.]([0-5]\d)[:.]"
            r"([0-6]\d)(?:[.,](\d{1,9}))?(?:\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)(?!\w))?"
        ),
        _iso,
    ),
    (
        re.compile(
            r"((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])[-T_ ]?([01]\d|2[0-3]):?"
            r"([0-5]\d):?([0-6]\d)(?:[:.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?!\w)"
        ),
        _iso,
    ),
    (re.compile(r"(1\d{9}(?:\d{3}|\d{6}|\d{9})?(?:\.\d{1,9})?)(?=[\s\],;|]|$)"), _number),
    (re.compile(rf"(\d\d)/{_MON}/(\d{{4}})[: ]{_HMS}(?: ([+-]\d{{4}}))?"), _access),
    (
        re.compile(
            r"(\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]) ([01]\d|2[0-3])([0-5]\d)([0-6]\d)(?=\s)"
        ),
        _short_year,
    ),
    (re.compile(rf"{_MD}[-/]((?:19|20)\d\d),? {_HMS}(?: (AM|PM))?"), _month_first),
    (re.compile(rf"(\d\d)/{_MD},? {_HMS}"), _short_year),
    (re.compile(rf"{_MD} {_HMS}(?:[.,](\d{{1,9}}))?"), _no_year),
    (re.compile(rf"{_HMS}(?:[.,](\d{{1,9}}))?(?=[\s\]|,]|$)"), _of_day),
)
_LETTER_SHAPES: tuple[_Shape, ...] = (
    (
        re.compile(
            rf"(?:[A-Z][a-z]{{2}},? )?{_MON} {{1,2}}(\d{{1,2}}),?(?: (\d{{4}}))? {_HMS}"
            r"(?:[.,](\d{1,9}))?(?: (?:[A-Z]{3,4} )?((?:19|20)\d\d)(?=[\s\]]|$))?"
        ),
        _named_month,
    ),
    (re.compile(rf"[IWEF](0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]) {_HMS}(?:\.(\d{{1,9}}))?"), _no_year),
)
_BOOT_SHAPE: _Shape = (re.compile(r"\[\s*(\d{1,9}\.\d{3,9})\]"), _since_boot)


def read_stamp(text: str, at: int, clock: Clock) -> tuple[float | None, int]:
    """Read the stamp that stands at a place of a line: its time, and where it ends.

    Without a stamp the time is None and the end is `at`.
    """
    first = text[at : at + 1]
    if text[at + 4 : at + 5] == "-":
        quick = clock.iso(text, at)
        if quick is not None:
            return quick
    shapes = _DIGIT_SHAPES if first.isdigit() else _LETTER_SHAPES
    if first == "[":
        boot = _BOOT_SHAPE[0].match(text, at)
        if boot:
            return _BOOT_SHAPE[1](boot, clock), boot.end()
        return None, at
    for pattern, reader in shapes:
        match = pattern.match(text, at)
        if match:
            time = reader(match, clock)
            if time is not None:
                return time, match.end()
    return None, at


def stamp_end(text: str, at: int) -> int:
    """Return where the stamp at a place ends, without reading it; `at` if there is none."""
    shapes = _DIGIT_SHAPES if text[at : at + 1].isdigit() else _LETTER_SHAPES
    for pattern, _ in shapes:
        match = pattern.match(text, at)
        if match:
            return match.end()
    return at


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
