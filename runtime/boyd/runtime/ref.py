"""The capability to send to one actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from boyd.runtime.ask import ask
from boyd.runtime.codec import Mismatch, refuse, register_wire_form
from boyd.runtime.errors import ActorStopped

if TYPE_CHECKING:
    from boyd.runtime.messages import Replies
    from boyd.runtime.post import Post
    from boyd.runtime.statistics import ActorStatistics
    from boyd.runtime.system import System

__all__ = ["Ref", "homes"]

M_contra = TypeVar("M_contra", contravariant=True)
R = TypeVar("R")

homes: Final[dict[str, System]] = {}
"""The open systems of this process by id: where a ref that comes out of a message is looked up."""


class Ref(Generic[M_contra]):
    """Where an actor can be reached: equal and hashed by system, path and incarnation.

    It survives restarts of the actor. After the actor's stop it is dead for
    ever, also when a new actor takes the name.
    """

    __slots__ = ("_post", "incarnation", "path", "system_id")

    def __init__(self, system_id: str, path: str, incarnation: int, post: Post | None) -> None:
        self.system_id = system_id
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
        post = self._post
        if post is None:
            raise self._dead()
        post.tell(message)

    async def send(self, message: M_contra, /) -> None:
        """As `tell`, but wait for room. Cancelled means that nothing was sent.

        Inside a handler it waits no longer than that handler's own deadline.

        Raises:
            AskTimeout: that deadline has passed; nothing was sent.
            ActorStopped, NotAccepted, EncodeError: as `tell`.
        """
        post = self._post
        if post is None:
            raise self._dead()
        await post.send(message)

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
        post = self._post
        if post is None:
            raise self._dead()
        return cast("R", await ask(post, message, within))

    def statistics(self) -> ActorStatistics:
        """How the actor is, now. Raises ActorStopped."""
        if self._post is None:
            raise self._dead()
        return self._post.statistics()

    def _dead(self) -> ActorStopped:
        return ActorStopped(f"{self.path} has stopped")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ref)
            and self.incarnation == other.incarnation
            and self.path == other.path
            and self.system_id == other.system_id
        )

    def __hash__(self) -> int:
        return hash((self.path, self.incarnation))

    def __repr__(self) -> str:
        return f"<ref {self.path}>"


def _encode_ref(ref: object) -> list[object]:
    return (
        [ref.system_id, ref.path, ref.incarnation] if isinstance(ref, Ref) else refuse(ref, "a ref")
    )


def _decode_ref(tree: object) -> Ref[Any]:
    match tree:
        case [str(system_id), str(path), int(incarnation)]:
            system = homes.get(system_id)
            post = None if system is None else system.find_post(path, incarnation)
            return Ref(system_id, path, incarnation, None) if post is None else post.ref
        case _:
            raise Mismatch("expected a ref: [system, path, incarnation]")


register_wire_form(Ref, _encode_ref, _decode_ref)
