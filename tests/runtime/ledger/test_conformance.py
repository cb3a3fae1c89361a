"""Both stores keep the promises of `Ledger`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import trio

from boyd.runtime.ledger import AnyTip, Entry, Lease, Ledger, ThreadInfo, open_ledger
from boyd.runtime.seams import Seams
from boyd.runtime.testing import InlineOffload
from boyd.runtime.testing.ledger_conformance import CHECKS, Check

Opener = Callable[[], AbstractAsyncContextManager[Ledger]]


@pytest.fixture(params=["memory", "sqlite", "sqlite inline"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens an empty ledger of each store."""
    address = "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'ledger.db'}"
    seams = Seams(offload=InlineOffload()) if request.param == "sqlite inline" else None
    return lambda: open_ledger(address, seams=seams)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.__name__))
async def test_a_ledger(check: Check, opener: Opener) -> None:
    with trio.fail_after(30):
        async with opener() as ledger:
            await check(ledger)


class Careless:
    """A ledger that accepts whatever comes, and keeps nothing of it."""

    async def append(
        self,
        _thread: str,
        entries: Sequence[Entry],
        /,
        *,
        after: int | AnyTip,
        lease: Lease | None = None,
    ) -> int:
        await trio.lowlevel.checkpoint()
        return len(entries)

    async def read(
        self, _thread: str, /, *, after: int = 0, limit: int = 1000, kinds: Collection[str] = ()
    ) -> Sequence[Entry]:
        return ()

    async def tip(self, _thread: str, /) -> int:
        return 0

    @asynccontextmanager
    async def open_follow(
        self, _thread: str, /, *, after: int = 0, size: int = 64
    ) -> AsyncGenerator[trio.MemoryReceiveChannel[Entry]]:
        end, entries = trio.open_memory_channel[Entry](size)
        with end, entries:
            end.close()
            yield entries

    async def fork(self, thread: str, /, *, at: int, to: str | None = None) -> str:
        return to or thread

    async def threads(
        self, *, limit: int = 100, after_cursor: str | None = None
    ) -> Sequence[ThreadInfo]:
        return ()

    async def acquire(self, thread: str, /, *, owner: str, ttl: float = 10.0) -> Lease:
        return Lease(thread=thread, owner=owner, token=1, ttl=ttl)

    async def renew(self, lease: Lease, /) -> Lease:
        return lease

    async def release(self, _lease: Lease, /) -> None:
        """It was never held."""


async def passes(check: Check, ledger: Ledger) -> bool:
    try:
        with trio.fail_after(10):
            await check(ledger)
    except (Exception, pytest.fail.Exception):  # noqa: BLE001  # however it says no
        return False
    return True


async def test_a_ledger_that_keeps_nothing_passes_only_what_asks_for_nothing_to_be_kept() -> None:
    passed = [check.__name__ for check in CHECKS if await passes(check, Careless())]
    assert passed == ["an_unknown_thread_is_empty", "a_cancelled_append_changes_nothing"]
