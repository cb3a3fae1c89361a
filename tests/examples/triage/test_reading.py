"""Batches of lines, from any position, with every kind of bad line."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples.triage.reading import LINE_CAP, Batch, Position, Reader, read_batch
from examples.triage.sources import Source, SourceError

START = Position()


def source(path: Path, kind: str = "text") -> Source:
    return Source(name=path.name, path=str(path), kind="gzip" if kind == "gzip" else "text")


def text(path: Path, content: bytes) -> Source:
    path.write_bytes(content)
    return source(path)


def read_all(of: Source, **limits: int) -> list[Batch]:
    batches: list[Batch] = []
    position = START
    with Reader(of) as reader:
        while not batches or not batches[-1].done:
            batches.append(reader.read(position, **limits))
            position = batches[-1].position
    return batches


def lines_of(batches: list[Batch]) -> list[str]:
    return [line for batch in batches for line in batch.lines]


def test_line_ends_of_all_systems_and_a_byte_order_mark_are_dropped(tmp_path: Path) -> None:
    of = text(tmp_path / "a", b"\xef\xbb\xbfone\r\ntwo\nthree\r\r\n\nfour")
    batch = read_batch(of, START)
    assert batch.lines == ("one", "two", "three", "", "four")
    assert batch.done
    assert batch.position.line == 5


def test_invalid_bytes_are_replaced_and_their_lines_counted(tmp_path: Path) -> None:
    batch = read_batch(text(tmp_path / "a", b"fine\nbad \xff\xfe\nfine \xc3\xa9\n"), START)
    assert batch.lines == ("fine", "bad \ufffd\ufffd", "fine \u00e9")
    assert batch.invalid == 1


def test_nul_bytes_are_dropped_and_their_lines_counted(tmp_path: Path) -> None:
    batch = read_batch(text(tmp_path / "a", b"x" * 100 + b"\na\0b\0\n"), START)
    assert batch.lines[1] == "ab"
    assert batch.nuls == 1


def test_a_long_line_is_cut_and_its_rest_skipped_and_counted(tmp_path: Path) -> None:
    of = text(tmp_path / "a", b"x" * (3 * LINE_CAP) + b"\nnext\n")
    batch = read_batch(of, START)
    assert [len(line) for line in batch.lines] == [LINE_CAP, 4]
    assert (batch.cut, batch.skipped) == (1, 2 * LINE_CAP + 1)


def test_an_endless_line_never_fills_the_memory(tmp_path: Path) -> None:
    of = text(tmp_path / "a", b"x" * (20 * LINE_CAP))
    batches = read_all(of, max_bytes=2 * LINE_CAP)
    assert [len(batch.lines) for batch in batches] == [1] + [0] * (len(batches) - 1)
    assert max(len(line) for line in lines_of(batches)) == LINE_CAP
    assert sum(batch.skipped for batch in batches) == 19 * LINE_CAP


def test_the_batch_that_reaches_the_end_says_so(tmp_path: Path) -> None:
    of = text(tmp_path / "a", b"1\n2\n3\n4\n")
    assert [batch.done for batch in read_all(of, max_lines=2)] == [False, True]


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\0\r\n\ufeff"), max_size=30)),
    cuts=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    packed=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_reading_on_from_any_position_loses_and_repeats_nothing(
    tmp_path: Path, lines: list[str], cuts: list[int], packed: bool
) -> None:
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(content) if packed else content)
    of = source(path, "gzip" if packed else "text")
    found: list[str] = []
    position = START
    for turn in range(100 + len(lines)):
        batch = read_batch(of, position, max_lines=cuts[turn % len(cuts)])
        found.extend(batch.lines)
        position = batch.position
        if batch.done:
            break
    assert found == content.decode().split("\n")[:-1]
    assert position.line == len(found)
    assert position.offset == len(content)


def test_lines_that_were_appended_are_read_on_resume(tmp_path: Path) -> None:
    of = text(tmp_path / "a", b"one\n")
    first = read_batch(of, START)
    with (tmp_path / "a").open("ab") as stream:
        stream.write(b"two\n")
    assert read_batch(of, first.position).lines == ("two",)


def fault_of(of: Source, position: Position) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read_batch(of, position)
    return caught.value


def test_a_file_that_vanishes_says_after_which_line(tmp_path: Path) -> None:
    of = text(tmp_path / "a.log", b"one\ntwo\nthree\n")
    after = read_batch(of, START, max_lines=2).position
    (tmp_path / "a.log").unlink()
    error = fault_of(of, after)
    assert error.fault == "vanished"
    assert str(error) == "a.log: vanished while it was read, after line 2"


def test_a_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    of = text(tmp_path / "a.log", b"one\ntwo\nthree\n")
    after = read_batch(of, START, max_lines=2).position
    (tmp_path / "a.log").write_bytes(b"other\nlines\nof the same length\n")
    assert fault_of(of, after).fault == "replaced"


def test_a_file_that_became_shorter_is_noticed(tmp_path: Path) -> None:
    of = text(tmp_path / "a.log", b"one\ntwo\nthree\n")
    after = read_batch(of, START, max_lines=3).position
    (tmp_path / "a.log").write_bytes(b"one\n")
    assert fault_of(of, after).reason == "became shorter while it was read"


def test_a_broken_gzip_gives_its_whole_lines_and_then_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    packed = gzip.compress(b"".join(b"line %d %d\n" % (i, i * i) for i in range(50_000)))
    path.write_bytes(packed[: len(packed) // 2])
    position, error = START, None
    with Reader(source(path, "gzip")) as reader:
        while error is None:
            try:
                position = reader.read(position).position
            except SourceError as broken:
                error = broken
    assert position.line > 1000
    assert (error.fault, error.line) == ("broken-gzip", position.line)


def test_what_only_looks_like_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(b"\x1f\x8b not really")
    assert fault_of(source(path, "gzip"), START).fault == "broken-gzip"


def test_a_file_that_is_gone_before_the_first_line_is_missing(tmp_path: Path) -> None:
    assert fault_of(source(tmp_path / "a.log"), START).fault == "missing"


def test_binary_inside_a_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(5000)))
    assert fault_of(source(path, "gzip"), START).fault == "binary"
