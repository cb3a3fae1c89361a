"""What TARGET may be, and what is looked for in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from boyd.actors.cli import main
from boyd.actors.cli.definitions import find_tools
from boyd.actors.cli.targets import load, parse_target
from tests.actors.cli.programs import AGENT, DESK

Capture = pytest.CaptureFixture[str]

COMMAND = '''
from boyd.actors.cli import console

async def command(*sources: str, much: int = 3, loud: bool = False) -> int:
    """Count things.

    Args:
        sources: what to count, or - for standard input.
        much: how much of it.
    """
    console.say(f"{sources} {much} {loud} {console.target()}")
    return 7
'''


def test_a_folder_is_a_package_with_its_own_relative_imports(folder: Path, capsys: Capture) -> None:
    """Its parent does not come onto the path, and its name hides nobody."""
    (folder / "json").mkdir()
    (folder / "json" / "__init__.py").write_text("from .inner import command\n")
    (folder / "json" / "inner.py").write_text(COMMAND)
    before = list(sys.path)
    assert main(["run", "json", "a"]) == 7
    assert capsys.readouterr().out == f"('a',) 3 False {folder / 'json'}\n"
    assert sys.path == before
    assert sys.modules["json"].__name__ == "json"


def test_a_file_finds_its_neighbours_and_hides_nobody(folder: Path, capsys: Capture) -> None:
    """Its folder is the last place where Python looks."""
    (folder / "neighbour.py").write_text("word = 'hello'\n")
    (folder / "statistics.py").write_text("raise AssertionError('this is not the library')\n")
    (folder / "one.py").write_text(
        "import statistics\nfrom neighbour import word\n"
        "async def command() -> None:\n    print(word, statistics.mean([1, 3]))\n"
    )
    sys.modules.pop("statistics", None)
    assert main(["run", "one.py"]) == 0
    assert capsys.readouterr().out == "hello 2\n"


def test_a_module_is_found_from_the_current_folder(folder: Path, capsys: Capture) -> None:
    """`package.module:name`, where the name may be a command or an agent."""
    (folder / "crew").mkdir()
    (folder / "crew" / "work.py").write_text(COMMAND + AGENT)
    assert main(["run", "crew.work:command"]) == 7
    assert main(["run", "crew.work:agent", "How warm?"]) == 0
    assert main(["run", "crew.work"]) == 7
    assert main(["run", "crew.work:tool"]) == 2
    assert main(["run", "crew.work:nobody"]) == 2
    out, err = capsys.readouterr()
    assert "() 3 False crew.work:command\n" in out
    assert "crew.work:tool: tool is a function, which cannot be run" in err
    assert "crew.work:nobody: nobody is not there" in err


def test_a_command_has_its_own_options_and_help(folder: Path, capsys: Capture) -> None:
    """Its signature gives the options, its docstring their help; it returns the exit code."""
    (folder / "count.py").write_text(COMMAND)
    assert main(["run", "count.py", "x", "-", "y", "--loud", "--much", "5"]) == 7
    assert capsys.readouterr().out == f"('x', '-', 'y') 5 True {folder / 'count.py'}\n"
    assert main(["run", "count.py", "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: boyd run count.py [OPTIONS] [SOURCES...]\n\nCount things.")
    assert "how much of it. [default: 3]" in out
    assert "--no-loud" not in out
    assert main(["run", "count.py", "--mcuh", "5"]) == 2
    assert "--mcuh" in capsys.readouterr().err


def test_of_several_agents_one_must_be_named(folder: Path, capsys: Capture) -> None:
    """Unless one is called `agent`."""
    two = AGENT.replace("\nagent =", "\nfirst =") + "second = first.using(ScriptedModel())\n"
    (folder / "two.py").write_text(two)
    assert main(["run", "two.py", "hi"]) == 2
    said = "two.py has more than one agent: first, second. Name one: two.py:first\n"
    assert capsys.readouterr().err == f"boyd: {said}"
    assert main(["run", "two.py:first", "hi"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "agent.py has nothing to run: define `agent = Agent(...)`"),
        ("def command(): ...\n", "command is not an async function"),
        ("import surely_not_there\n", "agent.py:1: ModuleNotFoundError: No module named"),
        ("x = (\n", "agent.py:1: '(' was never closed"),
        ("\n1 / 0\n", "agent.py:2: ZeroDivisionError: division by zero"),
        (
            "from boyd.actors import tool\n@tool\nasync def f(x): ...\n",
            "parameter `x` has no type, so the model cannot be told what it takes",
        ),
    ],
)
def test_a_file_that_cannot_be_loaded_is_one_sentence_with_its_place(
    text: str, said: str, folder: Path, capsys: Capture
) -> None:
    """The traceback is for --debug, which may stand anywhere."""
    (folder / "agent.py").write_text(text)
    assert main(["run", "agent.py", "hi"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    for words in (["--debug", "run", "agent.py"], ["run", "agent.py", "--debug"]):
        assert main(words) == 2
        err = capsys.readouterr().err
        assert "Traceback (most recent call last)" in err
        assert said in err.splitlines()[-1]


def test_a_folder_without_init_is_refused(folder: Path, capsys: Capture) -> None:
    """It says what is missing."""
    (folder / "thing").mkdir()
    assert main(["run", "thing"]) == 2
    assert "thing has no __init__.py" in capsys.readouterr().err


def test_the_triage_is_recorded_by_its_short_name_wherever_it_lies() -> None:
    """So that a later command may load it: it came with Boyd."""
    by_name = parse_target("triage")
    assert (by_name.recorded, by_name.is_own) == ("triage", True)
    if by_name.path is not None:  # a checkout
        by_path = parse_target(str(by_name.path))
        assert (by_path.recorded, by_path.is_own) == ("triage", True)
        assert not parse_target(f"{by_name.path}:command").is_own


def test_a_target_is_loaded_once(folder: Path) -> None:
    """Loading it again gives the same module, whose messages keep their classes."""
    (folder / "agent.py").write_text(AGENT)
    assert load(parse_target("agent.py")) is load(parse_target(str(folder / "agent.py")))


def test_tools_are_found_in_the_module_and_in_its_agents(folder: Path) -> None:
    """In a swarm's members too."""
    (folder / "desk.py").write_text(
        DESK.replace("\ndesk =", "\ninner =")
        + "from boyd.actors import Swarm\n"
        + "crew = Swarm(members={'desk': inner.on('hi')}, lead=inner.on('hi'))\ndel inner\n"
    )
    assert list(find_tools(load(parse_target("desk.py")))) == ["refund"]
