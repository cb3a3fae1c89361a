"""A switch for tests: no request to a real model leaves this process."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from boyd.actors.providers.errors import ModelError

__all__ = ["forbid_model_requests", "refuse_if_forbidden"]


class _Switch:
    """How many blocks forbid requests now, and how many of them let loopback through."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all = 0
        self.beyond_loopback = 0


# For the whole process on purpose: a guard that a new task, thread or system slips past is none.
_switch = _Switch()


@contextmanager
def forbid_model_requests(*, loopback: bool = False) -> Generator[None]:
    """While the block runs, a model request over HTTP raises `ModelError` instead.

    It holds for every task and thread of the process. Blocks nest.

    Args:
        loopback: let requests to this machine through, for a local test server.
    """
    name = "beyond_loopback" if loopback else "all"
    with _switch.lock:
        setattr(_switch, name, getattr(_switch, name) + 1)
    try:
        yield
    finally:
        with _switch.lock:
            setattr(_switch, name, getattr(_switch, name) - 1)


def refuse_if_forbidden(name: str, *, is_loopback: bool) -> None:
    """Called by the module that speaks HTTP, before anything else. Raises ModelError."""
    if _switch.all or (_switch.beyond_loopback and not is_loopback):
        raise ModelError(
            f"a test tried to reach {name}; use agent.using(ScriptedModel(...))",
            code="forbidden_in_tests",
        )
