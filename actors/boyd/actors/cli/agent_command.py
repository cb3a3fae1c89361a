"""A user's agent as a command: its options, and where it runs."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from boyd.actors.agent import Agent
from boyd.actors.cli.agent_run import Watched, watch
from boyd.actors.cli.ledgers import ledger_for, ledger_option
from boyd.actors.cli.output import keep_stdout_for_data
from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.program import program
from boyd.actors.cli.targets import Target
from boyd.actors.cli.thread_names import last_thread, next_thread
from boyd.actors.ooda.agent import Ooda
from boyd.actors.runs.messages import RunStarted
from boyd.actors.runs.runnable import Runnable
from boyd.actors.swarm.swarm import Swarm
from boyd.runtime import Ledger, WireError, open_ledger, open_system
from boyd.runtime.codec import TypeCodec, codec_for

__all__ = ["agent_command"]


def agent_command(
    target: Target, definition: Runnable[Any, Any]
) -> Callable[..., Awaitable[object]]:
    """The async function whose signature `boyd run agent.py` shows and takes."""

    async def command(
        prompt: str | None = None,
        /,
        *,
        thread: str | None = None,
        ledger: str | None = None,
        resume: bool = False,
        json: bool = False,
    ) -> int:
        if json:
            keep_stdout_for_data()
        address = ledger_for(ledger)
        name = await _thread(definition, address, thread, resume=resume)
        async with open_ledger(address) as opened:
            given = await _given(definition, prompt, opened, name, resume=resume)
        again = f"{program()} run {target.typed} --thread {name} --resume{ledger_option(address)}"
        watched = Watched(
            definition=definition, given=given, thread=name, address=address, again=again, json=json
        )
        async with open_system(ledger=address, drain=1.0, grace=1.0) as system:
            return await watch(watched, system)

    command.__doc__ = f"""Run {definition.name}, {_described(definition)}.

    Args:
        prompt: {_prompt_help(definition)}
        thread: the conversation to go on with, or the name of a new one.
        ledger: where everything is kept: sqlite:PATH or memory: (sqlite:boyd.db, or BOYD_LEDGER).
        resume: go on where the thread stopped (the latest, without --thread).
        json: print one JSON object at the end, and nothing else on standard output.
    """
    return command


def _described(definition: Runnable[Any, Any]) -> str:
    match definition:
        case Agent():
            tools = ", ".join(tool.name for tool in definition.tools)
            return f"an agent on {definition.provider.name}" + (f" with {tools}" if tools else "")
        case Swarm():
            return f"a swarm of {', '.join(definition.members)} and a lead"
        case _:
            kind = type(definition).__name__
            return f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"


def _prompt_help(definition: Runnable[Any, Any]) -> str:
    if _takes_nothing(definition):
        return "nothing: it takes no input."
    codec = _input_codec(definition)
    if codec is not None and codec.name != "str":
        return f"its input, a {codec.name} as JSON; - reads it from standard input."
    return "what to say to it; - reads it from standard input."


def _takes_nothing(definition: Runnable[Any, Any]) -> bool:
    if isinstance(definition, Ooda):
        return definition.observe.given is None
    return isinstance(definition, Swarm)


def _input_codec(definition: Runnable[Any, Any]) -> TypeCodec | None:
    if isinstance(definition, Ooda) and definition.observe.given is not None:
        return codec_for(definition.observe.given)
    return None


async def _thread(
    definition: Runnable[Any, Any], address: str, thread: str | None, *, resume: bool
) -> str:
    async with open_ledger(address) as ledger:
        if thread is None and not resume:
            return await next_thread(ledger, definition.name)
        if thread is None:
            last = await last_thread(ledger, definition.name)
            if last is None:
                raise UsageError(f"{address} has no thread of {definition.name} to go on with")
            return last
        known = await ledger.tip(thread) > 0
        if resume and not known:
            raise UsageError(f"{address} has no thread {thread!r} to go on with")
        if known and not resume and not isinstance(definition, Agent):
            raise UsageError(f"thread {thread} is there already: add --resume to go on with it")
        return thread


async def _given(
    definition: Runnable[Any, Any], prompt: str | None, ledger: Ledger, thread: str, *, resume: bool
) -> object:
    """The input of the run, as its type."""
    if _takes_nothing(definition):
        if prompt is not None:
            raise UsageError(f"{definition.name} takes no input, so {prompt!r:.60} has no meaning")
        return None
    if prompt == "-":
        prompt = sys.stdin.read()
    if prompt is None and resume:
        return await _given_before(definition, ledger, thread)
    codec = _input_codec(definition)
    if prompt is None or not prompt.strip():
        raise UsageError(f"{definition.name} needs a prompt: boyd run TARGET 'what to do'")
    return prompt if codec is None else _typed(codec, prompt)


async def _given_before(definition: Runnable[Any, Any], ledger: Ledger, thread: str) -> object:
    """What the thread says that its run was given; an agent needs nothing to go on."""
    recorded = b""
    for entry in await ledger.read(thread, limit=1, kinds=("boyd.run_started",)):
        if isinstance(started := entry.message(), RunStarted):
            recorded = started.input
    try:
        return definition.recorded_input(recorded)
    except ValueError:
        raise UsageError(
            f"{thread} does not say what its run was given: give it again, before --resume"
        ) from None


def _typed(codec: TypeCodec, prompt: str) -> object:
    import json

    try:
        return codec.from_tree(prompt)
    except WireError as error:
        try:
            return codec.from_tree(json.loads(prompt))
        except ValueError:
            raise UsageError(f"the input does not fit: {error}") from None
