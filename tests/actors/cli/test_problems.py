"""Errors in the middle, groups, broken pipes, and strange characters."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import pytest

from boyd.actors.cli import main
from boyd.actors.cli.problems import sentences
from boyd.runtime import BoydError, LedgerUnavailable
from tests.actors.cli.programs import boyd_process

Capture = pytest.CaptureFixture[str]

FAILS = """
import logging, sys, trio
from boyd.actors.cli import console
from boyd.runtime import LedgerUnavailable

async def command(how: str) -> int:
    logging.getLogger("boyd").warning("a scout crashed")
    if how == "before":
        raise LedgerUnavailable("the disk is full")
    console.work_began()
    match how:
        case "middle":
            raise LedgerUnavailable("the disk is full")
        case "group":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(command, "middle")
                nursery.start_soon(command, "bug")
        case "bug":
            return 1 // 0
        case "file":
            open("/nowhere/at/all")
        case "exit":
            sys.exit(9)
        case "view":
            rows = [console.Row(name="a", done=1)]
            async with console.open_view(lambda: rows):
                await trio.sleep(0.01)
                raise LedgerUnavailable("the disk is full")
    return 0
"""


needs_a_full_disk = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no device that is always full"
)


@contextmanager
def full_disk() -> Generator[TextIO]:
    """A stream that takes what is written and then cannot keep it."""
    stream = Path("/dev/full").open("w")  # noqa: SIM115  # closed below, where it fails again
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()


@pytest.fixture(autouse=True)
def program(folder: Path) -> None:
    """One that fails as it is told."""
    (folder / "fails.py").write_text(FAILS)


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("before", 2, ["boyd: the disk is full"]),
        ("middle", 1, ["boyd: the disk is full"]),
        ("view", 1, ["boyd: the disk is full"]),
        ("bug", 1, ["boyd: fails.py:19: ZeroDivisionError: integer division or modulo by zero"]),
        ("file", 1, ["boyd: /nowhere/at/all: No such file or directory"]),
        ("exit", 9, []),
    ],
)
def test_a_failure_is_one_sentence_and_a_code_that_says_when(
    how: str, code: int, said: list[str], capsys: Capture
) -> None:
    """2 before work began, 1 in the middle."""
    assert main(["run", "fails.py", how]) == code
    assert capsys.readouterr().err.splitlines() == ["a scout crashed", *said]


def test_a_group_is_told_as_its_errors_each_once(capsys: Capture) -> None:
    """However deep they are."""
    assert main(["run", "fails.py", "group"]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("boyd: ")]
    assert sorted(lines) == [
        "boyd: fails.py:19: ZeroDivisionError: integer division or modulo by zero",
        "boyd: the disk is full",
    ]
    nested = ExceptionGroup("x", [ExceptionGroup("y", [BoydError("same")]), BoydError("same")])
    assert sentences(nested) == ["same"]


def test_notes_of_an_error_are_told_with_it() -> None:
    """The runtime says there which actor it was."""
    error = LedgerUnavailable("full")
    error.add_note("in actor /bank/acc")
    assert sentences(error) == ["full (in actor /bank/acc)"]


def test_the_log_is_as_it_was_afterwards() -> None:
    """A program that calls `main` keeps its own logging."""
    logger = logging.getLogger("boyd")
    before = (list(logger.handlers), logger.level, logger.propagate)
    main(["run", "fails.py", "middle", "--debug"])
    assert (list(logger.handlers), logger.level, logger.propagate) == before


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    """`boyd ... | head -1` is quiet."""
    (folder / "talks.py").write_text(
        "from boyd.actors.cli.console import say\n"
        "async def command() -> None:\n    for n in range(100_000):\n        say(f'line {n}')\n"
    )
    process = boyd_process("run", "talks.py", cwd=folder)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "line 0\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(30) == 141


@needs_a_full_disk
@pytest.mark.parametrize("how", ["say", "emit", "write", "print"])
def test_output_for_which_there_is_no_room_is_named(
    how: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The system says only that there is no space, and not where."""
    (folder / "talks.py").write_text(
        "from boyd.actors.cli.console import emit, say, write\n"
        f"async def command() -> None:\n    {how}('words')\n"
    )
    with full_disk() as stream:
        monkeypatch.setattr("sys.stdout", stream)
        assert main(["run", "talks.py"]) == 2
    assert capsys.readouterr().err == "boyd: standard output: No space left on device\n"


@needs_a_full_disk
def test_where_nobody_can_be_told_the_exit_code_is_what_it_would_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Standard error on a full disk is no error of its own."""
    with full_disk() as stream:
        monkeypatch.setattr("sys.stderr", stream)
        assert main(["run", "nothing.py"]) == 2


@pytest.mark.slow
def test_no_character_is_worth_a_crash(folder: Path) -> None:
    """Where the terminal's encoding lacks it, it is shown as an escape."""
    (folder / "speaks.py").write_text(
        "from boyd.actors.cli.console import emit, say\n"
        "async def command() -> None:\n    say('caf\\xe9 \\ud800')\n    emit({'x': '\\x9b'})\n"
    )
    process = boyd_process("run", "speaks.py", cwd=folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    out, err = process.communicate(timeout=30)
    first, second = out.splitlines()
    assert first == "caf\\xe9 \\ud800"
    assert json.loads(second) == {"x": "\x9b"}
    assert (process.returncode, err) == (0, "")


@pytest.mark.slow
def test_standard_input_that_is_closed_is_nobody_to_ask(folder: Path) -> None:
    """A daemon may start us without one."""
    (folder / "asks.py").write_text(
        "from boyd.actors.cli.console import ask_approval, can_ask, say\n"
        "from boyd.actors import Pending\n"
        "async def command() -> None:\n"
        "    say(f'{can_ask()} {await ask_approval(Pending(id=\"t!1\"))}')\n"
    )
    process = boyd_process("run", "asks.py", cwd=folder)
    out, _ = process.communicate(timeout=30)
    assert out == "False None\n"
