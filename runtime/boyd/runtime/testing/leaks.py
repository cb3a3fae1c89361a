"""Nothing outlives its block: tasks, threads, open files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

__all__ = ["assert_no_leaks"]

_DESCRIPTORS = Path("/proc/self/fd")


def _descriptors() -> dict[str, str]:
    if not _DESCRIPTORS.exists():
        return {}
    found: dict[str, str] = {}
    for entry in os.listdir(_DESCRIPTORS):  # noqa: PTH208  # its own descriptor must not count
        try:
            found[entry] = str((_DESCRIPTORS / entry).readlink())
        except OSError:
            continue
    return found


def _tasks() -> set[int]:
    try:
        root = trio.lowlevel.current_root_task()
    except RuntimeError:
        return set()
    found: set[int] = set()
    stack = [root] if root else []
    while stack:
        task = stack.pop()
        found.add(id(task))
        for nursery in task.child_nurseries:
            stack.extend(nursery.child_tasks)
    return found


def _threads() -> set[str]:
    # Trio keeps idle worker threads for reuse; they hold nothing.
    return {t.name for t in threading.enumerate() if not t.daemon}


@contextmanager
def assert_no_leaks() -> Iterator[None]:
    """Tasks, non-daemon threads and file descriptors at the end of the block are those of its beginning.

    Works inside a Trio run (tasks are counted) and outside (they are not).
    Raises AssertionError.
    """
    tasks, threads, descriptors = _tasks(), _threads(), _descriptors()
    yield
    more_tasks = _tasks() - tasks
    assert not more_tasks, f"{len(more_tasks)} tasks outlived the block"
    more_threads = _threads() - threads
    assert not more_threads, f"threads outlived the block: {', '.join(sorted(more_threads))}"
    more_files = {k: v for k, v in _descriptors().items() if k not in descriptors and _counts(v)}
    assert not more_files, f"files left open: {', '.join(sorted(more_files.values()))}"


def _counts(target: str) -> bool:
    return not target.startswith(("anon_inode:", "/dev/", "/proc/"))
