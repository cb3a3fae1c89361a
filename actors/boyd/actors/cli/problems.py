"""Errors as sentences for people, and the exit code that goes with them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import boyd.actors
import boyd.runtime
from boyd.actors.cli.visible import visible
from boyd.runtime import BoydError, RemoteFailure

__all__ = ["UsageError", "leaves", "sentence", "sentences"]

_OURS: Final = tuple(
    str(Path(folder).resolve())
    for package in (boyd.actors, boyd.runtime)
    for folder in package.__path__
)
_MOST: Final = 600


class UsageError(BoydError, ValueError):
    """The command line asks for something that cannot be done; says what can."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, however deep; the error itself where it is none."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
        yield from leaves(inner)


def sentences(error: BaseException) -> list[str]:
    """What went wrong, each thing once."""
    return list(dict.fromkeys(sentence(leaf) for leaf in leaves(error)))


def sentence(error: BaseException) -> str:
    """One error on one line: Boyd's own, the world's with its file, a bug with its place."""
    if isinstance(error, BoydError):
        text = str(error) or type(error).__name__
        if isinstance(error, RemoteFailure) and (place := _place(error.__cause__)):
            text = f"{place}: {text}"
    elif isinstance(error, SyntaxError):
        text = f"{_short(error.filename or '?')}:{error.lineno}: {error.msg}"
    elif isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        text = f"{' -> '.join(names)}: {error.strerror}" if names else error.strerror
    else:
        kind = type(error).__name__
        text = f"{kind}: {error}" if str(error) else kind
        if place := _place(error):
            text = f"{place}: {text}"
    text += "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    line = " ".join(visible(text).split())
    return line if len(line) <= _MOST else f"{line[:_MOST]}…"


def _place(error: BaseException | None) -> str:
    """Where in the user's own code it happened."""
    found = ""
    for frame in traceback.extract_tb(None if error is None else error.__traceback__):
        path = Path(frame.filename)
        foreign = frame.filename.startswith(("<", sys.base_prefix)) or "site-packages" in path.parts
        if not foreign and not frame.filename.startswith(_OURS):
            found = f"{_short(frame.filename)}:{frame.lineno}"
    return found


def _short(path: str) -> str:
    """Relative to the current folder, if it is below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path
