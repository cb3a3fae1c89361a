"""An agent behind a websocket in a Trio server. A disconnect cancels its run; the conversation stays.

Needs trio-websocket. Talk to it at ws://127.0.0.1:8000/ada; with --demo it asks itself once and ends.
"""

import os
import sys

import trio
from trio_websocket import ConnectionClosed, WebSocketRequest, open_websocket_url, serve_websocket

from boyd.actors import Agent, TextDelta
from boyd.actors.testing import ScriptedModel, says
from boyd.runtime import System, open_system

helper = Agent("openai:gpt-5-mini", instructions="Help with the dashboard.")
if "OPENAI_API_KEY" not in os.environ:
    helper = helper.using(ScriptedModel(*[says("Press F5.")] * 1000))


async def chat(request: WebSocketRequest, system: System) -> None:
    ws = await request.accept()
    thread = f"user-{request.path.rsplit('/', 1)[-1]}"
    try:
        while True:
            question = await ws.get_message()
            with trio.move_on_after(60):
                async with helper.open_run(str(question), system=system, thread=thread) as run:
                    async for event in run:
                        if isinstance(event, TextDelta):
                            await ws.send_message(event.text)
    except ConnectionClosed:
        pass


async def visit(port: int) -> None:
    async with open_websocket_url(f"ws://127.0.0.1:{port}/ada") as ws:
        await ws.send_message("The numbers look old.")
        with trio.move_on_after(60):
            answer = ""
            while not answer.endswith("."):
                answer += str(await ws.get_message())
            print(answer)


async def main(*, demo: bool) -> None:
    ledger = "memory:" if demo else "sqlite:chat.db"
    async with open_system(ledger=ledger) as system, trio.open_nursery() as nursery:

        async def handler(request: WebSocketRequest) -> None:
            await chat(request, system)

        port = 0 if demo else 8000
        server = await nursery.start(serve_websocket, handler, "127.0.0.1", port, None)
        if demo:
            await visit(server.port)
            nursery.cancel_scope.cancel()


trio.run(lambda: main(demo="--demo" in sys.argv))
