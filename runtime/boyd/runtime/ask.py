"""Send and wait for the one reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import trio

from boyd.runtime.envelope import Envelope, Track
from boyd.runtime.errors import AskCycle, AskTimeout, MailboxFull, NotAccepted
from boyd.runtime.mailbox import Overflow
from boyd.runtime.origin import sender_and_headers, waiting_cell, waiting_deadline
from boyd.runtime.reply import ReplySlot
from boyd.runtime.spans import check_span

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.messages import MessageCodec
    from boyd.runtime.post import Post

__all__ = ["ask"]


async def ask(post: Post, message: object, within: float | None) -> Any:  # noqa: ANN401  # typed by Ref.ask
    """As `Ref.ask`."""
    codec = post.codecs.get(type(message)) or post.codec_of(message)
    if codec.reply is None or not post.answers:
        raise _cannot_be_asked(post, codec)
    system, asker = post.system, waiting_cell()
    now = system.now()
    limit = system.ask_timeout if codec.within is None else codec.within
    if within is not None and check_span(within, "within") < limit:
        limit = within
    limit += now
    way = None
    if asker is not None:
        way = _way_back(asker, post)
        limit = min(limit, waiting_deadline())
    if way is not None and codec.cls not in post.reentrant:
        raise AskCycle(f"{way} would wait for itself; tell instead")
    if limit <= now:
        name = codec.cls.__name__
        raise AskTimeout(f"{post.path} was not asked {name}: there was no time left")
    if way is None:
        _refuse_when_full(post)
    body = codec.encode(message)
    if way is None and not post.queue.has_room():
        post.drop_oldest()
    slot = ReplySlot(post, codec, now, limit)
    _deliver(post, codec, body, slot, beside=way is not None)
    if asker is not None:
        asker.asking.append(post)
    try:
        while not slot.settled:
            await slot.wait()
    finally:
        slot.abandon()
        if asker is not None:
            asker.asking.remove(post)
    return slot.result()


def _refuse_when_full(post: Post) -> None:
    queue = post.queue
    if not queue.has_room() and queue.overflow is not Overflow.DROP_OLDEST:
        queue.rejected += 1
        raise MailboxFull(post.full_text())


def _deliver(
    post: Post, codec: MessageCodec[Any], body: bytes, slot: ReplySlot, *, beside: bool
) -> None:
    """Put the request into the mailbox, or have it handled beside that, and start its time."""
    # A deadline of the caller's cancel scopes travels, but is left to Trio, so that
    # `move_on_after` moves on.
    deadline = min(trio.current_effective_deadline(), slot.limit)
    sender, headers = sender_and_headers()
    envelope = Envelope(codec, body, sender, headers, slot.sent, Track(slot, deadline))
    if beside:
        cast("Cell", post).reenter(envelope, slot)  # nothing else has reentrant handlers
    else:
        post.deliver(envelope)
    post.system.deadlines.add(slot.limit, slot)


def _cannot_be_asked(post: Post, codec: MessageCodec[Any]) -> NotAccepted:
    if codec.reply is None:
        name = codec.cls.__name__
        return NotAccepted(
            f"{name} declares no reply, so it cannot be asked: derive it from Replies[...]"
        )
    return NotAccepted(f"{post.path} is {post.kind_text()}, and nobody answers there: tell or send")


def _way_back(asker: Cell, target: Post) -> str | None:
    """Follow who waits for whom from `target`; if that leads to `asker`, an ask would wait for itself: the way."""
    if target is not asker and not target.asking:
        return None
    stack: list[tuple[Post, tuple[str, ...]]] = [(target, (target.path,))]
    seen: set[int] = set()
    while stack:
        post, way = stack.pop()
        if post is asker:
            return " -> ".join((*way, target.path))
        if id(post) not in seen:
            seen.add(id(post))
            stack.extend((waited, (*way, waited.path)) for waited in post.asking)
    return None
