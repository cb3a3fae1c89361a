"""What a callable takes: its parameters with types, and where it wants its context."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args, get_origin

import attrs

from boyd.actors.tools.docstrings import described_arguments
from boyd.actors.tools.schema import Property
from boyd.actors.tools.values import NOTHING, bare, is_union

__all__ = ["ToolSignature", "signature_of", "underlying"]

Anything = Callable[..., Any]

_CONTEXT_NAME: Final = re.compile(r"(?:\w+\.)*Context(?:\[.*\])?(?:\s*\|\s*None)?")


@attrs.frozen(kw_only=True)
class ToolSignature:
    """The parameters that a model fills, and those that get the context."""

    properties: tuple[Property, ...]
    contexts: tuple[str, ...]
    full: inspect.Signature
    given: inspect.Signature
    """The same without context parameters."""

    def bind(
        self, values: Mapping[str, object], context: object
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments for a call with `values` by name."""
        named: dict[str, Any] = {**values, **dict.fromkeys(self.contexts, context)}
        positional: list[Any] = []
        for name, parameter in self.full.parameters.items():
            if parameter.kind is not parameter.POSITIONAL_ONLY:
                break
            if name not in named:
                break  # it and all after it have defaults
            positional.append(named.pop(name))
        return tuple(positional), named


def underlying(fn: Anything) -> Anything:
    """The function inside partials, methods and callable objects: it has docstring and globals."""
    while True:
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif not inspect.isroutine(fn):
            fn = type(fn).__call__
        else:
            inner: Anything = inspect.unwrap(fn)
            return inner


def signature_of(fn: Anything, tool: str, names: Mapping[str, object]) -> ToolSignature:
    """Look at `fn`.

    Args:
        tool: its name, for error texts.
        names: what its annotations may mention beside its globals.

    Raises:
        TypeError: a parameter cannot be told to a model; the text says which and why.
    """
    try:
        full = inspect.signature(fn)
    except ValueError:
        raise TypeError(f"tool {tool}: {fn!r} has no signature that can be read") from None
    hidden = _filled(fn)
    inner = underlying(fn)
    spaces = (getattr(inner, "__globals__", {}), names)
    told = described_arguments(inspect.getdoc(inner) or "")
    properties: list[Property] = []
    contexts: list[str] = []
    for name, parameter in full.parameters.items():
        if name in hidden:
            continue
        resolved = _resolved(parameter.annotation, *spaces)
        if _is_context(resolved):
            contexts.append(name)
        else:
            _check(tool, parameter, resolved)
            default = NOTHING if parameter.default is parameter.empty else parameter.default
            properties.append(
                Property(name=name, type=resolved, default=default, description=told.get(name, ""))
            )
    left = [one for name, one in full.parameters.items() if name not in contexts]
    return ToolSignature(
        properties=tuple(properties),
        contexts=tuple(contexts),
        full=full,
        given=full.replace(parameters=left),
    )


def _filled(fn: Anything) -> frozenset[str]:
    """Keywords that a partial has given already: not the model's business."""
    names: set[str] = set()
    while isinstance(fn, functools.partial):
        names |= set(fn.keywords)
        fn = fn.func
    return frozenset(names)


def _resolved(annotation: Any, globals_: Mapping[str, Any], names: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The annotation with names looked up; text where one cannot be found."""
    if annotation is inspect.Parameter.empty:
        return annotation
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        hints = typing.get_type_hints(holder, dict(globals_), dict(names), include_extras=True)
    except NameError as error:
        return _Unknown(str(annotation), error.name or "?")
    return hints["it"]


@attrs.frozen
class _Unknown:
    """An annotation that mentions a name that does not exist (yet)."""

    text: str
    name: str


def _is_context(annotation: object) -> bool:
    if isinstance(annotation, _Unknown):
        # Imported under TYPE_CHECKING only: nobody else's Context can be meant by then.
        return _CONTEXT_NAME.fullmatch(annotation.text.strip()) is not None
    annotation = bare(annotation)
    if is_union(annotation):
        return any(_is_context(one) for one in get_args(annotation))
    kind = get_origin(annotation) or annotation
    module = getattr(kind, "__module__", "")
    return getattr(kind, "__name__", "") == "Context" and module.startswith("boyd.runtime")


def _check(tool: str, parameter: inspect.Parameter, resolved: object) -> None:
    name = parameter.name
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise TypeError(
            f"tool {tool}: `*{name}` cannot be told to a model; write `{name}: list[...]`"
        )
    if parameter.kind is parameter.VAR_KEYWORD:
        raise TypeError(
            f"tool {tool}: `**{name}` cannot be told to a model; write `{name}: dict[str, ...]`"
        )
    if resolved is parameter.empty:
        raise TypeError(
            f"tool {tool}: parameter `{name}` has no type, "
            "so the model cannot be told what it takes"
        )
    if isinstance(resolved, _Unknown):
        raise TypeError(
            f"tool {tool}: the type of `{name}` mentions {resolved.name}, which cannot be found"
        )
