"""Which process holds a lease, and whether that process is known to be dead.

Only a certain "dead" lets a lease be taken at once; in every doubt the taker
waits for its time to pass.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from boyd.runtime.seams import monotonic_ns

__all__ = ["Holder", "Machine"]

_ZOMBIE_STATES: Final = ("Z", "X")
_STATE, _START = 0, 19  # in /proc/PID/stat, counted behind the command's closing bracket


@attrs.frozen(kw_only=True)
class Holder:
    """A process on this machine, told apart from a later one with the same number.

    Attributes:
        boot: this start of the kernel, or "" where the system does not tell.
        space: the pid namespace in which `pid` means something, or "".
        start: when the process began, in ticks since boot, or "".
    """

    boot: str
    space: str
    pid: int
    start: str


class Machine:
    """The machine that this process runs on; tests put another in its place."""

    def monotonic(self) -> float:
        """Seconds that all processes of this boot agree on, whatever the wall clock does."""
        return monotonic_ns() / 1e9

    def me(self) -> Holder:
        """This process."""
        pid = os.getpid()
        status = _status(pid)
        return Holder(boot=_boot(), space=_space(), pid=pid, start=status[_START] if status else "")

    def is_dead(self, holder: Holder) -> bool:
        """Whether a process is known to be dead: False means alive, or nobody can tell."""
        if holder.boot != _boot():
            # A WAL file is shared through memory, so all its users run under one
            # kernel: a holder under another one ended with it.
            return bool(holder.boot and _boot())
        if holder.space != _space() or holder.pid < 1:
            return False
        try:
            os.kill(holder.pid, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except PermissionError:
            pass
        status = _status(holder.pid)
        if status is None:
            return False
        return status[_STATE] in _ZOMBIE_STATES or (
            holder.start != "" and status[_START] != holder.start
        )


def _status(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The command may hold spaces and brackets; the last bracket is its end.
    fields = text.rpartition(")")[2].split()
    return fields if len(fields) > _START else None


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


@cache
def _space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
