"""The commands, and which one a line of words asks for."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from boyd.actors.cli.agent_command import agent_command
from boyd.actors.cli.approve import approve
from boyd.actors.cli.definitions import command_of, find_command
from boyd.actors.cli.parsing import App, make_app, parse_call
from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.session import current_session
from boyd.actors.cli.show import show
from boyd.actors.cli.targets import TRIAGE, load, parse_target
from boyd.actors.cli.threads import threads
from boyd.actors.cli.wire import WIRE, WIRE_ABOUT

__all__ = ["call_for"]

_ABOUT: Final = """Actors, agents and OODA swarms: run them, and read what they did.

First: boyd demo (a minute, no key, no network).

boyd COMMAND --help says more; --debug anywhere shows tracebacks.
"""
_RUN_HELP: Final = ("--help", "-h")


def run(target: str, /, *arguments: str) -> None:  # only its help is used
    """Run an agent, a swarm, or a program that is made of them.

    The rest of the line belongs to it: boyd run TARGET --help shows its options.

    Args:
        target: a folder with an __init__.py, a file agent.py, package.module:name, or triage,
            the log triage that comes with Boyd. agent.py:NAME picks one of several.
        arguments: what it takes. An agent: its prompt, and --thread, --ledger, --resume, --json.
    """


def demo(*, seed: int = 0, lines: int = 0, out: str = "") -> None:  # as above
    """Watch the triage swarm find trouble in generated logs."""


def wire() -> None:  # as above
    """Keep the wire format of your messages what it was: boyd wire lock."""


_OTHERS: Final[dict[str, Callable[..., Any]]] = {
    "threads": threads,
    "show": show,
    "approve": approve,
}


def call_for(words: Sequence[str]) -> Callable[[], Any]:
    """The call that the words ask for; what has to be imported for it is imported.

    Raises:
        UsageError: they ask for nothing that there is.
        Exception: whatever the code of a target raises as it is loaded.
    """
    match list(words):
        case ["run", *rest]:
            return _call_run(rest)
        case ["demo", *rest]:
            return _call_demo(rest)
        case ["wire", name, *rest] if name in WIRE:
            return parse_call(make_app(f"boyd wire {name}", WIRE[name]), rest)
        case ["wire", *rest]:
            return parse_call(
                make_app("boyd wire", text=WIRE_ABOUT, commands=WIRE), rest or ["--help"]
            )
        case [name, *rest] if name in _OTHERS:
            return parse_call(make_app(f"boyd {name}", _OTHERS[name]), rest)
        case rest:
            return parse_call(_top(), rest or ["--help"])


def _top() -> App:
    commands: dict[str, Callable[..., Any]] = {"demo": demo, "run": run, **_OTHERS, "wire": wire}
    return make_app("boyd", text=_ABOUT, version=_version, commands=commands)


def _call_run(words: Sequence[str]) -> Callable[[], Any]:
    if not words:
        raise UsageError("boyd run needs something to run, such as boyd run triage /var/log/syslog")
    if words[0] in _RUN_HELP:
        return parse_call(make_app("boyd run", run), words)
    if words[0].startswith("-"):
        raise UsageError(f"{words[0]} stands before what to run: boyd run TARGET {words[0]} ...")
    target = parse_target(words[0])
    command = command_of(target, partial(agent_command, target))
    current_session().target = target.recorded
    return parse_call(make_app(f"boyd run {target.typed}", command), words[1:])


def _call_demo(words: Sequence[str]) -> Callable[[], Any]:
    target = parse_target(TRIAGE)
    command = find_command(load(target), "demo")
    if command is None:
        raise UsageError("the triage example of this installation has no demo")
    current_session().target = target.recorded
    return parse_call(make_app("boyd demo", command), words)


def _version() -> str:
    try:
        return f"boyd {version('boyd')}"
    except PackageNotFoundError:
        project = Path(__file__).resolve().parents[4] / "pyproject.toml"
        text = project.read_text("utf-8") if project.is_file() else ""
        number = tomllib.loads(text).get("project", {}).get("version", "of an unknown version")
        return f"boyd {number} (source tree)"
