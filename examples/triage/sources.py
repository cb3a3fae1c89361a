"""What can be read: text log files, gzip files, folders of them, and standard input."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import attrs

from boyd.runtime import BoydError, failure

from .outputs import is_own

Kind = Literal["text", "gzip", "stdin"]

Fault = Literal[
    "missing",
    "empty",
    "unreadable",
    "no-logs",
    "binary",
    "no-gzip",
    "broken-gzip",
    "vanished",
    "replaced",
]

_HEAD = 64 * 1024
_NUL_SHARE = 0.05
_CONTROL_SHARE = 0.30
_PAPER = re.compile(r"[A-Z][A-Z_-]+")
_LOG_NAME = re.compile(
    r"""(?ix)
    .* \. (?: log | txt | out | err | jsonl? | ndjson | gz ) (?: [.-] [\w.-]+ )?  # app.log.2
    | [a-z][\w-]* (?: \. \d+ | -\d{8} )?                # syslog, messages.1, secure-20240102
    """
)
_PACKED = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf": "7-zip",
}


@failure("triage.source")
class SourceError(BoydError):
    """A source cannot be read, or not to its end. The message is one sentence for a person."""

    def __init__(self, *, source: str, fault: Fault, reason: str, line: int = 0) -> None:
        after = f", after line {line:,}" if line else ""
        super().__init__(f"{source}: {reason}{after}")
        self.source = source
        self.fault: Fault = fault
        self.reason = reason
        self.line = line


@attrs.frozen(kw_only=True)
class Source:
    """One thing to read. For standard input the path is that of its spool file."""

    name: str
    path: str
    kind: Kind


@attrs.frozen(kw_only=True)
class Skipped:
    """A file in a folder that was passed over, and why."""

    path: str
    reason: str


@attrs.frozen(kw_only=True)
class Expanded:
    """What the command line's arguments stand for, in a fixed order."""

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...] = ()


def expand(arguments: Iterable[str], *, spool: str = "") -> Expanded:
    """Find the sources behind files, folders and `-`, each of them once, folders in sorted order.

    A file that is named must be readable; in a folder what is no log is skipped and listed.

    Args:
        spool: the file to which standard input is copied; needed when `-` is among the arguments.

    Raises:
        SourceError: an argument is missing, unreadable, empty, binary or not what its name says, or
            a folder has no logs.
    """
    found: dict[str, Source] = {}
    skipped: list[Skipped] = []
    for argument in arguments:
        if argument == "-":
            found.setdefault("-", Source(name="stdin", path=spool, kind="stdin"))
            continue
        path = Path(argument)
        if _mode(path, argument) == "folder":
            for source in _folder(path, skipped):
                found.setdefault(os.path.realpath(source.path), source)
        else:
            source = Source(name=path.name, path=str(path), kind=_kind(path, argument))
            found.setdefault(os.path.realpath(argument), source)
    return Expanded(sources=_named_apart(found.values()), skipped=tuple(skipped))


def _mode(path: Path, name: str) -> Literal["folder", "file"]:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise SourceError(source=name, fault="missing", reason="no such file or folder") from None
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from None
    if stat.S_ISDIR(mode):
        return "folder"
    if not stat.S_ISREG(mode):
        reason = "is not a regular file; send it to standard input and name the source `-`"
        raise SourceError(source=name, fault="unreadable", reason=reason)
    return "file"


def _folder(folder: Path, skipped: list[Skipped]) -> Iterator[Source]:
    some = False
    for path in _files(folder, skipped):
        inner = path.relative_to(folder).parts
        if any(part.startswith(".") for part in inner):
            continue
        if is_own(path.name):
            skipped.append(Skipped(path=str(path), reason="written by triage itself"))
            continue
        if _PAPER.fullmatch(path.name) or not _LOG_NAME.fullmatch(path.name):
            skipped.append(Skipped(path=str(path), reason="not named like a log"))
            continue
        try:
            kind = _kind(path, str(path))
        except SourceError as error:
            skipped.append(Skipped(path=str(path), reason=error.reason))
            continue
        some = True
        yield Source(name="/".join(inner), path=str(path), kind=kind)
    if not some:
        raise SourceError(source=str(folder), fault="no-logs", reason="no logs in this folder")


def _files(folder: Path, skipped: list[Skipped]) -> list[Path]:
    """All files below a folder, in order. A folder below it that cannot be listed is skipped."""

    def closed(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise _unreadable(str(folder), error) from None
        skipped.append(Skipped(path=error.filename, reason=f"cannot be read: {error.strerror}"))

    found = [Path(at, name) for at, _, names in os.walk(folder, onerror=closed) for name in names]
    return sorted(path for path in found if path.is_file())


def _kind(path: Path, name: str) -> Kind:
    """Tell text from gzip by the first bytes, and refuse what is neither, or is misnamed."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise _unreadable(name, error) from None
    if not head:
        raise SourceError(source=name, fault="empty", reason="is empty")
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    check_text(head, name)
    if path.suffix.lower() == ".gz":
        reason = "is named .gz but is plain text, not gzip; rename it to have it read as that"
        raise SourceError(source=name, fault="no-gzip", reason=reason)
    return "text"


def check_text(head: bytes, name: str) -> None:
    """Refuse bytes that are not the beginning of a UTF-8 text.

    Raises:
        SourceError: the bytes are packed, in UTF-16, or binary.
    """
    for magic, packer in _PACKED.items():
        if head.startswith(magic):
            reason = f"is packed with {packer}; only plain text and gzip are read"
            raise SourceError(source=name, fault="binary", reason=reason)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        reason = "is UTF-16 text; only UTF-8 is read"
        raise SourceError(source=name, fault="binary", reason=reason)
    nuls = head.count(0)
    controls = sum(head.count(code) for code in (*range(1, 9), *range(14, 27), *range(28, 32)))
    foreign = head.decode("utf-8", "replace").count("\ufffd")
    size = max(1, len(head))
    if nuls / size > _NUL_SHARE or (controls + foreign) / size > _CONTROL_SHARE:
        raise SourceError(source=name, fault="binary", reason="is binary, not a text log")


def _unreadable(name: str, error: Exception) -> SourceError:
    reason = getattr(error, "strerror", None) or str(error)
    return SourceError(source=name, fault="unreadable", reason=f"cannot be read: {reason}")


def _named_apart(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Give every source a name of its own: the file's name, else its path."""
    given = tuple(sources)
    names = [source.name for source in given]
    chosen: list[Source] = []
    taken: set[str] = set()
    for source in given:
        name = source.name if names.count(source.name) == 1 else source.path
        while name in taken:
            name += "'"
        taken.add(name)
        chosen.append(attrs.evolve(source, name=name))
    return tuple(chosen)
