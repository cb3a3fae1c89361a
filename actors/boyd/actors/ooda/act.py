"""The act phase: the calls of a decision go out in parallel; its product is what came of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import attrs

from boyd.actors.conversation.artifacts import ToolCall
from boyd.actors.ooda.cycle import ActionResult, Decision
from boyd.actors.ooda.node import Perform
from boyd.actors.runs.inflight import Acting
from boyd.actors.runs.spec import RunSpec
from boyd.actors.tools.define import AnyTool
from boyd.actors.tools.dispatch import dispatch
from boyd.actors.tools.progress import Progress
from boyd.actors.tools.results import capped
from boyd.actors.tools.spec import Call
from boyd.actors.tools.toolbox import Toolbox, open_toolbox
from boyd.runtime import Actor, Context, receives
from boyd.runtime.codec import TypeCodec, codec_for

__all__ = ["ACTIONS", "ActActor"]

_DECISION: Final = codec_for(Decision)
ACTIONS: Final = codec_for(tuple[ActionResult, ...])
"""How the product of the act phase travels."""
_MOST_BYTES: Final = 400_000
"""In what came of all actions of a cycle: it is one entry of the ledger."""


class ActActor(Actor[Perform]):
    """Makes the calls of one decision a cycle. Its tools are actors below it.

    A call that needs an approval is asked for and passed by: the loop goes on,
    and the call is made when somebody approves it.
    """

    spec: RunSpec
    tools: tuple[AnyTool, ...]
    view: TypeCodec
    endorse: Callable[[Call, Any], str | None] | None = None
    toolbox: Toolbox = attrs.field(init=False)
    fresh: bool = attrs.field(init=False, default=False)

    async def started(self, ctx: Context) -> None:
        ctx.headers = self.spec.headers
        self.toolbox = await open_toolbox(ctx, self.spec, self.tools, waits=False)

    @receives
    async def act(self, request: Perform, ctx: Context) -> bytes:
        decision: Decision = _DECISION.decode(request.inputs[0])
        # What an earlier life began can only be in the cycle that this life finds first.
        fresh, self.fresh = self.fresh, True
        if not decision.calls:
            return ACTIONS.encode(())
        number = request.cycle.number
        self.spec.inflight.acting[self.spec.thread] = Acting(
            cycle=number, view=request.inputs[1], decision=request.inputs[0]
        )
        calls = [
            ToolCall(
                id=call.id or f"{number}.{n}", name=call.tool, arguments=json.dumps(call.arguments)
            )
            for n, call in enumerate(decision.calls)
        ]
        progress = Progress()
        await dispatch(self._endorsed(request), calls, str(number), progress, ctx, fresh=fresh)
        return ACTIONS.encode(tuple(_results(decision, calls, progress)))

    def _endorsed(self, request: Perform) -> Toolbox:
        """The toolbox, which asks the user's `endorse` about this cycle's view before anybody is asked to approve."""
        if self.endorse is None:
            return self.toolbox
        view = self.view.decode(request.inputs[1])
        return attrs.evolve(self.toolbox, refusal=partial(self._refusal, view))

    def _refusal(self, view: object, call: Call) -> str | None:
        assert self.endorse is not None, "asked only when there is one"
        return self.endorse(call, view)


def _results(decision: Decision, calls: list[ToolCall], progress: Progress) -> list[ActionResult]:
    room = _MOST_BYTES // len(calls)
    return [
        ActionResult(
            call=call,
            status="pending" if n in progress.pending else "failed" if result.is_error else "done",
            content=capped(result.content, most_bytes=room),
        )
        for n, (call, result) in enumerate(
            zip(decision.calls, progress.in_order(calls), strict=True)
        )
    ]
