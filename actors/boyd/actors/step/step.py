"""The step actor: it makes one turn at a time, and is the only one who appends turns to its thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import attrs

from boyd.actors.conversation.accumulate import Accumulator
from boyd.actors.conversation.artifacts import Artifact, Delta, StoredArtifact, Usage
from boyd.actors.conversation.turns import Turn
from boyd.actors.conversation.usage import latest_usage
from boyd.actors.events import ErrorEvent, Lifecycle, TurnComplete
from boyd.actors.providers.protocol import Provider, Request
from boyd.actors.providers.retry import RetryPolicy
from boyd.actors.runs.place import Place
from boyd.actors.runs.spec import RunSpec
from boyd.actors.step.log import ThreadLog
from boyd.actors.step.provider import PROVIDER_SUPERVISION, AskModel, ProviderActor
from boyd.actors.step.transforms import Transform, view_of
from boyd.actors.tools.spec import ToolSpec
from boyd.runtime import (
    Actor,
    ActorCrashed,
    Context,
    Inbox,
    Ref,
    RemoteFailure,
    Replies,
    SequenceConflict,
    Supervision,
    failure,
    message,
    receives,
)
from boyd.runtime.failure import failure_of, is_answer

__all__ = [
    "STEP_SUPERVISION",
    "Handler",
    "StepActor",
    "StepConfig",
    "StepMessage",
    "Submit",
    "TakeTurn",
    "Transcript",
    "TurnFailed",
]

Handler: TypeAlias = Callable[[Artifact, Context], Awaitable[None]]
"""Reacts to one finished artifact of an assistant turn, after the turn was appended."""

STEP_SUPERVISION = Supervision(redeliver=2, significant=False, shutdown=0.0)
_AHEAD = 16
"""Pieces of an answer that wait while the reader is busy; then the model waits."""


@failure("boyd.TurnFailed")
class TurnFailed(RemoteFailure):
    """A provider, transform or handler raised an error of its own. It is the cause of this one."""


@attrs.frozen(kw_only=True, eq=False)
class StepConfig:
    """What every turn of a step is made with.

    Attributes:
        keep: turns of the thread that a view can be made of; None is all.
    """

    provider: Provider
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    model: str = ""
    transforms: Sequence[Transform] = ()
    handlers: Sequence[Handler] = ()
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    keep: int | None = None


@message("boyd.take_turn", within=24 * 3600.0)
class TakeTurn(Replies[Turn]):
    """Have the model make a turn. The same id again returns the turn that was made."""

    id: str


@message("boyd.submit")
class Submit(Replies[Turn]):
    """Append a turn of somebody else: no model, no transforms."""

    turn: Turn


@message("boyd.transcript")
class Transcript(Replies[tuple[Turn, ...]]):
    """All turns of the thread."""


StepMessage: TypeAlias = TakeTurn | Submit | Transcript


class StepActor(Actor[TakeTurn | Submit | Transcript]):
    """Makes turns of one thread with one model. Its provider is an actor below it."""

    spec: RunSpec
    config: StepConfig
    log: ThreadLog = attrs.field(init=False)
    provider: Ref[AskModel] = attrs.field(init=False)

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers
        self.log = ThreadLog(self.spec, self.config.keep)
        await self.log.load()
        self.provider = await ctx.spawn(
            ProviderActor,
            self.config.provider,
            self.config.retry,
            self.spec,
            name="provider",
            supervision=PROVIDER_SUPERVISION,
        )

    @receives
    async def transcript(self, _request: Transcript, _ctx: Context) -> tuple[Turn, ...]:
        return self.log.turns

    @receives
    async def submit(self, request: Submit, _ctx: Context) -> Turn:
        known = self.log.find(request.turn.id)
        if known is not None:
            return known
        await self._commit(request.turn)
        return request.turn

    @receives
    async def take_turn(self, request: TakeTurn, ctx: Context) -> Turn:
        known = self.log.find(request.id)
        if known is not None:
            return known
        Place(self.spec, f"step.{request.id.rpartition('#')[2]}").enter()
        made = self.spec.inflight.turns
        turn = made.get(request.id) or await self._telling(lambda: self._make(request.id, ctx))
        # A store that fails here may work in the next life: the model is not asked, and paid, again.
        made[turn.id] = turn
        try:
            await self._commit(turn)
        except SequenceConflict:
            del made[turn.id]  # the thread has grown: what was said does not answer it
            raise
        del made[turn.id]
        await self._telling(lambda: self._handle(turn, ctx))
        return turn

    async def _telling(self, work: Callable[[], Awaitable[Turn]]) -> Turn:
        """Do `work`; its failure is shown to all who watch, once, and is the answer of this step."""
        try:
            return await work()
        except ActorCrashed:
            raise  # an actor below was made to crash: crash too, and make this turn again
        except Exception as error:
            told = failure_of(error)
            if isinstance(error, RemoteFailure):  # it has crossed from the provider's actor
                text = told.message.removeprefix(f"{error.type}: ")
                told = attrs.evolve(told, type=error.type, message=text)
            event = ErrorEvent(message=told.message, type=told.type, code=told.code)
            await self.spec.emit(event)
            if is_answer(error):
                raise
            raise TurnFailed(told.message, type=told.type, code=told.code) from error

    async def _make(self, turn_id: str, ctx: Context) -> Turn:
        """Stream one answer and merge it; nothing is stored unless it is whole."""
        spec, config = self.spec, self.config
        spec.spending.reserve_step(config.provider.name)
        await spec.emit(Lifecycle(phase="submitted"))
        view = await view_of(self.log.turns, config.transforms)
        request = Request(
            model=config.model,
            turns=view,
            tools=config.tools,
            temperature=config.temperature,
            max_tokens=config.max_tokens,
        )
        taken = {call.id for turn in self.log.turns for call in turn.calls}
        names = [tool.name for tool in config.tools]
        merged = Accumulator(new_id=spec.system.seams.ids.new, tools=names, taken=taken)
        inbox: Inbox[Delta | Artifact] = ctx.system.open_inbox(Delta | Artifact, size=_AHEAD)
        with inbox:
            artifacts = await self._stream(request, inbox, merged, ctx)
        usage = latest_usage([one for one in artifacts if isinstance(one, Usage)])
        spec.spending.record_usage(config.provider.name, usage)
        return Turn(id=turn_id, role="assistant", artifacts=tuple(artifacts))

    async def _stream(
        self, request: Request, inbox: Inbox[Delta | Artifact], merged: Accumulator, ctx: Context
    ) -> list[StoredArtifact]:
        failed: list[Exception] = []

        async def ask() -> None:
            try:
                await self.provider.ask(AskModel(request=request, into=inbox.ref))
            except Exception as error:  # noqa: BLE001  # raised again below, outside the nursery that would wrap it
                failed.append(error)
            finally:
                inbox.end()

        stored: list[StoredArtifact] = []
        begun = False
        async with ctx.open_nursery() as nursery:
            nursery.start_soon(ask)
            async for item in inbox:
                if not begun:
                    begun = True
                    await self.spec.emit(Lifecycle(phase="streaming"))
                if isinstance(item, Delta):
                    await self.spec.emit(item)
                await self._keep(merged.add(item), stored)
        if failed:
            await self._keep(merged.abandon(), stored)
            raise failed[0]
        await self._keep(merged.finish(), stored)
        return stored

    async def _keep(self, finished: Sequence[Artifact], stored: list[StoredArtifact]) -> None:
        for artifact in finished:
            await self.spec.emit(artifact)
            if isinstance(artifact, StoredArtifact):
                stored.append(artifact)

    async def _commit(self, turn: Turn) -> None:
        seq = await self.log.append(turn)
        await self.spec.emit(TurnComplete(turn=turn, seq=seq))

    async def _handle(self, turn: Turn, ctx: Context) -> Turn:
        """Let the handlers react to what was appended, artifact by artifact."""
        for artifact in turn.artifacts:
            for handler in self.config.handlers:
                await handler(artifact, ctx)
        if not self.spec.spending.used.unmetered:
            return turn
        self.spec.spending.check()  # a cap that cannot be kept is told, even behind the last turn
        return turn
