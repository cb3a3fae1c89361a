"""`@tool`: a typed function becomes something that a model can call."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

import attrs

from boyd.actors.tools.docstrings import described_purpose
from boyd.actors.tools.schema import object_schema
from boyd.actors.tools.signature import ToolSignature, signature_of, underlying
from boyd.actors.tools.spec import Call, Effect, Risk, ToolSpec
from boyd.actors.tools.structure import Misfit, from_json
from boyd.actors.tools.validate import Validator
from boyd.actors.tools.values import to_json
from boyd.runtime.context import Context, current_context
from boyd.runtime.seams import Seams

__all__ = ["AnyTool", "Tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Tool(Generic[P, R_co]):
    """A tool. Make one with `@tool`.

    Attributes:
        description: what the model is told it does: the docstring.
        schema: JSON Schema (2020-12) of its arguments.
        effect: what a resume may do with a call that has no result.
        risk: what a gate may do with a call.
        timeout: seconds that one call may take.
    """

    name: str
    description: str
    schema: dict[str, object]
    effect: Effect
    risk: Risk
    timeout: float
    fn: Callable[..., object]
    signature: ToolSignature
    validator: Validator

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    @property
    def is_async(self) -> bool:
        """Whether a cancel reaches it: a sync function in a worker thread is waited for."""
        return _is_async(self.fn)

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        return ToolSpec(name=self.name, description=self.description, schema=self.schema)

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call:
        """The call that a model would write, without running it.

        Raises:
            TypeError: the arguments do not fit its signature, or have no JSON form.
        """
        bound = self.signature.given.bind(*args, **kwargs)
        return Call(self.name, {name: to_json(one) for name, one in bound.arguments.items()})

    async def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the function as it is: no schema, no time-out. A sync one runs in a worker thread."""
        bound = self.signature.given.bind(*args, **kwargs)
        return cast("R_co", await self.run(bound.arguments, current_context()))

    def problems(self, arguments: dict[str, object]) -> tuple[str, ...]:
        """What is wrong with a plain tree of arguments, in words for a model; () if nothing is."""
        found = self.validator.problems(arguments)
        if found:
            return found
        try:
            self.typed(arguments)
        except Misfit as misfit:
            return (str(misfit),)
        return ()

    def typed(self, arguments: dict[str, object]) -> dict[str, object]:
        """Arguments that passed the schema, as the types of the signature.

        Raises:
            Misfit: a class or a text form refused one after all.
        """
        types = {one.name: one.type for one in self.signature.properties}
        values: dict[str, object] = {}
        for name, value in arguments.items():
            try:
                values[name] = from_json(value, types[name])
            except Misfit as misfit:
                raise misfit.under(name) from None
        return values

    async def run(self, values: Mapping[str, object], context: Context | None) -> object:
        """Call the function with typed values by name, and give it `context` where it wants one.

        Raises:
            TypeError: it wants a context, and there is none.
        """
        if self.signature.contexts and context is None:
            raise TypeError(f"tool {self.name} takes a Context: run it inside an actor")
        args, kwargs = self.signature.bind(values, context)
        work = functools.partial(self.fn, *args, **kwargs)
        if self.is_async:
            result = work()
        else:
            offload = Seams().offload.run if context is None else context.system.offload
            (result,) = await offload(_boxed, work)
        return await cast("Awaitable[object]", result) if inspect.isawaitable(result) else result


def _boxed(work: Callable[[], object]) -> tuple[object]:
    # A sync function may return an awaitable, which Trio's threads would take for a mistake.
    return (work(),)


AnyTool: TypeAlias = Tool[..., object]


def _is_async(fn: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(underlying(fn))


class _Decorator(Protocol):
    """What `@tool(...)` with options is."""

    @overload
    def __call__(
        self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[Context, P], R], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /) -> Tool[P, R]: ...
@overload
def tool(fn: Callable[P, Coroutine[Any, Any, R]], /) -> Tool[P, R]: ...
@overload
def tool(fn: Callable[Concatenate[Context, P], R], /) -> Tool[P, R]: ...
@overload
def tool(fn: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    effect: Effect = Effect.ONCE,
    risk: Risk = Risk.WRITE,
    timeout: float = 60.0,
    name: str | None = None,
    description: str | None = None,
) -> _Decorator: ...
def tool(
    fn: Callable[..., object] | None = None,
    /,
    *,
    effect: Effect = Effect.ONCE,
    risk: Risk = Risk.WRITE,
    timeout: float = 60.0,
    name: str | None = None,
    description: str | None = None,
) -> object:
    """Make a function a tool. Its name, docstring and annotations are what the model is told.

    A parameter of type `Context` gets the tool actor's context and is not told.
    A sync function runs in a worker thread.

    Args:
        effect: whether a call whose result was lost may run again.
        risk: whether a gate has to ask before it runs.
        timeout: seconds for one call.
        name: in place of the function's.
        description: in place of the docstring's.

    Raises:
        TypeError: the model cannot be told what the function takes.
    """
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    names: dict[str, object] = dict(caller.f_locals) if caller is not None else {}
    del frame, caller  # a frame that holds itself would keep all its locals alive

    def make(fn: Callable[..., object]) -> AnyTool:
        return _made(fn, names, effect, risk, timeout, name, description)

    return make if fn is None else make(fn)


def _made(  # noqa: PLR0917  # one caller, right above
    fn: Callable[..., object],
    names: Mapping[str, object],
    effect: Effect,
    risk: Risk,
    timeout: float,
    name: str | None,
    description: str | None,
) -> AnyTool:
    if isinstance(fn, type) or not callable(fn):
        raise TypeError(f"a tool is made of a function, not of {fn!r:.80}")
    inner = underlying(fn)
    given = name or getattr(fn, "__name__", None) or _own_name(fn, inner)
    if not _NAME.fullmatch(given):
        raise TypeError(
            f"{given!r} is no name for a tool: 1 to 64 letters, digits, _ or -; pass name="
        )
    if not timeout > 0:
        raise TypeError(f"tool {given}: timeout must be more than 0, not {timeout}")
    signature = signature_of(fn, given, names)
    try:
        schema = object_schema(signature.properties)
    except TypeError as error:
        raise TypeError(f"tool {given}: parameter {error}") from None
    return Tool(
        name=given,
        description=described_purpose(inspect.getdoc(inner) or "")
        if description is None
        else description,
        schema=cast("dict[str, object]", schema),
        effect=effect,
        risk=risk,
        timeout=timeout,
        fn=fn,
        signature=signature,
        validator=Validator(schema),
    )


def _own_name(fn: Callable[..., object], inner: Callable[..., object]) -> str:
    """A partial has its function's name, an object its class's."""
    name: str = inner.__name__
    return type(fn).__name__ if name == "__call__" else name
