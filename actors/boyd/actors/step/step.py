"""The step actor: it makes one turn at a time, and is the only one who appends turns to its thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import attrs

from boyd.actors.conversation.accumulate import Accumulator
from boyd.actors.conversation.artifacts import Artifact, Delta, StoredArtifact, Usage
from boyd.actors.conversation.turns import Role, Turn
from boyd.actors.conversation.usage import latest_usage
from boyd.actors.events import ErrorEvent, Lifecycle, TurnComplete
from boyd.actors.providers.protocol import Provider, Request
from boyd.actors.runs.spec import RunSpec
from boyd.actors.step.log import ThreadLog
from boyd.actors.step.provider import AskModel, ProviderActor
from boyd.actors.step.transforms import Transform, view_of
from boyd.actors.tools.spec import ToolSpec
from boyd.runtime import Actor, ActorCrashed, Context, Inbox, Ref, Replies, Supervision, message, receives
from boyd.runtime.failure import failure_of

__all__ = ["Handler", "StepActor", "StepConfig", "Submit", "TakeTurn", "Transcript", "STEP_SUPERVISION"]

Handler: TypeAlias = Callable[[Artifact, Context], Awaitable[None]]
"""Reacts to one finished artifact of an assistant turn, after the turn was appended."""

STEP_SUPERVISION = Supervision(redeliver=2, significant=False, shutdown=2.0)


@attrs.frozen(kw_only=True, eq=False)
class StepConfig:
    """What every turn of a step is made with."""

    provider: Provider
    model: str = ""
    transforms: Sequence[Transform] = ()
    handlers: Sequence[Handler] = ()
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None


@message("boyd.take_turn", within=3600.0)
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


class StepActor(Actor[TakeTurn | Submit | Transcript]):
    """Makes turns of one thread with one model. Its provider is an actor below it."""

    spec: RunSpec
    config: StepConfig
    log: ThreadLog = attrs.field(init=False)
    provider: Ref[AskModel] = attrs.field(init=False)

    async def started(self, ctx: Context) -> None:
        self.log = ThreadLog(self.spec)
        await self.log.load()
        calm = Supervision(significant=False, shutdown=1.0)
        self.provider = await ctx.spawn(ProviderActor, self.config.provider, name="provider", supervision=calm)

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
        spec, name = self.spec, self.config.provider.name
        spec.spending.reserve_step(name)
        await spec.emit(Lifecycle(phase="submitted"))
        try:
            turn = await self._turn(request.id, ctx)
        except ActorCrashed:
            raise  # the provider's actor was made to crash: crash too, and make this turn again
        except Exception as error:
            told = failure_of(error)
            await spec.emit(ErrorEvent(message=told.message, type=told.type, code=told.code))
            raise
        await self._commit(turn)
        for artifact in turn.artifacts:
            for handler in self.config.handlers:
                await handler(artifact, ctx)
        return turn

    async def _turn(self, turn_id: str, ctx: Context) -> Turn:
        """Stream one answer and merge it; nothing is stored unless it is whole."""
        config = self.config
        view = await view_of(self.log.turns, config.transforms)
        request = Request(
            model=config.model,
            turns=view,
            tools=config.tools,
            temperature=config.temperature,
            max_tokens=config.max_tokens,
        )
        taken = {call.id for turn in self.log.turns for call in turn.calls}
        merged = Accumulator(new_id=self.spec.system.seams.ids.new, tools=[t.name for t in config.tools], taken=taken)
        with ctx.system.open_inbox(Delta | Artifact, size=64) as inbox:  # type: ignore[arg-type]
            artifacts = await self._stream(request, inbox, merged, ctx)
        usage = latest_usage([one for one in artifacts if isinstance(one, Usage)])
        self.spec.spending.record_usage(config.provider.name, usage)
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


def turn_of(role: Role, turn_id: str, *artifacts: StoredArtifact) -> Turn:
    """A turn of these artifacts."""
    return Turn(id=turn_id, role=role, artifacts=artifacts)
