"""What the README prints is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_first_agent_runs_offline_as_printed(tmp_path: Path) -> None:
    program = tmp_path / "first.py"
    program.write_text(BLOCKS[0])
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("It is 21.5 degrees in Utrecht.")
    assert len(BLOCKS[0].splitlines()) <= 24


def test_the_scout_in_the_readme_is_the_scout() -> None:
    assert BLOCKS[1] == (ROOT / "examples" / "triage" / "scout.py").read_text()
