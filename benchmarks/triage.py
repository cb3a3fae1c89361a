"""The triage workload: lines a second of the whole swarm, and how memory grows with their length."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import trio

from benchmarks.rows import Row, growth_exponent, rate
from boyd.runtime import open_system
from examples.triage.gather import gather
from examples.triage.generate import generate
from examples.triage.pipeline import analyse
from examples.triage.sources import expand
from examples.triage.swarm import Options, swarm_of

__all__ = ["run"]

_SIZES = (10_000, 30_000, 100_000)
_SEED = 7
_CONDITIONS = (
    "4 generated sources, rules, SQLite ledger at FULL, supervision and reports on, no view"
)


async def _swarm(folder: Path) -> tuple[int, float]:
    """Lines and seconds of one run over the logs in `folder`."""
    options = Options(
        sources=expand([str(folder)]).sources,
        ledger=f"sqlite:{folder.parent / 'triage.db'}",
        thread="t",
        out=folder.parent,
    )
    async with open_system(ledger=options.ledger, grace=1.0) as system:
        started = perf_counter()
        async with swarm_of(options).open_run(
            None, system=system, thread=options.thread, buffer=256
        ) as run:
            await run.wait()
        seconds = perf_counter() - started
        return (await gather(system.ledger, options.thread)).lines, seconds


def _peak_bytes() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _child(folder: Path, kind: str) -> None:
    """One measurement in a process of its own: prints lines, seconds and peak bytes."""
    if kind == "pure":
        started = perf_counter()
        read = analyse(expand([str(folder)]).sources).lines
        seconds = perf_counter() - started
    else:
        read, seconds = trio.run(_swarm, folder)
    print(json.dumps({"lines": read, "seconds": seconds, "peak": _peak_bytes()}))


def _measured(lines: int, kind: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "logs"
        generate(_SEED, lines, folder)
        command = [sys.executable, "-m", "benchmarks.triage", str(folder), kind]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True
        )  # our own module
    found: dict[str, float] = json.loads(done.stdout)
    return found


def run(rounds: int = 3) -> tuple[list[Row], dict[str, float]]:
    """All rows of the triage workload, and how its costs grow."""
    seconds: dict[int, float] = {}
    peaks: dict[int, float] = {}
    rates: dict[str, float] = {}
    for size in _SIZES:
        found = [_measured(size, "swarm") for _ in range(rounds if size == _SIZES[-1] else 1)]
        seconds[size] = statistics.median(one["seconds"] for one in found)
        peaks[size] = statistics.median(one["peak"] for one in found)
        rates["swarm"] = rate(int(found[0]["lines"]), 0.0, seconds[size])
        print(
            f"  {size:,} lines: {rates['swarm']:,.0f} lines/s, peak {peaks[size] / 2**20:.0f} MiB",
            file=sys.stderr,
        )
    pure = [_measured(_SIZES[-1], "pure") for _ in range(rounds)]
    rates["pure"] = statistics.median(rate(int(one["lines"]), 0.0, one["seconds"]) for one in pure)
    most = _SIZES[-1]
    rows = [
        Row(
            name="lines of logs through the swarm", size=most, unit="lines/s", better="more",
            ours=rates["swarm"], target=20_000.0, conditions=_CONDITIONS,
        ),
        Row(
            name="the same against the bare analysis, without actors or ledger", size=most, unit="lines/s",
            better="more", ours=rates["swarm"], floor=rates["pure"], conditions=_CONDITIONS,
        ),
        Row(
            name="growth of peak memory from 10,000 to 100,000 lines", size=most, unit="MB", better="less",
            ours=(peaks[most] - peaks[_SIZES[0]]) / 1e6, target=50.0, conditions=_CONDITIONS,
        ),
    ]  # fmt: skip
    sizes = list(_SIZES)
    return rows, {"time of triage": growth_exponent(sizes, [seconds[size] for size in sizes])}


if __name__ == "__main__":
    _child(Path(sys.argv[1]), sys.argv[2])
