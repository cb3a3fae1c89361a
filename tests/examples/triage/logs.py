"""Logs for tests: real samples where they are at hand, and generated ones."""

import functools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from examples.triage.digest import Digest
from examples.triage.generate import Composed, compose
from examples.triage.observe import Digester
from examples.triage.reading import Batch, Position
from examples.triage.sources import Source, expand

_ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("BOYD_SHARED") or _ROOT.parent / "shared")
LOGHUB = SHARED / "data" / "loghub"

needs_loghub = pytest.mark.skipif(
    not LOGHUB.is_dir(), reason=f"needs the loghub samples in {LOGHUB} (set BOYD_SHARED)"
)


def sample(name: str) -> Source:
    """A loghub sample, such as `OpenSSH`."""
    return expand([str(LOGHUB / f"{name}_2k.log")]).sources[0]


def without_first_column(name: str, folder: Path) -> tuple[Source, list[str]]:
    """A copy of a sample without its first column, which is the truth; and that column."""
    kinds: list[str] = []
    lines: list[str] = []
    for line in (LOGHUB / f"{name}_2k.log").read_text().splitlines():
        kind, _, rest = line.partition(" ")
        kinds.append(kind)
        lines.append(rest)
    return write(folder / f"{name}.log", lines), kinds


def write(path: Path, lines: Iterable[str]) -> Source:
    """A source with these lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return expand([str(path)]).sources[0]


@functools.cache
def composed(seed: int, lines: int) -> Composed:
    """Generated logs, made once."""
    return compose(seed, lines)


def generated(seed: int, lines: int, folder: Path) -> tuple[Source, ...]:
    """Generated logs as sources."""
    for name, text in composed(seed, lines).files.items():
        write(folder / name, text)
    return expand([str(folder)]).sources


@functools.cache
def composed_digests(seed: int, size: int, name: str, batch_lines: int) -> tuple[Digest, ...]:
    """The digests of one generated log, made once."""
    return tuple(digests(composed(seed, size).files[name], batch_lines=batch_lines, name=name))


def digests(lines: Sequence[str], *, batch_lines: int = 2000, name: str = "x.log") -> list[Digest]:
    """The digests of some lines, without a file."""
    digester = Digester()
    found: list[Digest] = []
    for at in range(0, max(1, len(lines)), batch_lines):
        part = tuple(lines[at : at + batch_lines])
        after = Position(line=at + len(part), offset=1 + at + len(part))
        batch = Batch(lines=part, position=after, done=at + batch_lines >= len(lines))
        found.append(digester.digest(name, batch))
    return found
