"""What a supervisor does about a crash: a pure decision."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import attrs

__all__ = ["Decision", "Restart", "Supervision", "Verdict", "next_restart"]


class Restart(enum.Enum):
    """When a stopped child is started again."""

    PERMANENT = enum.auto()
    """After a crash, within the budget; over it the failure escalates."""
    TEMPORARY = enum.auto()
    """Never: a crash stops it for good, and nobody else."""


@attrs.frozen(kw_only=True)
class Supervision:
    """How an actor is kept alive.

    Attributes:
        restart: what a crash leads to.
        restarts: how many within `per` seconds; one more escalates to the parent.
        per: seconds, a sliding window.
        shutdown: seconds to stop in before it is killed.
        redeliver: how often a message in hand at a crash is handled again; 0 makes it a dead letter.
        significant: a used-up budget fails the parent too; else the actor just stops, as its watchers learn.
    """

    restart: Restart = Restart.PERMANENT
    restarts: int = 3
    per: float = 30.0
    shutdown: float = 5.0
    redeliver: int = 0
    significant: bool = True


class Verdict(enum.Enum):
    """The supervisor's choice."""

    RESTART = enum.auto()
    STOP = enum.auto()
    ESCALATE = enum.auto()


@attrs.frozen(kw_only=True)
class Decision:
    """What to do, after how many seconds, and the crashes that still count."""

    verdict: Verdict
    delay: float
    crashes: tuple[float, ...]


_FIRST_DELAY = 0.05
_LONGEST_DELAY = 2.0


def next_restart(
    supervision: Supervision, crashes: Sequence[float], now: float, jitter: float
) -> Decision:
    """Decide about a crash at `now`, given the times of earlier ones.

    The first restart within the window is immediate, later ones back off
    exponentially; `jitter` in [0, 1) spreads them.
    """
    recent = (*(at for at in crashes if now - at < supervision.per), now)
    if supervision.restart is Restart.TEMPORARY:
        return Decision(verdict=Verdict.STOP, delay=0.0, crashes=recent)
    if len(recent) > supervision.restarts:
        verdict = Verdict.ESCALATE if supervision.significant else Verdict.STOP
        return Decision(verdict=verdict, delay=0.0, crashes=recent)
    waits = len(recent) - 2
    delay = (
        0.0 if waits < 0 else min(_FIRST_DELAY * 2.0**waits, _LONGEST_DELAY) * (0.5 + jitter / 2)
    )
    return Decision(verdict=Verdict.RESTART, delay=delay, crashes=recent)
