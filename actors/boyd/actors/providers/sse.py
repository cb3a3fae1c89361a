"""Server-sent events from bytes (WHATWG), one chunk at a time.

Pure: however the bytes are cut, the items are the same. Lines end with LF,
CR or CRLF and with nothing else; text is strict UTF-8, whatever a charset
header says.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import attrs

__all__ = ["Comment", "Fault", "Retry", "ServerEvent", "SseItem", "SseParser"]

LONGEST: Final = 1 << 20
"""Bytes of one line, and of the data of one event."""

_BOM: Final = b"\xef\xbb\xbf"
_DIGITS: Final = 10  # of a retry time that is believed


@attrs.frozen
class ServerEvent:
    """An event that has data (an event without is not dispatched)."""

    data: str
    event: str = "message"
    id: str = ""


@attrs.frozen
class Comment:
    """A line that starts with a colon: a keep-alive, mostly."""

    text: str


@attrs.frozen
class Retry:
    """The server's wish how long to wait before the next connection, in milliseconds."""

    milliseconds: int


@attrs.frozen
class Fault:
    """The bytes are no event stream that is accepted. Nothing comes after it."""

    text: str


SseItem: TypeAlias = ServerEvent | Comment | Retry | Fault


class _Refused(Exception):  # becomes a Fault
    pass


class SseParser:
    """Feed it chunks. An event that no blank line ends is discarded, as the standard has it."""

    def __init__(self, *, longest: int = LONGEST) -> None:
        self._longest = longest
        self._tail = bytearray()
        self._after_cr = False
        self._at_start = True
        self._failed = False
        self._id = ""
        self._event = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseItem]:
        """What `chunk` completes. A fault is the last item of all."""
        items: list[SseItem] = []
        if self._failed:
            return items
        try:
            for line in self._lines(chunk):
                item = self._line(line)
                if item is not None:
                    items.append(item)
            if len(self._tail) > self._longest:
                raise _Refused(self._too_long("a line"))
        except _Refused as fault:
            self._failed = True
            items.append(Fault(str(fault)))
        return items

    def _lines(self, chunk: bytes) -> list[bytes]:
        if not chunk:
            return []
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._after_cr = False
            if not chunk:
                return []
        self._after_cr = chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            self._tail += chunk  # appended in place: a byte at a time must not cost the square
            return []
        lines = chunk.split(b"\n")
        if self._tail:
            self._tail += lines[0]
            lines[0] = bytes(self._tail)
        self._tail = bytearray(lines.pop())
        return lines

    def _line(self, line: bytes) -> SseItem | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if len(line) > self._longest:
            raise _Refused(self._too_long("a line"))
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise _Refused("a line is not UTF-8") from None
        if text[0] == ":":
            return Comment(text[1:])
        field, _, value = text.partition(":")
        if field == "data":
            self._size += len(line)
            if self._size > self._longest:
                raise _Refused(self._too_long("an event"))
        return self._field(field, value.removeprefix(" "))

    def _field(self, field: str, value: str) -> Retry | None:
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isascii() and value.isdigit() and len(value) < _DIGITS:
            return Retry(int(value))
        return None

    def _dispatch(self) -> ServerEvent | None:
        item = None
        if self._data:
            item = ServerEvent("\n".join(self._data), self._event or "message", self._id)
        self._event, self._data, self._size = "", [], 0
        return item

    def _too_long(self, what: str) -> str:
        return f"{what} is longer than {self._longest:,} bytes"
