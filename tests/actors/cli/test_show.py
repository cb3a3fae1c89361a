"""`boyd threads` and `boyd show`: what a ledger holds, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from boyd.actors.cli import main
from boyd.runtime import Entry, SupervisorDecided, message, open_ledger
from boyd.runtime.ledger import ANY
from tests.actors.cli.programs import AGENT, DESK, WATCHER

Capture = pytest.CaptureFixture[str]


@message("test.cli.seen")
class Seen:
    """A fact of a program's own."""

    what: str
    often: int = 1


@message("test.cli.spoken")
class Spoken:
    """A fact of a program's own that says how it reads."""

    what: str

    def __str__(self) -> str:
        return f"somebody said\n{self.what}"


@pytest.fixture(autouse=True)
def programs(folder: Path) -> None:
    """Three agents in the current folder."""
    (folder / "agent.py").write_text(AGENT)
    (folder / "desk.py").write_text(DESK)
    (folder / "watcher.py").write_text(WATCHER)


def shown(capsys: Capture, *words: str) -> str:
    """What `boyd WORDS...` says after everything that was said before."""
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


def append(thread: str, *messages: object) -> None:
    """Put messages into a thread of boyd.db."""

    async def work() -> None:
        async with open_ledger("sqlite:boyd.db") as ledger:
            tip = await ledger.tip(thread)
            entries = [Entry.of(one, id=f"e{tip}-{n}") for n, one in enumerate(messages)]
            await ledger.append(thread, entries, after=ANY)

    trio.run(work)


def without_times(text: str) -> list[str]:
    """Lines without number and time."""
    return [line[17:] for line in text.splitlines() if line[:5].strip().isdigit()]


def test_a_message_reads_as_its_class_says(capsys: Capture) -> None:
    """By its `__str__`, on one line; one whose class says nothing is told as JSON."""
    append("t", Spoken(what="hello"), Seen(what="tea"))
    assert without_times(shown(capsys, "show", "t")) == [
        "test.cli.spoken  somebody said hello",
        'test.cli.seen  {"what": "tea", "often": 1}',
    ]


def test_a_conversation_reads_like_one(capsys: Capture, folder: Path) -> None:
    """Who said what, with the calls and their results."""
    main(["run", "agent.py", "How warm?"])
    assert without_times(shown(capsys, "show", "weather-1")) == [
        f"started     weather, Agent, from {folder / 'agent.py'}: How warm?",
        "user        How warm?",
        "assistant   Let me look.",
        "tool        = 21.5",
        "assistant   It is 21.5 degrees.",
    ]


def test_an_ooda_thread_shows_cycles_decisions_and_questions(capsys: Capture) -> None:
    """And what is still open, with the command that settles it."""
    main(["run", "watcher.py", "mail"])
    out = shown(capsys, "show", "watcher-1")
    assert "cycle 1     observe: 4\n" in out
    assert 'decide: rules chose add_worker({"queue": "mail"}), because pressure 2.0' in out
    assert "question    add_worker(queue='mail')\n" in out
    assert out.endswith("  1  add_worker(queue='mail')\n  boyd approve watcher-1 NUMBER\n")


def test_crashes_and_runs_within_stand_below_the_thread(capsys: Capture) -> None:
    """They are threads of their own, named after it."""
    append("t", Seen(what="a wolf"))
    append("t/scout", Seen(what="a fox"))
    crash = SupervisorDecided(
        path="/t/scout",
        kind="Scout",
        epoch=1,
        verdict="restart",
        crash=1,
        budget=3,
        error="ValueError",
        message="boom",
    )
    append("t/scout/supervision", crash)
    out = shown(capsys, "show", "t")
    assert 'test.cli.seen  {"what": "a wolf", "often": 1}' in out
    assert "supervisor  /t/scout crashed (ValueError: boom): restarted (1 of 3)" in out
    assert "runs within it\n  boyd show t/scout\n" in out
    header, listed = shown(capsys, "threads").splitlines()
    assert header.split() == ["thread", "entries", "last", "entry", "what"]
    assert listed.split()[0] == "t"
    assert listed.endswith("  2 below")
    assert "t/scout" in shown(capsys, "threads", "--all")


