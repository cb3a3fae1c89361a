"""Tests of the stage run in virtual time, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.abc import Clock, Instrument
from trio.testing import MockClock

from boyd.runtime.testing import assert_no_leaks

HERE = Path(__file__).parent


def run_in_virtual_time(
    test: Callable[[], Awaitable[None]],
    *,
    clock: Clock | None = None,
    instruments: Sequence[Instrument] = (),
) -> None:
    """As `trio.run`, but waiting takes no time, and no task may outlive the test."""

    async def main() -> None:
        with assert_no_leaks():
            await test()

    trio.run(main, clock=clock or MockClock(autojump_threshold=0), instruments=instruments)


# Before pytest-trio marks them: the first mark names the runner.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Async tests of this directory, and not of those below, run in virtual time."""
    for item in items:
        test: Any = getattr(item, "obj", None)
        test = getattr(getattr(test, "hypothesis", None), "inner_test", test)
        is_async = bool(getattr(getattr(test, "__code__", None), "co_flags", 0) & 0x80)
        if item.path.parent == HERE and is_async:
            item.add_marker(pytest.mark.trio(run=run_in_virtual_time))


@pytest.fixture(autouse=True)
def nothing_leaks() -> Generator[None]:
    """No thread and no open file outlives a test."""
    with assert_no_leaks():
        yield
