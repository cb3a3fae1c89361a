"""The names and numbers that logs use for how bad a line is, on one scale."""

import re
from functools import lru_cache

DEBUG, INFO, NOTICE, WARNING, ERROR, FATAL = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "fatal",
)
ORDER = {"": 0, DEBUG: 1, INFO: 2, NOTICE: 3, WARNING: 4, ERROR: 5, FATAL: 6}
"""How bad a level is; an unknown level counts least."""

WORDS = {
    "TRACE": DEBUG,
    "DEBUG": DEBUG,
    "FINE": DEBUG,
    "FINER": DEBUG,
    "FINEST": DEBUG,
    "VERBOSE": DEBUG,
    "INFO": INFO,
    "INFORMATION": INFO,
    "INFORMATIONAL": INFO,
    "LOG": INFO,
    "NOTICE": NOTICE,
    "WARN": WARNING,
    "WARNING": WARNING,
    "ERR": ERROR,
    "ERROR": ERROR,
    "SEVERE": ERROR,
    "FAILURE": ERROR,
    "FATAL": FATAL,
    "CRIT": FATAL,
    "CRITICAL": FATAL,
    "ALERT": FATAL,
    "EMERG": FATAL,
    "EMERGENCY": FATAL,
    "PANIC": FATAL,
}
LETTERS = {"V": DEBUG, "D": DEBUG, "I": INFO, "W": WARNING, "E": ERROR, "F": FATAL}

_SYSLOG = (FATAL, FATAL, FATAL, ERROR, WARNING, NOTICE, INFO, DEBUG)
_LEADING = re.compile(r"\W{0,2}(?:\w+\W{1,2})?(?P<word>[A-Za-z]{3,13})(?=[:\]>)])")
_PLAIN = re.compile(r"\W?(?P<word>[A-Z]{3,13})(?= )")


def from_word(word: str) -> str:
    """Return the level that a word names, in any case, or an empty string."""
    return WORDS.get(word.upper(), "")


def from_priority(priority: int) -> str:
    """Return the level inside a syslog priority (facility * 8 + severity)."""
    return _SYSLOG[priority & 7]


def from_field(value: object) -> str:
    """Return the level in a field of a structured line: a word, a syslog or a Bunyan number."""
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return ""
    if 0 <= value < 8:
        return _SYSLOG[value]
    if 10 <= value <= 60:
        return (DEBUG, DEBUG, INFO, WARNING, ERROR, FATAL)[value // 10 - 1]
    return ""


@lru_cache(maxsize=256)
def _from_text(value: str) -> str:
    if value.isdigit() and len(value) < 3:
        return from_field(int(value))
    return from_word(value)


def leading(message: str) -> str:
    """Return the level that a message begins with: `error: ...`, `[warn] ...`, `ALERT exited`.

    Such a word is the program's way of talking, not a column of the log, so the worst that it
    can say is `error`: sshd's `fatal:` means that one connection ended.
    """
    match = _LEADING.match(message) or _PLAIN.match(message)
    level = WORDS.get(match["word"].upper(), "") if match else ""
    return ERROR if level == FATAL else level
