"""Lines of no known shape: a stamp is looked for at the front, a level in any column.

What stands between the two is usually a host or a component, what follows is the message; so
`2015-10-18 18:01:47,978 INFO [main] org.Foo: Created` and `1117838570 2005.06.03 R02 RAS KERNEL
FATAL data TLB error` need no format of their own.
"""

import re
from functools import lru_cache

from . import levels
from .clock import Clock
from .times import read_stamp, stamp_end

Fields = tuple[float | None, str, str, str, str]

_COLUMNS = 9
_STAMP_LIKE = re.compile(r"\d[\d.:,/TZ+-]{7,}$")
_TAG = re.compile(r"(?:(\S+) )?([A-Za-z_/][^\s:\[(]*)(?:\([^)\s]*\))?(?:\[\d+\])?: (?=\S)")
_UNIT_AFTER = re.compile(
    r"(?:[-|]+ *)?(?:\[[^\]\s]*\] ?){0,2}(?:[-|]+ *)?"
    r"(?:([A-Za-z][\w$./-]*)(?:\[\d+\])?:(?: |$)|([A-Za-z]\w*(?:\.[\w$]+)+)(?: |$))"
)
_KLOG = re.compile(r"([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ([\w./-]+):\d+\] (.*)")
_PYTHON = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL):([\w.]*):(.*)")
_EDGES = '[](){}<>:|,;-*"'
_WORD = re.compile(r"[A-Za-z][A-Za-z_.$/@-]+")
_ZONES = ("UTC", "GMT", "CET", "CEST", "EST", "EDT", "PST", "PDT")
_NO_NAMES = frozenset({*_ZONES, "AM", "PM", "stdout", "stderr", "NULL", "null"})


def generic(line: str, clock: Clock) -> Fields:
    """Read what can be found in a line of any shape; at worst the whole line is the message."""
    time, before, rest = _front(line, clock)
    if time is None and (match := _PYTHON.match(line)):
        return None, "", match[2], levels.WORDS[match[1]], match[3]
    if line[:1] in "IWEF" and (match := _KLOG.match(line)):
        return time, "", match[2], levels.LETTERS[match[1]], match[3]
    host, rest = _behind_stamps(rest) if time is not None else ("", rest)
    host = host or _host_in(before)
    tokens = rest.split(None, _COLUMNS)
    at, level = _level_column(tokens)
    if at < 0:
        if time is None:
            return None, "", "", "", line
        return time, *_without_level(rest, host, before)
    unit = thread = name = ""
    for token in tokens[:at]:
        role, word = _role(token)
        if role == _THREAD:
            thread = thread or word
        elif role != _NONE:
            unit = word if role == _UNIT else unit
            name = name or word
    message = " ".join(tokens[at + 1 :])
    if not unit and (match := _UNIT_AFTER.match(message)):
        unit = match[1] or match[2]
        message = message[match.end() :]
    if not unit and _WORD.fullmatch(thread):
        unit = thread
    if not host and name != unit:
        host = name
    return time, host, unit or _unit_in(before), level, message.lstrip(" -|]")


def _front(line: str, clock: Clock) -> tuple[float | None, str, str]:
    """Find the stamp in the first columns; return its time, what is before it, and the rest."""
    at = 0
    for _ in range(3):
        begin = at
        if line[begin : begin + 1] in ("[", "<", "("):
            boot, end = read_stamp(line, begin, clock)
            if boot is not None:
                return boot, line[:at], line[end:].lstrip()
            begin += 1
        time, end = read_stamp(line, begin, clock)
        if time is not None:
            return time, line[:at], line[end:].lstrip("]>),:;|- \t")
        space = line.find(" ", at, at + 64)
        if space < 0:
            break
        at = space + 1
    return None, "", line


def _behind_stamps(rest: str) -> tuple[str, str]:
    """Skip further stamps, and one host between them: `2005.11.09 dn228 Nov 9 12:01:01 ...`."""
    host = ""
    for _ in range(4):
        head, _, tail = rest.partition(" ")
        if tail and _is_stamp_like(head):
            rest = tail.lstrip()
            continue
        second = tail[:1]
        if not (second.isdigit() or second in "JFMASOND") or not second:
            break
        end = stamp_end(tail, 0)
        if end < 8:
            break
        host, rest = head, tail[end:].lstrip()
    return host, rest


def _level_column(tokens: list[str]) -> tuple[int, str]:
    """Return which column names a level, and the level; -1 when none does."""
    for at, token in enumerate(tokens[:_COLUMNS]):
        level, anywhere = _level(token)
        if not level:
            continue
        if len(token) > 1:
            if anywhere or at <= 1:
                return at, level
        elif 0 < at < 4:
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            if following.endswith(":") and not levels.from_word(following[:-1]):
                return at, level
    return -1, ""


# The same words stand in the first columns of line after line, so what they are is remembered.


@lru_cache(maxsize=8192)
def _level(token: str) -> tuple[str, bool]:
    """Return the level that a column may name, and whether in any column or only in the first."""
    word = token.strip(_EDGES)
    if not word.isalpha():
        return "", False
    if len(token) == 1:
        return levels.LETTERS.get(token, ""), False
    level = levels.WORDS.get(word.upper(), "")
    if word.isupper():
        return level, True
    return ("", False) if word.upper() == "LOG" else (level, word != token)


_NONE, _THREAD, _UNIT, _OTHER = range(4)


@lru_cache(maxsize=8192)
def _role(token: str) -> tuple[int, str]:
    """Return what a column before the level is, and its word without brackets."""
    word = token.strip(_EDGES)
    if len(word) < 2 or word in _NO_NAMES or word.isdigit():
        return _NONE, word
    if token[0] == "[":
        return _THREAD, word
    return (_UNIT if _WORD.fullmatch(word) else _OTHER), word


@lru_cache(maxsize=8192)
def _is_stamp_like(token: str) -> bool:
    return token[:1].isdigit() and _STAMP_LIKE.match(token) is not None


def _without_level(rest: str, host: str, before: str) -> tuple[str, str, str, str]:
    if " " in before.strip():
        return host, "", "", before + rest
    match = _TAG.match(rest)
    unit = _unit_in(before)
    if match is None or unit:
        return host, unit, "", rest
    first, tag = match.groups()
    return host or first or "", tag.rpartition("/")[2] or tag, "", rest[match.end() :]


def _host_in(before: str) -> str:
    """Return what names a machine in the columns before the stamp: a word with a digit."""
    word = before.strip().strip(_EDGES)
    if " " in word:
        return ""
    return word if word and not _WORD.fullmatch(word) and not word.isdigit() else ""


def _unit_in(before: str) -> str:
    """Return what names a program in the columns before the stamp: a word without digits."""
    word = before.strip().strip(_EDGES)
    return word if _WORD.fullmatch(word) else ""
