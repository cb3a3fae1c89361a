"""The programs `boyd` and `triage`, and `python -m boyd`.

Apart from what they run, so that a Ctrl-C during its imports ends them as any later one does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

__all__ = ["main", "triage"]

_CTRL_C: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `boyd ARGUMENTS...`, by default those of the process; the exit code."""
    try:
        from boyd.actors.cli import main as boyd

        return boyd(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return _CTRL_C


def triage() -> int:
    """`triage ...` is `boyd run triage ...`."""
    return main(["run", "triage", *sys.argv[1:]])


if __name__ == "__main__":
    raise SystemExit(main())
