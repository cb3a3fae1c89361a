"""An actor as others see it: from its spawn to its stop, over the lives between restarts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs
import trio

from boyd.runtime.actor import Actor, Handler, is_actor
from boyd.runtime.dispatcher import Gate
from boyd.runtime.envelope import NO_HEADERS, Envelope, Headers, Track
from boyd.runtime.errands import Errands
from boyd.runtime.errors import ActorCrashed, ActorStopped
from boyd.runtime.mailbox import Mailbox
from boyd.runtime.messages import message, message_codec
from boyd.runtime.origin import sender_and_headers, waiting_cell
from boyd.runtime.post import Post
from boyd.runtime.restart import Restart, Supervision
from boyd.runtime.siblings import Hold, Siblings
from boyd.runtime.stash import Stash
from boyd.runtime.statistics import ActorStatistics, State
from boyd.runtime.timers import Timers
from boyd.runtime.topics import Hearing

if TYPE_CHECKING:
    from boyd.runtime.cell import Cell
    from boyd.runtime.system import System

__all__ = ["Birth", "Incarnation"]

_PATIENCE: Final = 1.0
"""Seconds after a kill until an actor that goes on is reported."""

_NO_SCOPE: Final = trio.CancelScope()
"""Of an actor whose task has not begun: nobody is in it."""


@attrs.frozen
class Birth:
    """What an actor is made of, at its spawn and at each restart."""

    factory: Callable[..., Actor[Any]]
    args: tuple[Any, ...]
    mailbox: Mailbox
    supervision: Supervision
    headers: Headers = attrs.field(factory=lambda: sender_and_headers()[1])
    """Of the run that it was started for: what its hooks send carries them."""


@message
class _Mark:
    """Of the place in a mailbox where its actor is to stop."""


class Incarnation(Post):
    """Its state, and how it is told to end or to fail. What it does about it is in `Cell`.

    Attributes:
        current, headers, deadline: of the message in hand.
        started: opens when the first life has begun, or never will.
        start_error: why the first life did not begin, while somebody waited for it.
        lived: its first life has begun.
        hold: keeps its next life back, where siblings are restarted with it.
        suspended: it is to handle nothing until it is resumed.
        stopped: opens at the very end.
    """

    __slots__ = (
        "_actor",
        "_birth",
        "_crashes",
        "_end",
        "_failure",
        "_handlers",
        "_injected",
        "_lively",
        "_scope",
        "_siblings",
        "children",
        "crashed",
        "current",
        "deadline",
        "epoch",
        "errands",
        "handled",
        "headers",
        "hearings",
        "hold",
        "is_interrupted",
        "lived",
        "name",
        "parent",
        "spawner_waits",
        "start_error",
        "started",
        "stash",
        "state",
        "stopped",
        "supervision",
        "suspended",
        "timers",
    )

    def __init__(
        self,
        system: System,
        parent: Incarnation | None,
        name: str,
        birth: Birth,
        *,
        path: str,
        incarnation: int,
    ) -> None:
        self._birth = birth
        self._actor = self._build()
        kind = type(self._actor)
        self._handlers: Mapping[type, Handler] = kind.__boyd_handlers__
        super().__init__(
            system,
            path,
            incarnation,
            birth.mailbox,
            kind=kind.__name__,
            accepted=self._handlers,
            codecs=kind.__boyd_codecs__,
        )
        self.parent = parent
        self.name = name
        self.supervision = birth.supervision
        self.children: dict[str, Cell] = {}
        self.timers: Timers | None = None  # few actors have any
        self.errands: Errands | None = None
        self.stash: Stash | None = None
        self.hearings: dict[str, Hearing] | None = None
        self.state: State = "starting"
        self.epoch: int = 0
        self.handled: int = 0
        self.crashed: int = 0
        self.current: Envelope | None = None
        self.headers: Headers = birth.headers
        self.deadline = math.inf
        self.started = Gate(system.dispatcher)
        self.stopped = Gate(system.dispatcher)
        self.spawner_waits = False
        self.start_error: Exception | None = None
        self.hold: Hold | None = None
        self._siblings: Siblings | None = None
        self._failure: Exception | None = None
        self._crashes: tuple[float, ...] = ()
        self._end: Literal["", "stop", "kill"] = ""
        self._injected: Exception | None = None
        self.is_interrupted = False
        self._lively = False
        self.lived = False
        self.suspended = False
        self._scope = _NO_SCOPE
        system.busy.up()

    def _build(self) -> Actor[Any]:
        factory = self._birth.factory
        made: Any = factory(*self._birth.args)
        if not is_actor(made):
            kind = type(made).__name__
            raise TypeError(f"spawn takes a factory of actors; {factory!r} made a {kind}")
        return made

    def become(self, kind: type[Actor[Any]]) -> None:
        """From now on, accept and handle what `kind` does."""
        self.kind = kind.__name__
        self.accepted = self._handlers = kind.__boyd_handlers__
        if not self.closed:
            self.codecs = kind.__boyd_codecs__

    @property
    def is_killed(self) -> bool:
        """It is to end at once."""
        return self._end == "kill"

    @property
    def is_ending(self) -> bool:
        """It will have no other life."""
        return bool(self._end) or self.state in ("stopping", "stopped")

    @property
    def is_living(self) -> bool:
        """It may have children now: not between two lives, nor about to end."""
        return self.state in ("starting", "running", "suspended")

    def statistics(self) -> ActorStatistics:
        """How it is, now."""
        oldest = self.queue.oldest
        return ActorStatistics(
            path=self.path,
            kind=self.kind,
            state=self.state,
            handling=self.current.codec.cls.__name__ if self.current else "",
            queued=len(self.queue),
            capacity=self.queue.size,
            handled=self.handled,
            crashed=self.crashed,
            restarts=max(self.epoch - 1, 0),
            rejected=self.queue.rejected,
            dropped=self.queue.dropped,
            oldest=0.0 if oldest is None else self.system.now() - oldest.at,
            children=tuple(child.statistics() for child in self.children.values()),
        )

    def rouse(self) -> None:
        """Have its task woken, which is parked."""
        self._set_busy()
        self.waiter.wake()

    def _set_busy(self) -> None:
        if self.idle:
            self.idle = False
            self.system.busy.up()

    def _set_idle(self) -> None:
        if not self.idle:
            self.idle = True
            self.system.busy.down()

    def stop(self) -> None:
        """Stop after the message in hand. Idempotent."""
        if not self._end:
            self._end = "stop"
            self._interrupt()
            if self.state == "backing off":
                self._scope.cancel()
            self.waiter.wake()

    def reserved(self) -> Iterable[Envelope]:
        """The reserved messages that are still to be handled, those put aside too."""
        aside = () if self.stash is None else self.stash.reserved()
        return (*self.queue.reserved(), *aside)

    def take_back(self, envelope: Envelope) -> None:
        """One of them shall not be handled after all."""
        if self.stash is None or not self.stash.remove(envelope):
            self.queue.remove(envelope)

    def put_aside(self) -> None:
        """The message in hand into the stash. Raises StashFull, LookupError."""
        if self.current is None:
            raise LookupError(f"{self.path} has no message in hand to put aside")
        if self.stash is None:
            self.stash = Stash(self)
        self.stash.put(self.current)
        self.current = None
        self.handled -= 1

    def stop_itself(self) -> None:
        """As `stop`, by one of its own handlers: its supervision may want another life."""
        if self.supervision.restart is not Restart.PERMANENT:
            self.stop()
        elif not self._end and self._injected is None:
            self._injected = ActorStopped(f"{self.path} has stopped itself, and is permanent")
            self._interrupt()

    def kill(self) -> None:
        """Stop now, children too: the running handler is cancelled. Idempotent."""
        self._end = "kill"
        self._interrupt()
        self._scope.cancel()
        for child in tuple(self.children.values()):
            child.kill()

    async def kill_and_wait(self) -> None:
        """As `kill`, then wait for its end, for at most a second, also when cancelled."""
        self.kill()
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _PATIENCE):
            await self.stopped.wait()

    def crash(self, error: Exception | None = None) -> None:
        """Make it fail as if its handler had raised `error`; its supervisor decides what follows.

        Nothing happens when it is between two lives, or about to end.
        """
        if self.is_living:
            self._injected = error or ActorCrashed(f"{self.path} was made to crash")
            self._interrupt()
            self._scope.cancel()

    def _interrupt(self) -> None:
        if self.state != "stopped":
            self.is_interrupted = True
            self._set_busy()

    def hold_back(self, hold: Hold) -> None:
        """Its next life, if it has one, begins when `hold` lets it."""
        if self.hold is not None:
            self.hold.release()
        self.hold = hold

    def suspend(self) -> None:
        """Handle nothing behind the message in hand, until `resume`. Idempotent."""
        if not self.suspended and not self.is_ending:
            self.suspended = True
            self._interrupt()
            self.waiter.wake()

    def resume(self) -> None:
        """Go on with what waits. Idempotent."""
        if self.suspended:
            if self._is_only_suspended:
                self.is_interrupted = False
            self.suspended = False
            self._set_busy()
            self.waiter.wake()

    @property
    def _is_only_suspended(self) -> bool:
        """Nothing else than its suspension interrupts it."""
        return self.suspended and not self._end and self._injected is None and self.hold is None

    def stop_behind(self) -> None:
        """Stop when everything that waits now has been handled."""
        if self.is_ending:
            return
        track = Track(reserved=True, last=True)
        mark = Envelope(message_codec(_Mark), b"", None, NO_HEADERS, self.system.now(), track)
        self.deliver(mark)

    async def end_life_within(self, seconds: float) -> None:
        """End its life, politely for at most `seconds`, then by force, and hold the next one back."""
        if self.hold is None:
            if self.is_ending:
                return
            self.hold_back(Hold.under(self.system.dispatcher))
            self._interrupt()
            self.waiter.wake()
        hold = self.hold
        assert hold is not None, "just set"
        with trio.CancelScope(deadline=trio.current_time() + seconds):
            await hold.ended.wait()
        if not hold.ended.is_open:
            self._scope.cancel()
            await self._end_by_force(hold.ended)

    async def stop_drained(self) -> None:
        """Stop behind all that waits now. From one of its own handlers: do not wait."""
        self.stop_behind()
        if not self._waits_for_caller():
            await self.stopped.wait()

    def _waits_for_caller(self) -> bool:
        """Whether this task belongs to its handler, or to one below it."""
        caller: Incarnation | None = waiting_cell()
        while caller is not None and caller is not self:
            caller = caller.parent
        return caller is not None

    async def stop_within(self, seconds: float) -> None:
        """Stop, politely for at most `seconds`, then by force. From one of its own handlers: do not wait."""
        self.stop()
        if self._waits_for_caller():
            return
        with trio.CancelScope(deadline=trio.current_time() + seconds):
            await self.stopped.wait()
        if not self.stopped.is_open:
            self.kill()
            await self._end_by_force(self.stopped)

    async def _end_by_force(self, end: Gate) -> None:
        """Wait for the end of what was cancelled; say so where it goes on."""
        with trio.CancelScope(deadline=trio.current_time() + _PATIENCE):
            await end.wait()
        if not end.is_open:
            self.system.report(
                f"{self.path} was killed and goes on, shielded from cancellation", None
            )
            await end.wait()
