"""Annotations read at run time, also those that are text and name what a function defines."""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

__all__ = ["hints_of", "local_names", "meaning", "mentioned", "own_annotations"]

_WORD: Final = re.compile(r"[^\W\d]\w*")


def own_annotations(cls: type) -> Mapping[str, object]:
    """The annotations of the class body itself, unresolved."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(cls)


def mentioned(annotations: Iterable[object]) -> set[str]:
    """The names in those annotations that are text."""
    return {word for one in annotations if isinstance(one, str) for word in _WORD.findall(one)}


def local_names(frame: FrameType | None, wanted: set[str]) -> dict[str, object]:
    """What a definition in `frame` may mean by `wanted`: names of the functions around it.

    Only what is mentioned is kept, so that a definition keeps nothing else
    alive. A class found so may mention more; that is looked up as well.
    """
    names: dict[str, object] = {}
    frames = tuple(_enclosing(frame))
    wanted = set(wanted)
    while wanted:
        name = wanted.pop()
        for one in frames:
            if name in one.f_locals:
                value = names[name] = one.f_locals[name]
                if isinstance(value, type):
                    wanted |= mentioned(own_annotations(value).values()) - names.keys()
                break
    return names


def _enclosing(frame: FrameType | None) -> Iterable[FrameType]:
    """The frames of functions and class bodies that a definition stands in, innermost first."""
    while frame is not None and frame.f_locals is not frame.f_globals:
        yield frame
        inner, frame = frame, frame.f_back
        outer = inner.f_code.co_qualname.rpartition(".")[0].removesuffix(".<locals>")
        while frame is not None and frame.f_code.co_qualname != outer:
            frame = frame.f_back


_meanings: Final[list[dict[str, object]]] = []


@contextmanager
def meaning(cls: type) -> Generator[None]:
    """Within the block, classes that `cls` mentions may mean by a name what `cls` means by it."""
    _meanings.append(_names_of(cls))
    try:
        yield
    finally:
        _meanings.pop()


def _names_of(cls: type) -> dict[str, object]:
    names: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        names |= base.__dict__.get("__boyd_names__", {})
    return names | {cls.__name__: cls}


def hints_of(cls: type) -> dict[str, Any]:
    """The resolved annotations of `cls` and its bases, by attribute name.

    Raises:
        TypeError: an annotation names something that does not exist.
    """
    names = {name: value for meant in _meanings for name, value in meant.items()} | _names_of(cls)
    try:
        return typing.get_type_hints(cls, localns=names, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{cls.__qualname__}: its annotation mentions {error.name}, which cannot be found"
        ) from error
