"""How users write actors: a class with `@receives` methods, or one async function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

import attrs

if TYPE_CHECKING:
    from boyd.runtime.context import Context

__all__ = ["Actor", "actor", "receives"]

M = TypeVar("M")
S = TypeVar("S")
C = TypeVar("C")
R = TypeVar("R")

Handler = Callable[[Any, Any, Any], Coroutine[object, object, object]]
_MARK: Final = "__boyd_receives__"


def receives(
    method: Callable[[S, C, Context], Coroutine[object, object, R]], /
) -> Callable[[S, C, Context], Coroutine[object, object, R]]:
    """Mark the method that handles one message class, the annotation of its first parameter."""
    if not inspect.iscoroutinefunction(method):
        raise TypeError(f"{method.__qualname__} must be `async def` to receive messages")
    setattr(method, _MARK, _names_around(2))
    return method


def _names_around(depth: int) -> dict[str, object]:
    """Local names of the functions around a definition, for annotations that are text."""
    frame = inspect.currentframe()
    for _ in range(depth):
        frame = frame.f_back if frame else None
    names: dict[str, object] = {}
    while frame is not None and frame.f_locals is not frame.f_globals:
        names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names


@dataclass_transform(field_specifiers=(attrs.field,))
class Actor(Generic[M]):
    """Base of an actor: private state, and one handler at a time.

    A subclass is an attrs class: its annotated fields are the arguments of its
    constructor, which runs anew at each restart. `M` is the union of messages
    that it accepts; each needs one `@receives` method.

    Raises:
        TypeError: at import, for a missing or extra `@receives` method, or a
            mutable default.
    """

    __boyd_handlers__: ClassVar[Mapping[type, Handler]] = {}

    async def started(self, ctx: Context) -> None:
        """Runs before the first message of each life. An error here is a crash (and `spawn` raises it)."""

    async def stopped(self, ctx: Context) -> None:
        """Runs after the last message, when the actor stops for good; bounded by its `shutdown` seconds."""

    def released(self) -> None:
        """Runs at the end of each life, whatever ended it: stop, crash or cancel. For files and the like; may not wait."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _refuse_mutable_defaults(cls)
        attrs.define(slots=False, eq=False, auto_attribs=True)(cls)
        accepted = _accepted(cls)
        if accepted is not None and "__boyd_handlers__" not in cls.__dict__:
            cls.__boyd_handlers__ = _handlers(cls, accepted)


def _refuse_mutable_defaults(cls: type) -> None:
    for name in cls.__dict__.get("__annotations__", {}):
        value = cls.__dict__.get(name)
        if isinstance(value, (list, dict, set, bytearray)):
            kind = type(value).__name__
            raise TypeError(
                f"{cls.__name__}.{name}: this {kind} would be shared by every life of the actor; "
                f"write attrs.field(factory={kind})"
            )


def _accepted(cls: type) -> tuple[type, ...] | None:
    """The members of M, or None while M is a type variable."""
    for base in cls.__dict__.get("__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, Actor):
            union = get_args(base)[0]
            if isinstance(union, TypeVar):
                return None
            return tuple(get_origin(one) or one for one in (get_args(union) or (union,)))
    inherited = getattr(cls, "__boyd_handlers__", {})
    return tuple(inherited) or None


def _handlers(cls: type, accepted: tuple[type, ...]) -> Mapping[type, Handler]:
    found: dict[type, Handler] = {}
    for name in dir(cls):
        method = getattr(cls, name, None)
        around = getattr(method, _MARK, None)
        if around is None:
            continue
        kind = _first_parameter(cast("Any", method), around)
        if kind not in accepted:
            raise TypeError(
                f"{cls.__name__}.{name} receives {_name(kind)}, which {cls.__name__} does not accept"
            )
        if kind in found:
            raise TypeError(f"{cls.__name__} has two @receives methods for {_name(kind)}")
        found[kind] = cast("Handler", method)
    for kind in accepted:
        if kind not in found:
            raise TypeError(
                f"{cls.__name__} accepts {_name(kind)}, but has no @receives method for it"
            )
    return {kind: found[kind] for kind in accepted}


def _name(kind: object) -> str:
    return getattr(kind, "__name__", str(kind))


def _first_parameter(
    fn: Callable[..., object], around: Mapping[str, object], index: int = 1
) -> type:
    parameters = list(inspect.signature(fn).parameters.values())
    if len(parameters) <= index:
        raise TypeError(f"{fn.__qualname__} must take a message and a Context")
    annotation: object = parameters[index].annotation
    if isinstance(annotation, str):
        scope = {**getattr(fn, "__globals__", {}), **around}
        try:
            annotation = eval(annotation, scope)  # noqa: S307  # the program's own annotation, as typing.get_type_hints does
        except NameError as error:
            raise TypeError(f"{fn.__qualname__}: {error.name} cannot be found") from error
    if annotation is inspect.Parameter.empty:
        raise TypeError(
            f"{fn.__qualname__}: annotate `{parameters[index].name}` with the message that it receives"
        )
    return cast("type", get_origin(annotation) or annotation)


def actor(
    fn: Callable[[M, Context], Coroutine[object, object, object]], /
) -> Callable[[], Actor[M]]:
    """Make one async function a factory of actors: `spawn(fn)` runs it for each message."""
    around = _names_around(2)
    annotation = _first_parameter(fn, around, 0)
    members = get_args(_resolved(fn, around)) or (annotation,)

    async def handle(_self: object, message: Any, ctx: Context) -> object:  # noqa: ANN401
        return await fn(message, ctx)

    body = {
        "__boyd_handlers__": dict.fromkeys(members, handle),
        "__doc__": fn.__doc__,
        "__module__": fn.__module__,
        "__qualname__": fn.__qualname__,
    }
    return cast("Callable[[], Actor[M]]", type(Actor)(fn.__name__, (Actor,), body))


def _resolved(fn: Callable[..., object], around: Mapping[str, object]) -> object:
    annotation: object = next(iter(inspect.signature(fn).parameters.values())).annotation
    if isinstance(annotation, str):
        return eval(annotation, {**getattr(fn, "__globals__", {}), **around})  # noqa: S307
    return annotation
