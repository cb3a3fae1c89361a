"""A picture of a system that does not go on: who does what, where in the code, and waits for whom."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.services import Services

__all__ = ["dump_of", "place_of"]

_INNER: Final = (str(Path(__file__).parent), str(Path(trio.__file__).parent))
"""Frames of the machinery, which say nothing about the program."""

_MOST_FRAMES: Final = 5
_MOST_KINDS: Final = 5


def dump_of(system: Services, tasks: Mapping[str, trio.lowlevel.Task]) -> str:
    """All actors with what they do, in start order below their parents.

    Args:
        tasks: of actors, by path.
    """
    lines = [f"{system.name}: {system.busy.now} busy, {system.tasks.now} tasks of actors"]
    for cell in system.directory.top.values():
        lines += _lines(cell, 1, tasks)
    letters = ", ".join(f"{n} {reason}" for reason, n in sorted(system.dead_letters.items()))
    return "\n".join([*lines, f"dead letters: {letters or 'none'}"])


def _lines(cell: Cell, depth: int, tasks: Mapping[str, trio.lowlevel.Task]) -> Iterator[str]:
    edge, now = "  " * depth, cell.system.now()
    parts = [f"{cell.name}  {cell.kind}, {cell.state}"]
    if cell.current is not None:
        parts.append(f"in {cell.current.codec.cls.__name__} sent {now - cell.current.at:.1f} s ago")
    if cell.errands:
        parts.append(f"{len(cell.errands)} errands")
    yield edge + ", ".join(parts)
    if cell.queue:
        oldest = cell.queue.oldest
        age = 0.0 if oldest is None else now - oldest.at
        yield f"{edge}    {len(cell.queue)} wait, the oldest {age:.1f} s: {_kinds(cell)}"
    if cell.asking:
        yield f"{edge}    waits for {', '.join(post.path for post in cell.asking)}"
    task = tasks.get(cell.path)
    if cell.current is not None and task is not None:
        yield from (f"{edge}    {line}" for line in place_of(task))
    for child in cell.children.values():
        yield from _lines(child, depth + 1, tasks)


def _kinds(cell: Cell) -> str:
    counts = Counter(envelope.codec.cls.__name__ for envelope in cell.queue).most_common()
    shown = [f"{n} {kind}" for kind, n in counts[:_MOST_KINDS]]
    return ", ".join([*shown, "..."] if len(counts) > _MOST_KINDS else shown)


def place_of(task: trio.lowlevel.Task) -> list[str]:
    """Where a waiting task stands: `shop.py:17 in order: await bank.ask(Pay())`, the innermost call last."""
    frames = list(task.iter_await_frames())
    outer = [one for one in frames if not one[0].f_code.co_filename.startswith(_INNER)]
    return [_line(frame, number) for frame, number in (outer or frames[-1:])[-_MOST_FRAMES:]]


def _line(frame: FrameType, number: int) -> str:
    code = frame.f_code
    text = linecache.getline(code.co_filename, number).strip()
    return f"{Path(code.co_filename).name}:{number} in {code.co_name}: {text}".rstrip(": ")
