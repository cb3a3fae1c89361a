"""The actor behind a model back end: it streams one answer at a time into a step's inbox."""

from __future__ import annotations

from boyd.actors.conversation.artifacts import Artifact, Delta
from boyd.actors.providers.protocol import Provider, Request
from boyd.runtime import (
    Actor,
    ActorStopped,
    Context,
    Headers,
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
    """Owns one provider. A slow reader holds the model back."""

    provider: Provider
    headers: Headers

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.headers

    @receives
    async def stream(self, ask: AskModel, ctx: Context) -> None:
        async with self.provider.open_stream(ask.request) as stream:
            async for item in stream:
                await ctx.system.dispatcher.enter()  # the network has woken this task
                try:
                    await ask.into.send(item)
                except ActorStopped:
                    return  # nobody listens any more
        await ctx.system.dispatcher.enter()
