"""`boyd wire`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from boyd.actors.cli.output import say, warn
from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.targets import Target, load, parse_target
from boyd.actors.plural import counted
from boyd.runtime.wire_layout import Layout, layouts_of, tagged_messages
from boyd.runtime.wire_lock import breaking_changes, format_lock, parse_lock

__all__ = ["WIRE", "WIRE_ABOUT", "lock"]

_OURS: Final = ("boyd.runtime", "boyd.actors")


def lock(*target: str, file: Path = Path("boyd-wire.lock"), force: bool = False) -> int:
    """Write down how the tagged messages of a program look on the wire.

    Commit the file, and let a test call boyd.runtime.testing.check_wire_lock(file):
    it fails when what was stored or sent before could not be read any more.

    Args:
        target: what defines the messages, such as package.module or a file; it is loaded.
        file: the lock to write, or to update.
        force: write it although a change is incompatible with what it says.
    """
    if not target:
        raise UsageError("boyd wire lock needs what defines the messages: package.module, a file")
    targets = [parse_target(one) for one in target]
    modules = [load(one).__name__ for one in targets]
    layouts = layouts_of(cls for cls in tagged_messages() if _is_theirs(cls, modules))
    if not any(one.kind == "message" for one in layouts):
        raise UsageError(f"{_typed(targets)} defines no message with a tag")
    if file.exists() and not file.is_file():  # it may have no end
        raise UsageError(f"{file} is not a file")
    before = file.read_text("utf-8") if file.exists() else None
    changes = () if before is None or force else breaking_changes(parse_lock(before), layouts)
    if changes:
        for change in changes:
            warn(f"boyd: {change}")
        warn(f"boyd: {file} is as it was: these changes are incompatible; --force writes them")
        return 2
    text = format_lock(layouts)
    if text != before:
        _write(file, text)
    say(f"{file}: {_counted(layouts)}{', as before' if text == before else ''}")
    return 0


WIRE: Final = {"lock": lock}
"""The commands of `boyd wire`."""

WIRE_ABOUT: Final = "Keep the wire format of your messages what it was.\n"


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}") from None


def _is_theirs(cls: type, modules: Collection[str]) -> bool:
    """Boyd's own messages are Boyd's to keep, unless they were asked for by name."""
    return not _is_within(cls, _OURS) or _is_within(cls, modules)


def _is_within(cls: type, modules: Collection[str]) -> bool:
    return any(f"{cls.__module__}.".startswith(f"{module}.") for module in modules)


def _typed(targets: Sequence[Target]) -> str:
    return " ".join(one.typed for one in targets)


def _counted(layouts: Sequence[Layout]) -> str:
    return counted(sum(one.kind == "message" for one in layouts), "messages")
