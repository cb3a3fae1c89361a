"""The shapes of log lines that are known by name: each reads one line into its fields."""

import json
import re
from collections.abc import Callable
from typing import cast

from . import levels
from .clock import Clock
from .structured import fields_of
from .times import read_stamp

Fields = tuple[float | None, str, str, str, str]
"""Time, host, unit, level (empty when the line names none) and message."""

Shape = Callable[[str, Clock], Fields | None]

_SYSLOG = re.compile(
    r"(?:<(\d{1,3})>)?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (\S+) "
    r"(?:([A-Za-z_/][^\s:\[(]*)(?:\([^)\s]*\))?(?: \d[\d.]*)?(?:\[\d+\])?:(?: |$))?(.*)"
)
_SYSLOG_ISO = re.compile(
    r"(?:<(\d{1,3})>)?((?:19|20)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
    r" (\S+) ([A-Za-z_/][^\s:\[(]*)(?:\([^)\s]*\))?(?:\[\d+\])?:(?: |$)(.*)"
)
_SYSLOG_5424 = re.compile(
    r"<(\d{1,3})>1 (\S+) (\S+) (\S+) \S+ \S+ (?:-|(?:\[(?:[^\]\\]|\\.)*\])+)(?: \ufeff?(.*)|$)"
)
_ACCESS = re.compile(
    r"(?:(?P<vhost>[\w.-]+:\d+) )?(\S+) \S+ (\S+) \[([^\]]{20,30})\] "
    r'"((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-)'
)
_BRACKETED = re.compile(
    r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4})\] "
    r"\[(?:([\w-]*):)?(\w+)\] (?:\[pid \d+(?::tid \d+)?\] )?(.*)"
)
_DPKG = re.compile(
    r"((?:19|20)\d\d-\d\d-\d\d \d\d:\d\d:\d\d) ((?:status|startup|install|upgrade|"
    r"configure|trigproc|remove|purge|conffile|update|processing)\b.*)"
)
_APT = re.compile(
    r"(Start-Date|End-Date|Commandline|Requested-By|Install|Upgrade|Remove|Purge|Reinstall|"
    r"Downgrade|Error): (.*)"
)
_read_json = json.JSONDecoder().raw_decode
_SEGMENT = re.compile(r"\w+ (?:https?://[^/ ]+)?(/[A-Za-z_-]+)(?=[/? ])")


def syslog(line: str, clock: Clock) -> Fields | None:
    """Read RFC 3164: `Dec 10 06:55:46 host sshd[24200]: message`, with or without priority."""
    match = _SYSLOG.match(line)
    if match is None:
        return None
    priority, stamp, host, unit, message = match.groups()
    time = clock.syslog(stamp)
    if time is None:
        return None
    level = levels.from_priority(int(priority)) if priority else ""
    return time, host, _unit(unit), level, message


def syslog_iso(line: str, clock: Clock) -> Fields | None:
    """Read syslog with an ISO 8601 stamp, as rsyslog and journalctl write it."""
    match = _SYSLOG_ISO.match(line)
    if match is None:
        return None
    priority, stamp, host, unit, message = match.groups()
    level = levels.from_priority(int(priority)) if priority else ""
    return read_stamp(stamp, 0, clock)[0], host, _unit(unit), level, message


def syslog_5424(line: str, clock: Clock) -> Fields | None:
    """Read RFC 5424: `<34>1 2003-10-11T22:14:15.003Z host app procid msgid [data] message`."""
    match = _SYSLOG_5424.match(line)
    if match is None:
        return None
    priority, stamp, host, unit, message = match.groups()
    time = None if stamp == "-" else read_stamp(stamp, 0, clock)[0]
    level = levels.from_priority(int(priority))
    return time, _known(host), _known(unit), level, message or ""


def bracketed(line: str, clock: Clock) -> Fields | None:
    """Read Apache's error log: `[Sun Dec 04 04:47:44 2005] [error] message`."""
    match = _BRACKETED.match(line)
    if match is None:
        return None
    stamp, module, level, message = match.groups()
    unit = module if module and module != "core" else "httpd"
    return read_stamp(stamp, 0, clock)[0], "", unit, levels.from_word(level), message


def access(line: str, clock: Clock) -> Fields | None:
    """Read an access log in the common or combined format, of Apache or nginx.

    The unit is the first part of the path, so that what fails on a site can be told apart.
    """
    match = _ACCESS.match(line)
    if match is None:
        return None
    vhost, client, user, stamp, request, status = match.groups()
    segment = _SEGMENT.match(request)
    target = request.removesuffix(" HTTP/1.1").removesuffix(" HTTP/1.0").removesuffix(" HTTP/2.0")
    message = f"{target} http-{status} from {client}"
    if user != "-":
        message += f" user={user}"
    time = read_stamp(stamp, 0, clock)[0]
    return time, vhost or "", segment[1] if segment else "/", _status_level(status), message


def dpkg(line: str, clock: Clock) -> Fields | None:
    """Read dpkg's log: `2024-01-02 03:04:05 status installed libc6:amd64 2.36-9`."""
    match = _DPKG.match(line)
    if match is None:
        return None
    return read_stamp(match[1], 0, clock)[0], "", "dpkg", levels.INFO, match[2]


def apt(line: str, clock: Clock) -> Fields | None:
    """Read a line of a stanza of apt's history; between stanzas there are empty lines."""
    match = _APT.match(line)
    if match is None:
        return None
    key, value = match.groups()
    time = read_stamp(value, 0, clock)[0] if key.endswith("-Date") else None
    return time, "", "apt", levels.ERROR if key == "Error" else levels.INFO, line


def json_line(line: str, clock: Clock) -> Fields | None:
    """Read a JSON object on a line of its own."""
    if line[:1] != "{":
        return None
    try:
        entry, end = _read_json(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or line[end:].strip():
        return None
    return fields_of(cast("dict[str, object]", entry), clock)


def _status_level(status: str) -> str:
    if status[0] == "5":
        return levels.ERROR
    return levels.WARNING if status in ("401", "403", "429") else levels.INFO


def _unit(name: str | None) -> str:
    return name.rpartition("/")[2] or name if name else ""


def _known(value: str) -> str:
    return "" if value == "-" else value
