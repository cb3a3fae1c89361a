"""Running a command under Trio so that Ctrl-C ends it politely, and in time.

The first SIGINT or SIGTERM cancels the command, which may say in its clean-up
what was done. What has not ended after 1.9 s, or by the second signal, is
ended by force: a ledger is valid at every moment.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

import attrs
import trio

__all__ = ["Interrupted", "run_interruptibly"]

T = TypeVar("T")

LAST_SECONDS: Final = 1.9
"""What a command may take to end after the first signal."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR: Final = b"\x1b[?25h"
_TOO_LONG: Final = b"\nboyd: something did not stop in time and was left; the ledger is valid\n"


class Interrupted(Exception):  # named for the fact
    """A signal ended the command.

    Attributes:
        code: the exit code that shells use for it, 130 for Ctrl-C.
        error: what went wrong during the clean-up, if something did.
    """

    def __init__(self, number: int, error: Exception | None) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number
        self.error = error


def run_interruptibly(work: Callable[[], Awaitable[T]]) -> T:
    """`trio.run`, with the signals as described above.

    Raises:
        Interrupted: by one of them.
    """
    stop = _Stop()
    result: T | None = None

    async def main() -> None:
        nonlocal result
        with trio.CancelScope() as scope:
            stop.arm(trio.lowlevel.current_trio_token(), scope)
            result = await work()

    failed: Exception | None = None
    with stop.handling():
        try:
            trio.run(main)
        except Exception as error:  # noqa: BLE001  # raised again below, unless a signal explains the end
            failed = error
    if stop.number:
        raise Interrupted(stop.number, failed)
    if failed is not None:
        raise failed
    return result  # type: ignore[return-value]  # None only after a signal


@attrs.define(eq=False)
class _Stop:
    """The signals of one run.

    Attributes:
        number: of the first one, 0 before.
    """

    number: int = 0
    token: trio.lowlevel.TrioToken | None = None
    scope: trio.CancelScope | None = None

    def arm(self, token: trio.lowlevel.TrioToken, scope: trio.CancelScope) -> None:
        """From now on there is something to cancel."""
        self.token, self.scope = token, scope
        if self.number:
            scope.cancel()

    @contextmanager
    def handling(self) -> Generator[None]:
        """Have the signals, where they can be had and nobody has them ignored."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = [one for one in _SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]
        before = {one: signal.signal(one, self._first_or_second) for one in wanted}
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._too_long)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _first_or_second(self, number: int, _frame: FrameType | None) -> None:
        if self.number:
            _leave(128 + number)
        self.number = number
        # Not through Trio: its loop may be what hangs.
        signal.setitimer(signal.ITIMER_REAL, LAST_SECONDS)
        if self.token is not None and self.scope is not None:
            self.token.run_sync_soon(self.scope.cancel, idempotent=True)

    def _too_long(self, _number: int, _frame: FrameType | None) -> None:
        os.write(2, _TOO_LONG)
        _leave(128 + self.number)


def _leave(code: int) -> None:
    """End the process now; nothing is cleaned up but the terminal."""
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            os.write(stream.fileno(), _SHOW_CURSOR)
            break
    os._exit(code)
