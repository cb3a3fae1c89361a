"""An agent behind a websocket in a Trio server: a disconnect cancels its run, the history stays.

Needs trio-websocket. It asks itself one question and ends; drop `visitor` to keep serving.
"""

import trio
from trio_websocket import (
    ConnectionClosed,
    WebSocketRequest,
    open_websocket_url,
    serve_websocket,
)

from boyd.actors import Agent, TextDelta
from boyd.actors.testing import ScriptedModel, says
from boyd.runtime import System, open_system

helper = Agent(ScriptedModel(says("Press F5.")), instructions="Help with the dashboard.")


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


async def visitor(port: int) -> None:
    async with open_websocket_url(f"ws://127.0.0.1:{port}/ada") as ws:
        await ws.send_message("It looks stale.")
        answer = ""
        while not answer.endswith("."):
            answer += str(await ws.get_message())
        print(answer)


async def main() -> None:
    async with open_system() as system, trio.open_nursery() as nursery:

        async def handler(request: WebSocketRequest) -> None:
            await chat(request, system)

        server = await nursery.start(serve_websocket, handler, "127.0.0.1", 0, None)
        await visitor(server.port)
        nursery.cancel_scope.cancel()


trio.run(main)
