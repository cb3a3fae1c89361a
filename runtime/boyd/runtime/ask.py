"""Send and wait for the one reply."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import trio

from boyd.runtime.errors import AskCycle, AskTimeout, MailboxFull, NotAccepted
from boyd.runtime.mailbox import Overflow
from boyd.runtime.origin import waiting_cell
from boyd.runtime.reply import ReplySlot

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.post import Post

__all__ = ["ask"]


async def ask(post: Post, message: object, within: float | None) -> Any:  # noqa: ANN401  # typed by Ref.ask
    """As `Ref.ask`."""
    await trio.lowlevel.checkpoint_if_cancelled()
    codec = post.codec_of(message)
    if codec.reply is None:
        raise NotAccepted(
            f"{codec.cls.__name__} declares no reply, so it cannot be asked: derive it from Replies[...]"
        )
    if not post.answers:
        raise NotAccepted(
            f"{post.path} is {post.kind_text()}, and nobody answers there: tell or send"
        )
    system, asker = post.system, waiting_cell()
    now = system.now()
    limit = now + min(codec.within or system.ask_timeout, math.inf if within is None else within)
    if asker is not None:
        _refuse_cycle(asker, post)
        limit = min(limit, asker.deadline)
    name = codec.cls.__name__
    if limit <= now:
        raise AskTimeout(f"{post.path} was not asked {name}: there was no time left")
    queue = post.queue
    if not queue.has_room() and queue.overflow is not Overflow.DROP_OLDEST:
        queue.rejected += 1
        raise MailboxFull(post.full_text())
    body = codec.encode(message)
    if not queue.has_room():
        post.drop_oldest()

    slot = ReplySlot(codec.reply, system.dispatcher, len(queue))
    deadline = min(limit, trio.current_effective_deadline())
    post.deliver(post.seal(codec, body, deadline, slot))

    def time_out() -> None:
        slot.fail(AskTimeout(_timeout_text(post, slot, name, now, limit)))

    # A deadline of the caller's cancel scopes is left to Trio, so that `move_on_after` moves on.
    due = system.deadlines.at(limit, time_out)
    if asker is not None:
        asker.asking.append(post)
    try:
        while not slot.settled:
            await slot.wait()
    finally:
        due.cancel()
        slot.abandon()
        if asker is not None:
            asker.asking.remove(post)
    return slot.result()


def _timeout_text(post: Post, slot: ReplySlot, name: str, sent: float, limit: float) -> str:
    began = limit if slot.began is None else slot.began
    behind = f"it waited {began - sent:.1f} s behind {slot.ahead:,} messages"
    text = f"{post.path} did not answer {name} within {limit - sent:.1f} s: {behind}"
    return text if slot.began is None else f"{text} and is still being handled"


def _refuse_cycle(asker: Cell, target: Post) -> None:
    """Follow who waits for whom from `target`; finding `asker` there, this ask would wait for itself."""
    stack: list[tuple[Post, tuple[str, ...]]] = [(target, (target.path,))]
    seen: set[int] = set()
    while stack:
        post, way = stack.pop()
        if post is asker:
            raise AskCycle(
                f"{' -> '.join((*way, target.path))} would wait for itself; tell instead"
            )
        if id(post) not in seen:
            seen.add(id(post))
            stack.extend((waited, (*way, waited.path)) for waited in post.asking)
