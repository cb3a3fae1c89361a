"""The wire form of an error: what an asker learns of a handler that failed.

A failure is `{type, message, code, fields, notes}`. Errors registered with
`@failure("tag")` arrive as their own class; anything else as `RemoteFailure`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import attrs

from boyd.runtime import errors
from boyd.runtime.codec import Mismatch, TypeCodec, codec_for, plain
from boyd.runtime.errors import RemoteFailure
from boyd.runtime.messages import same_definition

__all__ = ["Failure", "failure", "failure_of", "is_answer", "to_exception"]

E = TypeVar("E", bound=type[Exception])


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
_tags: Final[dict[type[Exception], str]] = {}
_answers: Final[set[type[Exception]]] = set()


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


def failure_of(error: BaseException) -> Failure:
    """`error` as data; what has no wire form is left out."""
    fields: dict[str, object] = {}
    for name, value in vars(error).items():
        if not name.startswith("_"):
            try:
                fields[name] = plain(value)
            except Mismatch:
                continue
    notes = cast("list[str]", getattr(error, "__notes__", []))
    return Failure(
        type=_tags.get(cast("Any", type(error)), type(error).__name__),
        message=str(error),
        code=str(getattr(error, "code", "") or ""),
        fields=fields,
        notes=tuple(notes),
    )


def to_exception(told: Failure, original: BaseException | None = None) -> Exception:
    """The error for an asker: the registered class, else `RemoteFailure`.

    `original` is the live object, where it was raised in this process; it
    becomes the cause, for its traceback.
    """
    cls = _by_tag.get(told.type)
    if cls is None or cls is RemoteFailure:
        error: Exception = RemoteFailure(told.message, type=told.type, code=told.code)
        if cls is RemoteFailure:
            error = _rebuilt(RemoteFailure, told)
    else:
        error = _rebuilt(cls, told)
    for note in told.notes:
        error.add_note(note)
    error.__cause__ = original
    return error


def _rebuilt(cls: type[Exception], told: Failure) -> Exception:
    # Without __init__: its arguments are not known here, its message and attributes are.
    error = cls.__new__(cls)
    error.args = (told.message,)
    for name, value in told.fields.items():
        if name.isidentifier() and not name.startswith("_"):
            setattr(error, name, value)
    return error


FAILURES: Final[TypeCodec] = codec_for(Failure)
