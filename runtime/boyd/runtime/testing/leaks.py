"""Nothing outlives its block: tasks, threads, open files."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import trio

__all__ = ["assert_no_leaks"]

_DESCRIPTORS: Final = Path("/proc/self/fd")


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


def _tasks() -> set[trio.lowlevel.Task]:
    try:
        root = trio.lowlevel.current_root_task()
    except RuntimeError:
        return set()
    found: set[trio.lowlevel.Task] = set()
    stack = [root] if root else []
    while stack:
        task = stack.pop()
        found.add(task)
        for nursery in task.child_nurseries:
            stack.extend(nursery.child_tasks)
    return found


def _threads() -> set[threading.Thread]:
    # Trio keeps idle worker threads for reuse, as daemons; they hold nothing.
    return {thread for thread in threading.enumerate() if not thread.daemon}


@contextmanager
def assert_no_leaks() -> Generator[None]:
    """Tasks, non-daemon threads and file descriptors at the end of the block are those of its beginning.

    Works inside a Trio run (tasks are counted) and outside (they are not).
    Where the block raises, its error is not replaced.

    Raises AssertionError.
    """
    tasks, threads, descriptors = _tasks(), _threads(), _descriptors()
    yield
    more_tasks = sorted(task.name for task in _tasks() - tasks)
    assert not more_tasks, f"{len(more_tasks)} tasks outlived the block: {', '.join(more_tasks)}"
    more_threads = sorted(thread.name for thread in _threads() - threads)
    assert not more_threads, f"threads outlived the block: {', '.join(more_threads)}"
    more_files = sorted(
        v for k, v in _descriptors().items() if descriptors.get(k) != v and _counts(v)
    )
    assert not more_files, f"files left open: {', '.join(more_files)}"


def _counts(target: str) -> bool:
    return not target.startswith(("anon_inode:", "/dev/", "/proc/"))
