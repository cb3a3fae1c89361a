"""Ctrl-C: once is polite and in time, twice is at once."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.actors.cli.programs import boyd_process

pytestmark = pytest.mark.slow

POLITE = """
import trio
from boyd.actors.cli.console import say

async def command() -> None:
    try:
        say("begun")
        await trio.sleep_forever()
    finally:
        say("12 lines were read")
"""

STUBBORN = """
import trio
from boyd.actors.cli.console import say

async def command(how: str) -> None:
    say("begun")
    while how == "busy":
        pass
    with trio.CancelScope(shield=True):
        await trio.sleep_forever()
"""


def begun(folder: Path, text: str, *words: str) -> subprocess.Popen[str]:
    """A program that has said its first line."""
    (folder / "program.py").write_text(text)
    process = boyd_process("run", "program.py", *words, cwd=folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_lets_the_command_say_what_was_done(
    number: signal.Signals, code: int, folder: Path
) -> None:
    """Its clean-up runs, no traceback is shown, and the exit code names the signal."""
    process = begun(folder, POLITE)
    started = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (code, "12 lines were read\n", "")
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("how", ["busy", "shielded"])
def test_what_does_not_stop_is_left_after_two_seconds(how: str, folder: Path) -> None:
    """A loop that never yields as well: the alarm does not go through Trio."""
    process = begun(folder, STUBBORN, how)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "\nboyd: something did not stop in time and was left; the ledger is valid\n"
    assert 1.5 < time.monotonic() - started < 4


def test_the_second_signal_ends_it_at_once(folder: Path) -> None:
    """Nothing more is waited for."""
    process = begun(folder, STUBBORN, "shielded")
    started = time.monotonic()
    while process.poll() is None and time.monotonic() - started < 30:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)  # two that come together count as one
    process.communicate()
    assert process.returncode == 130
    assert time.monotonic() - started < 1.5
