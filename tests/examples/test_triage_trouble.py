"""What a person is told when something is in the way of `boyd run examples/triage`."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from boyd.actors.cli.problems import UsageError
from examples.triage.checks import check_folder, check_numbers
from examples.triage.generate import generate
from tests.examples.test_triage_run import ROOT, boyd

LINE = "Dec 10 06:55:{:02} host app[1]: all is well\n"
LOG = "".join(LINE.format(second) for second in range(60))
NOWHERE = ["--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1"]
LIMITED = ["sh", "-c", 'ulimit -f "$0" && exec "$@"']


def triage(
    folder: Path, *arguments: str | Path, code: int, under: Sequence[str | Path] = (), key: str = ""
) -> tuple[str, list[str]]:
    """Run the example under some other command; standard output, and the lines of standard error."""
    environ = {name: value for name, value in os.environ.items() if name != "BOYD_LEDGER"}
    done = subprocess.run(
        [*under, sys.executable, "-m", "boyd", "run", str(ROOT / "examples" / "triage")]
        + [str(argument) for argument in arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environ | {"OPENAI_API_KEY": key},
        timeout=120,
        check=False,
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr.splitlines()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app.log"
    path.write_text(LOG)
    return path


@pytest.fixture
def powerless() -> list[str]:
    """A command that takes from root what lets it read and write everything; nobody else needs it."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root cannot give up its powers here: there is no setpriv")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that nobody may write to; what is in it can be read."""
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


# ------------------------------------------------------------------ numbers
@pytest.mark.parametrize(
    ("batch", "max_steps", "max_money"),
    [(0, 1, None), (-1, 1, None), (1, 0, None), (1, -1, None)]
    + [(1, 1, money) for money in (0.0, -1.0, float("nan"), float("inf"))],
)
def test_a_number_with_which_nothing_can_be_done_is_refused(
    batch: int, max_steps: int, max_money: float | None
) -> None:
    with pytest.raises(UsageError, match=r"^--[a-z-]+ [-\w]+: it must be "):
        check_numbers(batch=batch, max_steps=max_steps, max_money=max_money)


@pytest.mark.parametrize("max_money", [None, 0.01])
def test_the_smallest_numbers_are_taken(max_money: float | None) -> None:
    refused: list[UsageError] = []
    try:
        check_numbers(batch=1, max_steps=1, max_money=max_money)
    except UsageError as error:
        refused.append(error)
    assert refused == []


def test_a_batch_of_no_lines_is_one_sentence_and_exit_code_2(tmp_path: Path, log: Path) -> None:
    _, err = triage(tmp_path, "--batch", "0", log, code=2)
    assert err == ["boyd: --batch 0: it must be 1 or more"]


def test_a_cap_on_money_for_a_model_without_a_price_is_refused_before_work(
    tmp_path: Path, log: Path
) -> None:
    _, err = triage(tmp_path, *NOWHERE, "--max-money", "1", log, code=2, key="x")
    assert err == ["boyd: --max-money: the price of openai:x is not known"]


# ------------------------------------------------------------------ sources that fail
def test_a_refused_model_is_told_as_nothing_judged_in_every_form(tmp_path: Path, log: Path) -> None:
    headline = "60 lines of 1 source: nothing was judged; app.log failed"
    out, err = triage(tmp_path, *NOWHERE, log, code=1, key="x")
    assert headline in out
    assert "stands out" not in out
    assert "cannot connect to http://127.0.0.1:9" in "".join(err)
    text, page = ((tmp_path / f"triage-report{suffix}").read_text() for suffix in (".md", ".html"))
    for form in (text, page):
        assert headline in form
        assert "failed, no line of it was judged: openai:x: cannot connect" in form
        assert "stands out" not in form
    report = json.loads((tmp_path / "triage-report.json").read_text())
    assert (report["lines"], report["judged"], report["failed"]) == (60, 0, ["app.log"])


def test_a_source_that_breaks_off_says_how_far_it_was_judged(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"line %d %x\n" % (n, n * 7919 % 65_521) for n in range(20_000)))
    (tmp_path / "half.gz").write_bytes(whole[: len(whole) // 2])
    triage(tmp_path, "half.gz", code=1)
    report = json.loads((tmp_path / "triage-report.json").read_text())
    judged = report["judged"]
    assert 0 < judged < 20_000
    assert report["headline"].endswith("; half.gz failed")
    text = (tmp_path / "triage-report.md").read_text()
    assert f"failed, judged up to line {judged:,}: is a broken gzip file" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"x" * 200_000, "1 line was longer than 64 KiB and cut (134,464 bytes left out)"),
        (b"caf\xe9\n", "1 line was not UTF-8 and read with replacement marks"),
        (b"one\ntwo\0\nthree\nfour\nfive\n", "1 line had NUL bytes, which were left out"),
    ],
    ids=["endless", "latin-1", "NUL"],
)
def test_odd_lines_are_told_on_standard_error_and_in_the_report(
    tmp_path: Path, content: bytes, says: str
) -> None:
    (tmp_path / "odd.log").write_bytes(content)
    _, err = triage(tmp_path, "odd.log", code=0)
    assert f"odd.log: {says}" in err
    assert says.split(" (", maxsplit=1)[0] in (tmp_path / "triage-report.md").read_text()


# ------------------------------------------------------------------ rights
def test_an_unreadable_file_is_one_sentence_and_exit_code_2(
    tmp_path: Path, log: Path, powerless: list[str]
) -> None:
    log.chmod(0)
    _, err = triage(tmp_path, "app.log", code=2, under=powerless)
    assert err == ["boyd: app.log: cannot be read: Permission denied"]


def test_what_cannot_be_read_in_a_folder_is_skipped_with_a_word(
    tmp_path: Path, powerless: list[str]
) -> None:
    inner = tmp_path / "logs" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "logs" / "open.log").write_text(LOG)
    (tmp_path / "logs" / "shut.log").touch(mode=0)
    inner.chmod(0)
    _, err = triage(tmp_path, "logs", code=0, under=powerless)
    inner.chmod(0o755)
    assert sorted(err)[:2] == [
        "logs/inner: cannot be read: Permission denied; skipped",
        "logs/shut.log: cannot be read: Permission denied; skipped",
    ]


def test_a_folder_that_cannot_be_listed_is_not_one_without_logs(
    tmp_path: Path, powerless: list[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir(mode=0)
    _, err = triage(tmp_path, "logs", code=2, under=powerless)
    folder.chmod(0o755)
    assert err == ["boyd: logs: cannot be read: Permission denied"]


@pytest.mark.parametrize("out", ["closed", "closed/new"])
def test_a_folder_that_takes_no_report_is_refused_before_work(
    tmp_path: Path, log: Path, closed: Path, powerless: list[str], out: str
) -> None:
    _, err = triage(tmp_path, "--out", out, log, code=2, under=powerless)
    assert err == [f"boyd: the report cannot be written to {out}: Permission denied"]
    assert not list(closed.iterdir())


def test_a_file_in_place_of_the_reports_folder_is_named(log: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        check_folder(log)


def test_a_ledger_that_cannot_be_made_is_one_sentence_and_exit_code_2(
    tmp_path: Path, log: Path, closed: Path, powerless: list[str]
) -> None:
    _, err = triage(tmp_path, "--ledger", f"sqlite:{closed}/x.db", log, code=2, under=powerless)
    assert err == [f"boyd: {closed}/x.db cannot be made: Permission denied"]


# ------------------------------------------------------------------ no room
def test_without_room_for_the_ledger_what_was_learned_stays_and_a_resume_ends_the_same(
    tmp_path: Path,
) -> None:
    generate(3, 6_000, tmp_path / "logs")
    options = ["--batch", "400", "logs"]
    _, err = triage(tmp_path, *options, code=1, under=[*LIMITED, "400"])
    assert len([line for line in err if line.startswith("boyd: ")]) == 1
    boyd(tmp_path, "show", "triage")
    triage(tmp_path, *options, "--resume", code=0)
    resumed = (tmp_path / "triage-report.json").read_text()
    triage(tmp_path, *options, "--ledger", "memory:", code=0)
    assert resumed == (tmp_path / "triage-report.json").read_text()


def test_a_report_without_room_is_told_and_leaves_no_pieces(tmp_path: Path, log: Path) -> None:
    out, err = triage(
        tmp_path, "--ledger", "memory:", "--out", "out", log, code=1, under=[*LIMITED, "4"]
    )
    assert "60 lines of 1 source" in out
    assert err[-1] == "the report was not written to out: File too large"
    assert out.splitlines()[-1] == (
        "the ledger was in memory and is gone: only a run with another can be gone on with"
    )
    assert not list((tmp_path / "out").glob(".triage*"))


def test_a_report_that_is_gone_is_written_again_by_a_resume(tmp_path: Path, log: Path) -> None:
    triage(tmp_path, log, code=0)
    page = tmp_path / "triage-report.html"
    before = page.read_text()
    page.unlink()
    triage(tmp_path, "--resume", log, code=0)
    assert page.read_text() == before


# ------------------------------------------------------------------ the ledger in words
def test_facts_of_the_triage_read_as_sentences(tmp_path: Path) -> None:
    generate(3, 6_000, tmp_path / "logs")
    triage(tmp_path, "logs", code=0)
    shown, _ = boyd(tmp_path, "show", "triage")
    noted = [line for line in shown.splitlines() if "triage.noted" in line]
    assert noted
    assert all("{" not in line.split("(")[0] for line in noted)
    assert any("rules opened Password guessing from" in line for line in noted)
    report = (tmp_path / "triage-report.md").read_text()
    assert "proposed a block for it, line " in report
    assert "line 0" not in report


def test_a_folder_with_the_reports_of_an_earlier_run_is_read_as_before(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "app.log").write_text(LOG)
    triage(folder, ".", code=0)
    page = (folder / "triage-report.html").read_text()
    out, err = triage(folder, ".", "--resume", code=0)
    assert "60 lines of 1 source" in out
    assert "triage-report.json: written by triage itself; skipped" in err
    assert (folder / "triage-report.html").read_text() == page


# ------------------------------------------------------------------ asked for what cannot be
def test_a_resume_with_other_sources_is_refused_and_one_of_a_finished_run_says_so(
    tmp_path: Path, log: Path
) -> None:
    other = tmp_path / "other.log"
    other.write_text(LOG)
    triage(tmp_path, log, code=0)
    for sources in ([other], [log, other]):
        _, err = triage(tmp_path, "--resume", *sources, code=2)
        assert err == ["boyd: triage reads app.log: resume it with just those"]
    out, _ = triage(tmp_path, "--resume", log, code=0)
    assert "triage has finished already: nothing more is read" in out


def test_a_base_url_without_a_model_is_refused(tmp_path: Path, log: Path) -> None:
    _, err = triage(tmp_path, "--base-url", "http://127.0.0.1:9/v1", log, code=2)
    assert err == ["boyd: --base-url is where a model is: name that too, with --model"]


@pytest.mark.parametrize("url", ["localhost:8000/v1", "http://a b/v1", "ftp://h/v1", "http:///v1"])
def test_a_base_url_that_is_none_is_refused_before_a_log_is_read(
    tmp_path: Path, log: Path, url: str
) -> None:
    _, err = triage(tmp_path, "--model", "openai:x", "--base-url", url, log, code=2)
    (line,) = err
    assert line.startswith(f"boyd: openai:x: the base URL {url!r} ")
    assert "one looks like http://localhost:8000/v1" in line
    assert [path.name for path in tmp_path.iterdir()] == [log.name]


def test_an_incident_that_is_not_there_is_an_error(tmp_path: Path, log: Path) -> None:
    triage(tmp_path, log, code=0)
    done = subprocess.run(
        [sys.executable, "-m", "boyd", "show", "triage", "--incident", "99"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = "boyd: triage has 0 incidents, so there is no incident 99\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
