"""A message that comes back to an actor which waits for what led to it, handled beside the handler that waits.

It overtakes the mailbox: what waits there waits for the handler that waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from boyd.runtime.answers import answer, answer_with_error
from boyd.runtime.context import Context
from boyd.runtime.errands import Errands
from boyd.runtime.errors import ActorCrashed, ActorStopped
from boyd.runtime.origin import Reentry

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.envelope import Envelope
    from boyd.runtime.reply import ReplySlot

__all__ = ["reenter"]


def reenter(cell: Cell, envelope: Envelope, reply: ReplySlot) -> None:
    """Have `cell` handle a request now, in a task of its life."""
    if cell.errands is None:
        cell.errands = Errands(cell)
    entry = Reentry(cell, envelope)
    cell.errands.reenter(lambda: _handle(cell, entry, envelope, reply), entry)


async def _handle(cell: Cell, entry: Reentry, envelope: Envelope, reply: ReplySlot) -> None:
    system = cell.system
    cell.queue.taken += 1
    if reply.settled:
        system.dead_letter(envelope, cell, "withdrawn")
        return
    reply.began = system.now()
    if system.spies:
        system.reports.spied(envelope, cell)
    try:
        await trio.lowlevel.checkpoint_if_cancelled()
        value = await cell.handle(envelope, Context(cell, entry.epoch))
        if entry.current is envelope:
            answer(cell, reply, value, envelope)
    except Exception as error:
        if not answer_with_error(cell, error, envelope, entry.deadline):
            reply.crash(error)
            cell.give_up(envelope, "crashed")
            raise
    except trio.Cancelled:  # its life ends
        doing = f"while it handled {envelope.codec.cls.__name__}"
        if cell.is_ending:
            reply.fail(ActorStopped(f"{cell.path} stopped {doing}"))
            cell.give_up(envelope, "stopped")
        else:
            reply.fail(ActorCrashed(f"{cell.path} was restarted {doing}"))
            cell.give_up(envelope, "crashed")
        raise
    cell.handled += 1
