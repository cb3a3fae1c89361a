"""Reading a source in batches of lines, from any position. Plain blocking functions."""

import contextlib
import gzip
import hashlib
import io
import zlib
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Self

import attrs

from .sources import Source, SourceError, check_text
from .spool import Feed, open_spool

LINE_CAP = 64 * 1024
"""Longest line that is kept, in bytes; the rest of it is skipped and counted."""

_MARK = 1024
_BOM = b"\xef\xbb\xbf"
_Stream = io.BufferedReader | gzip.GzipFile


@attrs.frozen(kw_only=True)
class Position:
    """Where reading goes on. Offsets count unpacked bytes.

    `inside` is true in the middle of a line longer than the cap; `mark` is a digest of the
    first bytes, so that another file under the same name is noticed.
    """

    line: int = 0
    offset: int = 0
    inside: bool = False
    mark: str = ""


@attrs.frozen(kw_only=True)
class Batch:
    """Some lines, without their ends. `done` means the end of the source was reached."""

    lines: tuple[str, ...]
    position: Position
    done: bool
    invalid: int = 0
    cut: int = 0
    nuls: int = 0
    skipped: int = 0


def read_batch(
    source: Source, position: Position, *, max_lines: int = 2000, max_bytes: int = 4 << 20
) -> Batch:
    """Read once and let go of the file: `Reader` is cheaper for gzip, which must skip."""
    with Reader(source) as reader:
        return reader.read(position, max_lines=max_lines, max_bytes=max_bytes)


class Reader:
    """Reads one source, batch after batch, from whatever position it is asked for.

    A text file is opened anew for each batch, so nothing is held between them. A gzip file or
    standard input stays open, because going back means unpacking or copying again.
    """

    def __init__(self, source: Source, *, feed: Feed | None = None) -> None:
        """Prepare to read; `feed` is the live standard input, which goes through the spool."""
        self.source = source
        self._feed = feed
        self._held: _Stream | None = None
        self._at = 0

    def read(self, position: Position, *, max_lines: int = 2000, max_bytes: int = 4 << 20) -> Batch:
        """Read up to so many lines and about so many bytes.

        Raises:
            SourceError: the source is not there (any more), not what it was, or broken.
        """
        with self._explained(position), self._stream_at(position) as stream:
            batch = _take(stream, position, max_lines, max_bytes, waits=self.source.kind == "stdin")
            self._at = batch.position.offset
            return batch

    def close(self) -> None:
        """Let go of the file. Reading again opens it again."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def __enter__(self) -> Self:
        """Close at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    @contextlib.contextmanager
    def _stream_at(self, position: Position) -> Generator[_Stream, None, None]:
        if self.source.kind == "text":
            with Path(self.source.path).open("rb") as stream:
                self._check_same(stream, position)
                if stream.seek(0, io.SEEK_END) < position.offset:
                    raise SourceError(
                        source=self.source.name,
                        fault="replaced",
                        reason="became shorter while it was read",
                        line=position.line,
                    )
                stream.seek(position.offset)
                yield stream
            return
        if self._held is None or self._at != position.offset:
            self.close()
            self._held = self._open(position)
        yield self._held

    def _open(self, position: Position) -> _Stream:
        if self.source.kind == "stdin":
            return open_spool(self.source.path, feed=self._feed, offset=position.offset)
        with contextlib.ExitStack() as stack:
            stream = stack.enter_context(gzip.open(self.source.path, "rb"))
            self._check_same(stream, position)
            stream.seek(position.offset)
            stack.pop_all()  # it stays open: going back means to unpack again
            return stream

    def _check_same(self, stream: _Stream, position: Position) -> None:
        head = stream.read(min(position.offset, _MARK) if position.offset else _MARK)
        stream.seek(0)
        if not position.offset:
            check_text(head, self.source.name)
        elif position.mark and _mark(head) != position.mark:
            raise SourceError(
                source=self.source.name,
                fault="replaced",
                reason="is another file than the one that was being read",
                line=position.line,
            )

    @contextlib.contextmanager
    def _explained(self, position: Position) -> Generator[None, None, None]:
        """Turn what the system says into a sentence about this source."""
        name, line = self.source.name, position.line
        try:
            yield
        except SourceError:
            raise
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            self.close()
            reason = f"is a broken gzip file ({str(error).rstrip('.').lower()})"
            raise SourceError(source=name, fault="broken-gzip", reason=reason, line=line) from None
        except FileNotFoundError:
            if line or position.offset:
                reason = "vanished while it was read"
                raise SourceError(source=name, fault="vanished", reason=reason, line=line) from None
            reason = "no such file"
            raise SourceError(source=name, fault="missing", reason=reason) from None
        except OSError as error:
            self.close()
            reason = f"cannot be read: {error.strerror or error}"
            raise SourceError(source=name, fault="unreadable", reason=reason, line=line) from None


def _take(
    stream: _Stream, position: Position, max_lines: int, max_bytes: int, *, waits: bool
) -> Batch:
    """Read whole lines. A broken tail counts only when nothing came before it."""
    raw: list[bytes] = []
    size = skipped = cut = 0
    inside, ended = position.inside, False
    readline = stream.readline
    try:
        while len(raw) < max_lines and size < max_bytes:
            piece = readline(LINE_CAP + 1)
            size += len(piece)
            if not piece:
                ended = True
                break
            whole = piece.endswith(b"\n")
            if inside:
                skipped += len(piece)
                inside = not whole
                continue
            if not whole and len(piece) > LINE_CAP:
                inside = True
                cut += 1
                skipped += 1
                piece = piece[:LINE_CAP]
            raw.append(piece)
        # Looking ahead on standard input would wait for a line that may be long in coming.
        ended = ended or (not waits and not stream.peek(1))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        if not raw:
            raise
    mark = position.mark
    if raw and position.offset == 0:
        mark = _mark(raw[0][:_MARK])
        raw[0] = raw[0].removeprefix(_BOM)
    lines, invalid, nuls = _decode(raw)
    line, offset = position.line + len(lines), position.offset + size
    after = Position(line=line, offset=offset, inside=inside, mark=mark)
    return Batch(
        lines=lines,
        position=after,
        done=ended,
        invalid=invalid,
        cut=cut,
        nuls=nuls,
        skipped=skipped,
    )


def _decode(raw: list[bytes]) -> tuple[tuple[str, ...], int, int]:
    """Return the lines as text, how many had invalid UTF-8, and how many had NUL bytes."""
    invalid = nuls = 0
    lines: list[str] = []
    for piece in raw:
        end = piece.rstrip(b"\r\n")
        try:
            line = end.decode()
        except UnicodeDecodeError:
            line = end.decode("utf-8", "replace")
            invalid += 1
        if "\0" in line:
            line = line.replace("\0", "")
            nuls += 1
        lines.append(line)
    return tuple(lines), invalid, nuls


def _mark(head: bytes) -> str:
    """Return a digest of the first line, at most 1 KiB of it: what appending leaves alone."""
    return hashlib.sha256(head.partition(b"\n")[0]).hexdigest()[:16]
