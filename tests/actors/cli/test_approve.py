"""`boyd approve`: questions listed by number, and settled once."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from boyd.actors.cli import main
from boyd.runtime import open_ledger
from tests.actors.cli.programs import DESK, WATCHER

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def programs(folder: Path) -> None:
    """Two agents that ask."""
    (folder / "desk.py").write_text(DESK)
    (folder / "watcher.py").write_text(WATCHER)


def approve(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """Exit code and output of `boyd approve WORDS...`."""
    capsys.readouterr()
    code = main(["approve", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_without_a_number_the_open_questions_are_listed(capsys: Capture) -> None:
    """Each with all its arguments."""
    main(["run", "desk.py", "hi"])
    code, out, _ = approve(capsys, "desk-1")
    assert code == 0
    assert out.splitlines()[0] == "  1  refund(order='7', euros=9.5)"


def test_an_approved_call_is_made_with_the_named_tool_in_its_swarm(capsys: Capture) -> None:
    """The tool finds the blackboard that it would have had in the run."""
    main(["run", "watcher.py", "mail"])
    code, out, _ = approve(capsys, "watcher-1", "1", "--target", "watcher.py")
    assert (code, out) == (
        0,
        "approve: add_worker(queue='mail')\nstarted for mail on watcher-1\n",
    )
    code, out, _ = approve(capsys, "watcher-1")
    assert out == "nothing in watcher-1 waits for an approval\n"


def test_a_question_can_be_named_by_its_id(capsys: Capture) -> None:
    """As the ledger has it."""
    main(["run", "watcher.py", "mail"])
    code, _, _ = approve(capsys, "watcher-1", "watcher-1!1.0", "--reject")
    assert code == 0


def test_a_tool_that_fails_is_a_failure(capsys: Capture) -> None:
    """Exit code 1, and the tool's words."""
    main(["run", "watcher.py", "broken"])
    code, out, _ = approve(capsys, "watcher-1", "1", "--target", "watcher.py")
    assert code == 1
    assert "no such queue" in out


def test_a_refusal_needs_no_program(capsys: Capture) -> None:
    """It is written down, with its reason."""
    main(["run", "watcher.py", "mail"])
    code, out, _ = approve(capsys, "watcher-1", "1", "--reject", "--reason", "not now")
    assert (code, out) == (0, "refuse: add_worker(queue='mail')\nrefused\n")
    main(["show", "watcher-1"])
    assert "answer      refused: not now" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["watcher-1", "1"], "to load that program for the tool add_worker, add --target"),
        (["watcher-1", "2"], "watcher-1 has no question 2: open are 1"),
        (["watcher-1", "1", "--target", "desk.py"], "has no tool add_worker"),
        (["nobody", "1"], "no thread 'nobody'"),
    ],
)
def test_what_cannot_be_settled_changes_nothing(
    words: list[str], said: str, capsys: Capture
) -> None:
    """Exit code 2, and the question stays open."""
    main(["run", "watcher.py", "mail"])
    code, _, err = approve(capsys, *words)
    assert code == 2
    assert said in err
    assert "  1  add_worker" in approve(capsys, "watcher-1")[1]


def test_a_question_is_settled_once(capsys: Capture) -> None:
    """And its number stays its own."""
    main(["run", "desk.py", "hi"])
    assert approve(capsys, "desk-1", "1")[0] == 0
    code, _, err = approve(capsys, "desk-1", "1")
    assert code == 2
    assert "question 1 of desk-1 was answered before" in err


@pytest.mark.parametrize("held", ["watcher-1", "watcher-1/inner"])
def test_a_run_that_is_alive_answers_for_itself(held: str, capsys: Capture) -> None:
    """Whoever holds its lease may be asking the same question just now."""
    main(["run", "watcher.py", "mail", "--thread", held])

    async def take() -> None:
        async with open_ledger("sqlite:boyd.db") as ledger:
            await ledger.acquire(held, owner="pid 7 elsewhere")

    trio.run(take)
    code, _, err = approve(capsys, held, "1", "--target", "watcher.py")
    assert code == 2
    assert f"{held} is being run by pid 7 elsewhere: answer there" in err
