"""`boyd run`: a user's agent, on a thread, streamed, resumed, for people and for programs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import trio

from boyd.actors.cli import main
from boyd.runtime import open_ledger
from tests.actors.cli.programs import AGENT, DESK, WATCHER

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def programs(folder: Path) -> None:
    """Three agents in the current folder."""
    (folder / "agent.py").write_text(AGENT)
    (folder / "desk.py").write_text(DESK)
    (folder / "watcher.py").write_text(WATCHER)


def test_an_agent_streams_its_words_and_shows_its_tools(capsys: Capture) -> None:
    """Words go to standard output; tools, and what the run took, to standard error."""
    assert main(["run", "agent.py", "How warm?"]) == 0
    out, err = capsys.readouterr()
    assert out == "Let me look.\nIt is 21.5 degrees.\n"
    assert err.splitlines()[:2] == ["· weather(city='Utrecht')", "  weather = 21.5"]
    assert err.splitlines()[2].startswith("weather-1: 2 steps, 1 call, ")


def test_each_run_has_a_thread_of_its_own_in_the_default_ledger(capsys: Capture) -> None:
    """boyd.db in the current folder; threads are numbered."""
    assert [main(["run", "agent.py", "How warm?"]) for _ in range(3)] == [0, 0, 0]
    capsys.readouterr()
    assert main(["threads"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["thread", "weather-3", "weather-2", "weather-1"]
    assert Path("boyd.db").exists()


def test_the_environment_names_the_ledger_unless_the_option_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--ledger, then BOYD_LEDGER, then the default."""
    monkeypatch.setenv("BOYD_LEDGER", "sqlite:other.db")
    assert main(["run", "agent.py", "x"]) == 0
    assert main(["run", "agent.py", "x", "--ledger", "sqlite:third.db"]) == 0
    assert sorted(path.name for path in Path().glob("*.db")) == ["other.db", "third.db"]


def test_a_named_thread_is_a_conversation_that_goes_on(capsys: Capture) -> None:
    """The second prompt follows the first in one thread."""
    for prompt in ("How warm?", "And now?"):
        assert main(["run", "agent.py", prompt, "--thread", "talk"]) == 0
    capsys.readouterr()
    assert main(["show", "talk", "--kind", "boyd.turn"]) == 0
    out = capsys.readouterr().out
    assert "How warm?" in out
    assert "And now?" in out


