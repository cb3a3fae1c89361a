"""One agent, one tool, streamed. Offline with a scripted model; with OPENAI_API_KEY a real one answers."""

import os

import trio

from boyd.actors import Agent, Effect, Risk, TextDelta, tool
from boyd.actors.testing import ScriptedModel, calls, says


@tool(effect=Effect.PURE, risk=Risk.READ)
async def weather(city: str) -> float:
    """The temperature now, in Celsius."""
    return 21.5


agent = Agent("openai:gpt-5-mini", tools=[weather])
if "OPENAI_API_KEY" not in os.environ:
    script = ScriptedModel(calls(weather.call(city="Utrecht")), says("It is 21.5 degrees."))
    agent = agent.using(script)


async def main() -> None:
    async with agent.open_run("How warm is Utrecht?") as run:
        async for event in run:
            if isinstance(event, TextDelta):
                print(event.text, end="", flush=True)
    print(f"\n{run.result.usage.steps} steps, {run.result.usage.calls} call")


trio.run(main)
