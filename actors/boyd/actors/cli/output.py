"""Words for people and data for programs, each where it belongs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, TextIO

from boyd.actors.cli.session import current_session
from boyd.actors.cli.visible import visible

__all__ = ["emit", "flush", "keep_stdout_for_data", "say", "stream_for_people", "warn", "write"]

_C1: Final = re.compile("[\x7f-\x9f\u2028\u2029]")


def say(text: str = "") -> None:
    """One line for the person: on standard output, above the view if there is one.

    After `keep_stdout_for_data` it goes to standard error. Control characters are shown as text.
    """
    _line(text, stream_for_people())


def warn(text: str) -> None:
    """One line for the person, on standard error."""
    _line(text, sys.stderr)


def write(text: str) -> None:
    """Some text for the person, without a newline: what a model is saying just now."""
    stream = stream_for_people()
    with _named(stream):
        stream.write(visible(text))
        stream.flush()


def emit(value: object) -> None:
    """One JSON object on standard output, on one line, for a program."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=True)
    # JSON escapes C0 itself; the rest would reach a terminal.
    with _named(sys.stdout):
        print(_C1.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=True)


def flush() -> None:
    """Let standard output have what was printed so far."""
    with _named(sys.stdout):
        sys.stdout.flush()


def keep_stdout_for_data() -> None:
    """From now on `say` and the view use standard error: standard output is for `emit`."""
    current_session().stdout_is_data = True


def stream_for_people() -> TextIO:
    """Where words for people go."""
    return sys.stderr if current_session().stdout_is_data else sys.stdout


def _line(text: str, stream: TextIO) -> None:
    view = current_session().view
    if view is not None and stream.isatty():
        view.above(visible(text))
    else:
        with _named(stream):
            print(visible(text), file=stream, flush=True)


@contextmanager
def _named(stream: TextIO) -> Generator[None]:
    """Let an error say which stream could not be written: the system knows no name of it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = "standard error" if stream is sys.stderr else "standard output"
        raise
