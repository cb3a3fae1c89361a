"""One actor's life: take a message, handle it, survive its crashes. The only place that runs handlers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import trio

from boyd.runtime.actor import Actor, Handler
from boyd.runtime.context import Context
from boyd.runtime.dispatcher import Gate
from boyd.runtime.envelope import NO_HEADERS, Envelope, Headers
from boyd.runtime.errors import ActorCrashed, ActorStopped, NotAccepted
from boyd.runtime.failure import failure_of, is_answer
from boyd.runtime.mailbox import Mailbox
from boyd.runtime.post import Post, current_cell, decoding_system
from boyd.runtime.restart import Decision, Supervision, Verdict, next_restart
from boyd.runtime.statistics import ActorStatistics
from boyd.runtime.supervision import SupervisorDecided, Terminated

if TYPE_CHECKING:
    from boyd.runtime.deadlines import Due
    from boyd.runtime.system import System

__all__ = ["Cell"]

State = Literal["starting", "running", "backing off", "stopping", "stopped"]


class Cell(Post):
    """An actor from its spawn to its stop (an incarnation), over the lives between restarts (epochs)."""

    __slots__ = (
        "_actor", "_args", "_crashes", "_end", "_factory", "_first", "_handlers", "_injected", "_scope",
        "asking", "background", "children", "crashed", "current", "deadline", "epoch", "failure", "handled", "headers", "name",
        "parent", "spawner_waits", "started", "state", "stopped", "supervision", "timers", "watchers",
    )  # fmt: skip

    def __init__(  # what a spawn is made of
        self,
        system: System,
        parent: Cell | None,
        name: str,
        path: str,
        incarnation: int,
        factory: Callable[..., Actor[Any]],
        args: tuple[Any, ...],
        mailbox: Mailbox,
        supervision: Supervision,
    ) -> None:
        super().__init__(system, path, incarnation, mailbox)
        self.parent = parent
        self.name = name
        self.supervision = supervision
        self.children: dict[str, Cell] = {}
        self.state: State = "starting"
        self.epoch = 0
        self.handled = 0
        self.crashed = 0
        self.current: Envelope | None = None
        self.headers: Headers = NO_HEADERS
        self.deadline = math.inf
        self.asking: list[Post] = []
        self.watchers: list[Post] = []
        self.timers: dict[str, Due] = {}
        self.started = Gate(system.dispatcher)
        self.stopped = Gate(system.dispatcher)
        self.spawner_waits = False
        self.failure: Exception | None = None
        self._factory = factory
        self._args = args
        self._first: Actor[Any] | None = self._build()
        self._actor: Actor[Any] = self._first
        self._handlers: Mapping[type, Handler] = type(self._first).__boyd_handlers__
        self._crashes: tuple[float, ...] = ()
        self._end: Literal["", "stop", "kill"] = ""
        self._injected: Exception | None = None
        self._scope = trio.CancelScope()
        self.background: set[trio.CancelScope] = set()

    def _build(self) -> Actor[Any]:
        made = self._factory(*self._args)
        if not isinstance(made, Actor):
            raise TypeError(
                f"spawn takes a factory of actors; {self._factory!r} made a {type(made).__name__}"
            )
        return made

    # ------------------------------------------------------------------ seen from outside
    @property
    def accepted(self) -> Mapping[type, object]:
        return self._handlers

    @property
    def kind(self) -> str:
        return type(self._actor).__name__

    def statistics(self) -> ActorStatistics:
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
            oldest=0.0 if oldest is None else self.system.clock.now() - oldest.at,
            children=tuple(child.statistics() for child in self.children.values()),
        )

    def stop(self) -> None:
        """Stop after the message in hand. Idempotent."""
        if not self._end:
            self._end = "stop"
            self.waiter.wake()

    def kill(self) -> None:
        """Stop now: the running handler is cancelled."""
        self._end = "kill"
        self._scope.cancel()

    def crash(self, error: Exception | None = None) -> None:
        """Make it fail as if its handler had raised `error`; its supervisor decides what follows."""
        self._injected = error or ActorCrashed(f"{self.path} was made to crash")
        self._scope.cancel()

    async def stop_within(self, seconds: float) -> None:
        """Stop, politely for at most `seconds`, then by force."""
        self.stop()
        with trio.move_on_after(seconds):
            await self.stopped.wait()
            return
        self.kill()
        await self.stopped.wait()

    # ------------------------------------------------------------------ its task
    async def run(self) -> None:
        """The actor's whole life. Raises only when its failure leaves the system."""
        current_cell.set(self)
        decoding_system.set(self.system)
        reason = "stopped"
        escalated: Exception | None = None
        try:
            await self.system.dispatcher.enter()
            while True:
                try:
                    error = await self._live()
                finally:
                    self._release()
                if error is None:
                    break
                if self.spawner_waits and self.state == "starting":
                    # It never ran: that is the spawner's news, not its supervisor's.
                    self.failure = error
                    break
                decision = self._decide(error)
                if decision.verdict is not Verdict.RESTART:
                    reason = "crashed"
                    self.failure = error
                    escalated = error if decision.verdict is Verdict.ESCALATE else None
                    break
                await self._clean_up()
                await self._back_off(decision.delay)
            await self._wind_down()
        finally:
            self._finish(reason)
        if escalated is not None:
            self._escalate(escalated)

    async def _live(self) -> Exception | None:
        """One epoch. None: it is to stop; else the error that ended it."""
        self.epoch += 1
        self._injected = None
        error: Exception | None = None
        with trio.CancelScope() as self._scope:
            try:
                if self._first is None:
                    self._actor = self._build()
                    self._handlers = type(self._actor).__boyd_handlers__
                self._first = None
                ctx = Context(self)
                await self._actor.started(ctx)
                self.state = "running"
                self.started.open()
                await self._receive(ctx)
            except Exception as caught:  # noqa: BLE001  # the handler boundary: every error becomes a decision
                error = caught
        if self._scope.cancelled_caught and self._injected is not None:
            error = self._injected
        return error

    def _release(self) -> None:
        try:
            self._actor.released()
        except Exception as error:  # noqa: BLE001  # letting go must not keep an actor from ending; it is reported
            self.system.report(f"{self.path}: released() failed", error)

    async def _receive(self, ctx: Context) -> None:
        """Handle messages until told to stop."""
        queue, batch = self.queue, self.system.dispatcher.batch
        while True:
            left = batch
            while left and not self._end:
                envelope = queue.take()
                if envelope is None:
                    break
                await self._handle(envelope, ctx)
                left -= 1
            if self._end:
                return
            if len(queue):
                await self.system.dispatcher.pass_turn()
            else:
                await self.waiter.wait()

    async def _handle(self, envelope: Envelope, ctx: Context) -> None:
        """Run one handler and settle its ask. What it raises ends the epoch, unless it is an answer."""
        if self.system.spies:
            self.system.spied(envelope, self)
        reply = envelope.reply
        if reply is not None:
            if reply.settled:
                self.system.dead_letter(envelope, self, "withdrawn")
                return
            reply.begun = True
        self.current = envelope
        self.headers = envelope.headers
        self.deadline = envelope.deadline
        message = envelope.codec.decode(envelope.body)
        try:
            value = await self._handlers[message.__class__](self._actor, message, ctx)
            if reply is not None:
                self._answer(reply, value, envelope)
        except Exception as error:
            if reply is None or not is_answer(error):
                raise
            reply.fail(error)
        self.current = None
        self.deadline = math.inf
        self.handled += 1

    def _answer(self, reply: Any, value: object, envelope: Envelope) -> None:  # noqa: ANN401
        if reply.settled:
            self.system.dead_letter(envelope, self, "late")
            return
        frame = reply.answer(value)
        if self.system.spies:
            self.system.spied_reply(envelope, self, frame)

    # ------------------------------------------------------------------ crashes
    def _decide(self, error: Exception) -> Decision:
        """Ask the supervision what to do, settle the message in hand, and record the decision."""
        decision = next_restart(
            self.supervision, self._crashes, self.system.clock.now(), self.system.random.random()
        )
        self._crashes = decision.crashes
        envelope = self.current
        handling = envelope.codec.cls.__name__ if envelope else ""
        self._add_note(error, handling)
        again = (
            envelope is not None
            and decision.verdict is Verdict.RESTART
            and self._redeliver(envelope)
        )
        if envelope is not None and not again:
            self.crashed += 1
            if envelope.reply is not None:
                envelope.reply.fail(error)
            self.system.dead_letter(envelope, self, "crashed")
        self.system.decided(
            SupervisorDecided(
                path=self.path,
                kind=self.kind,
                epoch=self.epoch,
                verdict=decision.verdict.name.lower(),
                crash=len(decision.crashes),
                budget=self.supervision.restarts,
                error=type(error).__name__,
                message=str(error),
                handling=handling,
                redelivered=again,
            ),
            self.headers,
            error,
        )
        self.current = None
        self.deadline = math.inf
        return decision

    def _add_note(self, error: Exception, handling: str) -> None:
        count, per = len(self._crashes), self.supervision.per
        doing = f", handling {handling}" if handling else ""
        ordinal = (
            f"{count}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(count if count < 20 else count % 10, 'th') }"  # noqa: PLR2004
        )
        error.add_note(f"in actor {self.path}, {ordinal} crash in {per:g} s{doing}")

    def _redeliver(self, envelope: Envelope) -> bool:
        if envelope.attempt > self.supervision.redeliver:
            return False
        if envelope.reply is not None:
            if envelope.reply.settled:
                return False
            envelope.reply.begun = False
        envelope.attempt += 1
        self.queue.put_back(envelope)
        return True

    async def _back_off(self, delay: float) -> None:
        self.state = "backing off"
        if delay > 0 and not self._end:
            with trio.CancelScope() as self._scope:
                await self.system.sleep(delay)

    def _escalate(self, error: Exception) -> None:
        """The budget is used up: the parent fails with this error, and at the root it leaves the system."""
        if self.parent is None:
            raise error
        self.parent.crash(error)

    # ------------------------------------------------------------------ the end
    async def _clean_up(self) -> None:
        """What does not outlive an epoch: children in reverse order, timers, background tasks."""
        for due in self.timers.values():
            due.cancel()
        self.timers.clear()
        self._cancel_background()
        for child in reversed(tuple(self.children.values())):
            await child.stop_within(child.supervision.shutdown)

    async def _wind_down(self) -> None:
        self.state = "stopping"
        await self._clean_up()
        if self._end != "kill":
            with trio.move_on_after(self.supervision.shutdown):
                await self._say_stopped()

    async def _say_stopped(self) -> None:
        try:
            await self._actor.stopped(Context(self))
        except Exception as error:  # noqa: BLE001  # a failing farewell must not undo the stop; it is reported
            self.system.report(f"{self.path}: stopped() failed", error)

    def _finish(self, reason: str) -> None:
        """Synchronously, whatever ended the task: nobody may wait for this actor for ever."""
        if self.current is not None:
            if self.current.reply is not None:
                self.current.reply.fail(
                    ActorStopped(
                        f"{self.path} stopped while it handled {self.current.codec.cls.__name__}"
                    )
                )
            self.system.dead_letter(self.current, self, "stopped")
            self.current = None
        self.close_mailbox(reason)
        self.state = "stopped"
        self._cancel_background()
        for due in self.timers.values():
            due.cancel()
        self.system.forget_cell(self)
        for watcher in self.watchers:
            failure = failure_of(self.failure) if reason == "crashed" and self.failure else None
            watcher.force(Terminated(ref=self.ref, reason=reason, failure=failure))
        self.started.open()
        self.stopped.open()

    # ------------------------------------------------------------------ for its context
    def _cancel_background(self) -> None:
        for scope in self.background:
            scope.cancel()

    def tell_self(self, message: object) -> None:
        """A message of the actor to itself, in a reserved slot."""
        if type(message) not in self.accepted:
            raise NotAccepted(f"{self.path} does not accept {type(message).__name__}")
        self.force(message)
