"""`python -m benchmarks list | run WORKLOAD [--json] | report`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.report import as_markdown, as_svg
from benchmarks.rows import Row, machine

WORKLOADS = {
    "runtime": ("benchmarks.stage", "ask, tell, fan-out, spawn against bare Trio"),
    "triage": ("benchmarks.triage", "lines a second and memory of the triage swarm"),
}
RESULTS = Path(__file__).parent / "results"

Workload = Callable[[int], tuple[Sequence[Row], dict[str, float]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the workloads")
    run = commands.add_parser("run", help="run one workload")
    run.add_argument("workload", choices=sorted(WORKLOADS))
    run.add_argument(
        "--json", action="store_true", help="one JSON object as the last line of standard output"
    )
    run.add_argument("--rounds", type=int, default=5, help="rounds of A B A B; the median counts")
    commands.add_parser(
        "report", help="Markdown and SVG of the last runs, into benchmarks/results/"
    )
    given = parser.parse_args(arguments)
    if given.command == "list":
        for name, (_, text) in sorted(WORKLOADS.items()):
            print(f"{name:10} {text}")
        return 0
    if given.command == "report":
        return _report()
    return _run(given.workload, given.rounds, as_json=given.json)


def _run(name: str, rounds: int, *, as_json: bool) -> int:
    print(f"{name}: {WORKLOADS[name][1]}, {rounds} rounds", file=sys.stderr)
    workload: Workload = import_module(WORKLOADS[name][0]).run
    rows, growth = workload(rounds)
    result = {
        "workload": name,
        "machine": machine(),
        "rows": [row.as_json() for row in rows],
        "growth": growth,
    }
    print(as_markdown(result), file=sys.stderr)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    if as_json:
        print(json.dumps(result))
    return 0


def _report() -> int:
    found = sorted(RESULTS.glob("*.json"))
    if not found:
        print("nothing has run yet: python -m benchmarks run runtime", file=sys.stderr)
        return 2
    for path in found:
        result = json.loads(path.read_text())
        path.with_suffix(".md").write_text(as_markdown(result) + "\n")
        path.with_suffix(".svg").write_text(as_svg(result))
        print(path.with_suffix(".md"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
