"""The actor behind a model back end: it streams one answer at a time into a step's inbox."""

from __future__ import annotations

from boyd.actors.conversation.artifacts import Artifact, Delta
from boyd.actors.providers.protocol import Provider, Request
from boyd.runtime import Actor, Context, Ref, Replies, message, receives

__all__ = ["AskModel", "ProviderActor"]


@message("boyd.ask_model", within=3600.0)
class AskModel(Replies[None]):
    """Make `request` and send what streams back to `into`; the reply says that the answer was whole."""

    request: Request
    into: Ref[Delta | Artifact]


class ProviderActor(Actor[AskModel]):
    """Owns one provider. A slow reader holds the model back."""

    provider: Provider

    @receives
    async def stream(self, ask: AskModel, ctx: Context) -> None:
        async with self.provider.open_stream(ask.request) as stream:
            async for item in stream:
                await ctx.system.dispatcher.enter()
                await ask.into.send(item)
