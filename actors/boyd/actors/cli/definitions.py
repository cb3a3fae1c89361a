"""What a module offers to the command line."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import Any, TypeAlias, cast

from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.targets import Target, load
from boyd.actors.runs.runnable import Runnable
from boyd.actors.tools.define import Tool

__all__ = [
    "Command",
    "Incident",
    "find_command",
    "find_function",
    "find_tools",
    "runnable_or_command",
]

Command: TypeAlias = Callable[..., Awaitable[object]]
"""An async function whose signature gives the options."""

Incident: TypeAlias = Callable[[Any, str, int], Awaitable[str]]
"""`show_incident(ledger, thread, number)`."""


def runnable_or_command(target: Target) -> Runnable[Any, Any] | Command:
    """What `boyd run` is to run: the one that was named, else `command`, else `agent`, else the only one.

    Raises:
        UsageError: there is none, or more than one.
    """
    module = load(target)
    if target.name:
        found = getattr(module, target.name, None)
        if isinstance(found, Runnable) or inspect.iscoroutinefunction(found):
            return cast("Runnable[Any, Any] | Command", found)
        what = "has no" if found is None else "has a"
        kind = "" if found is None else f", but it is a {type(found).__name__} and cannot be run"
        raise UsageError(f"{target.typed}: the module {what} {target.name}{kind}")
    command = find_command(module, "command")
    if command is not None:
        return command
    agents = {name: one for name, one in vars(module).items() if isinstance(one, Runnable)}
    if isinstance(chosen := getattr(module, "agent", None), Runnable):
        return cast("Runnable[Any, Any]", chosen)
    if not agents:
        raise UsageError(
            f"{target.typed} has nothing to run: define `agent = Agent(...)`, "
            "another Runnable, or `async def command(...)`"
        )
    if len({id(one) for one in agents.values()}) > 1:
        names = ", ".join(agents)
        first = f"{target.typed}:{next(iter(agents))}"
        raise UsageError(f"{target.typed} has more than one agent: {names}. Name one: {first}")
    return cast("Runnable[Any, Any]", next(iter(agents.values())))


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


def find_function(module: ModuleType, name: str) -> Incident | None:
    """As `find_command`, for the functions that show something."""
    return cast("Incident | None", find_command(module, name))


def find_tools(module: ModuleType) -> Sequence[Tool[..., Any]]:
    """All tools that the module's `tools` and its agents name, each name once."""
    found: dict[str, Tool[..., Any]] = {}
    for owner in (module, *vars(module).values()):
        if owner is module or isinstance(owner, Runnable):
            for tool in getattr(owner, "tools", ()):
                if isinstance(tool, Tool):
                    found.setdefault(tool.name, tool)
    return tuple(found.values())
