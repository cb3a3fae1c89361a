"""Lines of many formats, and what is read from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.triage.clock import BASE_YEAR, Clock, in_base_year, spoken_time
from examples.triage.parse import Parser, ParserState, Record, detect
from examples.triage.times import read_stamp

MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
JAN_2_2024 = 1704164645.0  # 2024-01-02 03:04:05 UTC


def parsed(line: str) -> Record:
    return Parser().parse(line)


@pytest.mark.parametrize(
    ("line", "host", "unit", "level", "message"),
    [
        # syslog
        (
            "Jan  2 03:04:05 web1 sshd[24200]: Failed password for root from 192.0.2.1 port 2 ssh2",
            *("web1", "sshd", "", "Failed password for root from 192.0.2.1 port 2 ssh2"),
        ),
        (
            "Jan  2 03:04:05 combo su(pam_unix)[1]: session opened",
            "combo",
            "su",
            "",
            "session opened",
        ),
        ("Jan  2 03:04:05 combo syslogd 1.4.1: restart.", "combo", "syslogd", "", "restart."),
        ("<11>Jan  2 03:04:05 web1 app: x", "web1", "app", "error", "x"),
        (
            "Jan  2 03:04:05 web1 last message repeated 2 times",
            "web1",
            "",
            "",
            "last message repeated 2 times",
        ),
        ("2024-01-02T03:04:05+00:00 web1 /usr/sbin/cron[3]: x", "web1", "cron", "", "x"),
        ("<34>1 2024-01-02T03:04:05Z h su - ID47 - 'su' failed", "h", "su", "fatal", "'su' failed"),
        ('<165>1 2024-01-02T03:04:05Z h app 1 - [a@1 k="v\\]"] hi', "h", "app", "notice", "hi"),
        # Apache and nginx
        ("[Tue Jan 02 03:04:05 2024] [error] mod_jk child", "", "httpd", "error", "mod_jk child"),
        (
            "[Tue Jan 02 03:04:05.12 2024] [ssl:warn] [pid 3:tid 4] AH01: x",
            *("", "ssl", "warning", "AH01: x"),
        ),
        (
            '192.0.2.1 - bob [02/Jan/2024:03:04:05 +0000] "GET /api/x?y=1 HTTP/1.1" 404 1 "-" "x"',
            *("", "/api", "info", "GET /api/x?y=1 http-404 from 192.0.2.1 user=bob"),
        ),
        (
            '192.0.2.1 - - [02/Jan/2024:03:04:05 +0000] "-" 500 -',
            *("", "/", "error", "- http-500 from 192.0.2.1"),
        ),
        (
            "2024/01/02 03:04:05 [error] 12#12: *1 open() failed, client: 192.0.2.1",
            *("", "", "error", "12#12: *1 open() failed, client: 192.0.2.1"),
        ),
        # packages
        (
            "2024-01-02 03:04:05 status installed libc6:amd64 2.36-9",
            *("", "dpkg", "info", "status installed libc6:amd64 2.36-9"),
        ),
        ("Start-Date: 2024-01-02  03:04:05", "", "apt", "info", "Start-Date: 2024-01-02  03:04:05"),
        # structured
        (
            '{"ts": 1704164645, "level": "error", "msg": "no", "service": "pay", "user": "bob"}',
            *("", "pay", "error", "no user=bob"),
        ),
        (
            (
                '{"@timestamp":"2024-01-02T03:04:05Z","log.level":"WARN","message":"x",'
                '"status":503,"service":{"name":"pay"},"host":"h"}'
            ),
            *("h", "pay", "warning", "x http-503"),
        ),
        (
            'time="2024-01-02T03:04:05Z" level=fatal msg="it broke" service=pay',
            *("", "pay", "fatal", "it broke"),
        ),
        # whatever else
        ("240102 030405 148 INFO dfs.DataNode: block x", "", "dfs.DataNode", "info", "block x"),
        ("2024-01-02 03:04:05,6 INFO [main] org.a.B: made", "", "org.a.B", "info", "made"),
        ("2024-01-02 03:04:05,6 - my.module - ERROR - no", "", "my.module", "error", "no"),
        ("2024-01-02 03:04:05.1 UTC [9] ERROR:  no such table", "", "", "error", "no such table"),
        (
            "1704164645 2024.01.02 R02-M1 2024-01-02-03.04.05.6 R02-M1 RAS KERNEL FATAL data TLB",
            *("R02-M1", "KERNEL", "fatal", "data TLB"),
        ),
        (
            "1704164645 2024.01.02 dn228 Jan 2 03:04:05 dn228/dn228 crond[2]: session closed",
            *("dn228", "crond", "", "session closed"),
        ),
        ("24/01/02 03:04:05 INFO executor.Backend: x", "", "executor.Backend", "info", "x"),
        ("01-02 03:04:05.678  17  23 D WindowManager: x", "", "WindowManager", "debug", "x"),
        ("E0102 03:04:05.678901 1 file.go:12] no", "", "file.go", "error", "no"),
        ("ERROR:root:something broke", "", "root", "error", "something broke"),
        ("no format at all, only text", "", "", "", "no format at all, only text"),
        ("\tat com.foo.Bar(Baz.java:12)", "", "", "", "\tat com.foo.Bar(Baz.java:12)"),
        ("", "", "", "", ""),
    ],
)
def test_a_line_is_read(line: str, host: str, unit: str, level: str, message: str) -> None:
    record = parsed(line)
    assert (record.host, record.unit, record.level, record.message) == (host, unit, level, message)


@pytest.mark.parametrize(
    "stamp",
    [
        "2024-01-02T03:04:05Z",
        "2024-01-02 04:04:05+01:00",
        "2024-01-02 02:04:05 -0100",
        "2024/01/02 03:04:05",
        "2024-01-02-03.04.05",
        "20240102T030405Z",
        "02/Jan/2024:03:04:05 +0000",
        "01/02/2024 03:04:05 AM",
        "Tue Jan 02 03:04:05 2024",
        "Tue, Jan  2 2024 03:04:05",
        "1704164645",
        "1704164645000",
    ],
)
def test_a_stamp_with_a_year_gives_the_moment(stamp: str) -> None:
    clock = Clock()
    assert read_stamp(stamp, 0, clock) == (JAN_2_2024, len(stamp))
    assert clock.dated


@pytest.mark.parametrize("stamp", ["Jan  2 03:04:05", "01-02 03:04:05", "01.02 03:04:05"])
def test_a_stamp_without_a_year_is_placed_in_a_fixed_year(stamp: str) -> None:
    clock = Clock()
    time, _ = read_stamp(stamp, 0, clock)
    assert time is not None
    assert spoken_time(time, dated=True) == f"{BASE_YEAR}-01-02 03:04:05"
    assert not clock.dated
    assert in_base_year(JAN_2_2024) == time


@pytest.mark.parametrize("stamp", ["", "x", "99:99:99", "2024-13-01 00:00:00", "3", "123456", "["])
def test_what_is_no_stamp_is_left_alone(stamp: str) -> None:
    assert read_stamp(stamp, 0, Clock()) == (None, 0)


def test_a_year_passes_between_december_and_january() -> None:
    clock = Clock()
    before, after = clock.syslog("Dec 31 23:59:59"), clock.syslog("Jan  1 00:00:01")
    assert before is not None
    assert after is not None
    assert after - before == 2.0


def test_a_late_line_of_the_old_year_stays_in_the_old_year() -> None:
    clock = Clock()
    stamps = ("Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:59", "Jan  1 00:00:02")
    first, second, late, last = (clock.syslog(stamp) or 0.0 for stamp in stamps)
    assert late == first
    assert last == second + 1


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 28), st.integers(0, 59)), max_size=40))
def test_a_clock_with_a_memory_tells_the_time_that_one_without_tells(
    stamps: list[tuple[int, int, int]],
) -> None:
    lasting = Clock()
    state = lasting.state()
    for month, day, second in stamps:
        stamp = f"{MONTHS[3 * month - 3 : 3 * month]} {day:2d} 12:00:{second:02d}"
        fresh = Clock(state)
        assert fresh.syslog(stamp) == lasting.syslog(stamp)
        state = fresh.state()


def test_a_named_year_holds_for_the_lines_after_it() -> None:
    parser = Parser()
    parser.parse("2024-01-02T03:04:05Z web1 app: x")
    time = parser.parse("Jan  2 03:04:06 web1 app: x").time
    assert time == JAN_2_2024 + 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1", "1e400", "0", str(10**40), "true"])
def test_a_time_that_cannot_be_is_no_time(number: str) -> None:
    assert parsed(f'{{"ts": {number}, "msg": "x"}}').time is None


def test_text_that_cannot_be_encoded_is_replaced() -> None:
    line = parsed(r'{"msg": "a \ud800 b", "service": "\udfff"}')
    assert {*line.message} == {*"a b\ufffd"}
    assert {*line.unit} == {"\ufffd"}


def test_the_format_is_that_of_most_of_the_first_lines() -> None:
    syslog = ["Jan  2 03:04:05 web1 cron[1]: x"] * 3
    assert detect([*syslog, '{"msg": "x"}', "", "rubbish"]) == "syslog"
    assert detect(['{"msg": "x"}'] * 3) == "json"
    assert detect(["rubbish"] * 9 + syslog) == "generic"
    assert detect([]) == "generic"


def test_a_line_of_another_format_is_read_all_the_same() -> None:
    parser = Parser(ParserState(shape="syslog"))
    assert parser.parse('{"msg": "x", "service": "pay"}').unit == "pay"
    assert parser.parse("<11>1 2024-01-02T03:04:05Z h app - - - x").level == "error"
    assert parser.parse("2024-01-02 03:04:05,6 ERROR no").level == "error"


def test_an_ordinary_word_is_no_level() -> None:
    line = "2024-01-02 03:04:05 the service had no error to report"
    assert parsed(line).level == ""


@given(st.lists(st.text(max_size=80), max_size=20))
def test_any_text_is_a_record(lines: list[str]) -> None:
    records = Parser().fields(lines)
    assert len(records) == len(lines)


@given(st.text(alphabet='<>[](){}":, -TZ0123456789JanFebERRORinfo\\', max_size=60))
def test_text_that_is_nearly_a_format_is_a_record(line: str) -> None:
    for shape in ("", "syslog", "json", "access", "logfmt", "syslog-5424"):
        assert Parser(ParserState(shape=shape)).fields([line])
