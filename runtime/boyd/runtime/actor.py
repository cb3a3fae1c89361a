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
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

import attrs

from boyd.runtime.annotations import local_names, mentioned, own_annotations
from boyd.runtime.forms.form import is_union, type_name
from boyd.runtime.wanted import while_wanted

if TYPE_CHECKING:
    from types import FrameType

    from boyd.runtime.context import Context
    from boyd.runtime.messages import MessageCodec

__all__ = ["Actor", "Handler", "actor", "has_farewell", "is_actor", "receives"]

M = TypeVar("M")
S = TypeVar("S")
C = TypeVar("C")
R = TypeVar("R")

Handler = Callable[[Any, Any, Any], Coroutine[object, object, object]]
_MARK: Final = "__boyd_receives__"


Method: TypeAlias = "Callable[[S, C, Context], Coroutine[object, object, R]]"


@overload
def receives(method: Method[S, C, R], /) -> Method[S, C, R]: ...
@overload
def receives(
    *, cancellable: bool = ..., reentrant: bool = ...
) -> Callable[[Method[S, C, R]], Method[S, C, R]]: ...
def receives(method: Any = None, /, *, cancellable: bool = False, reentrant: bool = False) -> Any:
    """Mark the method that handles one message class, the annotation of its first parameter.

    Args:
        cancellable: when nobody waits for the answer any more, it is cancelled: the asker has left
            or its time is over. Else it runs to its end, and the answer is a dead letter `late`.
        reentrant: where its actor waits for an ask that led to this one, which else is an
            `AskCycle`, it runs at once, beside the handler that waits and before what waits in the
            mailbox. Between two awaits it has the state to itself, as ever.
    """
    frame = inspect.currentframe()
    around = frame.f_back if frame else None

    def mark(method: Method[S, C, R]) -> Method[S, C, R]:
        if not inspect.iscoroutinefunction(method):
            raise TypeError(f"{method.__qualname__} must be `async def` to receive messages")
        names = _locals_for(_parameter(method, 1), around)
        setattr(method, _MARK, _Receives(names, cancellable=cancellable, reentrant=reentrant))
        return method

    return mark if method is None else mark(method)


@attrs.frozen
class _Receives:
    """What `@receives` knows of a method: the names of its surroundings, and how it wants to run."""

    names: dict[str, object]
    cancellable: bool = attrs.field(kw_only=True)
    reentrant: bool = attrs.field(kw_only=True)


def _parameter(fn: Callable[..., object], index: int) -> inspect.Parameter:
    """The one that is the message, before a Context."""
    parameters = list(inspect.signature(fn).parameters.values())
    if len(parameters) != index + 2:
        raise TypeError(f"{fn.__qualname__} must take a message and a Context, and nothing else")
    return parameters[index]


def _locals_for(parameter: inspect.Parameter, frame: FrameType | None) -> dict[str, object]:
    return local_names(frame, mentioned([parameter.annotation]))


def _accepted_by(
    fn: Callable[..., object], parameter: inspect.Parameter, names: Mapping[str, object]
) -> tuple[type, ...]:
    """The message classes that a parameter is annotated with."""
    annotation: object = parameter.annotation
    if annotation is inspect.Parameter.empty:
        raise TypeError(
            f"{fn.__qualname__}: annotate `{parameter.name}` with the message that it receives"
        )
    if isinstance(annotation, str):
        scope = {**getattr(fn, "__globals__", {}), **names}
        try:
            annotation = eval(annotation, scope)  # noqa: S307  # the program's own annotation, as typing.get_type_hints does
        except NameError as error:
            raise TypeError(f"{fn.__qualname__}: {error.name} cannot be found") from error
    return _members(annotation)


