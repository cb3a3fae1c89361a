"""A real terminal: the view is drawn and makes room, questions are asked and time out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.cli.programs import DESK, WATCHER, Terminal, run_boyd

pytestmark = pytest.mark.slow

SHOW_CURSOR = "\x1b[?25h"
HIDE_CURSOR = "\x1b[?25l"

VIEW = """
import trio
from boyd.actors.cli.console import Row, open_view, say, warn

async def command() -> None:
    n = 0
    rows = lambda: [Row(name="auth.log", phase="observe", done=n, total=90)]
    async with open_view(rows, title="demo"):
        for n in range(0, 91, 30):
            say(f"found at {n}")
            await trio.sleep(0.2)
        warn("one warning")
        if n:
            await trio.sleep_forever()
"""

DATA = """
from boyd.actors.cli.console import Row, emit, keep_stdout_for_data, open_view, say

async def command() -> None:
    keep_stdout_for_data()
    async with open_view(lambda: [Row(name="auth.log", done=1)]):
        emit({"n": 1})
        say("for a person")
        print("printed", flush=True)
    emit({"n": 2})
"""

ASK = """
import trio
from boyd.actors import Call, Pending
from boyd.actors.cli.console import Row, ask_approval, described, open_view, say

async def command(*, seconds: float = 15.0, times: int = 1) -> None:
    pending = Pending(id="t!1", call=Call("block", {"address": "203.0.113.7\\x1b[2J"}))
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await trio.sleep(0.01)

    async with open_view(lambda: [Row(name="auth.log", done=1)]), trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        await trio.sleep(0.2)
        for n in range(times):
            before = beats
            question = f"{n}: {described(pending)}?"
            answer = await ask_approval(pending, seconds, question=question)
            say(f"answer {n}: {answer}, the loop went on: {beats > before}")
        nursery.cancel_scope.cancel()
