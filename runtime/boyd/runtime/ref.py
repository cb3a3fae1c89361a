"""The capability to send to one actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio

from boyd.runtime.codec import register_wire_form
from boyd.runtime.post import Post, decoding_system

if TYPE_CHECKING:
    from boyd.runtime.messages import Replies
    from boyd.runtime.statistics import ActorStatistics

__all__ = ["Ref"]

M_contra = TypeVar("M_contra", contravariant=True)
R = TypeVar("R")


class Ref(Generic[M_contra]):
    """Where an actor can be reached: equal and hashed by path and incarnation.

    It survives restarts of the actor. After the actor's stop it is dead for
    ever, also when a new actor takes the name.
    """

    __slots__ = ("_post", "incarnation", "path")

    def __init__(self, path: str, incarnation: int, post: Post | None) -> None:
        self.path = path
        self.incarnation = incarnation
        self._post = post

    def tell(self, message: M_contra, /) -> None:
        """Put `message` into the mailbox now. Accepted means: handled, or counted as a dead letter.

        Raises:
            MailboxFull: there is no room (or somebody waits for it) and the policy is to reject.
            ActorStopped: it will never handle anything again.
            NotAccepted: it has no method for this message.
            EncodeError: a value in the message has no wire form.
        """
        self._alive().tell(message)

    async def send(self, message: M_contra, /) -> None:
        """As `tell`, but wait for room. Cancelled means that nothing was sent.

        Inside a handler it waits no longer than that handler's own deadline.

        Raises:
            ActorStopped, NotAccepted, EncodeError: as `tell`.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        await self._alive().send(message)

    async def ask(self, message: Replies[R], /, *, within: float | None = None) -> R:
        """Send and wait for the one reply.

        The deadline is the least of the caller's cancel scopes, the deadline
        of the message that the caller is handling, `within` seconds, and the
        message's own limit or else the system's `ask_timeout`.

        Raises:
            AskTimeout: no reply in time; the request may have run.
            AskCycle: the target waits, directly or not, for the caller.
            ActorStopped, MailboxFull, NotAccepted, EncodeError: it was not handled.
            Exception: what the handler raised: its own class where that is
                registered with `@failure`, else `RemoteFailure`.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        return await self._alive().ask(message, within)  # type: ignore[no-any-return]

    def statistics(self) -> ActorStatistics:
        """How the actor is, now. Raises ActorStopped."""
        return self._alive().statistics()

    def _alive(self) -> Post:
        if self._post is None:
            from boyd.runtime.errors import ActorStopped

            raise ActorStopped(f"{self.path} has stopped")
        return self._post

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and (self.path, self.incarnation) == (
            other.path,
            other.incarnation,
        )

    def __hash__(self) -> int:
        return hash((self.path, self.incarnation))

    def __repr__(self) -> str:
        return f"<ref {self.path}>"


def _encode_ref(ref: Any) -> list[object]:
    from boyd.runtime.codec import refuse

    return [ref.path, ref.incarnation] if isinstance(ref, Ref) else refuse(ref, "a ref")


def _decode_ref(tree: Any) -> Ref[Any]:
    from boyd.runtime.codec import Mismatch

    match tree:
        case [str(path), int(incarnation)]:
            system = decoding_system.get(None)
            post = None if system is None else system.find_post(path, incarnation)
            return Ref(path, incarnation, post)
        case _:
            raise Mismatch("expected a ref: [path, incarnation]")


register_wire_form(Ref, _encode_ref, _decode_ref)
