"""What may be read, and the sentence that says why not."""

import gzip
import os
from pathlib import Path

import pytest

from examples.triage.sources import Fault, SourceError, expand


def refused(*arguments: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        expand(arguments)
    return caught.value


def test_a_file_is_a_source_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "auth.log").write_text("a line\n")
    (source,) = expand([str(tmp_path / "auth.log")]).sources
    assert (source.name, source.kind) == ("auth.log", "text")


def test_gzip_is_known_by_its_first_bytes_whatever_the_name(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_bytes(gzip.compress(b"a line\n"))
    assert expand([str(tmp_path / "app.log")]).sources[0].kind == "gzip"


def test_a_folder_gives_its_logs_in_sorted_order_and_says_what_it_skipped(tmp_path: Path) -> None:
    for name in ("syslog", "b.log", "a.log.1", "README", "LICENSE", "picture.png", ".hidden.log"):
        (tmp_path / name).write_text("a line\n")
    (tmp_path / "empty.log").touch()
    (tmp_path / "wtmp").write_bytes(b"\x07\0\0\0" * 50)
    (tmp_path / "nginx").mkdir()
    (tmp_path / "nginx" / "access.log").write_text("a line\n")
    found = expand([str(tmp_path)])
    assert [s.name for s in found.sources] == ["a.log.1", "b.log", "nginx/access.log", "syslog"]
    skipped = {Path(skip.path).name: skip.reason for skip in found.skipped}
    assert skipped["empty.log"] == "is empty"
    assert skipped["wtmp"] == "is binary, not a text log"
    assert {"README", "LICENSE", "picture.png"} <= skipped.keys()


def test_what_an_earlier_run_left_in_a_folder_is_not_read_as_a_log(tmp_path: Path) -> None:
    own = ["blocklist.txt", "triage-report.html", "triage-report.json", "triage-report.md"]
    for name in ("app.log", *own):
        (tmp_path / name).write_text("a line\n")
    found = expand([str(tmp_path)])
    assert [source.name for source in found.sources] == ["app.log"]
    skipped = [(Path(skip.path).name, skip.reason) for skip in found.skipped]
    assert skipped == [(name, "written by triage itself") for name in own]


def test_the_same_file_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("a line\n")
    (tmp_path / "b.log").symlink_to(tmp_path / "a.log")
    assert len(expand([str(tmp_path / "a.log"), str(tmp_path)]).sources) == 1


def test_files_of_the_same_name_get_names_that_tell_them_apart(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.log").write_text("a line\n")
    found = expand([str(tmp_path / "one" / "a.log"), str(tmp_path / "two" / "a.log")]).sources
    assert len({source.name for source in found}) == 2


def test_a_dash_is_standard_input_kept_in_the_spool() -> None:
    (source,) = expand(["-", "-"], spool="/spool/stdin").sources
    assert (source.name, source.path, source.kind) == ("stdin", "/spool/stdin", "stdin")


@pytest.mark.parametrize(
    ("content", "fault", "reason"),
    [
        (b"", "empty", "is empty"),
        (b"\x7fELF\x02\x01\x01" + bytes(200), "binary", "is binary, not a text log"),
        (bytes(range(256)) * 20, "binary", "is binary, not a text log"),
        ("some text\n".encode("utf-16"), "binary", "is UTF-16 text; only UTF-8 is read"),
        (b"\xfd7zXZ\0\0", "binary", "is packed with xz; only plain text and gzip are read"),
    ],
)
def test_what_is_no_text_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes, fault: Fault, reason: str
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(content)
    error = refused(str(path))
    assert (error.fault, error.reason) == (fault, reason)
    assert str(error) == f"{path}: {reason}"


@pytest.mark.parametrize("name", ["app.log.gz", "APP.GZ"])
def test_text_that_is_named_gz_is_refused_and_in_a_folder_skipped(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("a line\n")
    (tmp_path / "b.log").write_text("a line\n")
    error = refused(str(tmp_path / name))
    said = "is named .gz but is plain text, not gzip; rename it to have it read as that"
    assert (error.fault, error.reason) == ("no-gzip", said)
    found = expand([str(tmp_path)])
    assert [source.name for source in found.sources] == ["b.log"]
    assert [skip.reason for skip in found.skipped] == [said]


def test_a_missing_file_is_refused() -> None:
    error = refused("/no/such.log")
    assert error.fault == "missing"
    assert str(error) == "/no/such.log: no such file or folder"


def test_a_name_that_no_file_can_have_is_refused() -> None:
    assert refused("a\0b").fault == "unreadable"


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("no log\n")
    error = refused(str(tmp_path))
    assert (error.fault, error.reason) == ("no-logs", "no logs in this folder")


def test_a_device_or_pipe_is_refused_with_the_way_that_works(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    error = refused(str(tmp_path / "pipe"))
    assert error.fault == "unreadable"
    assert "name the source `-`" in error.reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("a line\n")
    path.chmod(0)
    error = refused(str(path))
    assert (error.fault, error.reason) == ("unreadable", "cannot be read: Permission denied")
