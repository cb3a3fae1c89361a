"""The view: drawn at any width, and said in few lines where it is not drawn."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from rich.cells import cell_len

from boyd.actors.cli.console import Row, keep_stdout_for_data, open_view, say
from boyd.actors.cli.live import draw
from boyd.actors.cli.rows import Meter, counted, rate_text, totals
from boyd.actors.cli.session import open_session

ROWS = (
    Row(name="auth.log", phase="decide", done=41_200, total=120_000, note="Password guessing"),
    Row(name="web", phase="observe", done=1_000, total=2_000, queued=12, note="x" * 90),
    Row(name="数据库服务器日志文件很长", phase="orient", done=7, note="\x1b[2J\u202eevil"),
    Row(name="old", done=500, total=500, state="done"),
    Row(name="bad", done=3, total=500, state="failed", note="gone"),
)


def meter() -> Meter:
    """One that has seen auth.log move by 20,000 lines in a second."""
    found = Meter()
    found.add(0.0, [Row(name="auth.log", done=21_200)])
    found.add(1.0, ROWS)
    return found


@pytest.mark.parametrize("width", [20, 40, 63, 64, 80, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, *, ascii_only: bool) -> None:
    """Wide characters count double, and nothing in a name or note reaches the terminal raw."""
    drawn = draw(
        ROWS, meter(), title="t" * 99, unit="lines", width=width, height=24, ascii_only=ascii_only
    )
    lines = drawn.plain.split("\n")
    assert len(lines) == len(ROWS) + 2
    assert max(map(cell_len, lines)) <= width
    assert not {"\x1b", "\u202e"} & set(drawn.plain)


def test_80_columns_hold_phase_bar_count_rate_and_the_last_incident() -> None:
    """What a newcomer sees."""
    drawn = draw(ROWS[:1], meter(), title="demo", unit="lines", width=80, height=24)
    assert drawn.plain.split("\n") == [
        "demo",
        "  auth.log  decide  ━━━━────────  41,200/120,000  20.0k/s  Password guessing",
        "41,200 of 120,000 lines, 20.0k/s, 1 at work",
    ]


def test_more_rows_than_lines_are_counted() -> None:
    """The view never scrolls."""
    rows = [Row(name=f"log-{n}") for n in range(50)]
    lines = draw(rows, Meter(), title="t", unit="lines", width=80, height=24).plain.split("\n")
    assert len(lines) < 24
    assert lines[-2] == "  and 30 more"


def test_figures_are_short() -> None:
    """A rate has three digits at most, and nothing stands for nothing."""
    assert [rate_text(rate) for rate in (0.0, 2.0, 850.4, 21_300.0)] == [
        "",
        "2.0/s",
        "850/s",
        "21.3k/s",
    ]
    assert counted(Row(name="x", done=1_000)) == "1,000"
    assert totals(ROWS, "lines", 0.0) == "42,710 lines, 3 at work, 1 done, 1 failed, 12 queued"


def test_the_last_line_says_who_is_at_work_who_is_done_and_who_has_failed() -> None:
    """Nothing of it once all are done, and one line is no lines."""
    done = Row(name="a", done=1, total=1, state="done")
    failed = Row(name="b", total=2, state="failed")
    assert totals([done, Row(name="c", total=1)], "lines", 0.0) == (
        "1 of 2 lines, 1 at work, 1 done"
    )
    assert totals([done, failed], "lines", 0.0) == "1 of 3 lines, 1 done, 1 failed"
    assert totals([done], "lines", 0.0) == "1 of 1 line"
    assert totals([Row(name="d", done=1)], "entries", 0.0) == "1 entry, 1 at work"


async def test_elsewhere_a_line_comes_every_few_seconds_if_something_moved(
    autojump_clock: trio.testing.MockClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plain text on standard error, and one line for a row that ends."""
    done = 0

    def rows() -> list[Row]:
        return [
            Row(name="auth.log", done=done, total=300, state="running" if done < 300 else "done")
        ]

    with open_session():
        async with open_view(rows, title="demo"):
            for _ in range(12):
                await trio.sleep(0.99)
                done += 25
            say("an incident")
            await trio.sleep(60)
    out, err = capsys.readouterr()
    assert out == "an incident\n"
    assert err.splitlines() == [
        "demo",
        "125 of 300 lines, 25/s, 1 at work",
        "250 of 300 lines, 25/s, 1 at work",
        "auth.log: done, 300/300 lines",
        "300 of 300 lines",
    ]


async def test_an_error_leaves_the_view_as_it_is(
    autojump_clock: trio.testing.MockClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not wrapped in a group, so that it can be caught by its class."""
    with open_session(), pytest.raises(ValueError, match="mine"):
        async with open_view(list[Row]):
            raise ValueError("mine")


async def test_words_go_to_standard_error_where_standard_output_is_for_data(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After `keep_stdout_for_data`."""
    with open_session():
        keep_stdout_for_data()
        say("for a person")
    assert capsys.readouterr() == ("", "for a person\n")
