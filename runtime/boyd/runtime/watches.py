"""Death watch: one `Terminated` for each pair of watcher and target, after the target's last message.

A watch stands from `watch` until a handler has its `Terminated` in hand; to
watch again meanwhile changes nothing. So an actor may watch in `started()`,
though its watches outlive its restarts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boyd.runtime.envelope import NO_HEADERS, Envelope
from boyd.runtime.messages import message_codec
from boyd.runtime.supervision import Terminated

if TYPE_CHECKING:
    from boyd.runtime.post import Post
    from boyd.runtime.ref import Ref

__all__ = ["begin_watch", "end_watch", "leave_watches", "tell_watchers"]


def begin_watch(watcher: Post, ref: Ref[Any], target: Post | None) -> None:
    """Have `watcher` told once of the end of `ref`; at once where it is dead already (`target` is None or closed)."""
    if watcher.closed:
        return
    if target is None or target.closed:
        if _waiting(watcher, ref) is None:
            _tell(watcher, Terminated(ref=ref, reason="stopped"))
        return
    if target.watchers is None:
        target.watchers = {}
    if watcher.watched is None:
        watcher.watched = {}
    target.watchers[watcher] = None
    watcher.watched[target] = None


def end_watch(watcher: Post, ref: Ref[Any], target: Post | None) -> None:
    """Take a watch back, also where its `Terminated` waits unread. Idempotent."""
    if target is not None:
        _part(watcher, target)
    envelope = _waiting(watcher, ref)
    if envelope is not None:
        watcher.take_back(envelope)


def tell_watchers(target: Post, end: Terminated) -> None:
    """Whoever watches `target` is told of its end."""
    for watcher in tuple(target.watchers or ()):
        _part(watcher, target)
        _tell(watcher, end)


def leave_watches(watcher: Post) -> None:
    """It has ended and watches nobody any more."""
    for target in tuple(watcher.watched or ()):
        _part(watcher, target)


def _part(watcher: Post, target: Post) -> None:
    """Both forget each other; what is empty goes."""
    if target.watchers is not None:
        target.watchers.pop(watcher, None)
        target.watchers = target.watchers or None
    if watcher.watched is not None:
        watcher.watched.pop(target, None)
        watcher.watched = watcher.watched or None


def _tell(watcher: Post, end: Terminated) -> None:
    if Terminated in watcher.accepted:  # a later life may be of another class
        watcher.deliver(watcher.reserve(end)._replace(sender=None, headers=NO_HEADERS))


def _waiting(watcher: Post, ref: Ref[Any]) -> Envelope | None:
    """The `Terminated` of `ref` that nobody has in hand yet."""
    codec = message_codec(Terminated)
    for envelope in watcher.reserved():
        if envelope.codec is codec and codec.decode(envelope.body).ref == ref:
            return envelope
    return None
