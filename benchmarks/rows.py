"""What a workload reports: figures with their floors, as ratios that are larger when better for us."""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from typing import Literal

import attrs

__all__ = ["Row", "growth_exponent", "machine", "rate", "side_by_side"]

Measure = Callable[[], Awaitable[float]]
"""Runs once and returns a figure, such as operations a second."""


@attrs.frozen(kw_only=True)
class Row:
    """One figure.

    Attributes:
        ours, floor: medians of interleaved rounds; the floor is the least that the same work costs.
        target: the `ratio_floor` to reach, or the figure itself where there is no floor.
        conditions: what was switched on.
    """

    name: str
    size: int
    unit: str
    better: Literal["more", "less"]
    ours: float
    floor: float | None = None
    target: float | None = None
    conditions: str = "open_system() defaults, memory ledger"

    @property
    def ratio_floor(self) -> float | None:
        if self.floor is None:
            return None
        return self.ours / self.floor if self.better == "more" else self.floor / self.ours

    @property
    def holds(self) -> bool | None:
        if self.target is None:
            return None
        if self.floor is not None:
            return (self.ratio_floor or 0.0) >= self.target
        return self.ours >= self.target if self.better == "more" else self.ours <= self.target

    def as_json(self) -> dict[str, object]:
        """With every number short."""
        fields: dict[str, object] = {
            **attrs.asdict(self),
            "peers": {},
            "ratio_floor": self.ratio_floor,
            "ratio_peers": {},
            "holds": self.holds,
        }
        return {
            k: float(f"{v:.4g}") if isinstance(v, float) and math.isfinite(v) else v
            for k, v in fields.items()
        }


async def side_by_side(rounds: int, *measures: Measure) -> list[float]:
    """The median of each measure over `rounds` rounds of A B A B."""
    figures: list[list[float]] = [[] for _ in measures]
    for number in range(rounds):
        for measure, kept in zip(measures, figures, strict=True):
            kept.append(await measure())
        print(f"  round {number + 1} of {rounds}", end="\r", file=sys.stderr, flush=True)
    print(" " * 30, end="\r", file=sys.stderr, flush=True)
    return [statistics.median(kept) for kept in figures]


def rate(count: int, started: float, ended: float) -> float:
    """Operations a second."""
    return count / (ended - started)


def growth_exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Slope of log(cost) over log(size): 1 is linear, 2 quadratic."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(cost, 1e-9)) for cost in costs]
    return float(f"{statistics.linear_regression(xs, ys).slope:.3g}")


def machine() -> dict[str, object]:
    """Where this ran."""
    return {
        "python": platform.python_version(),
        "trio": version("trio"),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": [round(one, 2) for one in os.getloadavg()],
    }
