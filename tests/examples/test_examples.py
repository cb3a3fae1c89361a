"""Every example runs offline, as it stands, and ends by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str, code: int = 0) -> str:
    environ = {key: value for key, value in os.environ.items() if key != "OPENAI_API_KEY"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True, text=True, timeout=60, check=False, env=environ,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("01_first_agent.py", "It is 21.5 degrees.\n2 steps, 1 call"),
        ("02_websocket_server.py", "Press F5."),
        ("03_supervised_worker.py", "3.0"),
        ("04_standing_watcher.py", "dropped half of mail"),
        ("05_every_order.py", "one award in each of 100 orders"),
    ],
)
def test_an_example_does_what_it_says(name: str, says: str) -> None:
    assert says in run(name)


def test_the_auction_with_a_planted_fault_is_found_out() -> None:
    assert "awards" in run("05_every_order.py", "--hasty", code=1)
