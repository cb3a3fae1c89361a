"""How `boyd` is called here."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

__all__ = ["program"]


def program() -> str:
    """How `boyd` is called here, for commands that a person may type next."""
    own = Path(sys.argv[0])
    if own.name == "triage":
        own = own.with_name("boyd")  # they are installed side by side
    if own.name == "__main__.py":
        return f"{Path(sys.executable).name} -m boyd"
    found = shutil.which(own.name)
    if found is not None and Path(found).resolve() == own.resolve():
        return own.name
    return _short(own) if own.exists() else own.name


def _short(path: Path) -> str:
    """Relative to the current folder, if it is below it; a climb out of it is no easier to read."""
    relative = os.path.relpath(path)
    return os.path.abspath(path) if relative.startswith(os.pardir + os.sep) else relative  # noqa: PTH100  # resolve() would follow links
