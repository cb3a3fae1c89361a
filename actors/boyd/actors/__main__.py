"""`python -m boyd.actors` is `boyd`."""

from __future__ import annotations

from boyd.actors.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    raise SystemExit(main())
