"""The whole triage on generated logs and real samples, in any order, through any interruption."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples.triage.board import Board
from examples.triage.digest import Digest
from examples.triage.facts import Fact
from examples.triage.pipeline import Lane, analyse
from examples.triage.report import Report, make_report
from examples.triage.score import score
from examples.triage.sources import Source
from examples.triage.summary import Summing
from tests.examples.triage.logs import (
    composed,
    generated,
    needs_loghub,
    sample,
    without_first_column,
)

SIZE, BATCH = 3000, 200


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Source, ...]:
    return generated(31, SIZE, tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def expected(sources: tuple[Source, ...]) -> Report:
    return analyse(sources, batch_lines=BATCH)


def report_of(sources: Sequence[Source], recorded: list[tuple[Digest, tuple[Fact, ...]]]) -> Report:
    board, sums = Board(), {source.name: Summing(source.name) for source in sources}
    for digest, facts in recorded:
        board.add(facts)
        sums[digest.source].add(digest)
        sums[digest.source].decided(digest.number + 1)
    return make_report(board, [summing.summary() for summing in sums.values()])


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_report_does_not_depend_on_the_turns_that_sources_take(
    sources: tuple[Source, ...], expected: Report, seed: int
) -> None:
    rng = Random(seed)
    lanes = [Lane(source, batch_lines=BATCH) for source in sources]
    recorded: list[tuple[Digest, tuple[Fact, ...]]] = []
    while waiting := [lane for lane in lanes if not lane.done]:
        digest, _, facts = rng.choice(waiting).step()
        recorded.append((digest, facts))
    assert report_of(sources, recorded) == expected


@pytest.mark.slow
@given(kills=st.lists(st.integers(0, 30), min_size=1, max_size=3))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_run_that_is_killed_and_resumed_gives_the_same_report(
    sources: tuple[Source, ...], expected: Report, kills: list[int]
) -> None:
    recorded: list[tuple[Digest, tuple[Fact, ...]]] = []
    for steps in [*kills, None]:
        lanes = [Lane(source, batch_lines=BATCH) for source in sources]
        for digest, facts in recorded:
            next(lane for lane in lanes if lane.source.name == digest.source).recall(digest, facts)
        left = steps
        while (waiting := [lane for lane in lanes if not lane.done]) and left != 0:
            for lane in waiting:
                digest, _, facts = lane.step()
                recorded.append((digest, facts))
            left = None if left is None else left - 1
    assert report_of(sources, recorded) == expected


def test_nothing_that_was_recorded_twice_counts_twice(
    sources: tuple[Source, ...], expected: Report
) -> None:
    recorded: list[tuple[Digest, tuple[Fact, ...]]] = []
    for source in sources:
        lane = Lane(source, batch_lines=BATCH)
        while not lane.done:
            digest, _, facts = lane.step()
            recorded += [(digest, facts)] * 2
    assert report_of(sources, recorded) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 46))
def test_planted_three_found_three_no_false_alarm(seed: int, tmp_path: Path) -> None:
    report = analyse(generated(seed, 12_000, tmp_path))
    result = score(report.incidents, composed(seed, 12_000).truth)
    assert (result.found, result.missed, result.false_alarms) == (3, (), ())
    assert result.instructions_found == 1
    assert result.wrong_blocks == ()


@pytest.mark.parametrize("batch_lines", [200, 700, 5000])
def test_the_troubles_are_found_whatever_the_batch(
    sources: tuple[Source, ...], batch_lines: int
) -> None:
    report = analyse(sources, batch_lines=batch_lines)
    result = score(report.incidents, composed(31, SIZE).truth)
    assert (result.found, result.wrong_blocks) == (3, ())


# ------------------------------------------------------------------------------------- loghub


@needs_loghub
@pytest.mark.parametrize("batch_lines", [300, 2000])
def test_the_attackers_of_a_real_log_are_named(batch_lines: int) -> None:
    report = analyse([sample("OpenSSH")], batch_lines=batch_lines)
    titles = {incident.title for incident in report.incidents if incident.kind == "guessing"}
    for address in ("183.62.140.253", "187.141.143.180", "103.99.0.122", "112.95.230.3"):
        assert f"Password guessing from {address}" in titles
    assert len(report.incidents) <= 12


@needs_loghub
@pytest.mark.parametrize("batch_lines", [200, 2000])
def test_the_alerts_of_a_supercomputer_are_covered_by_few_incidents(
    tmp_path: Path, batch_lines: int
) -> None:
    source, kinds = without_first_column("BGL", tmp_path)
    report = analyse([source], batch_lines=batch_lines)
    spans = [
        span
        for incident in report.incidents
        for spot in incident.evidence.spots
        for span in spot.spans
    ]
    covered = {
        kind
        for number, kind in enumerate(kinds, start=1)
        if kind != "-" and any(span.first <= number <= span.last for span in spans)
    }
    assert len(report.incidents) <= 40
    assert len(covered) >= 10


@needs_loghub
def test_four_real_logs_together_give_a_short_report(tmp_path: Path) -> None:
    bgl, _ = without_first_column("BGL", tmp_path)
    names = ("Apache", "Linux", "OpenSSH")
    report = analyse([*(sample(name) for name in names), bgl])
    by_source = Counter(incident.source for incident in report.incidents)
    assert set(by_source) == {*(f"{name}_2k.log" for name in names), "BGL.log"}
    assert max(by_source.values()) <= 20
    assert any("mod_jk" in incident.title for incident in report.incidents)
    assert report.lines == 8000


# ---------------------------------------------------------------------------- lines and batches


@pytest.mark.parametrize("seed", [3, 7])
def test_what_fails_more_often_is_an_incident_from_its_first_failing_line_on(
    tmp_path: Path, seed: int
) -> None:
    report = analyse(generated(seed, 6000, tmp_path))
    rates = [incident for incident in report.incidents if incident.kind == "rate"]
    (planted,) = [one for one in composed(seed, 6000).truth.planted if one.kind == "rate"]
    (rate,) = rates
    assert rate.evidence.first_line in planted.lines
    assert rate.evidence.last_line in planted.lines
    assert rate.decided[0].line == rate.evidence.first_line


@pytest.mark.parametrize("batch_lines", [37, 400, 5000])
def test_what_is_found_does_not_hang_on_the_size_of_batches(
    tmp_path: Path, batch_lines: int
) -> None:
    report = analyse(generated(31, 6000, tmp_path), batch_lines=batch_lines)
    result = score(report.incidents, composed(31, 6000).truth)
    assert result.found == result.planted
    assert not result.false_alarms


@needs_loghub
@pytest.mark.parametrize("batch_lines", [1, 100])
def test_small_batches_find_the_attackers_and_errors_that_large_ones_find(batch_lines: int) -> None:
    attackers = {"183.62.140.253", "187.141.143.180", "103.99.0.122", "112.95.230.3"}
    ssh = analyse([sample("OpenSSH")], batch_lines=batch_lines)
    assert attackers <= {incident.subject for incident in ssh.incidents}
    apache = analyse([sample("Apache")], batch_lines=batch_lines)
    assert [incident.kind for incident in apache.incidents] == ["errors"]


def test_lines_that_were_read_and_not_decided_about_are_not_judged(
    sources: tuple[Source, ...],
) -> None:
    lane = Lane(sources[0], batch_lines=BATCH)
    summing = Summing(sources[0].name)
    for _ in range(3):
        summing.add(lane.step()[0])
    assert summing.summary().judged == 0
    summing.decided(2)
    report = make_report(Board(), [summing.summary()])
    assert (report.lines, report.judged) == (3 * BATCH, 2 * BATCH)
    assert report.finding == "nothing stands out in the 400 lines judged"
