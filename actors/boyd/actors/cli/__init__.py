"""The command line: `boyd run`, `threads`, `show`, `approve`, `wire` and `demo`.

What a program under `boyd run` may use of it is `boyd.actors.cli.console`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

__all__ = ["NEEDS_EXTRA", "main"]

NEEDS_EXTRA: Final = "the command line needs two more packages: pip install 'boyd[cli]'"


def main(arguments: Sequence[str]) -> int:
    """Run `boyd ARGUMENTS...`; the exit code."""
    if any(find_spec(package) is None for package in ("cyclopts", "rich")):
        print(NEEDS_EXTRA, file=sys.stderr)
        return 2
    from boyd.actors.cli.entry import run_command_line

    return run_command_line(arguments)
