"""Run by `test_kill9.py`: an OODA agent over a file that goes on where it stopped. It may die at any moment.

It imports everything once and then forks a child for each line of its standard
input, `FOLDER SECONDS`; it prints the child's pid, and `ended` when it is gone.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import trio

from boyd.runtime import open_system
from tests.actors.ooda_story import make_ooda

CYCLES = 6


class Kept(Counter[str]):
    """Effects that outlive the process: each is a line in a file, written at once."""

    path: Path

    def __setitem__(self, effect: str, times: int) -> None:
        with self.path.open("a") as stream:
            stream.write(f"{effect}\n")


async def run(folder: Path, seconds: float) -> None:
    """Run or go on, and write down what it came to."""
    kept = Kept()
    kept.path = folder / "effects"
    story = make_ooda(cycles=CYCLES, seconds=seconds, effects=kept)
    async with (
        open_system(ledger=f"sqlite:{folder}/t.db") as system,
        story.ooda.open_run("a", system=system, thread="t") as run,
    ):
        output = (await run.wait()).output
    (folder / "output").write_text(json.dumps([output.n, output.total, output.source]))


def main() -> None:
    """Serve."""
    for line in sys.stdin:
        folder, seconds = line.split()
        child = os.fork()
        if not child:
            trio.run(run, Path(folder), float(seconds))
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
