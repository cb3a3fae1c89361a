"""One line in a test that keeps the wire format of messages what it was."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from boyd.runtime.messages import registered
from boyd.runtime.wire_layout import layouts_of
from boyd.runtime.wire_lock import breaking_changes, parse_lock

__all__ = ["check_wire_lock"]


def check_wire_lock(path: str | PathLike[str], /) -> None:
    """The messages in a lock that `boyd wire lock` wrote can still be read, and be read by older programs.

    Import the modules that define them first. New messages, and fields that
    were appended with a default, pass; the lock learns of them at its next update.

    Raises:
        AssertionError: a change is incompatible; names each.
        WireLockUnreadable: the file holds no lock, or one of another version.
    """
    old = parse_lock(Path(path).read_text("utf-8"))
    tags = [one.name for one in old if one.kind == "message"]
    changes = breaking_changes(old, layouts_of(filter(None, map(registered, tags))))
    if changes:
        raise AssertionError(
            f"{path}: what was stored or sent before could not be read any more, or the reverse:\n"
            + "".join(f"  {change}\n" for change in changes)
            + "Append fields with a default instead, or give the new form a tag of its own. "
            "Where nothing of the old form exists: boyd wire lock TARGET --force"
        )
