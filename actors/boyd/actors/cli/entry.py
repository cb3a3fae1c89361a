"""`boyd ARGUMENTS...` from the words to the exit code."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from boyd.actors.cli.commands import call_for
from boyd.actors.cli.interrupt import Interrupted, run_interruptibly
from boyd.actors.cli.output import flush, warn
from boyd.actors.cli.parsing import is_async
from boyd.actors.cli.problems import leaves, sentences
from boyd.actors.cli.session import Session, current_session, open_session

__all__ = ["run_command_line"]

_DEBUG: Final = "--debug"
_BROKEN_PIPE: Final = 128 + 13


def run_command_line(arguments: Sequence[str]) -> int:
    """Run it and say what went wrong; the exit code.

    0 is good, 2 wrong before work began, 1 a failure in the middle, 130 Ctrl-C,
    and a command may return its own. `--debug` may stand anywhere.
    """
    words = [word for word in arguments if word != _DEBUG]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no character is worth a crash
    with open_session(debug=len(words) < len(arguments)) as session, _Log(session):
        try:
            code = _run(words)
            flush()
        except KeyboardInterrupt:
            return 130
        except Interrupted as end:
            if end.error is not None:
                _tell(end.error, session)
            return end.code
        except BaseException as error:  # noqa: BLE001  # the end of the program: told to the person
            return _ended_by(error, session)
        return code


def _run(words: Sequence[str]) -> int:
    call = call_for(words)
    result: Any = run_interruptibly(call) if is_async(call) else call()
    return result if isinstance(result, int) else 0


def _ended_by(error: BaseException, session: Session) -> int:
    found = list(leaves(error))
    for leaf in found:
        match leaf:
            case BrokenPipeError():
                _close_stdout()
                return _BROKEN_PIPE
            case SystemExit(code=int(code)):
                return code
            case SystemExit(code=None):
                return 0
            case KeyboardInterrupt():
                return 130
            case _:
                pass
    _tell(error, session)
    return 1 if session.began else 2


def _tell(error: BaseException, session: Session) -> None:
    with suppress(OSError):  # a pipe without a reader, a full disk: there is nobody to tell
        if session.debug:
            sys.stderr.write("".join(traceback.format_exception(error)))
        for line in sentences(error):
            warn(f"boyd: {line}")


def _close_stdout() -> None:
    """Nobody reads it any more; what is left in its buffer must not fail again at the exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Log(logging.Handler):
    """Shows the runtime's warnings while the block runs, with tracebacks under `--debug`."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.DEBUG if session.debug else logging.WARNING)
        self._session = session
        self._logger = logging.getLogger("boyd")
        self._before = (self._logger.level, self._logger.propagate)

    def __enter__(self) -> None:
        self._logger.addHandler(self)
        self._logger.propagate = False
        if self._session.debug:
            self._logger.setLevel(logging.DEBUG)

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.level, self._logger.propagate = self._before

    def emit(self, record: logging.LogRecord) -> None:
        if not current_session().log_muted:
            try:
                warn(self.format(record))
            except OSError:
                self.handleError(record)
