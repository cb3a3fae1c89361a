"""What users give as a phase: a function, or a class that remembers. Read once, at definition."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, cast, get_type_hints

import attrs

from boyd.actors.ooda.cycle import Cycle
from boyd.actors.plural import counted
from boyd.runtime import Context
from boyd.runtime.codec import TypeCodec, codec_for
from boyd.runtime.names import check_name

__all__ = ["Phase", "phase_of"]

_INPUTS: Final[Mapping[str, tuple[int, int, str]]] = {
    "observe": (0, 1, "the input of the run, or nothing"),
    "facet": (1, 1, "the observation"),
    "synthesize": (1, 2, "the list of readings, and the observation if it wants it"),
    "decide": (1, 1, "the orientation"),
    "act": (1, 2, "the decision, and the orientation if it wants it"),
}
"""How many inputs a phase takes at least and at most, and what they are."""


@attrs.frozen(kw_only=True, eq=False)
class Phase:
    """A phase or facet, as its actor will run it.

    Attributes:
        make: builds what is called, for each life of the actor; `given` is the input of the run.
        inputs: how its positional inputs travel, in order.
        takes: their annotations, for comparing.
        output: the type that it returns.
        returns: its annotation.
        given: the annotation of the run's input, where the class is built with it.
        remembers: it has `recall(*inputs, product)`, and is told its own past when it starts.
    """

    name: str
    make: Callable[[object], Callable[..., Any]]
    inputs: tuple[TypeCodec, ...]
    takes: tuple[Any, ...]
    output: TypeCodec
    returns: Any
    given: Any = None
    wants_cycle: str = ""
    wants_context: str = ""
    remembers: bool = False


@attrs.frozen(kw_only=True)
class _Given:
    """What the user gave, and what to say of it."""

    what: Any
    role: str
    names: Mapping[str, object]

    @property
    def name(self) -> str:
        what: object = self.what
        if isinstance(what, functools.partial):
            what = cast("functools.partial[object]", what).func
        return str(getattr(what, "__name__", type(what).__name__)).strip("<>").lower()

    def wrong(self, text: str) -> TypeError:
        return TypeError(f"{self.role} {self.name}: {text}")


def phase_of(
    what: Any,  # noqa: ANN401  # a function or class of the user's
    role: str,
    *,
    name: str | None = None,
    names: Mapping[str, object] | None = None,
) -> Phase:
    """Read a user's phase.

    An async function is called with its inputs; a class is built with the
    input of the run at each start of its actor, and its instance is called. In
    both, a parameter annotated `Cycle` or `Context` is given that.

    Args:
        names: what its annotations may mention beside the names of its module.

    Raises:
        TypeError: it is not async, or its signature is not that of its role.
    """
    given = _Given(what=what, role=role, names=names or {})
    is_class = inspect.isclass(what)
    fn: Any = what.__call__ if is_class else what
    hints = _hints(given, _checked_async(given, fn))
    found: dict[str, Any] = {"wants_cycle": "", "wants_context": ""}
    takes: list[Any] = []
    for parameter in _parameters(given, fn, skip=int(is_class)):
        annotation = hints.get(parameter.name)
        if annotation is None:
            raise given.wrong(f"parameter `{parameter.name}` has no type, so it cannot travel")
        if annotation is Cycle:
            found["wants_cycle"] = parameter.name
        elif annotation is Context:
            found["wants_context"] = parameter.name
        elif parameter.default is inspect.Parameter.empty:
            takes.append(annotation)
    if "return" not in hints:
        raise given.wrong("it does not say what it returns, so its product cannot travel")
    _check_count(given, len(takes))
    make, built_with = _maker(given) if is_class else (_always(what), None)
    return Phase(
        name=name or check_name(given.name),
        make=make,
        inputs=tuple(_codec(given, one) for one in takes),
        takes=tuple(takes),
        output=_codec(given, hints["return"]),
        returns=hints["return"],
        given=built_with if is_class else takes[0] if role == "observe" and takes else None,
        remembers=is_class and _checked_recall(given, len(takes)),
        **found,
    )


def _checked_async(given: _Given, fn: Any) -> Any:  # noqa: ANN401
    """The function that will run."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if not inspect.isroutine(fn):
        fn = type(fn).__call__
    if not inspect.iscoroutinefunction(fn):
        kind = "its `__call__` must be" if inspect.isclass(given.what) else "it must be"
        raise given.wrong(f"{kind} `async def`")
    return fn


def _parameters(given: _Given, fn: Any, *, skip: int) -> list[inspect.Parameter]:  # noqa: ANN401
    found = list(inspect.signature(fn).parameters.values())[skip:]
    for one in found:
        if one.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise given.wrong(f"parameter `*{one.name}` could be anything: name what it takes")
    return found


def _check_count(given: _Given, count: int) -> None:
    least, most, what = _INPUTS[given.role]
    if not least <= count <= most:
        raise given.wrong(f"it takes {counted(count, 'inputs')}, but is given {what}")


def _checked_recall(given: _Given, inputs: int) -> bool:
    recall = getattr(given.what, "recall", None)
    if recall is None:
        return False
    if inspect.iscoroutinefunction(recall):
        raise given.wrong("`recall` must be a plain `def`: it is told what was, and asks nobody")
    try:
        inspect.signature(recall).bind(None, *range(inputs), None)
    except TypeError:
        told = f"its {counted(inputs, 'inputs')} and its product" if inputs else "its product"
        raise given.wrong(f"`recall` is told {told}, which its parameters do not fit") from None
    return True


def _maker(given: _Given) -> tuple[Callable[[object], Callable[..., Any]], Any]:
    """How the class is built, and the annotation of what it is built with; None if it takes nothing."""
    cls = given.what
    takes = list(inspect.signature(cls).parameters.values())
    needed = [one for one in takes if one.default is inspect.Parameter.empty]
    if len([one for one in needed if one.kind is not one.VAR_POSITIONAL]) > 1:
        names = ", ".join(one.name for one in needed)
        raise given.wrong(f"it is built with the input of the run, and asks for more: {names}")
    if not takes:
        return (lambda _given: cls()), None
    hints = _hints(given, cls.__init__) if inspect.isfunction(cls.__init__) else {}
    return cls, hints.get(takes[0].name)


def _always(what: Any) -> Callable[[object], Any]:  # noqa: ANN401  # whatever the user gave
    def make(_given: object) -> Any:  # noqa: ANN401
        return what

    return make


def _hints(given: _Given, fn: Any) -> dict[str, Any]:  # noqa: ANN401
    try:
        return get_type_hints(fn, localns=dict(given.names), include_extras=True)
    except NameError as error:
        raise given.wrong(f"its annotation mentions {error.name}, which cannot be found") from error


def _codec(given: _Given, annotation: Any) -> TypeCodec:  # noqa: ANN401
    try:
        return codec_for(annotation)
    except TypeError as error:
        raise given.wrong(str(error)) from error
