"""What the parts of one `boyd` command share."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

import attrs
import trio

__all__ = ["LiveView", "Session", "current_session", "open_session"]


class LiveView(Protocol):
    """What is drawn on the terminal now and has to make room for words."""

    def above(self, text: str) -> None:
        """Put a line above it."""
        ...

    def pause(self) -> None:
        """Take it off the terminal."""
        ...

    def resume(self) -> None:
        """Draw it again."""
        ...


@attrs.define(eq=False)
class Session:
    """One command from its arguments to its exit code.

    Attributes:
        debug: errors come with tracebacks.
        target: what is being run, as ledgers record it.
        began: work was done, so a failure is one in the middle.
        stdout_is_data: words for people go to standard error.
        log_muted: the runtime's warnings are not shown.
        view: what is drawn on the terminal now.
        asking: held by whoever asks the person something.
    """

    debug: bool = False
    target: str = ""
    began: bool = False
    stdout_is_data: bool = False
    log_muted: bool = False
    view: LiveView | None = None
    asking: trio.Lock = attrs.field(factory=trio.Lock)


_session: Final[ContextVar[Session]] = ContextVar("boyd_cli_session")


def current_session() -> Session:
    """That of the command being run; a fresh one in a program of its own."""
    session = _session.get(None)
    if session is None:
        session = Session()
        _session.set(session)
    return session


@contextmanager
def open_session(*, debug: bool = False) -> Generator[Session]:
    """A session for as long as the block runs."""
    session = Session(debug=debug)
    token = _session.set(session)
    try:
        yield session
    finally:
        _session.reset(token)
