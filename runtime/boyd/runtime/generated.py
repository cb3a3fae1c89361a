"""Functions written at run time; the only place that executes text.

The text is ours, made of names that attrs has accepted as attributes and of
numbers; values reach it only through `names`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

__all__ = ["compiled"]


def compiled(name: str, lines: Sequence[str], names: dict[str, Any]) -> Callable[[Any], Any]:
    """The function `name` that `lines` define, with `names` as its globals."""
    exec("\n".join(lines), names)  # noqa: S102  # see above
    return cast("Callable[[Any], Any]", names[name])
