"""The wire form of an error: what an asker learns of a handler that failed.

A failure is `{type, message, code, fields, notes}`. Errors registered with
`@failure("tag")` arrive as their own class; anything else as `RemoteFailure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast

import attrs

from boyd.runtime import errors
from boyd.runtime.codec import TypeCodec, codec_for, pack_tree, plain
from boyd.runtime.errors import (
    ActorStopped,
    AskCycle,
    EncodeError,
    MailboxFull,
    NotAccepted,
    RemoteFailure,
    SystemClosed,
)
from boyd.runtime.forms.form import Mismatch
from boyd.runtime.messages import same_definition

__all__ = [
    "FAILURES",
    "Failure",
    "encode_failure",
    "failure",
    "failure_of",
    "failure_of_crash",
    "is_answer",
    "text_of",
    "to_exception",
]

E = TypeVar("E", bound=type[Exception])

_LONGEST_TEXT: Final = 10_000
_LARGEST_FIELD: Final = 100_000


@attrs.frozen(kw_only=True)
class Failure:
    """An error as data.

    Attributes:
        type: its registered tag, or the name of its class.
        message: what `str(error)` says.
        code: a stable word for programs, or "".
        fields: its attributes that are plain values.
        notes: its notes (`BaseException.add_note`).
    """

    type: str
    message: str
    code: str = ""
    fields: dict[str, object] = attrs.field(factory=dict[str, object])
    notes: tuple[str, ...] = ()


_by_tag: Final[dict[str, type[Exception]]] = {}
_tags: Final[dict[type, str]] = {}
_answers: Final[set[type[Exception]]] = set()

_UNSENT: Final = frozenset(
    {ActorStopped, AskCycle, EncodeError, MailboxFull, NotAccepted, SystemClosed}
)
"""By these an ask says that it was not handled. Raised *in* a handler they are about another
message, and an asker that took them for its own would send again."""


def failure(tag: str, /) -> Callable[[E], E]:
    """Register an error class as an answer.

    A handler that raises it in answer to an ask has answered: the asker gets
    this class again, and the actor goes on. Any other error is a crash.

    Raises:
        TypeError: the tag is taken by another class.
    """

    def register(cls: E) -> E:
        _register(tag, cls)
        _answers.add(cls)
        return cls

    return register


def _register(tag: str, cls: type[Exception]) -> None:
    known = _by_tag.get(tag)
    if known is not None and not same_definition(known, cls):
        raise TypeError(f"failure tag {tag!r} is taken by {known.__module__}.{known.__qualname__}")
    _by_tag[tag] = cls
    _tags[cls] = tag


for _name in errors.__all__:
    _register(f"boyd.{_name}", getattr(errors, _name))


def is_answer(error: Exception) -> bool:
    """Whether raising this is a way to answer an ask, and no crash."""
    return type(error) in _answers


def text_of(error: BaseException) -> str:
    """What `str(error)` says, as text that can always be sent: cut when very long."""
    try:
        text = str(error)
    except Exception as second:  # noqa: BLE001  # somebody's __str__ must not break its supervisor
        text = f"<its text cannot be shown: {type(second).__name__}>"
    return _sendable(text)


def _sendable(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def failure_of(error: BaseException) -> Failure:
    """`error` as data; what has no wire form is left out."""
    fields = {name: tree for name, value in _attributes(error) for tree in _plain_tree(value)}
    notes: object = getattr(error, "__notes__", None)
    return Failure(
        type=_tags.get(type(error), type(error).__name__),
        message=text_of(error),
        code=_sendable(str(getattr(error, "code", "") or "")),
        fields=fields,
        notes=tuple(_sendable(str(note)) for note in cast("list[object]", notes))
        if isinstance(notes, list)
        else (),
    )


def failure_of_crash(error: BaseException) -> Failure:
    """What the asker of a crashed handler learns: never that its own message was not sent."""
    told = failure_of(error)
    return attrs.evolve(told, type=type(error).__name__) if type(error) in _UNSENT else told


def _attributes(error: BaseException) -> Iterable[tuple[str, object]]:
    values = dict(vars(error))
    if attrs.has(type(error)):
        values |= {
            f.name: getattr(error, f.name, None) for f in attrs.fields(cast("Any", type(error)))
        }
    return [(name, value) for name, value in values.items() if not name.startswith("_")]


def _plain_tree(value: object) -> list[object]:
    """The plain tree of a value, alone in a list; an empty one where it has none, or a huge one."""
    try:
        tree = plain(value)
        return [tree] if len(pack_tree(tree, "field")) <= _LARGEST_FIELD else []
    except (Mismatch, EncodeError, RecursionError):
        return []


def to_exception(told: Failure, original: BaseException | None = None) -> Exception:
    """The error for an asker: the registered class, else `RemoteFailure`.

    `original` is the live object, where it was raised in this process; it
    becomes the cause, for its traceback.
    """
    cls = _by_tag.get(told.type)
    if cls is None:
        error: Exception = RemoteFailure(told.message, type=told.type, code=told.code)
    else:
        error = _rebuilt(cls, told)
    for note in told.notes:
        error.add_note(note)
    error.__cause__ = original
    return error


def _rebuilt(cls: type[Exception], told: Failure) -> Exception:
    # Without __init__: its arguments are not known here, its message and attributes are.
    error = cls.__new__(cls)
    object.__setattr__(error, "args", (told.message,))
    for name, value in told.fields.items():
        if name.isidentifier() and not name.startswith("_") and name != "args":
            object.__setattr__(error, name, value)  # also where the class is frozen
    return error


FAILURES: Final[TypeCodec] = codec_for(Failure)


def encode_failure(told: Failure) -> bytes:
    """Its frame."""
    return FAILURES.encode(told)
