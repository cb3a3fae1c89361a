"""A folder to run things in, from which nothing leaks into the next test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, empty; what programs in it import is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOYD_LEDGER", raising=False)
    monkeypatch.setattr("sys.argv", ["boyd"])
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        module = sys.modules[name]
        if str(getattr(module, "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]
