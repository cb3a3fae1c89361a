"""The public names: listed, sorted, there, and each with a sentence of its own."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from types import ModuleType
from typing import Final

import pytest

MODULES: Final = (
    "boyd.runtime",
    "boyd.runtime.link",
    "boyd.actors",
    "boyd.runtime.testing",
    "boyd.actors.testing",
)


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> ModuleType:
    """Each public module in turn."""
    name = str(request.param)
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(f"{name} is not there yet")
    return importlib.import_module(name)


def in_order(names: list[str]) -> list[str]:
    """As ruff sorts `__all__`: constants, classes, then the rest; numbers by value."""

    def key(name: str) -> tuple[object, ...]:
        kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
        parts = re.split(r"(\d+)", name)
        return kind, [(int(part), "") if part.isdigit() else (-1, part) for part in parts]

    return sorted(names, key=key)


def undocumented(module: ModuleType) -> list[str]:
    """The exported classes and functions that have no docstring of their own."""
    exported = {name: getattr(module, name) for name in module.__all__}
    return [
        name
        for name, thing in exported.items()
        if (inspect.isclass(thing) or inspect.isroutine(thing))
        and not (thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__)
    ]


def unlisted(module: ModuleType) -> list[str]:
    """What stands in the module under a public name, and is not exported."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(thing)
        and name not in module.__all__
        and name != "annotations"  # of `from __future__`
    ]


def test_the_list_is_sorted_and_names_nothing_twice(module: ModuleType) -> None:
    """A reader finds a name in `__all__` where it is looked for."""
    assert list(module.__all__) == in_order(sorted(set(module.__all__)))


def test_every_listed_name_exists(module: ModuleType) -> None:
    """`from boyd.runtime import *` works, lazy names included."""
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_every_public_name_is_listed(module: ModuleType) -> None:
    """What can be imported by accident is not public by accident."""
    assert unlisted(module) == []


def test_every_class_and_function_says_what_it_promises(module: ModuleType) -> None:
    """Each export has a docstring of its own; an inherited one does not count."""
    assert module.__doc__, f"{module.__name__} has no docstring"
    assert undocumented(module) == []


def test_the_checks_find_planted_faults() -> None:
    """A module with each fault is found out."""
    bad = ModuleType("bad")
    exec(  # noqa: S102  # our own text
        "class Parent: 'Documented.'\n"
        "class Child(Parent): pass\n"
        "def silent(): pass\n"
        "stray = 1\n"
        "__all__ = ['Child', 'Parent', 'silent']",
        vars(bad),
    )
    assert undocumented(bad) == ["Child", "silent"]
    assert unlisted(bad) == ["stray"]
    assert in_order(["b", "a10", "a9", "Zeta", "LIMIT"]) == ["LIMIT", "Zeta", "a9", "a10", "b"]
