"""A lock of the wire: the layouts of messages as text, and which changes break with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, cast

import attrs

from boyd.runtime.errors import BoydError
from boyd.runtime.wire import WIRE_VERSION
from boyd.runtime.wire_layout import Kind, Layout, Part

__all__ = ["WireLockUnreadable", "breaking_changes", "format_lock", "parse_lock"]

_ABOUT: Final = """\
# How messages look on the wire: keep this beside their source. `boyd wire lock` updates it,
# `boyd.runtime.testing.check_wire_lock` compares. A message is the array of its fields, in order.
"""
_HEAD: Final = re.compile(r'(?P<kind>message|class|enum) (?P<name>"(?:[^"\\]|\\.)*"|[^\s"]+)')
_PART: Final = re.compile(r"    (?P<name>[^\s:]+)(?:: (?P<type>.+?))?(?P<default> = default)?")
_ARROW: Final = " -> "


class WireLockUnreadable(BoydError, ValueError):
    """The text is no lock of the wire, or one of another version."""


def format_lock(layouts: Sequence[Layout]) -> str:
    """The text of a lock; the same layouts give the same text."""
    blocks = [f"{_ABOUT}\nwire {WIRE_VERSION}\n"]
    for one in layouts:
        reply = f"{_ARROW}{one.reply}" if one.reply else ""
        lines = [f"{_title(one)}{reply}", *map(_line, one.parts)]
        blocks.append("".join(f"{line}\n" for line in lines))
    return "\n".join(blocks)


def _title(one: Layout) -> str:
    plain = one.kind != "message" and one.name.isidentifier()
    name = one.name if plain else json.dumps(one.name, ensure_ascii=False)
    return f"{one.kind} {name}"


def _line(part: Part) -> str:
    kind = f": {part.type}" if part.type else ""
    return f"    {part.name}{kind}{' = default' if part.default else ''}"


def parse_lock(text: str) -> Sequence[Layout]:
    """The layouts of a lock.

    Raises:
        WireLockUnreadable: it is none, or one of another version.
    """
    lines = [
        (number, line.rstrip())
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.startswith("#")
    ]
    version = lines[0][1] if lines else "nothing"
    if version != f"wire {WIRE_VERSION}":
        raise WireLockUnreadable(
            f"the lock begins with {version!r:.40}; this Boyd reads 'wire {WIRE_VERSION}'"
        )
    found: list[Layout] = []
    for number, line in lines[1:]:
        part = _PART.fullmatch(line)
        if part is not None and found:
            more = Part(part["name"], part["type"] or "", part["default"] is not None)
            found[-1] = attrs.evolve(found[-1], parts=(*found[-1].parts, more))
        else:
            found.append(_head(number, line))
    return found


def _head(number: int, line: str) -> Layout:
    head = _HEAD.match(line)
    reply = "" if head is None else line[head.end() :]
    if head is None or (reply and not reply.startswith(_ARROW)):
        raise WireLockUnreadable(f"line {number} of the lock is no part of one: {line!r:.60}")
    try:
        name = str(json.loads(head["name"])) if head["name"].startswith('"') else head["name"]
    except ValueError:
        raise WireLockUnreadable(f"line {number} of the lock has no readable tag") from None
    return Layout(cast("Kind", head["kind"]), name, (), reply.removeprefix(_ARROW))


def breaking_changes(old: Sequence[Layout], new: Sequence[Layout]) -> Sequence[str]:
    """What of `new` cannot read what was written as `old`, or cannot be read as `old`; a sentence each.

    A field appended with a default, a new message, a new member of an enum and
    a reply where there was none are no such changes.
    """
    changes: list[str] = []
    for one in old:
        candidates = [other for other in new if (other.kind, other.name) == (one.kind, one.name)]
        if candidates:
            # Of several classes of one name it is the one that it resembles most.
            compared = [list(_changes(one, other)) for other in candidates]
            fewest = min(compared, key=len)
            changes += fewest
        elif one.kind == "message":
            changes.append(f"{_title(one)} is gone, or its module was not imported")
    return changes


def _changes(old: Layout, new: Layout) -> Iterator[str]:
    compare = _changes_of_members if old.kind == "enum" else _changes_of_fields
    for change in compare(old.parts, new.parts):
        yield f"{_title(old)}: {change}"
    if old.reply and old.reply != new.reply:
        yield f"{_title(old)}: its reply was {old.reply}, is {new.reply or 'not there'}"


def _changes_of_members(old: Sequence[Part], new: Sequence[Part]) -> Iterator[str]:
    known = {part.name: part for part in new}
    for part in old:
        now = known.get(part.name)
        if now is None:
            yield f"member {part.name} is gone"
        elif now.type != part.type:
            yield f"member {part.name} was {part.type}, is {now.type}"


def _changes_of_fields(old: Sequence[Part], new: Sequence[Part]) -> Iterator[str]:
    before, after = {part.name: part for part in old}, {part.name: part for part in new}
    renamed = {
        one.name: other.name
        for one, other in zip(old, new, strict=False)
        if one.name not in after and other.name not in before and one.type == other.type
    }
    for part in old:
        now = after.get(part.name)
        if part.name in renamed:
            yield f"field {part.name} is now called {renamed[part.name]}"
        elif now is None:
            yield f"field {part.name} is gone"
        elif now.type != part.type:
            yield f"field {part.name} was {part.type}, is {now.type}"
        elif part.default and not now.default:
            yield f"field {part.name} has no default any more"
    kept = [part.name for part in new if part.name in before]
    was = [part.name for part in old if part.name in after]
    if kept != was:
        yield f"the order of its fields was {', '.join(was)}; is {', '.join(kept)}"
    last = max((n for n, part in enumerate(new) if part.name in before), default=-1)
    for n, part in enumerate(new):
        if part.name in before or part.name in renamed.values():
            continue
        if n < last:
            yield f"field {part.name} is new and not at the end"
        elif not part.default:
            yield f"field {part.name} is new and has no default"
