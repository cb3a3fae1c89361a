"""What users give as a phase: a function, or a class that remembers. Read once, at definition."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import attrs

from boyd.actors.ooda.cycle import Cycle
from boyd.runtime import Context
from boyd.runtime.codec import TypeCodec, codec_for

__all__ = ["Phase", "phase_of"]


@attrs.frozen(kw_only=True, eq=False)
class Phase:
    """A phase or facet, as its actor will run it.

    Attributes:
        make: builds what is called, for each life of the actor; `given` is the input of the run.
        inputs: the types of its positional inputs, in order.
        output: the type that it returns.
        remembers: it has `recall(*inputs, product)`, and is told its own past when it starts.
    """

    name: str
    make: Callable[[object], Callable[..., Any]]
    inputs: tuple[TypeCodec, ...]
    output: TypeCodec
    wants_cycle: str = ""
    wants_context: str = ""
    remembers: bool = False


def phase_of(given: Any, role: str, *, name: str | None = None) -> Phase:  # noqa: ANN401  # a function or class of the user's
    """Read a user's phase.

    An async function is called with its inputs; a class is built with the
    input of the run at each start of its actor, and its instance is called. In
    both, a parameter annotated `Cycle` or `Context` is given that.

    Raises:
        TypeError: it is not async, or lacks an annotation that its messages need.
    """
    fn = given.__call__ if inspect.isclass(given) else given
    bare = fn.func if isinstance(fn, functools.partial) else fn
    if not inspect.iscoroutinefunction(bare) and not inspect.iscoroutinefunction(getattr(bare, "__call__", None)):  # noqa: B004
        raise TypeError(f"{role}: {_name(given)} must be async")
    target = bare if inspect.isroutine(bare) else type(bare).__call__
    hints = _hints(target)
    parameters = [one for one in inspect.signature(fn).parameters.values() if one.name != "self"]
    found: dict[str, Any] = {"wants_cycle": "", "wants_context": ""}
    inputs: list[TypeCodec] = []
    for parameter in parameters:
        annotation = hints.get(parameter.name)
        if annotation is None:
            raise TypeError(f"{role}: parameter `{parameter.name}` of {_name(given)} has no type, so it cannot travel")
        if annotation is Cycle:
            found["wants_cycle"] = parameter.name
        elif annotation is Context:
            found["wants_context"] = parameter.name
        elif parameter.default is inspect.Parameter.empty:
            inputs.append(_codec(annotation, role, given))
    if "return" not in hints:
        raise TypeError(f"{role}: {_name(given)} does not say what it returns, so its product cannot travel")
    remembers = hasattr(given, "recall") if inspect.isclass(given) else False
    return Phase(
        name=name or _name(given),
        make=_maker(given),
        inputs=tuple(inputs),
        output=_codec(hints["return"], role, given),
        remembers=remembers,
        **found,
    )


def _maker(given: Any) -> Callable[[object], Callable[..., Any]]:  # noqa: ANN401
    if not inspect.isclass(given):
        return lambda _given: given
    takes = len(inspect.signature(given).parameters)
    return (lambda value: given(value)) if takes else (lambda _value: given())


def _name(given: Any) -> str:  # noqa: ANN401
    if isinstance(given, functools.partial):
        return _name(given.func)
    return str(getattr(given, "__name__", type(given).__name__)).strip("<>").lower()


def _hints(fn: Any) -> dict[str, Any]:  # noqa: ANN401
    try:
        return get_type_hints(fn, include_extras=True)
    except NameError as error:
        raise TypeError(f"{fn.__qualname__}: its annotation mentions {error.name}, which cannot be found") from error


def _codec(annotation: Any, role: str, given: Any) -> TypeCodec:  # noqa: ANN401
    try:
        return codec_for(annotation)
    except TypeError as error:
        raise TypeError(f"{role} {_name(given)}: {error}") from error

