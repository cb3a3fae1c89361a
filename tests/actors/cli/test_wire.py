"""`boyd wire lock`: writes a lock, and does not write over what it would break."""

from __future__ import annotations

from pathlib import Path

import pytest

from boyd.actors.cli import main
from tests.actors.cli.programs import run_boyd

BANK = """
import attrs
from boyd.runtime import Replies, message

@message("bank.deposit")
class Deposit(Replies[int]):
    amount: int
    note: str = ""

@message
class Local:
    x: int
"""


@pytest.mark.slow
def test_a_lock_is_written_updated_and_kept_from_an_incompatible_change(tmp_path: Path) -> None:
    """Exit code 2 leaves it as it was; --force writes it all the same."""
    bank, lock = tmp_path / "bank.py", tmp_path / "boyd-wire.lock"
    bank.write_text(BANK)
    assert run_boyd("wire", "lock", "bank.py", cwd=tmp_path) == (
        0,
        "boyd-wire.lock: 1 message\n",
        "",
    )
    text = lock.read_text()
    assert text.endswith(
        'wire 1\n\nmessage "bank.deposit" -> int\n    amount: int\n    note: str = default\n'
    )
    code, out, _ = run_boyd("wire", "lock", "bank.py", cwd=tmp_path)
    assert (code, out) == (0, "boyd-wire.lock: 1 message, as before\n")
    assert lock.read_text() == text

    bank.write_text(BANK.replace("    note: str", "    urgent: bool = False\n    note: str"))
    code, out, err = run_boyd("wire", "lock", "bank.py", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err == (
        'boyd: message "bank.deposit": field urgent is new and not at the end\n'
        "boyd: boyd-wire.lock is as it was: these changes are incompatible; --force writes them\n"
    )
    assert lock.read_text() == text
    assert run_boyd("wire", "lock", "bank.py", "--force", cwd=tmp_path)[0] == 0
    assert "    urgent: bool = default\n    note" in lock.read_text()

    (tmp_path / "crew").mkdir()
    (tmp_path / "crew" / "__init__.py").write_text("")
    (tmp_path / "crew" / "words.py").write_text(BANK.replace("bank.deposit", "crew.word"))
    words = ("wire", "lock", "crew.words", "bank.py", "--file", "crew/wire.lock")
    assert run_boyd(*words, cwd=tmp_path)[:2] == (0, "crew/wire.lock: 2 messages\n")


@pytest.mark.slow
def test_boyds_own_messages_are_locked_only_when_named(tmp_path: Path) -> None:
    """They are Boyd's to keep."""
    (tmp_path / "empty.py").write_text("from boyd.actors import Agent\n")
    code, out, err = run_boyd("wire", "lock", "empty.py", cwd=tmp_path)
    assert (code, out, err) == (2, "", "boyd: empty.py defines no message with a tag\n")
    assert run_boyd("wire", "lock", "boyd.actors.events", cwd=tmp_path)[0] == 0
    text = (tmp_path / "boyd-wire.lock").read_text()
    assert 'message "boyd.notice"\n' in text
    assert 'message "boyd.asked"\n' not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lock"], "boyd wire lock needs what defines the messages"),
        (["lock", "nowhere.py"], "there is no file nowhere.py"),
        (["lock", "bad.py"], "bad.py:1: ZeroDivisionError"),
        (["lock", "bank.py", "--file", "bank.py"], "the lock begins with 'import attrs'"),
        (["look"], 'Unknown command "look"'),
    ],
)
def test_what_cannot_be_locked_is_one_sentence(words: list[str], said: str, tmp_path: Path) -> None:
    """Before anything is written."""
    (tmp_path / "bank.py").write_text(BANK)
    (tmp_path / "bad.py").write_text("1 / 0\n")
    code, _, err = run_boyd("wire", *words, cwd=tmp_path)
    assert code == 2
    assert said in err
    assert not (tmp_path / "boyd-wire.lock").exists()


@pytest.mark.slow
def test_its_help_says_what_it_is_for(tmp_path: Path) -> None:
    """Also without a command."""
    assert "lock" in run_boyd("wire", cwd=tmp_path)[1]
    out = run_boyd("wire", "lock", "--help", cwd=tmp_path)[1]
    assert out.startswith("Usage: boyd wire lock [OPTIONS] [TARGET...]\n\nWrite down how")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/dev/null", "/dev/null is not a file"),
        ("no/such/folder.lock", "no/such/folder.lock cannot be written: No such file or directory"),
    ],
)
def test_a_lock_that_cannot_be_kept_is_one_sentence_with_its_name(
    file: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device may have no end to read to."""
    assert main(["wire", "lock", "boyd.runtime", "--file", file]) == 2
    assert capsys.readouterr() == ("", f"boyd: {said}\n")
