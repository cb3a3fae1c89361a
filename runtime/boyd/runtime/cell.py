"""The task of an actor: take a message, handle it, survive its crashes.

The only place that runs handlers.
"""

from __future__ import annotations

import math
from typing import cast

import trio

from boyd.runtime.actor import Handler, has_farewell
from boyd.runtime.answers import answer, answer_with_error
from boyd.runtime.context import Context
from boyd.runtime.crashes import note_crash, report_crash
from boyd.runtime.envelope import Envelope, Track
from boyd.runtime.errors import (
    ActorCrashed,
    ActorStopped,
    NotAccepted,
)
from boyd.runtime.failure import failure_of
from boyd.runtime.groups import ACTORS_TOPIC
from boyd.runtime.incarnation import Incarnation
from boyd.runtime.origin import origin
from boyd.runtime.reentry import reenter
from boyd.runtime.reply import ReplySlot
from boyd.runtime.restart import Decision, Directive, Strategy, next_restart
from boyd.runtime.siblings import Siblings
from boyd.runtime.supervision import Terminated
from boyd.runtime.watches import tell_watchers

__all__ = ["Cell"]


class Cell(Incarnation):
    """Runs an actor's lives (epochs) one after another."""

    __slots__ = ()

    async def run(self) -> None:
        """The whole life; cancelled only by itself. Raises only when its failure leaves the system."""
        origin.set(self)
        try:
            verdict = await self._lives()
            await self._wind_down()
        finally:
            self._finish()
            self.system.tasks.down()
        if verdict is Directive.ESCALATE and self._failure is not None:
            if self.parent is None:
                raise self._failure
            self.parent.crash(self._failure)

    async def _lives(self) -> Directive:
        """One after another until it is to stop; why it ends."""
        resumed = False
        while not self._end:
            error = await self._live(resumed=resumed)
            resumed = False
            if error is None and self.hold is not None and not self._end:
                await self._rest_held()
                continue
            if error is None:
                break
            if self.spawner_waits and not self.lived:
                # It never ran: that is the spawner's news, not its supervisor's.
                self.start_error = self._failure = error
                break
            decision = self._decide(error)
            resumed = decision.verdict is Directive.RESUME
            if resumed:
                continue
            if decision.verdict is not Directive.RESTART:
                self._failure = error
                return decision.verdict
            if self.hold is None:
                await self._rest(decision.delay)
            else:
                await self._rest_held()
        return Directive.STOP

    async def _live(self, *, resumed: bool) -> Exception | None:
        """One epoch, or the rest of one. None: it is to stop; else the error that ended it."""
        self.is_interrupted = self._injected is not None
        try:
            with trio.CancelScope(shield=True) as self._scope:
                if self.is_interrupted and not resumed:
                    self._scope.cancel()
                self.epoch += not resumed
                ctx = Context(self, self.epoch)
                if not resumed:
                    await self._begin_life(ctx)
                await self._receive(ctx)
        except Exception as error:  # noqa: BLE001  # the handler boundary: every error becomes a decision
            self._injected = None
            return error
        finally:
            self._set_busy()
        injected, self._injected = self._injected, None
        return injected

    async def _begin_life(self, ctx: Context) -> None:
        self.state = "starting"
        if self.epoch > 1:
            self._lively = False
            self._actor = self._build()
            self.become(type(self._actor))  # its factory may have made something else
        await self._actor.started(ctx)
        self._lively = self.lived = True
        self.state = "running"
        self.started.open()
        if self.hold is not None and self.hold.go.is_open:  # else it came while this life began
            self.hold.begun.open()
            self.hold = None

    async def _receive(self, ctx: Context) -> None:
        """Handle messages until told to stop."""
        dispatcher = self.system.dispatcher
        self.is_interrupted |= self.suspended
        while not self.is_interrupted or await self._is_resumed():
            # Apart, so that what was handled last does not live on in an idle actor.
            await self._handle_batch(dispatcher.batch, ctx)
            if self.is_interrupted:
                continue
            if len(self.queue):
                await dispatcher.pass_turn()
            else:
                self._set_idle()
                await self.waiter.wait()

    async def _is_resumed(self) -> bool:
        """Interrupted: where it is suspended, wait until it is not; whether it goes on then."""
        while self._is_only_suspended:
            self.state = "suspended"
            self._set_idle()
            await self.waiter.wait()
        self.state = "running"
        return not self.is_interrupted

    async def _handle_batch(self, size: int, ctx: Context) -> None:
        """Handle some messages. What a handler raises ends the epoch, unless it is an answer."""
        queue, spies = self.queue, self.system.spies
        actor, handlers = self._actor, self._handlers
        for _ in range(size):
            envelope = queue.take()
            if envelope is None:
                return
            track = envelope.track
            if track is not None and not self._is_wanted(envelope, track):
                if self.is_interrupted:
                    return
                continue
            if spies:
                self.system.reports.spied(envelope, self)
            self.current = envelope
            self.headers = envelope.headers
            self.deadline = math.inf if track is None else track.deadline
            try:
                message: object = envelope.codec.decode(envelope.body)
                handler = handlers.get(type(message)) or self._no_handler(envelope)
                value = await handler(actor, message, ctx)
                if track is not None and track.reply is not None and self.current is envelope:
                    answer(self, track.reply, value, envelope)
            except Exception as error:
                if self.current is not envelope or not answer_with_error(
                    self, error, envelope, self.deadline
                ):
                    raise
            self.current = None
            self.deadline = math.inf
            self.handled += 1
            if self.is_interrupted:
                return

    def _no_handler(self, envelope: Envelope) -> Handler:
        """It was accepted by an earlier life, which was of another class."""
        name = envelope.codec.cls.__name__
        text = f"{self.path} is {self.kind_text()} now and has no method for {name}"

        async def put_away(*_: object) -> None:
            self.system.dead_letter(envelope, self, "unhandled")
            if envelope.reply is not None:
                envelope.reply.fail(NotAccepted(text))
            self.current = None  # settled: what comes back is no reply
            self.system.report(text, None)

        return put_away

    def _is_wanted(self, envelope: Envelope, track: Track) -> bool:
        """Whether anybody still wants a message that is about to be handled."""
        reply, timer = track.reply, track.timer
        if track.last:
            self.queue.taken -= 1
            self.stop()
            return False
        if reply is not None:
            if reply.settled:
                self.system.dead_letter(envelope, self, "withdrawn")
                return False
            reply.began = self.system.now()
        elif timer is not None:
            if timer.cancelled:
                return False
            timer.arrived(envelope)
        return True

    @property
    def reentrant(self) -> frozenset[type]:
        return type(self._actor).__boyd_reentrant__

    def reenter(self, envelope: Envelope, reply: ReplySlot) -> None:
        """Handle an ask beside the handler that waits for what led to it."""
        reenter(self, envelope, reply)

    async def handle(self, envelope: Envelope, ctx: Context) -> object:
        """Run the handler of a message beside the mailbox; what it returns."""
        message: object = envelope.codec.decode(envelope.body)
        return await self._handlers[type(message)](self._actor, message, ctx)

    def give_up(self, envelope: Envelope, reason: str) -> None:
        """A message that had begun will not be finished."""
        self.crashed += reason == "crashed"
        self.system.dead_letter(envelope, self, reason)

    # ------------------------------------------------------------------ crashes
    def _decide(self, error: Exception) -> Decision:
        """Ask the supervision what to do, settle the message in hand, and have the decision recorded."""
        system = self.system
        siblings = self._group()
        decision = next_restart(
            self.supervision,
            error,
            self._crashes if siblings is None else siblings.crashes,
            system.now(),
            system.random.random(),
            lively=self._lively,
        )
        if siblings is None:
            self._crashes = decision.crashes
        else:
            siblings.crashes = decision.crashes
        if self._end:
            decision = Decision(verdict=Directive.STOP, delay=0.0, crashes=decision.crashes)
        envelope = self.current
        note_crash(error, self, envelope, len(decision.crashes))
        restarts = decision.verdict is Directive.RESTART
        others = siblings.with_it(self) if siblings is not None and restarts else ()
        again = self._settle_in_hand(error, again=restarts)
        paths = [one.path for one in others]
        report_crash(error, self, envelope, decision, redelivered=again, others=paths)
        self.headers = self._birth.headers
        self.deadline = math.inf
        if siblings is not None and restarts:
            siblings.restart_with(self, decision.delay)
        return decision

    def _group(self) -> Siblings | None:
        """Those that may be restarted with it, where its parent's strategy wants that."""
        parent: Cell | None = cast("Cell | None", self.parent)
        strategy = self.system.strategy if parent is None else parent.supervision.strategy
        if strategy is Strategy.ONE_FOR_ONE:
            return None
        return self.system.siblings if parent is None else parent.own_siblings()

    def own_siblings(self) -> Siblings:
        """Its children, as a group."""
        if self._siblings is None:
            self._siblings = Siblings(self.system, self)
        return self._siblings

    def _settle_in_hand(self, error: Exception, *, again: bool) -> bool:
        """What becomes of the message in hand at the end of a life; whether it will be handled again."""
        envelope, self.current = self.current, None
        if envelope is None:
            return False
        if again and self._redeliver(envelope):
            return True
        if envelope.reply is not None:
            envelope.reply.crash(error)
        self.give_up(envelope, "crashed")
        return False

    def _redeliver(self, envelope: Envelope | None) -> bool:
        if envelope is None or envelope.attempt > self.supervision.redeliver:
            return False
        if envelope.reply is not None:
            if envelope.reply.settled:
                return False
            envelope.reply.began = None
        self.queue.put_back(envelope.again())
        return True

    async def _rest(self, delay: float) -> None:
        """Between two lives: what belonged to the last one ends, then back-off."""
        self.state = "backing off"
        self._scope = trio.CancelScope(shield=True)
        await self._end_life()
        with self._scope:
            if delay > 0 and not self._end:
                await self.system.sleep(delay)

    async def _rest_held(self) -> None:
        """Between two lives, until its siblings are there too."""
        self.state = "backing off"
        hold = self.hold
        assert hold is not None, "looked at by the caller"
        self._scope = trio.CancelScope(shield=True)
        error = ActorCrashed(f"{self.path} was restarted with its siblings")
        self._settle_in_hand(error, again=True)
        await self._end_life()
        hold.ended.open()
        with self._scope:
            if not self._end:
                await hold.go.wait()

    # ------------------------------------------------------------------ the end
    async def _end_life(self) -> None:
        """What does not outlive an epoch: timers, background tasks, and children, last started first."""
        if self.stash is not None:
            self.stash.put_back()
        self._cancel_timers_and_errands()
        if not self.children and self.errands is None:
            return
        with trio.CancelScope(shield=True):
            while self.children:
                child = next(reversed(self.children.values()))
                await child.stop_within(child.supervision.shutdown)
            if self.errands is not None:
                await self.errands.wait_ended(self.supervision.shutdown)

    def _cancel_timers_and_errands(self) -> None:
        if self.timers is not None:
            self.timers.cancel_all()
        if self.errands is not None:
            self.errands.cancel()

    async def _wind_down(self) -> None:
        self.state = "stopping"
        self.headers = self._birth.headers
        self.deadline = math.inf
        await self._end_life()
        if not self._lively or self.is_killed or not has_farewell(self._actor):
            return
        deadline = trio.current_time() + self.supervision.shutdown
        with trio.CancelScope(shield=True, deadline=deadline) as self._scope:
            try:
                await self._actor.stopped(Context(self, self.epoch))
            except Exception as error:  # noqa: BLE001  # a failing farewell must not undo the stop
                self.system.report(f"{self.path}: stopped() failed", error)
        if self._scope.cancelled_caught and not self.is_killed:
            self.system.report(f"{self.path}: stopped() took longer than it may", None)

    def _finish(self) -> None:
        """Synchronously, whatever ended the task: nobody may wait for this actor for ever."""
        system, envelope = self.system, self.current
        if envelope is not None:
            self.current = None
            if envelope.reply is not None:
                name = envelope.codec.cls.__name__
                envelope.reply.fail(ActorStopped(f"{self.path} stopped while it handled {name}"))
            system.dead_letter(envelope, self, "stopped")
        self.close_mailbox("stopped")
        self.state = "stopped"
        self._cancel_timers_and_errands()
        for pattern in tuple(self.hearings or ()):
            system.unsubscribe(self, pattern)
        system.directory.forget(self)
        system.groups.leave_all(self)
        end = Terminated(
            ref=self.ref,
            reason="stopped" if self._failure is None else "crashed",
            failure=None if self._failure is None else failure_of(self._failure),
        )
        tell_watchers(self, end)
        if system.is_heard(ACTORS_TOPIC):
            system.publish(ACTORS_TOPIC, end)
        self._set_idle()
        if self.hold is not None:
            self.hold.release()
        del self._actor  # refs may outlive the actor's state
        del self._birth
        self.started.open()
        self.stopped.open()
