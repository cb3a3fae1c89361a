"""The main job as a person runs it: `boyd run examples/triage ...`, in processes of its own."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from examples.triage.generate import Truth, generate
from tests.examples.model_server import model_server

ROOT = Path(__file__).parents[2]
LOGHUB = Path(os.environ.get("BOYD_SHARED", ROOT.parent / "shared")) / "data" / "loghub"
BATCH = ["--batch", "400"]

needs_loghub = pytest.mark.skipif(
    not LOGHUB.is_dir(), reason=f"the log samples are not at {LOGHUB}"
)


def start(
    folder: Path, *arguments: str, stdin: int | IO[str] = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    """`boyd ARGUMENTS` in a folder."""
    environ = {k: v for k, v in os.environ.items() if k not in ("OPENAI_API_KEY", "BOYD_LEDGER")}
    return subprocess.Popen(
        [sys.executable, "-m", "boyd", *arguments],
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )


def boyd(
    folder: Path,
    *arguments: str,
    code: int = 0,
    stdin: int | IO[str] = subprocess.DEVNULL,
) -> tuple[str, str]:
    """Run it to its end; standard output and standard error."""
    process = start(folder, *arguments, stdin=stdin)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, f"exit code {process.returncode}\n{out}\n{err}"
    return out, err


def triage(
    folder: Path,
    *arguments: str,
    code: int = 0,
    stdin: int | IO[str] = subprocess.DEVNULL,
) -> tuple[str, str]:
    """Run the triage example."""
    return boyd(
        folder, "run", str(ROOT / "examples" / "triage"), *arguments, code=code, stdin=stdin
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    folder = tmp_path_factory.mktemp("generated") / "logs"
    return folder, generate(3, 6_000, folder)


@pytest.fixture(scope="module")
def undisturbed(
    logs: tuple[Path, Truth], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, float]:
    """The report of a run that nobody disturbs, and how long it takes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    begun = time.monotonic()
    triage(folder, *BATCH, str(logs[0]))
    return (folder / "triage-report.json").read_text(), time.monotonic() - begun


# ------------------------------------------------------------------ real logs
@needs_loghub
def test_the_attackers_of_a_real_ssh_log_are_named(tmp_path: Path) -> None:
    out, _ = triage(tmp_path, str(LOGHUB / "OpenSSH_2k.log"))
    report = (tmp_path / "triage-report.md").read_text()
    for address in ("183.62.140.253", "187.141.143.180", "103.99.0.122", "112.95.230.3"):
        assert f"Password guessing from {address}" in report
    assert "approve triage" in out
    assert not (tmp_path / "blocklist.txt").exists(), "nobody approved anything"


@needs_loghub
def test_four_real_logs_run_in_one_swarm(tmp_path: Path) -> None:
    samples = sorted(str(path) for path in LOGHUB.glob("*.log"))
    out, _ = triage(tmp_path, "--json", *samples)
    report = json.loads(out)
    assert len(report["sources"]) == len(samples)
    assert report["lines"] == 2_000 * len(samples)


