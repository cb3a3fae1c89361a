"""Views: what a model is shown of a thread. A transform never changes the thread."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from boyd.actors.conversation.transcript import repair_view
from boyd.actors.conversation.turns import Turn, text_turn

__all__ = ["Transform", "instructions", "view_of"]

Transform: TypeAlias = Callable[[Sequence[Turn]], Sequence[Turn] | Awaitable[Sequence[Turn]]]
"""A view from a view. The first one is given the thread itself, in every step anew."""


def instructions(text: str) -> Transform:
    """Put a system turn first; a blank text adds none."""

    def prepend(turns: Sequence[Turn]) -> Sequence[Turn]:
        return (
            [text_turn("system", text.strip(), id="instructions"), *turns]
            if text.strip()
            else turns
        )

    return prepend


async def view_of(turns: Sequence[Turn], transforms: Sequence[Transform]) -> tuple[Turn, ...]:
    """The valid view that `transforms`, in order, make of a thread."""
    view = turns
    for transform in transforms:
        made = transform(view)
        view = await made if inspect.isawaitable(made) else made
    return tuple(repair_view(view))
