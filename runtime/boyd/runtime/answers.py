"""How a handler's outcome becomes the answer of an ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boyd.runtime.envelope import Envelope
from boyd.runtime.errors import AskTimeout, EncodeError
from boyd.runtime.failure import is_answer

if TYPE_CHECKING:
    from boyd.runtime.incarnation import Incarnation
    from boyd.runtime.reply import ReplySlot

__all__ = ["answer", "answer_with_error"]


def answer(cell: Incarnation, reply: ReplySlot, value: object, envelope: Envelope) -> None:
    """Settle an ask with what its handler returned.

    Raises:
        TypeError: that is not of the type that the message promises.
    """
    if reply.settled:
        cell.system.dead_letter(envelope, cell, "late")
        return
    try:
        frame = reply.encode(value)
    except EncodeError as error:
        name = envelope.codec.cls.__name__
        raise TypeError(
            f"{cell.path} answered {name} with a value that does not fit: {error}"
        ) from error
    reply.answer(frame)
    if cell.system.spies:
        cell.system.reports.spied_reply(envelope, cell, frame)


def answer_with_error(
    cell: Incarnation, error: Exception, envelope: Envelope, deadline: float
) -> bool:
    """Settle an ask with an error that is its answer; False: it is a crash."""
    reply = envelope.reply
    # Out of time is no crash: the deadline was the asker's, and has told the asker already.
    in_time = not isinstance(error, AskTimeout) or deadline > cell.system.now()
    if reply is None or (in_time and not is_answer(error)):
        return False
    if reply.settled:
        cell.system.dead_letter(envelope, cell, "late")
    reply.fail(error)
    return True
