"""Lines that carry named fields: JSON objects, and `key=value` pairs (logfmt)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

import attrs

from . import levels
from .clock import Clock
from .text import encodable
from .times import read_stamp

Fields = tuple[float | None, str, str, str, str]

_TIME = ("ts", "time", "timestamp", "@timestamp", "t", "date", "datetime", "asctime")
_LEVEL = ("level", "severity", "lvl", "levelname", "log.level", "PRIORITY", "loglevel")
_MESSAGE = ("msg", "message", "MESSAGE", "event", "log", "text", "body")
_UNIT = (
    "service",
    "service.name",
    "app",
    "component",
    "logger",
    "unit",
    "SYSLOG_IDENTIFIER",
    "_SYSTEMD_UNIT",
    "name",
    "module",
    "source",
)
_HOST = ("host", "hostname", "host.name", "_HOSTNAME", "node", "pod")
_MORE = (
    "error",
    "err",
    "exception",
    "status",
    "user",
    "username",
    "client",
    "client_ip",
    "remote_addr",
    "remote_ip",
    "src_ip",
    "ip",
    "device",
)
_MOST_KEYS = 64
_EPOCH_FIELD = "__REALTIME_TIMESTAMP"
_PAIR = re.compile(r'([A-Za-z_@][\w.@-]*)=(?:"((?:[^"\\]|\\.)*)"|(\S*))(?:\s+|$)')


@attrs.frozen
class _Layout:
    """Which of an entry's keys hold what; the same for all entries with the same keys."""

    time: tuple[str, ...]
    level: tuple[str, ...]
    message: tuple[str, ...]
    unit: tuple[str, ...]
    host: tuple[str, ...]
    more: tuple[str, ...]


@lru_cache(maxsize=1000)
def _layout(keys: tuple[str, ...]) -> _Layout:
    there = frozenset(keys)
    usual = (_TIME, _LEVEL, _MESSAGE, _UNIT, _HOST, _MORE)
    return _Layout(*(tuple(key for key in names if key in there) for names in usual))


def fields_of(entry: Mapping[str, object], clock: Clock) -> Fields:
    """Read the usual fields of an entry, whatever its names for them.

    Fields that name an error, a user or an address are added to the message.
    """
    layout = _layout(tuple(entry)[:_MOST_KEYS])
    message = _text(entry, layout.message)
    if not message:
        message = " ".join(
            f"{key}={value}" for key, value in entry.items() if isinstance(value, str | int)
        )
    for key in layout.more:
        value = entry[key]
        kind = type(value)
        if kind is int or (kind is str and value):
            message += _added(key, str(value)[:80])
    level = levels.from_field(entry[layout.level[0]]) if layout.level else ""
    unit, host = _text(entry, layout.unit), _text(entry, layout.host)
    if "\n" in message:
        message = message.rstrip("\n").replace("\n", " ")
    if not (message.isascii() and unit.isascii() and host.isascii()):
        message, unit, host = encodable(message), encodable(unit), encodable(host)
    return _time(entry, layout.time, clock), host, unit, level, message


def _added(key: str, value: str) -> str:
    """Return a field as a part of the message; a status of HTTP as access logs have it."""
    if key == "status" and len(value) == 3 and value.isdigit():
        return f" http-{value}"
    return f" {key}={value}"


def logfmt(line: str, clock: Clock) -> Fields | None:
    """Read `time=2024-01-02T03:04:05Z level=error msg="..."`: three pairs or more, and no more."""
    entry: dict[str, str] = {}
    at = 0
    while at < len(line):
        match = _PAIR.match(line, at)
        if match is None:
            return None
        at = match.end()
        entry[match[1]] = match[2] if match[2] is not None else match[3]
    if len(entry) < 3 or not (set(_LEVEL) | set(_MESSAGE)) & entry.keys():
        return None
    return fields_of(entry, clock)


def _text(entry: Mapping[str, object], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = entry[key]
        if type(value) is str and value:
            return value
        if isinstance(value, dict):
            named = cast("dict[str, object]", value)
            inner = named.get("name") or named.get("message")
            if isinstance(inner, str) and inner:
                return inner
    return ""


def _time(entry: Mapping[str, object], keys: tuple[str, ...], clock: Clock) -> float | None:
    for key in keys:
        value = entry[key]
        if type(value) is str:
            time = read_stamp(value, 0, clock)[0]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            time = clock.since_1970(_float(value))
        else:
            continue
        if time is not None:
            return time
    value = entry.get(_EPOCH_FIELD)
    if isinstance(value, str) and value.isdigit() and len(value) < 20:
        return clock.since_1970(float(value))
    return None


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
