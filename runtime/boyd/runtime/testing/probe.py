"""A mailbox for tests: what arrived, and what must not."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import attrs
import trio

from boyd.runtime.inbox import Inbox
from boyd.runtime.ref import Ref
from boyd.runtime.system import System

__all__ = ["Hop", "Probe", "open_probe", "wire_spy"]

T = TypeVar("T")
E = TypeVar("E")


class Probe(Generic[T]):
    """Receives messages of some kinds, for a test to look at."""

    def __init__(self, inbox: Inbox[T]) -> None:
        self._inbox = inbox

    @property
    def ref(self) -> Ref[Any]:
        """Where to send to."""
        return self._inbox.ref

    async def expect(self, kind: type[E], *, within: float = 5.0) -> E:
        """The next message, which must be a `kind` and come within so many seconds of the Trio clock.

        Raises AssertionError.
        """
        with trio.move_on_after(within):
            message: object = await self._inbox.receive()
            assert isinstance(message, kind), f"expected {kind.__name__}, got {message!r}"
            return message
        raise AssertionError(f"no {kind.__name__} within {within:g} s")

    async def expect_none(self, *, during: float = 1.0) -> None:
        """Nothing arrives for so many seconds of the Trio clock. Raises AssertionError."""
        with trio.move_on_after(during):
            message: object = await self._inbox.receive()
            raise AssertionError(f"expected nothing, got {message!r}")


@contextmanager
def open_probe(system: System, kind: Any, *, size: int = 1024) -> Generator[Probe[Any]]:  # noqa: ANN401  # a class or a union
    """A probe for messages of `kind` (a class or a union of them)."""
    inbox: Inbox[Any] = system.open_inbox(kind, size=size)
    with inbox:
        yield Probe(inbox)


@attrs.frozen(kw_only=True)
class Hop:
    """One message on its way: who sent what to whom, as which bytes."""

    sender: str
    receiver: str
    name: str
    body: bytes


@contextmanager
def wire_spy(system: System) -> Generator[list[Hop]]:
    """Every hop of `system` while the block runs, in order, replies included."""
    hops: list[Hop] = []

    def spy(sender: str, receiver: str, name: str, body: bytes) -> None:
        hops.append(Hop(sender=sender, receiver=receiver, name=name, body=body))

    system.spies.append(spy)
    try:
        yield hops
    finally:
        system.spies.remove(spy)
