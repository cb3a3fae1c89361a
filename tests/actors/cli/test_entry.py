"""`boyd` itself: help, version, the missing extra, words that mean nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from boyd import __main__ as programs
from boyd.actors.cli import main
from boyd.actors.cli.program import program
from tests.actors.cli.programs import AGENT, run_boyd

pytestmark = pytest.mark.usefixtures("folder")


def test_boyd_alone_says_what_to_try_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Help on standard output, exit code 0, every command with a line, the demo first."""
    assert main([]) == 0
    out, err = capsys.readouterr()
    names = [line.split()[1] for line in out.splitlines() if line.startswith("│ ")]
    assert names == ["demo", "run", "threads", "show", "approve", "wire"]
    assert "First: boyd demo" in out
    assert err == ""


def test_help_fits_80_columns_and_has_no_colours_when_piped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Captured help is for files and pipes too."""
    for words in (["--help"], ["run", "--help"], ["show", "--help"], ["approve", "-h"]):
        assert main(words) == 0
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= 80
        assert "\x1b" not in out


def test_the_version_is_known_without_an_installation(capsys: pytest.CaptureFixture[str]) -> None:
    """`boyd 0.1.0`, from the metadata or from the source tree."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("boyd 0.")


@pytest.mark.parametrize("package", ["cyclopts", "rich"])
def test_without_the_extra_it_says_what_to_install(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and one sentence that can be copied."""
    monkeypatch.setitem(sys.modules, package, None)
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert err == "the command line needs two more packages: pip install 'boyd[cli]'\n"
    assert out == ""


@pytest.mark.slow
def test_neither_import_loads_the_extra() -> None:
    """`import boyd.actors` and the entry point stay light."""
    code = "import boyd.actors.cli, sys; print(sorted({'cyclopts', 'rich'} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frobnicate"], 'Unknown command "frobnicate"'),
        (["run"], "boyd run needs something to run, such as boyd run triage /var/log/syslog"),
        (["run", "--json", "x.py"], "--json stands before what to run: boyd run TARGET --json"),
        (["run", "nothing.py"], "there is no file nothing.py"),
        (["run", "nothing"], "there is no 'nothing' to run: give a folder, a .py file"),
        (["run", "no.such.module:x"], "there is no module no"),
        (["show"], "THREAD"),
        (["show", "x"], "there is no ledger in this folder"),
        (["threads", "--ledger", "sqlite:none.db"], "there is no ledger none.db"),
        (["threads", "--ledger", "none"], "write sqlite:PATH or memory:"),
        *(
            (
                [*words, "--ledger", "memory:"],
                "memory: is no ledger to read from: it ends with its program",
            )
            for words in (["threads"], ["show", "x"], ["approve", "x"])
        ),
        (["threads", "--frob"], "Unknown option"),
        (["show", "x", "--after", "y"], "--after"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, without a traceback, and nothing on standard output."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert err.startswith("boyd: ")
    assert err.count("\n") == 1
    assert out == ""


def test_the_short_entry_point_runs_the_triage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`triage --help` is `boyd run triage --help`."""
    monkeypatch.setattr(sys, "argv", ["triage", "--help"])
    assert programs.triage() == 0
    assert "Usage: boyd run triage [OPTIONS]" in capsys.readouterr().out


@pytest.mark.slow
def test_the_module_is_the_command(folder: Path) -> None:
    """`python -m boyd run agent.py` in a process of its own."""
    (folder / "agent.py").write_text(AGENT)
    code, out, err = run_boyd("run", "agent.py", "How warm?", cwd=folder)
    assert (code, out) == (0, "Let me look.\nIt is 21.5 degrees.\n")
    assert "· weather(city='Utrecht')\n  weather = 21.5\n" in err


@pytest.mark.parametrize(
    ("called", "typed"),
    [
        ("bin/boyd", "bin/boyd"),
        ("bin/triage", "bin/boyd"),
        ("lib/boyd/__main__.py", f"{Path(sys.executable).name} -m boyd"),
    ],
)
def test_what_to_type_next_is_boyd_however_it_was_called(
    called: str, typed: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """`triage approve` would take `approve` for a log."""
    (folder / "bin").mkdir()
    (folder / "bin/boyd").touch()
    monkeypatch.setattr(sys, "argv", [called])
    assert program() == typed


def test_a_program_outside_the_folder_is_called_by_its_whole_path(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """`../../../bin/boyd` would have to be counted."""
    (folder / "bin").mkdir()
    (folder / "bin/boyd").touch()
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    monkeypatch.setattr(sys, "argv", ["../bin/boyd"])
    assert program() == str(folder / "bin/boyd")


INTERRUPTED_IMPORT = """
import sys
from boyd.__main__ import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
sys.exit(main(["--version"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["boyd.actors", "trio", "boyd.runtime.ledger", "boyd.actors.cli.entry", "cyclopts"]
)
def test_ctrl_c_while_it_is_still_being_imported_ends_it_without_a_traceback(
    module: str, folder: Path
) -> None:
    """As the interpreter raises it in the middle of an import."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module],
        cwd=folder,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