def test_json_has_a_line_for_each_entry_with_all_of_it(capsys: Capture) -> None:
    """Products are readable trees, whatever type the program gave them."""
    main(["run", "watcher.py", "mail"])
    lines = [json.loads(line) for line in shown(capsys, "show", "watcher-1", "--json").splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0]["kind"] == "boyd.run_started"
    assert lines[0]["message"]["given"] == "mail"
    [observed] = [line for line in lines if line["message"].get("node") == "observe"]
    assert observed["message"]["product"] == 4
    threads = [json.loads(line) for line in shown(capsys, "threads", "--json").splitlines()]
    assert [one["thread"] for one in threads] == ["watcher-1"]


def test_entries_can_be_picked_by_place_and_kind(capsys: Capture) -> None:
    """--after and --kind, together."""
    main(["run", "agent.py", "How warm?"])
    words = ("show", "weather-1", "--json", "--after", "2", "--kind", "boyd.turn")
    lines = [json.loads(line) for line in shown(capsys, *words).splitlines()]
    assert [line["message"]["role"] for line in lines] == ["assistant", "tool", "assistant"]


def test_what_a_stranger_wrote_cannot_move_the_cursor(capsys: Capture) -> None:
    """Escape sequences are shown as text, also in names and in JSON."""
    evil = "\x1b[2J\x9b31m\u202egnp.exe"
    append(f"evil{chr(0x202E)}", Seen(what=evil))
    for words in (("threads",), ("show", "evil\u202e"), ("show", "evil\u202e", "--json")):
        out = shown(capsys, *words)
        assert not {"\x1b", "\x9b"} & set(out)
    assert "\\u202e" in shown(capsys, "threads")


def test_without_a_name_the_ledger_that_has_the_thread_is_found(capsys: Capture) -> None:
    """Among the *.db files of this folder that are Boyd's; two of them must be told apart."""
    Path("notes.db").write_bytes(b"somebody else's")
    main(["run", "agent.py", "x", "--ledger", "sqlite:a.db", "--thread", "one"])
    main(["run", "agent.py", "x", "--ledger", "sqlite:b.db", "--thread", "two"])
    assert "How" not in shown(capsys, "show", "two")
    assert "sqlite:a.db:" in shown(capsys, "threads")
    main(["run", "agent.py", "x", "--ledger", "sqlite:b.db", "--thread", "one"])
    capsys.readouterr()
    assert main(["show", "one"]) == 2
    assert (
        "several ledgers have one: sqlite:a.db, sqlite:b.db; name one: --ledger"
        in capsys.readouterr().err
    )
    assert main(["show", "three"]) == 2
    assert "no thread 'three' in sqlite:a.db, sqlite:b.db" in capsys.readouterr().err


def test_an_incident_is_told_by_the_program_that_was_named(capsys: Capture) -> None:
    """A ledger may come from anybody, so what it names is not loaded by itself."""
    main(["run", "watcher.py", "mail"])
    capsys.readouterr()
    assert main(["show", "watcher-1", "--incident", "2"]) == 2
    assert "add --target" in capsys.readouterr().err
    words = ("show", "watcher-1", "--incident", "2", "--target", "watcher.py")
    assert shown(capsys, *words).startswith("incident 2 of watcher-1, ")
    words = ("show", "watcher-1", "--incident", "2", "--target", "agent.py")
    assert "has no incidents to tell of" in shown(capsys, *words)


def test_a_stored_target_is_never_imported(capsys: Capture, folder: Path) -> None:
    """Stored bytes do not choose what Python runs: neither show nor approve loads it."""
    main(["run", "watcher.py", "mail"])
    with (folder / "watcher.py").open("a") as file:
        file.write("raise AssertionError('loaded')\n")
    for words in (["show", "watcher-1"], ["approve", "watcher-1"], ["approve", "watcher-1", "1"]):
        main(words)
    assert "loaded" not in "".join(capsys.readouterr())
