"""How a task waits to be rescheduled, without most of what Trio's own function allocates.

`wait_task_rescheduled` yields an object made of an abort function, and unwraps
the outcome that comes back. Only public names are used here, but what passes
between them is Trio's own affair: it is tried at import, and where it has
changed, Trio's function is used as it is.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Generator
from typing import Any, Final

import outcome
from trio.lowlevel import Abort, RaiseCancelT, Task, reschedule, wait_task_rescheduled

__all__ = ["park", "unpark"]

AbortFn = Callable[[RaiseCancelT], Abort]
_OK: Final = outcome.Value(None)


def _trap_type() -> Callable[[AbortFn], Any] | None:
    """The class of what Trio is told to wait by; None where it does not work as it is used here."""

    def abort(_raise_cancel: RaiseCancelT) -> Abort:
        return Abort.SUCCEEDED

    waiting: Any = wait_task_rescheduled(abort)  # noqa: ASYNC105  # driven by hand
    try:
        trap = waiting.send(None)
        kind: Callable[[AbortFn], Any] = trap.__class__
        return kind if kind(abort) == trap and _unwraps(waiting) else None
    except Exception:  # noqa: BLE001  # whatever it is, it is not what is known here
        return None
    finally:
        waiting.close()


def _unwraps(waiting: Any) -> bool:  # noqa: ANN401
    try:
        waiting.send(outcome.Value("it"))
    except StopIteration as end:
        return bool(end.value == "it")
    return False


_TRAP: Final = _trap_type()


@types.coroutine
def _park(abort: AbortFn) -> Generator[Any, Any, None]:
    assert _TRAP is not None
    result = yield _TRAP(abort)
    if result is not _OK:
        result.unwrap()


park: Final[Callable[[AbortFn], Any]] = wait_task_rescheduled if _TRAP is None else _park
"""`await park(abort)`: wait until `unpark`, or until a cancel that `abort` lets through."""


def unpark(task: Task) -> None:
    """Let a parked task go on."""
    reschedule(task, _OK)
