"""Every example runs offline, as it stands, prints what it promises, and ends by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of an example, without a key."""
    environ = {key: value for key, value in os.environ.items() if key != "OPENAI_API_KEY"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environ,
    )
    return done.returncode, done.stdout, done.stderr


PRINTED = [
    (["01_first_agent.py"], "It is 21.5 degrees.\n2 steps, 1 call\n"),
    (["02_websocket_server.py", "--demo"], "Press F5.\n"),
    (["03_supervised_worker.py"], "mean of t1: 3.0\nt2: KeyError: 't2'\nrestarts: 1\n"),
    (
        ["04_standing_watcher.py"],
        "10 s: one more worker for mail\n20 s: may I? drop_oldest\n20 s: dropped half of mail\n",
    ),
    (["05_every_order.py"], "the cheapest bid won, once, in each of 200 orders\n"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "printed"), PRINTED, ids=[one[0][0] for one in PRINTED])
def test_an_example_prints_what_it_promises(command: list[str], printed: str) -> None:
    code, out, err = run(*command)
    assert (code, out) == (0, printed), err
    assert "Traceback" not in err


def test_every_short_program_is_run_here() -> None:
    assert sorted(one.name for one in EXAMPLES.glob("[0-9]*.py")) == [one[0][0] for one in PRINTED]


@pytest.mark.slow
def test_n2_the_planted_fault_of_the_auction_is_found_by_the_same_seed_each_time() -> None:
    first, second = run("05_every_order.py", "--hasty"), run("05_every_order.py", "--hasty")
    assert first == second
    assert first[0] == 1
    assert first[2].endswith("though somebody asked 1\n")
    assert first[2].startswith("seed ")
