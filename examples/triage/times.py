"""Time stamps of log lines, in the many shapes in use."""

import re
from collections.abc import Callable

from .clock import MONTHS, Clock, seconds_after


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
    of_day = int(hour) * 3600.0 + int(minute) * 60.0 - _zone(zone)
    full_minute = clock.at(int(year), int(month), int(day), of_day)
    if zone == "Z" and m[0][16:17] == ":":
        clock.saw_iso(m[0][:17], full_minute)
    clock.last = seconds_after(full_minute, second, f".{fraction}" if fraction else None)
    return clock.last


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
    return clock.at(int(year), MONTHS[month], int(day), seconds)


def _named_month(m: re.Match[str], clock: Clock) -> float | None:
    month, day, year, hour, minute, second, fraction, after = m.groups()
    seconds = _clock_seconds(hour, minute, second, fraction)
    if year or after:
        return clock.at(int(year or after), MONTHS[month], int(day), seconds)
    return clock.without_year(MONTHS[month], int(day), seconds)


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
_MON = "(" + "|".join(MONTHS) + ")"
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
