"""The actor behind a model back end: it streams one answer at a time into a step's inbox."""

from __future__ import annotations

from boyd.actors.conversation.artifacts import Artifact, Delta
from boyd.actors.events import Notice
from boyd.actors.providers.protocol import Provider, Request
from boyd.actors.providers.retry import RetryPolicy, open_retrying
from boyd.actors.runs.spec import RunSpec
from boyd.runtime import (
    Actor,
    ActorStopped,
    Context,
    Ref,
    Replies,
    Supervision,
    message,
    receives,
)

__all__ = ["PROVIDER_SUPERVISION", "AskModel", "ProviderActor"]

PROVIDER_SUPERVISION = Supervision(significant=False, shutdown=0.0)
"""A provider that was made to crash is built again; the step makes its turn anew."""


@message("boyd.ask_model", within=24 * 3600.0)
class AskModel(Replies[None]):
    """Make `request` and send what streams back to `into`; the reply says that the answer was whole."""

    request: Request
    into: Ref[Delta | Artifact]


class ProviderActor(Actor[AskModel]):
    """Owns one provider, and asks it again while nothing has come of an answer. A slow reader holds the model back."""

    provider: Provider
    retry: RetryPolicy
    spec: RunSpec

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers

    @receives
    async def stream(self, ask: AskModel, ctx: Context) -> None:
        enter = ctx.system.dispatcher.enter  # for whoever the network has woken

        async def show(notice: Notice) -> None:
            await enter()
            await self.spec.emit(notice)

        opened = open_retrying(
            self.provider,
            ask.request,
            policy=self.retry,
            seams=ctx.system.seams,
            sleep=ctx.sleep,
            notify=show,
        )
        try:
            async with opened as stream:
                async for item in stream:
                    await enter()
                    if not await _is_heard(ask.into, item):
                        return
        finally:
            await enter()


async def _is_heard(into: Ref[Delta | Artifact], item: Delta | Artifact) -> bool:
    """Send one piece on; False where nobody listens any more."""
    try:
        await into.send(item)
    except ActorStopped:
        return False
    return True
