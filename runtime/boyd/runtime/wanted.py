"""Handlers that are cancelled when nobody waits for their answer any more."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import trio

from boyd.runtime.origin import Errand, origin

__all__ = ["while_wanted"]

_Handler = Callable[[Any, Any, Any], Coroutine[object, object, object]]


def while_wanted(method: _Handler) -> _Handler:
    """`method`, cancelled when the asker of its message has left or has run out of time."""

    async def handle(actor: object, message: object, ctx: object) -> object:
        who = origin.get()
        assert who is not None, "only actors have handlers"
        assert not isinstance(who, Errand), "an errand handles no message"
        reply = who.current.reply if who.current is not None else None
        if reply is None:
            return await method(actor, message, ctx)
        with trio.CancelScope() as scope:
            reply.handling = scope
            return await method(actor, message, ctx)
        who.current = None  # settled: what comes back is no reply
        return None

    return handle