def _members(union: object) -> tuple[type, ...]:
    """The classes of a class or a union of them."""
    members = get_args(union) if is_union(union) else (union,)
    return tuple(cast("type", get_origin(one) or one) for one in members)


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
    __boyd_reentrant__: ClassVar[frozenset[type]] = frozenset()
    __boyd_codecs__: ClassVar[dict[type, MessageCodec[Any]]] = {}

    async def started(self, ctx: Context) -> None:
        """Runs before the first message of each life. An error here is a crash (and `spawn` raises it)."""

    async def stopped(self, ctx: Context) -> None:
        """Runs after the last message, when the actor stops for good; bounded by its `shutdown` seconds.

        Not after a kill.
        """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _refuse_mutable_defaults(cls)
        attrs.define(slots=False, eq=False, auto_attribs=True)(cls)
        accepted = _accepted(cls)
        if accepted is not None and "__boyd_handlers__" not in cls.__dict__:
            found = _handlers(cls, accepted)
            cls.__boyd_handlers__ = {
                kind: while_wanted(found[kind][0]) if found[kind][1].cancellable else found[kind][0]
                for kind in accepted
            }
            cls.__boyd_reentrant__ = frozenset(
                kind for kind in accepted if found[kind][1].reentrant
            )
        cls.__boyd_codecs__ = {}


def is_actor(thing: object) -> TypeGuard[Actor[Any]]:
    """As isinstance, for type checkers that mind of which messages."""
    return isinstance(thing, Actor)


def has_farewell(thing: Any) -> bool:  # noqa: ANN401
    """Whether its class says what to do when it has stopped."""
    own: object = getattr(thing.stopped, "__func__", None)
    return own is not Actor[Any].stopped


def _refuse_mutable_defaults(cls: type) -> None:
    for name in own_annotations(cls):
        value = cls.__dict__.get(name)
        if isinstance(value, (list, dict, set, bytearray)):
            kind = type(cast("object", value)).__name__
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
            return None if isinstance(union, TypeVar) else _members(union)
    inherited: Mapping[type, Handler] = getattr(cls, "__boyd_handlers__", {})
    return tuple(inherited) or None


def _handlers(cls: type, accepted: tuple[type, ...]) -> Mapping[type, tuple[Handler, _Receives]]:
    found: dict[type, tuple[Handler, _Receives]] = {}
    for name in dir(cls):
        method = getattr(cls, name, None)
        marked: _Receives | None = getattr(method, _MARK, None)
        if method is None or marked is None:
            continue
        for kind in _accepted_by(method, _parameter(method, 1), marked.names):
            if kind not in accepted:
                raise TypeError(
                    f"{cls.__name__}.{name} receives {type_name(kind)}, which {cls.__name__} does not accept"
                )
            if kind in found:
                raise TypeError(f"{cls.__name__} has two @receives methods for {type_name(kind)}")
            found[kind] = method, marked
    for kind in accepted:
        if kind not in found:
            raise TypeError(
                f"{cls.__name__} accepts {type_name(kind)}, but has no @receives method for it"
            )
    return found


def actor(
    fn: Callable[[M, Context], Coroutine[object, object, object]], /
) -> Callable[[], Actor[M]]:
    """Make one async function a factory of actors: `spawn(fn)` runs it for each message."""
    if not inspect.iscoroutinefunction(fn):
        raise TypeError(f"{fn.__qualname__} must be `async def` to be an actor")
    frame = inspect.currentframe()
    parameter = _parameter(fn, 0)
    accepted = _accepted_by(fn, parameter, _locals_for(parameter, frame.f_back if frame else None))

    async def handle(_self: object, message: Any, ctx: Context) -> object:  # noqa: ANN401
        return await fn(message, ctx)

    body: dict[str, object] = {
        "__boyd_handlers__": dict.fromkeys(accepted, handle),
        "__doc__": fn.__doc__,
        "__module__": fn.__module__,
        "__qualname__": fn.__qualname__,
    }
    return cast("Callable[[], Actor[M]]", type(fn.__name__, (Actor,), body))
