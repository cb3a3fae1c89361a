"""What a module offers to the command line."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias, cast

from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.targets import Target, load
from boyd.actors.runs.runnable import Runnable
from boyd.actors.tools.define import AnyTool, Tool

__all__ = [
    "AnyRunnable",
    "Command",
    "Telling",
    "command_of",
    "find_agents",
    "find_command",
    "find_telling",
    "find_tools",
    "tools_of",
]

AnyRunnable: TypeAlias = Runnable[Any, Any]
Command: TypeAlias = Callable[..., Awaitable[object]]
"""An async function whose signature gives the options."""

Telling: TypeAlias = Callable[[Any, str, int], Awaitable[str]]
"""`show_incident(ledger, thread, number)`."""


def command_of(target: Target, of_agent: Callable[[AnyRunnable], Command]) -> Command:
    """What runs: the one that was named, else `command`, else `agent`, else the only agent.

    Args:
        of_agent: makes a command that runs an agent.

    Raises:
        UsageError: there is none, or more than one.
    """
    module = load(target)
    agents = find_agents(module)
    if target.name:
        named = getattr(module, target.name, None)
        if target.name in agents:
            return of_agent(agents[target.name])
        if inspect.iscoroutinefunction(named):
            return cast("Command", named)
        kind = type(named).__name__
        problem = "is not there" if named is None else f"is a {kind}, which cannot be run"
        raise UsageError(f"{target.typed}: {target.name} {problem}")
    command = find_command(module, "command")
    if command is not None:
        return command
    if "agent" in agents:
        return of_agent(agents["agent"])
    if not agents:
        raise UsageError(
            f"{target.typed} has nothing to run: define `agent = Agent(...)`, "
            "another Runnable, or `async def command(...)`"
        )
    if len({id(one) for one in agents.values()}) > 1:
        names = ", ".join(agents)
        first = f"{target.typed}:{next(iter(agents))}"
        raise UsageError(f"{target.typed} has more than one agent: {names}. Name one: {first}")
    return of_agent(next(iter(agents.values())))


def find_agents(module: ModuleType) -> dict[str, AnyRunnable]:
    """The Runnables that stand in the module, by name."""
    return {name: one for name, one in vars(module).items() if isinstance(one, Runnable)}


def find_command(module: ModuleType, name: str) -> Command | None:
    """The async function of that name, or None where there is nothing of that name.

    Raises:
        UsageError: it is something else.
    """
    found = getattr(module, name, None)
    if found is None:
        return None
    if not inspect.iscoroutinefunction(found):
        raise UsageError(f"{module.__name__}.{name} is not an async function, so it cannot be run")
    return cast("Command", found)


def find_telling(module: ModuleType, name: str) -> Telling | None:
    """As `find_command`, for `show_incident` and its like."""
    return cast("Telling | None", find_command(module, name))


def find_tools(module: ModuleType) -> Mapping[str, AnyTool]:
    """All tools that the module's `tools` and its agents name, by name."""
    found = list(_tools_in(getattr(module, "tools", ())))
    for agent in find_agents(module).values():
        found += tools_of(agent)
    return {tool.name: tool for tool in reversed(found)}


def tools_of(agent: AnyRunnable) -> Sequence[AnyTool]:
    """The tools of an agent, and of the agents that it is made of."""
    return [tool for belt in agent.toolbelts("-").values() for tool in belt]


def _tools_in(offered: object) -> Iterator[AnyTool]:
    if isinstance(offered, list | tuple):
        for tool in cast("Sequence[object]", offered):
            if isinstance(tool, Tool):
                yield cast("AnyTool", tool)
