"""Async tests of the link run in virtual time, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.runtime.conftest import run_in_virtual_time

HERE: Final = Path(__file__).parent


# Before pytest-trio marks them: the first mark names the runner.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """As the tests of the stage do."""
    for item in items:
        test: Any = getattr(item, "obj", None)
        is_async = bool(getattr(getattr(test, "__code__", None), "co_flags", 0) & 0x80)
        if item.path.parent == HERE and is_async:
            item.add_marker(pytest.mark.trio(run=run_in_virtual_time))
