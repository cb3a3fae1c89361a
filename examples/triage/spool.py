"""Standard input kept in a file as it is read, so that a resumed run can read it again.

Every byte is in the spool before anybody sees it. After a crash the spool is read first; then
the live input goes on where it ended. Two kinds of live input are told apart by comparing them
with the spool: a producer that was started again (`journalctl -n 50000 | ...`) repeats its
beginning, which is skipped as long as it is equal; any other (`tail -f`) is taken as new.
"""

import io
import threading
from pathlib import Path
from typing import BinaryIO, Protocol

from .sources import SourceError

_CHUNK = 64 * 1024


class LiveBytes(Protocol):
    """Bytes that arrive, such as `sys.stdin.buffer`."""

    def read1(self, size: int = -1, /) -> bytes:
        """Block until some bytes are there, and return them; nothing means the end."""
        ...


class Feed:
    """The live input of this process. Make one, whatever number of readers come and go."""

    def __init__(self, live: LiveBytes) -> None:
        """Read from `live`, which stays the caller's to close."""
        self._live = live
        self._ended = False
        self._repeated: int | None = None
        self._begun = False
        # A reader that was killed may still wait in a thread of its own; what it gets then
        # must be in the spool before the next reader asks.
        self._one_at_a_time = threading.Lock()

    def copy_some(self, spool: Path, *, seen: int) -> bool:
        """Append some live bytes to the spool; false when there are no more.

        Returns at once when the spool already holds more than the `seen` bytes.
        """
        with self._one_at_a_time:
            size = spool.stat().st_size
            if size > seen:
                return True
            if not self._begun:
                self._begun = True
                self._repeated = 0 if size else None
            piece = b"" if self._ended else self._live.read1(_CHUNK)
            if not piece:
                self._ended = True
                _end_of(spool).touch()
                return False
            if self._repeated is not None:
                piece = self._without_repetition(piece, self._repeated, spool)
            _append(spool, piece)
            return True

    def _without_repetition(self, piece: bytes, already: int, spool: Path) -> bytes:
        """Drop from a piece what the spool holds at the same place."""
        with spool.open("rb") as kept:
            kept.seek(already)
            known = kept.read(len(piece))
            same = _common(known, piece)
            if same == len(piece):
                self._repeated = already + same
                return b""
            self._repeated = None
            if same == len(known):
                return piece[same:]  # the repetition is over, the feed goes on behind it
            # It differs within a line: what was already dropped of that line comes back.
            end = already + same
            kept.seek(max(0, end - _CHUNK))
            before = kept.read(end - kept.tell())
            started = before[before.rfind(b"\n") + 1 :]
            kept.seek(-1, io.SEEK_END)
            gap = b"" if kept.read(1) == b"\n" else b"\n"
        return gap + started + piece[same:]


def open_spool(path: str, *, feed: Feed | None, offset: int = 0) -> io.BufferedReader:
    """Open a stream that reads the spool from `offset`, and then the feed through the spool."""
    return io.BufferedReader(_Spooled(Path(path), feed, offset), _CHUNK)


def is_complete(path: str) -> bool:
    """Tell whether the spool holds its input to the end, so that no feed is needed."""
    return _end_of(Path(path)).exists()


def _append(spool: Path, piece: bytes) -> None:
    try:
        with spool.open("ab") as stream:
            stream.write(piece)
    except OSError as error:
        reason = f"its copy {spool} cannot be written: {error.strerror or error}"
        raise SourceError(source="stdin", fault="unreadable", reason=reason) from None


def _end_of(path: Path) -> Path:
    return path.with_name(path.name + ".end")


class _Spooled(io.RawIOBase):
    """A raw stream over what was kept, then over what still comes."""

    def __init__(self, path: Path, feed: Feed | None, offset: int) -> None:
        super().__init__()
        path.touch()
        self._path = path
        self._feed = None if is_complete(str(path)) else feed
        self._kept: BinaryIO = path.open("rb")
        self._kept.seek(offset)

    def readable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Fill the buffer from the spool; at its end wait for the feed."""
        while True:
            piece = self._kept.read(len(buffer))
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)
            if self._feed is None or not self._feed.copy_some(self._path, seen=self._kept.tell()):
                return 0

    def close(self) -> None:
        """Let go of the spool; the feed belongs to the caller."""
        if not self.closed:
            self._kept.close()
        super().close()


def _common(one: bytes, other: bytes) -> int:
    """Return the length of the common beginning."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    return next(i for i in range(size) if one[i] != other[i])
