"""Spans of time that users give, in seconds."""

from __future__ import annotations

import math

__all__ = ["check_span"]


def check_span(seconds: float, what: str, *, least: float = -math.inf) -> float:
    """`seconds`, which must be a number of at least `least`; infinity is one.

    Raises:
        ValueError: it is less, or no number: a NaN compares with nothing, and would be due never or always.
    """
    if not seconds >= least:
        least_text = "" if least == -math.inf else f", {least:g} or more"
        raise ValueError(f"{what}={seconds!r}: it must be a number of seconds{least_text}")
    return seconds