"""


def test_the_view_is_drawn_over_itself_and_words_stand_above_it(folder: Path) -> None:
    """The cursor comes back, also after Ctrl-C."""
    (folder / "view.py").write_text(VIEW)
    with Terminal("run", "view.py", cwd=folder) as terminal:
        terminal.wait_for("found at 60", "one warning", "90/90", HIDE_CURSOR)
        assert "━" in terminal.text
        terminal.interrupt()
        assert terminal.wait() == 130
        assert terminal.text.rindex(SHOW_CURSOR) > terminal.text.rindex(HIDE_CURSOR)


def test_data_go_to_a_file_while_the_view_is_drawn(folder: Path) -> None:
    """With standard output redirected, the view and its words keep to the terminal."""
    (folder / "data.py").write_text(DATA)
    with Terminal("run", "data.py", cwd=folder, out=folder / "out") as terminal:
        assert terminal.wait() == 0
        assert "auth.log" in terminal.text
        assert "for a person" in terminal.text
    assert (folder / "out").read_text() == '{"n": 1}\nprinted\n{"n": 2}\n'


def test_no_colour_is_respected(folder: Path) -> None:
    """NO_COLOR leaves bold, and no colours."""
    (folder / "view.py").write_text(VIEW)
    with Terminal("run", "view.py", cwd=folder, NO_COLOR="1") as terminal:
        terminal.wait_for("90/90")
        assert "\x1b[36m" not in terminal.text
        assert "\x1b[2;36m" not in terminal.text


def test_a_dumb_terminal_gets_lines(folder: Path) -> None:
    """No escape sequence at all."""
    (folder / "view.py").write_text(VIEW)
    with Terminal("run", "view.py", cwd=folder, TERM="dumb") as terminal:
        terminal.wait_for("found at 90", "one warning")
        terminal.interrupt()
        assert terminal.wait() == 130
        assert "\x1b" not in terminal.text


def test_questions_are_asked_and_answered(folder: Path) -> None:
    """The view makes room, and the call is shown without tricks."""
    typed = {
        "y\n": "Approve(",
        "YES\n": "Approve(",
        "\n": "Reject(reason='refused at the terminal')",
        "n\n": "Reject(",
        "what?\ny\n": "Approve(",
        "\x04": "None",
    }
    (folder / "ask.py").write_text(ASK)
    with Terminal("run", "ask.py", "--times", str(len(typed)), cwd=folder) as terminal:
        for number, (keys, answer) in enumerate(typed.items()):
            terminal.wait_for(f"{number}: block(address='203.0.113.7\\x1b[2J')? [y/N, 15 s] ")
            for line in keys.splitlines(keepends=True):
                terminal.type(line)
                if line == "what?\n":
                    terminal.wait_for("Please answer y or n.")
            terminal.wait_for(f"answer {number}: {answer}")
        assert terminal.wait() == 0


def test_no_answer_in_time_is_no_answer(folder: Path) -> None:
    """Half an answer neither counts nor stays behind for the shell."""
    (folder / "ask.py").write_text(ASK)
    with Terminal("run", "ask.py", "--seconds", "0.5", cwd=folder) as terminal:
        terminal.wait_for("[y/N, 0 s] ")
        terminal.type("y")
        assert terminal.wait() == 0
        assert "[y/N, 0 s] y\r\nno answer\r\n" in terminal.text
        assert "answer 0: None, the loop went on: True" in terminal.text


def test_what_was_typed_before_the_question_does_not_count(folder: Path) -> None:
    """An Enter too many must not refuse, and an early y must not approve."""
    (folder / "ask.py").write_text(ASK)
    with Terminal("run", "ask.py", cwd=folder) as terminal:
        terminal.type("y\n")
        terminal.wait_for("[y/N, 15 s] ")
        terminal.type("n\n")
        assert terminal.wait() == 0
        assert "answer 0: Reject(" in terminal.text


def test_an_agent_waits_for_the_answer_as_long_as_it_takes(folder: Path) -> None:
    """A refund is approved at the prompt, made, and told to the model."""
    (folder / "desk.py").write_text(DESK)
    with Terminal("run", "desk.py", "Order 7 came broken.", cwd=folder) as terminal:
        terminal.wait_for("refund(order='7', euros=9.5)? [y/N] ")
        terminal.type("y\n")
        assert terminal.wait() == 0
        assert "Done: refunded 9.5 for 7" in terminal.text


def test_an_agent_that_is_left_without_an_answer_is_paused(folder: Path) -> None:
    """Ctrl-D leaves the question open, and the commands that go on are shown."""
    (folder / "desk.py").write_text(DESK)
    with Terminal("run", "desk.py", "Order 7 came broken.", cwd=folder) as terminal:
        terminal.wait_for("[y/N] ")
        terminal.type("\x04")
        assert terminal.wait() == 3
        assert "[y/N] \r\nno answer\r\n" in terminal.text
        assert "-m boyd approve desk-1 1" in terminal.text
    assert run_boyd("approve", "desk-1", "1", cwd=folder)[0] == 0
    code, out, _ = run_boyd("run", "desk.py", "--resume", cwd=folder)
    assert (code, out) == (0, "Done: refunded 9.5 for 7\n")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite:boyd.db", "what was done stands in thread desk-1; go on: "),
        ("memory:", "what was done is gone with its ledger, which was in memory"),
    ],
)
def test_what_is_said_after_ctrl_c_at_a_question_begins_a_line_and_is_true(
    address: str, said: str, folder: Path
) -> None:
    """The question stands on a line of its own."""
    (folder / "desk.py").write_text(DESK)
    words = ("run", "desk.py", "Order 7 came broken.", "--ledger", address)
    with Terminal(*words, cwd=folder) as terminal:
        terminal.wait_for("[y/N] ")
        terminal.interrupt()
        assert terminal.wait() == 130
        assert f"\n{said}" in terminal.text


def test_an_ooda_agent_is_answered_beside_its_work(folder: Path) -> None:
    """The approved call is made, though the run has come to its end meanwhile."""
    (folder / "watcher.py").write_text(WATCHER)
    with Terminal("run", "watcher.py", "mail", cwd=folder) as terminal:
        terminal.wait_for("add_worker(queue='mail')? [y/N, 15 s] ")
        terminal.type("y\n")
        assert terminal.wait() == 0
        assert "add_worker = started for mail on watcher-1" in terminal.text
        assert "approve" not in terminal.text
