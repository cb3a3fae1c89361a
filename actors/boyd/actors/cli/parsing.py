"""From words of a command line to a call; the only user of cyclopts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import cyclopts
from cyclopts import App

from boyd.actors.cli.problems import UsageError

__all__ = ["App", "is_async", "make_app", "parse_call"]

_DASH: Final = "\ue000-"
"""Stands for a lone `-` (standard input) while cyclopts parses, which takes it for an option."""


def make_app(
    program: str,
    function: Callable[..., Any] | None = None,
    *,
    text: str | None = None,
    version: Callable[[], str] | None = None,
    commands: Mapping[str, Callable[..., Any]] = {},
) -> App:
    """A command line for `function`: its signature and docstring become options and help.

    Args:
        program: what was typed so far, for the usage line.
        text: in place of the docstring's first part.
        version: without it there is no `--version`.
        commands: by name, in the order of the help.
    """
    app = App(
        name=program,
        help=text,
        usage=None if function is None else _usage(program, function),
        default_command=function,
        version=version,
        version_flags=() if version is None else "--version",
        help_format="plaintext",
        default_parameter=cyclopts.Parameter(negative=(), show_default=_shown_default),
        group_parameters="Options",
        group_commands="Commands",
    )
    app["--help"].show = False
    if version is not None:
        app["--version"].show = False
    for place, (name, command) in enumerate(commands.items()):
        app.command(command, name=name, sort_key=place)
    return app


def _shown_default(value: object) -> str | None:
    """In help: nothing for switches that are off and for what is empty."""
    return None if value is None or value is False or value in ((), "") else str(value)


def _usage(program: str, function: Callable[..., Any]) -> str:
    """`Usage: boyd show [OPTIONS] THREAD`."""
    words = ["Usage:", program]
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.KEYWORD_ONLY for one in parameters):
        words.append("[OPTIONS]")
    for one in parameters:
        name = one.name.upper().replace("_", "-")
        if one.kind is one.VAR_POSITIONAL:
            words.append(f"[{name}...]")
        elif one.kind is not one.KEYWORD_ONLY:
            words.append(name if one.default is one.empty else f"[{name}]")
    return " ".join(words)


def parse_call(app: App, words: Sequence[str]) -> Callable[[], Any]:
    """The call that `words` ask for, with its arguments. Showing the help is such a call as well.

    Raises:
        UsageError: they do not fit the signature.
    """
    marked = [_DASH if word == "-" else word for word in words]
    try:
        command, bound, _ = app.parse_args(marked, print_error=False, exit_on_error=False)
    except cyclopts.CycloptsError as error:
        said = " ".join(str(error).split()).replace(_DASH, "-").rstrip(".")
        end = "" if said.endswith("?") else "."
        raise UsageError(f"{said}{end} See {app.name[0]} --help") from None
    arguments = [_restored(value) for value in bound.args]
    options = {name: _restored(value) for name, value in bound.kwargs.items()}
    return functools.partial(command, *arguments, **options)


def _restored(value: Any) -> Any:  # noqa: ANN401  # whatever the signature made of a word
    if isinstance(value, str):
        return value.replace(_DASH, "-")
    if isinstance(value, Path) and _DASH in str(value):
        return Path(str(value).replace(_DASH, "-"))
    if isinstance(value, list | tuple):
        many = cast("Sequence[object]", value)
        return type(many)(map(_restored, many))  # type: ignore[call-arg]  # list and tuple do
    return value


def is_async(call: Callable[[], Any]) -> bool:
    """Whether a parsed call has to be awaited."""
    return inspect.iscoroutinefunction(getattr(call, "func", call))
