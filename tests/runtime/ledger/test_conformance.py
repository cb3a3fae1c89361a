"""Both stores keep the promises of `Ledger`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import trio

from boyd.runtime.ledger import Ledger, open_ledger
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