def test_json_prints_one_object_and_nothing_else_on_standard_output(capsys: Capture) -> None:
    """A program reads thread, status, output and usage."""
    assert main(["run", "agent.py", "How warm?", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["thread"], result["status"]) == ("weather-1", "done")
    assert result["output"] == "It is 21.5 degrees."
    assert result["usage"]["steps"] == 2


def test_a_prompt_can_come_from_standard_input(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-` is no option."""
    monkeypatch.setattr("sys.stdin", io.StringIO("How warm?\n"))
    assert main(["run", "agent.py", "-"]) == 0
    assert "It is 21.5 degrees." in capsys.readouterr().out


def test_without_a_person_a_question_pauses_the_run(capsys: Capture) -> None:
    """Exit code 3, and the two commands that bring it to its end, which work."""
    assert main(["run", "desk.py", "Order 7 came broken."]) == 3
    err = capsys.readouterr().err
    assert "waits for an approval: refund(order='7', euros=9.5)\n  boyd approve desk-1 1\n" in err
    assert "  boyd run desk.py --thread desk-1 --resume\n" in err
    assert main(["approve", "desk-1", "1"]) == 0
    capsys.readouterr()
    assert main(["run", "desk.py", "--resume"]) == 0
    assert capsys.readouterr().out == "Done: refunded 9.5 for 7\n"


def test_a_refusal_reaches_the_model_with_its_reason(capsys: Capture) -> None:
    """The run goes on, and the call was not made."""
    assert main(["run", "desk.py", "Order 7 came broken."]) == 3
    assert main(["approve", "desk-1", "1", "--reject", "--reason", "over the limit"]) == 0
    capsys.readouterr()
    assert main(["run", "desk.py", "--resume"]) == 0
    assert "a person refused this call: over the limit" in capsys.readouterr().out


def test_a_ledger_in_memory_promises_no_way_to_go_on(capsys: Capture) -> None:
    """The question is shown; no command could find it again."""
    assert main(["run", "desk.py", "Order 7 came broken.", "--ledger", "memory:"]) == 3
    assert capsys.readouterr().err.splitlines()[:2] == [
        "waits for an approval: refund(order='7', euros=9.5)",
        "  and is forgotten with this ledger",
    ]


def test_an_ooda_agent_shows_its_decisions_and_its_output(capsys: Capture) -> None:
    """A call that needs an approval is passed by, and named at the end."""
    assert main(["run", "watcher.py", "mail"]) == 0
    out, err = capsys.readouterr()
    assert out == "watcher, cycle 1: add_worker(queue='mail') (pressure 2.0)\n2.0\n"
    assert "boyd approve watcher-1 1" in err
    assert "\x1b" not in out + err


def test_an_ooda_thread_is_not_run_twice_by_accident(capsys: Capture) -> None:
    """--resume says that one means it; the input is remembered."""
    assert main(["run", "watcher.py", "mail", "--thread", "w"]) == 0
    capsys.readouterr()
    assert main(["run", "watcher.py", "mail", "--thread", "w"]) == 2
    assert "thread w is there already: add --resume" in capsys.readouterr().err
    assert main(["run", "watcher.py", "--thread", "w", "--resume"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["agent.py"], "weather needs a prompt"),
        (["agent.py", "x", "--thread", "t", "--resume"], "no thread 't' to go on with"),
        (["agent.py", "--resume"], "no thread of weather to go on with"),
        (
            ["agent.py", "--resume", "--ledger", "memory:"],
            "memory: has no thread of weather to go on with",
        ),
        (
            ["agent.py", "x", "--resume", "--thread", "t", "--ledger", "memory:"],
            "memory: has no thread 't' to go on with",
        ),
        (["agent.py", "x", "--ledger", "sqlite:/nowhere/x.db"], "there is no folder /nowhere"),
        (["agent.py", "x", "--ledger", "sqlite:agent.py"], "agent.py is not a Boyd ledger"),
    ],
)
def test_what_cannot_be_run_is_refused_before_work_began(
    words: list[str], said: str, capsys: Capture
) -> None:
    """Exit code 2."""
    assert main(["run", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_thread_that_another_process_runs_is_refused(capsys: Capture) -> None:
    """By its lease, and plainly."""

    async def take() -> None:
        async with open_ledger("sqlite:boyd.db") as ledger:
            await ledger.acquire("t", owner="pid 7 elsewhere")

    trio.run(take)
    assert main(["run", "agent.py", "x", "--thread", "t"]) == 2
    assert "t is being run by pid 7 elsewhere" in capsys.readouterr().err


COUNTER = """
from collections.abc import Sequence
from boyd.actors import Decision, Ooda

async def look(number: int) -> int:
    return 10 // number

async def half(sample: int) -> float:
    return sample / 2

async def worst(readings: Sequence[float]) -> float:
    return max(readings)

async def choose(pressure: float) -> Decision:
    return Decision(stop=True)

counter = Ooda(observe=look, facets=[half], synthesize=worst, decide=choose, name="counter")
"""


def test_an_input_of_another_type_is_json_and_is_remembered(folder: Path, capsys: Capture) -> None:
    """`look(number: int)` takes 5, not "five"; a resume needs it no more."""
    (folder / "counter.py").write_text(COUNTER)
    assert main(["run", "counter.py", "5"]) == 0
    assert main(["run", "counter.py", "--resume"]) == 0
    assert capsys.readouterr().out == "1.0\n1.0\n"
    assert main(["run", "counter.py", "five"]) == 2
    assert "the input does not fit: int: expected int, got str" in capsys.readouterr().err


def test_a_bug_in_an_actor_is_told_with_its_place(folder: Path, capsys: Capture) -> None:
    """Though it happened behind a message: the file, the line, and the actor."""
    (folder / "counter.py").write_text(COUNTER)
    assert main(["run", "counter.py", "0"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("boyd: counter.py:6: ZeroDivisionError: integer division")
    assert "in actor /counter/observe" in last
