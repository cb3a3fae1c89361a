"""Standard input, kept as it is read, so that a run can be resumed."""

import io
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples.triage.observe import Observe
from examples.triage.reading import Position, Reader
from examples.triage.sources import Source
from examples.triage.spool import Feed, is_complete

LINES = b"".join(b"line %d\n" % i for i in range(200))


class Pieces:
    """Live bytes that come in pieces of given sizes."""

    def __init__(self, content: bytes, *sizes: int) -> None:
        self._stream = io.BytesIO(content)
        self._sizes = list(sizes)

    def read1(self, size: int = -1, /) -> bytes:
        return self._stream.read(self._sizes.pop(0) if self._sizes else size)


def stdin(tmp_path: Path) -> Source:
    return Source(name="stdin", path=str(tmp_path / "spool"), kind="stdin")


def read_lines(
    of: Source, feed: Feed | None, position: Position, *, most: int = 10_000
) -> list[str]:
    found: list[str] = []
    with Reader(of, feed=feed) as reader:
        while len(found) < most:
            batch = reader.read(position, max_lines=min(50, most - len(found)))
            found.extend(batch.lines)
            position = batch.position
            if batch.done:
                break
    return found


def expected(content: bytes) -> list[str]:
    return content.decode().split("\n")[:-1]


def test_standard_input_is_read_to_its_end_and_kept(tmp_path: Path) -> None:
    of = stdin(tmp_path)
    assert read_lines(of, Feed(io.BytesIO(LINES)), Position()) == expected(LINES)
    assert (tmp_path / "spool").read_bytes() == LINES
    assert is_complete(of.path)


def test_a_complete_spool_is_read_without_touching_the_live_input(tmp_path: Path) -> None:
    of = stdin(tmp_path)
    read_lines(of, Feed(io.BytesIO(LINES)), Position())
    assert read_lines(of, Feed(io.BytesIO(b"something else\n")), Position()) == expected(LINES)


def test_bytes_are_in_the_spool_before_anybody_sees_them(tmp_path: Path) -> None:
    of = stdin(tmp_path)
    with Reader(of, feed=Feed(Pieces(LINES, 100))) as reader:
        batch = reader.read(Position(), max_lines=5)
    assert (tmp_path / "spool").read_bytes().startswith("\n".join(batch.lines).encode())


def test_without_live_input_the_spool_is_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "spool").write_bytes(b"one\ntwo\n")
    assert read_lines(stdin(tmp_path), None, Position()) == ["one", "two"]


@given(kept=st.integers(0, len(LINES)), sizes=st.lists(st.integers(1, 300), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_producer_that_was_started_again_is_not_read_twice(
    tmp_path: Path, kept: int, sizes: list[int]
) -> None:
    (tmp_path / "spool").write_bytes(LINES[:kept])
    (tmp_path / "spool.end").unlink(missing_ok=True)
    assert read_lines(stdin(tmp_path), Feed(Pieces(LINES, *sizes)), Position()) == expected(LINES)


def test_live_input_that_is_new_goes_behind_what_was_kept(tmp_path: Path) -> None:
    (tmp_path / "spool").write_bytes(b"line 0\nline 1\nli")
    feed = Feed(Pieces(b"line 0\nother\nmore\n", 3, 6))
    found = read_lines(stdin(tmp_path), feed, Position())
    assert found == ["line 0", "line 1", "li", "other", "more"]


def test_a_reader_that_takes_over_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    of, feed = stdin(tmp_path), Feed(Pieces(LINES, 77, 5, 900))
    first = read_lines(of, feed, Position(), most=3)
    after = Position(line=3, offset=sum(len(line) + 1 for line in first))
    assert first + read_lines(of, feed, after) == expected(LINES)


def test_what_a_killed_reader_still_receives_is_not_lost(tmp_path: Path) -> None:
    class Slow:
        def __init__(self) -> None:
            self.pieces = [b"one\n", b"two\n", b""]
            self.asked = threading.Event()
            self.go_on = threading.Event()

        def read1(self, size: int = -1, /) -> bytes:
            self.asked.set()
            assert self.go_on.wait(10)
            return self.pieces.pop(0) if self.pieces else b""

    of, slow = stdin(tmp_path), Slow()
    feed = Feed(slow)
    killed = threading.Thread(target=read_lines, args=(of, feed, Position()), kwargs={"most": 1})
    killed.start()
    assert slow.asked.wait(10)
    slow.go_on.set()
    assert read_lines(of, feed, Position()) == ["one", "two"]
    killed.join(10)


class NothingMore:
    """Live bytes that are there at once, and after which whoever asks for more would wait."""

    def __init__(self, content: bytes) -> None:
        self._content = [content]

    def read1(self, _size: int = -1, /) -> bytes:
        assert self._content, "would wait for lines that may be long in coming"
        return self._content.pop()


def test_the_first_lines_of_a_live_input_are_judged_without_waiting_for_a_full_batch(
    tmp_path: Path,
) -> None:
    live = NothingMore(b"".join(b"line %d\n" % i for i in range(60)))
    observe = Observe(stdin(tmp_path), feed=Feed(live))
    assert observe.next().lines == 50
    observe.close()


@given(sizes=st.lists(st.integers(1, 900), max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
def test_a_live_input_is_cut_alike_however_it_arrives(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    content = b"".join(b"line %d\n" % i for i in range(1_300))
    observe = Observe(stdin(tmp_path_factory.mktemp("s")), feed=Feed(Pieces(content, *sizes)))
    lengths: list[int] = []
    while not observe.done:
        lengths.append(observe.next().lines)
    observe.close()
    assert lengths[:11] == [50] * 11
    assert lengths[11:] == [55, 60, 66, 73, 80, 88, 97, 106, 117, 8]