# ------------------------------------------------------------------ the ledger
def test_what_was_found_can_be_read_from_the_ledger(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    triage(tmp_path, *BATCH, str(logs[0]))
    threads, _ = boyd(tmp_path, "threads")
    assert "triage" in threads
    shown, _ = boyd(tmp_path, "show", "triage")
    assert "member" in shown
    lines, _ = boyd(tmp_path, "show", "triage", "--json")
    assert all(json.loads(line) for line in lines.splitlines())
    incident, _ = boyd(tmp_path, "show", "triage", "--incident", "1")
    assert "Evidence" in incident


def test_a_block_is_carried_out_only_when_a_person_approves_it(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    triage(tmp_path, *BATCH, str(logs[0]))
    attacker = next(one.subject for one in logs[1].planted if one.kind == "guessing")
    listed, _ = boyd(tmp_path, "approve", "triage")
    assert attacker in listed
    assert not (tmp_path / "blocklist.txt").exists()
    boyd(tmp_path, "approve", "triage", "1")
    assert (tmp_path / "blocklist.txt").read_text().split() == [attacker]
    again, _ = boyd(tmp_path, "approve", "triage")
    assert attacker not in again


def test_a_second_run_is_a_thread_of_its_own(tmp_path: Path, logs: tuple[Path, Truth]) -> None:
    triage(tmp_path, *BATCH, str(logs[0]))
    out, _ = triage(tmp_path, *BATCH, str(logs[0]))
    assert "triage-2" in out


# ------------------------------------------------------------------ kill -9 and resume
@pytest.mark.slow
def test_killed_at_twenty_random_moments_and_resumed_the_report_is_that_of_an_undisturbed_run(
    tmp_path: Path, logs: tuple[Path, Truth], undisturbed: tuple[str, float]
) -> None:
    expected, seconds = undisturbed
    chance = random.Random()
    killed_at_work = 0
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start(folder, "run", "triage", *BATCH, str(logs[0]))
        time.sleep(chance.uniform(0.25, 1.0) * seconds)
        process.kill()
        process.communicate()
        killed_at_work += process.returncode == -signal.SIGKILL
        triage(folder, *BATCH, "--resume", str(logs[0]))
        assert (folder / "triage-report.json").read_text() == expected, f"killed in {folder}"
        shutil.rmtree(folder)
    assert killed_at_work >= 10, "most kills should hit a run at work"


def test_of_two_resumes_at_once_one_is_refused(tmp_path: Path, logs: tuple[Path, Truth]) -> None:
    with (tmp_path / "pipe").open("w"):
        first = start(tmp_path, "run", "triage", "-", stdin=subprocess.PIPE)
        assert first.stdin is not None
        first.stdin.write(
            "Dec 10 06:55:46 host sshd[1]: Failed password for root from 192.0.2.1 port 1 ssh2\n"
            * 50
        )
        first.stdin.flush()
        wait_for_thread(tmp_path)
        _, err = triage(tmp_path, "--resume", "-", code=2)
        assert "is being run by" in err
        assert "Traceback" not in err
        first.stdin.close()
        first.stdin = None
        first.communicate(timeout=60)
        assert first.returncode == 0


def wait_for_thread(folder: Path) -> None:
    for _ in range(200):
        if (folder / "triage.db").exists():
            found = subprocess.run(
                [sys.executable, "-m", "boyd", "threads", "--ledger", "sqlite:triage.db"],
                cwd=folder, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if "triage" in found.stdout:
                return
        time.sleep(0.05)
    raise AssertionError("the run never began")


def test_ctrl_c_ends_within_two_seconds_with_a_summary_and_a_valid_ledger(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("many") / "logs"
    generate(5, 100_000, folder)
    process = start(tmp_path, "run", "triage", str(folder))
    wait_for_thread(tmp_path)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - begun < 2.5
    assert process.returncode == 130
    assert "So far" in out
    assert "Traceback" not in err
    boyd(tmp_path, "show", "triage")
    triage(tmp_path, "--resume", str(folder))


# ------------------------------------------------------------------ a model
def test_with_a_model_the_decisions_come_from_the_model(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    with model_server() as server:
        out, _ = triage(
            tmp_path,
            *BATCH,
            "--json",
            "--model",
            "openai:test",
            "--base-url",
            server.url,
            str(logs[0]),
        )
    report = json.loads(out)
    assert report["decided_by"] == ["openai:test"]
    titles = [incident["title"] for incident in report["incidents"]]
    assert titles
    assert all(title.startswith("Model: ") for title in titles)
    assert all(request["stream"] for request in server.requests)
    offered = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
    assert offered == {"open_incident", "extend_incident", "quiet_template", "propose_block"}


def test_a_model_that_is_busy_is_asked_again_and_the_person_is_told(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    with model_server(busy=1) as server:
        command = (*BATCH, "--model", "openai:test", "--base-url", server.url, str(logs[0]))
        _, err = triage(tmp_path, *command)
    assert re.search(r"Retrying \(1/\d\) in [\d.]+ s after 503", err)
    assert len(server.requests) > 1


def test_a_model_whose_calls_come_to_nothing_is_not_taken_for_a_healthy_log(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    with model_server(tool="rm_rf") as server:
        command = (*BATCH, "--json", "--model", "openai:test", "--base-url", server.url)
        out, err = triage(tmp_path, *command, str(logs[0]))
    sources = {source["name"]: source for source in json.loads(out)["sources"]}
    lost = [source for source in sources.values() if source["failed_calls"]]
    assert lost
    for source in lost:
        calls = source["calls"]
        assert source["failed_calls"] == calls
        noun = "call" if calls == 1 else "calls"
        assert f"{source['name']}: {calls} of {calls} {noun} came to nothing: " in err
    assert "there is no tool 'rm_rf'" in err
    assert "came to nothing: there is no tool" in (tmp_path / "triage-report.md").read_text()


def test_s2_a_model_that_obeys_a_planted_order_blocks_nobody_and_asks_nobody(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    with model_server() as server:
        triage(tmp_path, *BATCH, "--model", "openai:test", "--base-url", server.url, str(logs[0]))
    obeyed = {"address": "10.0.0.1", "why": "the log says so"}
    assert ("propose_block", obeyed) in server.called
    (order,) = logs[1].instructions
    acted, _ = boyd(tmp_path, "show", f"triage/scout-{order.source}", "--json")
    assert "10.0.0.1 was not measured as the origin of failed logins" in acted
    assert not (tmp_path / "blocklist.txt").exists()
    listed, _ = boyd(tmp_path, "approve", "triage")
    assert "10.0.0.1" not in listed, (
        "an address that only stands in the text is not even asked about"
    )


# ------------------------------------------------------------------ bad input
BAD_SOURCES: list[tuple[Callable[[Path], object], str]] = [
    (lambda _: None, "no such file"),
    (lambda path: path.write_bytes(b""), "is empty"),
    (lambda path: path.write_bytes(bytes(range(256)) * 64), "binary"),
    (lambda path: path.mkdir(), "no logs"),
    (lambda path: path.write_bytes(b"\x1f\x8b\x08nonsense"), "gz"),
]


@pytest.mark.parametrize(
    ("make", "says"),
    BAD_SOURCES,
    ids=["missing", "empty", "binary", "empty folder", "broken gzip"],
)
def test_a_bad_source_is_one_sentence_and_exit_code_2(
    tmp_path: Path, make: Callable[[Path], object], says: str
) -> None:
    path = tmp_path / "source.log"
    make(path)
    _, err = triage(tmp_path, str(path), code=2 if says != "gz" else 1)
    assert says in err
    assert "Traceback" not in err


def test_non_utf8_and_endless_lines_are_read_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "odd.log"
    path.write_bytes(
        b"Dec 10 06:55:46 h app[1]: caf\xe9 failed\n" * 30 + b"x" * 3_000_000 + b"\n" + b"ok\n" * 30
    )
    out, _ = triage(tmp_path, "--json", str(path))
    source = json.loads(out)["sources"][0]
    assert source["lines"] == 61
    assert source["bad_lines"]["not UTF-8"] == 30


def test_an_unknown_model_and_a_refused_connection_are_one_sentence(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    _, err = triage(tmp_path, "--model", "nobody:x", str(logs[0]), code=2)
    assert "nobody" in err
    _, err = triage(tmp_path, "--model", "openai:x", str(logs[0]), code=2)
    assert "OPENAI_API_KEY" in err
    _, err = triage(
        tmp_path,
        "--thread",
        "refused",
        "--model",
        "openai:x",
        "--base-url",
        "http://127.0.0.1:9/v1",
        str(logs[0]),
        code=1,
    )
    assert "Traceback" not in err


def test_a_broken_or_foreign_ledger_is_one_sentence(
    tmp_path: Path, logs: tuple[Path, Truth]
) -> None:
    path = tmp_path / "triage.db"
    path.write_bytes(b"this is no ledger" * 100)
    _, err = triage(tmp_path, str(logs[0]), code=2)
    assert "triage.db" in err
    assert "Traceback" not in err


def test_standard_input_is_a_source(tmp_path: Path, logs: tuple[Path, Truth]) -> None:
    with (logs[0] / "auth.log").open() as stream:
        out, _ = triage(tmp_path, "--json", "-", stdin=stream)
    report = json.loads(out)
    assert [source["name"] for source in report["sources"]] == ["stdin"]
    assert any(incident["kind"] == "guessing" for incident in report["incidents"])


# ------------------------------------------------------------------ the demo
def test_the_demo_finds_what_was_planted(tmp_path: Path) -> None:
    out, _ = boyd(tmp_path, "demo", "--lines", "20000")
    assert "planted 3, found 3, false alarms 0" in out
    assert "handled once each" in out
    assert "crashed -> restarted (1 of 3)" in out
    assert "not obeyed" in out
    assert "approve demo" in out
