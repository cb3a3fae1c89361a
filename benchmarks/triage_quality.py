"""How good the triage example is: coverage, precision and number of incidents, against truths.

    python -m benchmarks.triage_quality [--seeds N] [--lines N] [--loghub FOLDER]

On the loghub sample BGL the truth is its first column, which is cut off before reading; on OpenSSH
it is who failed to log in more often than a person would. Generated logs know what was planted in
them; their seeds are drawn anew at each run and printed, so that a bad one can be run again with
`--seed`. Everything but the tables goes to standard error.
"""

import argparse
import os
import re
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from examples.triage.evidence import Spot
from examples.triage.generate import generate
from examples.triage.incidents import Incident
from examples.triage.pipeline import analyse
from examples.triage.report import Report
from examples.triage.score import Score, score
from examples.triage.sources import expand

_ROOT = Path(__file__).resolve().parents[1]
_MANY_FAILURES = 25
_FAILED = re.compile(r"Failed password for .* from ([\d.]+) port")
_MASKED = re.compile(r"<[a-z*]+>")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 0 if every target is met."""
    options = _options(arguments)
    loghub = Path(options.loghub)
    met = True
    if loghub.is_dir():
        met &= _bgl(loghub / "BGL_2k.log")
        met &= _openssh(loghub / "OpenSSH_2k.log")
        _together(loghub)
    else:
        print(f"no loghub samples in {loghub}: set BOYD_SHARED or --loghub", file=sys.stderr)
    seeds = options.seed or [secrets.randbelow(10**6) for _ in range(options.seeds)]
    met &= _generated(seeds, options.lines)
    return 0 if met else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    shared = Path(os.environ.get("BOYD_SHARED") or _ROOT.parent / "shared")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.triage_quality")
    parser.add_argument("--seeds", type=int, default=20, help="how many generated logs (20)")
    parser.add_argument("--seed", type=int, action="append", help="this seed; may be repeated")
    parser.add_argument("--lines", type=int, help="lines of a generated log (5,000 to 120,000)")
    parser.add_argument("--loghub", default=str(shared / "data" / "loghub"))
    return parser.parse_args(arguments)


# -------------------------------------------------------------------------------------- loghub


def _bgl(path: Path) -> bool:
    """Cut the truth off, read the rest, and see which kinds of alerts the incidents cover."""
    kinds, lines = _split_truth(path)
    with tempfile.TemporaryDirectory() as folder:
        cut = Path(folder) / "BGL.log"
        cut.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        report = analyse(expand([str(cut)]).sources)
    alerts = {number for number, kind in enumerate(kinds, start=1) if kind != "-"}
    shown = [evidence_lines(incident, lines) for incident in report.incidents]
    covered = alerts & set().union(*shown)
    found = {kinds[number - 1] for number in covered}
    wanted = sorted({kinds[number - 1] for number in alerts})
    true = sum(1 for got in shown if got & alerts)
    named = sum(len(got) for got in shown)
    hits = sum(len(got & alerts) for got in shown)
    print("BGL_2k without its first column")
    print(f"  incidents            {len(report.incidents)} (at most 40)")
    print(f"  alert kinds covered  {len(found)} of {len(wanted)} (at least 10)", end="")
    print(f", missed: {', '.join(sorted(set(wanted) - found)) or 'none'}")
    print(f"  alert lines covered  {len(covered)} of {len(alerts)}")
    share = f"{100 * hits / max(1, named):.0f} %"
    print(f"  precision            {true} of {len(shown)} incidents have an alert line;")
    print(f"                       {share} of the lines in evidence are alerts (operators tagged")
    print("                       143 of the 347 lines of level FATAL)\n")
    return len(report.incidents) <= 40 and len(found) >= 10


def _split_truth(path: Path) -> tuple[list[str], list[str]]:
    pairs = [line.partition(" ")[::2] for line in path.read_text(encoding="utf-8").splitlines()]
    return [kind for kind, _ in pairs], [rest for _, rest in pairs]


def evidence_lines(incident: Incident, lines: Sequence[str]) -> set[int]:
    """The lines that an incident's evidence means: within a span, and of the span's template."""
    found: set[int] = set()
    for spot in incident.evidence.spots:
        pattern = _pattern(spot)
        for span in spot.spans:
            for number in range(span.first, span.last + 1):
                exact = span.count == span.last - span.first + 1
                if exact or pattern.search(lines[number - 1]):
                    found.add(number)
    return found


def _pattern(spot: Spot) -> re.Pattern[str]:
    """A template as a pattern of the lines that it stands for."""
    tokens = spot.text.removesuffix("…").split()
    masked = [".*?".join(map(re.escape, _MASKED.split(token))) for token in tokens]
    return re.compile(r"\s+".join(masked))


def _openssh(path: Path) -> bool:
    """See whether those who failed often are named, and nobody else as an attacker of his own."""
    report = analyse(expand([str(path)]).sources)
    failures = Counter(_FAILED.findall(path.read_text(encoding="utf-8")))
    attackers = {address for address, count in failures.items() if count >= _MANY_FAILURES}
    named = {i.subject for i in report.incidents if i.kind == "guessing" and i.subject}
    print("OpenSSH_2k")
    print(f"  incidents            {len(report.incidents)}")
    print(f"  attackers named      {len(attackers & named)} of {len(attackers)}", end="")
    print(f" with {_MANY_FAILURES} failed passwords or more: {', '.join(sorted(attackers))}")
    others = sorted(named - attackers)
    fewer = ", ".join(f"{address} ({failures[address]})" for address in others)
    print(f"  others named         {fewer or 'none'}\n")
    return attackers <= named and all(failures[address] >= 10 for address in others)


def _together(loghub: Path) -> None:
    """Read all samples in one report."""
    paths = [str(path) for path in sorted(loghub.glob("*_2k.log"))]
    report = analyse(expand(paths).sources)
    print(f"All samples together: {report.headline}")
    for source in report.sources:
        own = [i for i in report.incidents if i.source == source.name]
        print(f"  {source.name:<18} {len(own):>3} incidents, worst: {_worst(own)}")
    print()


def _worst(incidents: Sequence[Incident]) -> str:
    return incidents[0].title[:70] if incidents else "none"


# ----------------------------------------------------------------------------------- generated


def _generated(seeds: Iterable[int], lines: int | None) -> bool:
    """Read generated logs of several sizes."""
    print("Generated logs: planted 3 troubles and 1 order to the agent each")
    print(f"  {'seed':>7} {'lines':>8} {'found':>6} {'false':>6} {'orders':>7} {'coverage':>9} "
          f"{'incidents':>10} {'lines/s':>9}")  # fmt: skip
    sizes = (5_000, 12_000, 30_000, 120_000)
    perfect = runs = 0
    for at, seed in enumerate(seeds):
        size = lines or sizes[at % len(sizes)]
        with tempfile.TemporaryDirectory() as folder:
            truth = generate(seed, size, Path(folder))
            begin = time.process_time()
            report = analyse(expand([folder]).sources)
            spent = time.process_time() - begin
        result = score(report.incidents, truth)
        runs += 1
        perfect += _is_perfect(result)
        _row(seed, report, result, spent)
    print(f"  all found and no false alarm in {perfect} of {runs}")
    return perfect >= 0.9 * runs


def _row(seed: int, report: Report, result: Score, spent: float) -> None:
    print(
        f"  {seed:>7} {report.lines:>8,} {result.found:>4}/{result.planted} "
        f"{len(result.false_alarms):>6} {result.instructions_found:>5}/"
        f"{result.instructions_planted} {100 * result.coverage:>7.1f} % "
        f"{len(report.incidents):>10} {report.lines / max(1e-9, spent):>9,.0f}"
    )
    for what in (*result.missed, *result.false_alarms, *result.wrong_blocks):
        print(f"          {what}")


def _is_perfect(result: Score) -> bool:
    return (
        result.found == result.planted
        and result.instructions_found == result.instructions_planted
        and not result.false_alarms
        and not result.wrong_blocks
    )


if __name__ == "__main__":
    sys.exit(main())
