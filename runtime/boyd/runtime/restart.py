"""What a supervisor does about a crash: a pure decision."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from boyd.runtime.spans import check_span

__all__ = [
    "DEFAULT_SUPERVISION",
    "Decision",
    "Directive",
    "Restart",
    "Strategy",
    "Supervision",
    "next_restart",
]


class Restart(enum.Enum):
    """When an actor that has ended is started again, within the budget.

    Whoever stops or kills it from outside ends it for good, always.
    """

    PERMANENT = enum.auto()
    """After a crash, and also when it has stopped itself."""
    TRANSIENT = enum.auto()
    """After a crash."""
    TEMPORARY = enum.auto()
    """Never: a crash ends it for good, and nobody else."""


class Strategy(enum.Enum):
    """Which of the children of one parent are restarted when one of them crashes.

    Those with it are stopped in reverse start order, each within its
    `shutdown` seconds, and all are started in order; their crashes count
    against one budget. A `Restart.TEMPORARY` one among them just ends.
    """

    ONE_FOR_ONE = enum.auto()
    """That one."""
    ONE_FOR_ALL = enum.auto()
    """All."""
    REST_FOR_ONE = enum.auto()
    """That one, and those that were started after it."""


class Directive(enum.Enum):
    """What a crash leads to."""

    RESTART = enum.auto()
    """A fresh life, within the budget."""
    RESUME = enum.auto()
    """The same life goes on without the message in hand. Uses up no budget."""
    STOP = enum.auto()
    """It has ended for good, as its watchers learn."""
    ESCALATE = enum.auto()
    """Its parent fails of it; at the top, the system."""


def _exceptions(_owner: object, _field: object, value: Mapping[type[Exception], Directive]) -> None:
    kinds: list[object] = list(value)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise TypeError(f"Supervision(directives=...) is by class of exception, not {kind!r}")


def _span(_owner: object, field: attrs.Attribute[float], value: float) -> None:
    check_span(value, f"Supervision {field.name}", least=0.0)


def _count(_owner: object, field: attrs.Attribute[int], value: int) -> None:
    if value < 0:
        raise ValueError(f"Supervision({field.name}={value}): it must be 0 or more")


@attrs.frozen(kw_only=True)
class Supervision:
    """How an actor is kept alive.

    Attributes:
        restart: what the end of a life leads to.
        strategy: for the children that it will have: who of them is restarted with whom.
        directives: what a crash leads to instead, by class of the error; the nearest class counts.
            A crash in `started()` cannot be resumed, and is a restart.
        backoff: seconds before the second restart within `per`; the first is at once, and each further
            one waits twice as long, shortened by a random part of up to a half.
        backoff_max: seconds, the longest of these.
        restarts: how many within `per` seconds; one more escalates to the parent.
        per: seconds, a sliding window.
        shutdown: seconds to stop in before it is killed.
        redeliver: how often a message in hand at a crash is handled again; 0 makes it a dead letter.
        significant: a used-up budget fails the parent too; else the actor just stops, as its watchers learn.
    """

    restart: Restart = Restart.TRANSIENT
    strategy: Strategy = Strategy.ONE_FOR_ONE
    directives: Mapping[type[Exception], Directive] = attrs.field(
        factory=dict[type[Exception], Directive], validator=_exceptions
    )
    restarts: int = attrs.field(default=3, validator=_count)
    per: float = attrs.field(default=30.0, validator=_span)
    backoff: float = attrs.field(default=0.05, validator=_span)
    backoff_max: float = attrs.field(default=2.0, validator=_span)
    shutdown: float = attrs.field(default=5.0, validator=_span)
    redeliver: int = attrs.field(default=0, validator=_count)
    significant: bool = True

    def directive_for(self, error: Exception) -> Directive | None:
        """What was declared for errors of this class, or for the nearest class above it."""
        if not self.directives:
            return None
        declared = (self.directives.get(kind) for kind in type(error).__mro__)
        return next((one for one in declared if one is not None), None)


DEFAULT_SUPERVISION: Final = Supervision()
"""Of an actor that was given none."""


@attrs.frozen(kw_only=True)
class Decision:
    """What to do, after how many seconds, and the crashes that still count."""

    verdict: Directive
    delay: float
    crashes: tuple[float, ...]


_MOST_DOUBLINGS = 60
"""More would overflow, and are above any limit."""


def next_restart(
    supervision: Supervision,
    error: Exception,
    crashes: Sequence[float],
    now: float,
    jitter: float,
    *,
    lively: bool = True,
) -> Decision:
    """Decide about a crash at `now`, given the times of earlier ones.

    The first restart within the window is immediate, later ones back off
    exponentially; `jitter` in [0, 1) spreads them.

    Args:
        lively: it had started, so that there is a life to resume.
    """
    earlier = tuple(at for at in crashes if now - at < supervision.per)
    recent = (*earlier, now)
    match supervision.directive_for(error):
        case Directive.RESUME if lively:
            return Decision(verdict=Directive.RESUME, delay=0.0, crashes=earlier)
        case Directive.STOP | Directive.ESCALATE as verdict:
            return Decision(verdict=verdict, delay=0.0, crashes=recent)
        case None if supervision.restart is Restart.TEMPORARY:
            return Decision(verdict=Directive.STOP, delay=0.0, crashes=recent)
        case _:
            return _within_budget(supervision, recent, jitter)


def _within_budget(supervision: Supervision, recent: tuple[float, ...], jitter: float) -> Decision:
    if len(recent) > supervision.restarts:
        verdict = Directive.ESCALATE if supervision.significant else Directive.STOP
        return Decision(verdict=verdict, delay=0.0, crashes=recent)
    delay = 0.0
    if len(recent) > 1:
        doubled = supervision.backoff * 2.0 ** min(len(recent) - 2, _MOST_DOUBLINGS)
        delay = min(doubled, supervision.backoff_max) * (0.5 + jitter / 2)
    return Decision(verdict=Directive.RESTART, delay=delay, crashes=recent)
