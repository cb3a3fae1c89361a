"""Sums of usage over requests, honest about what is unknown."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from boyd.actors.conversation.artifacts import Usage
from boyd.actors.plural import noun_for

__all__ = ["UsageTotal", "latest_usage", "total_usage"]

_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost",
)


@attrs.frozen(kw_only=True)
class UsageTotal:
    """What is known of several requests.

    Attributes:
        usage: sums of the known figures; None where no request told one.
        requests: how many were made.
        unknown: how many of them told no token counts at all.
    """

    usage: Usage = attrs.field(factory=Usage)
    requests: int = 0
    unknown: int = 0

    def __str__(self) -> str:
        def count(figure: int | None) -> str:
            return "?" if figure is None else f"{figure:,}"

        read, written = self.usage.input_tokens, self.usage.output_tokens
        text = f"{count(read)} {noun_for(read or 0, 'tokens')} in, {count(written)} out"
        return text if not self.unknown else f"{text} ({self.unknown} of {self.requests} unknown)"


def total_usage(usages: Iterable[Usage | None]) -> UsageTotal:
    """The sum over requests; None stands for a request that reported nothing."""
    sums: dict[str, float | None] = dict.fromkeys(_FIELDS)
    requests = unknown = 0
    for usage in usages:
        requests += 1
        if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
            unknown += 1
        for name in _FIELDS if usage is not None else ():
            figure: float | None = getattr(usage, name)
            if figure is not None:
                sums[name] = (sums[name] or 0) + figure
    return UsageTotal(usage=_usage(sums), requests=requests, unknown=unknown)


def latest_usage(reports: Iterable[Usage]) -> Usage | None:
    """What one request took, from reports that repeat and grow: the last known value of a field."""
    latest: dict[str, float | None] = {}
    for report in reports:
        for name in _FIELDS:
            figure: float | None = getattr(report, name)
            if figure is not None:
                latest[name] = figure
    return _usage(latest) if latest else None


def _usage(figures: dict[str, float | None]) -> Usage:
    def whole(name: str) -> int | None:
        figure = figures.get(name)
        return None if figure is None else int(figure)

    return Usage(
        input_tokens=whole("input_tokens"),
        output_tokens=whole("output_tokens"),
        cache_read_tokens=whole("cache_read_tokens"),
        cache_write_tokens=whole("cache_write_tokens"),
        reasoning_tokens=whole("reasoning_tokens"),
        cost=figures.get("cost"),
    )
