"""Questions at the terminal, asked without a thread and without holding the loop."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from typing import Final

import trio

from boyd.actors.cli.output import say, stream_for_people, write
from boyd.actors.cli.session import current_session
from boyd.actors.cli.visible import visible
from boyd.actors.events import Approve, Pending, Reject
from boyd.actors.tools.questions import Answer

__all__ = ["REFUSED", "ask_approval", "can_ask", "described"]

REFUSED: Final = "refused at the terminal"
_LONGEST: Final = 4096
"""Bytes of an answer: what a terminal's line holds."""


def can_ask() -> bool:
    """Whether a person sits at standard input and sees the question."""
    # Under a view the stream is rich's, and older ones do not know that it is a terminal.
    seen = current_session().view is not None or stream_for_people().isatty()
    return bool(sys.stdin) and sys.stdin.isatty() and seen


async def ask_approval(
    pending: Pending, seconds: float | None = 15.0, *, question: str = ""
) -> Answer | None:
    """Ask the person at the terminal to approve a call; None is no answer, or nobody to ask.

    Enter alone refuses, as the prompt `[y/N, 15 s]` says. What was typed before
    the question does not count. One question at a time; a view makes room.

    Args:
        seconds: how long the answer is waited for; None is for ever.
        question: in place of the call as it would be made.
    """
    if not can_ask():
        return None
    session = current_session()
    async with session.asking:
        if session.view is not None:
            session.view.pause()
        try:
            answer = await _ask(question or f"{described(pending)}?", seconds)
        finally:
            if session.view is not None:
                session.view.resume()
    return answer


async def _ask(question: str, seconds: float | None) -> Answer | None:
    _forget_what_was_typed()
    choice = "[y/N] " if seconds is None else f"[y/N, {seconds:.0f} s] "
    wide = len(question) + len(choice) < shutil.get_terminal_size().columns
    prompt = f"{question}{' ' if wide else chr(10)}{choice}"
    answer: Answer | None = None
    try:
        with trio.move_on_after(float("inf") if seconds is None else seconds):
            answer = await _answer_to(prompt)
    finally:
        if answer is None:
            say()  # nobody pressed Enter, so the cursor stands behind the question
    if answer is None:
        _forget_what_was_typed()  # half an answer is not for the shell either
        say("no answer")
    return answer


async def _answer_to(prompt: str) -> Answer | None:
    """Put the question until the answer is yes or no; None at the end of input."""
    while True:
        write(prompt)
        line = await _read_line()
        if line is None:
            return None
        match line.strip().lower():
            case "y" | "yes":
                return Approve()
            case "" | "n" | "no":
                return Reject(REFUSED)
            case _:
                say("Please answer y or n.")


async def _read_line() -> str | None:
    """The next line, which a terminal in its line mode gives whole; None at the end of input."""
    fd = sys.stdin.fileno()
    try:
        await trio.lowlevel.wait_readable(fd)
        data = os.read(fd, _LONGEST)
    except OSError:
        return None  # the terminal is gone
    return data.decode(errors="replace") if data else None


def _forget_what_was_typed() -> None:
    with suppress(ImportError, OSError):
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def described(pending: Pending) -> str:
    """What is asked, on one line: the call with all its arguments, or the question."""
    if pending.call is None:
        return visible(str(pending.payload)).replace("\n", "\\n")
    arguments = ", ".join(f"{name}={value!r}" for name, value in pending.call.arguments.items())
    return visible(f"{pending.call.tool}({arguments})").replace("\n", "\\n")
