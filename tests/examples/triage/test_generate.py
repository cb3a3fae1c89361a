"""Generated logs and the score against their truth."""

from pathlib import Path

import attrs
import pytest

from examples.triage.entities import blockable
from examples.triage.generate import compose, generate
from examples.triage.incidents import Incident
from examples.triage.masks import IPV4
from examples.triage.pipeline import analyse
from examples.triage.score import score
from tests.examples.triage.logs import composed, generated


def test_the_same_seed_gives_the_same_logs() -> None:
    assert compose(5, 1500) == compose(5, 1500)
    assert compose(5, 1500) != compose(6, 1500)


def test_the_logs_are_written_as_they_were_composed(tmp_path: Path) -> None:
    truth = generate(5, 1500, tmp_path / "new")
    made = compose(5, 1500)
    assert truth == made.truth
    for name, lines in made.files.items():
        assert (tmp_path / "new" / name).read_text().splitlines() == list(lines)


@pytest.mark.slow
def test_four_sources_have_about_the_lines_that_were_asked_for() -> None:
    made = composed(7, 20_000)
    assert sorted(made.files) == ["auth.log", "dpkg.log", "shop.jsonl", "syslog"]
    assert 19_000 < made.truth.lines < 21_000
    assert made.truth.lines == sum(map(len, made.files.values()))


def test_the_truth_names_the_lines_that_were_planted() -> None:
    made = composed(7, 20_000)
    signs = {"guessing": "from {}", "disk": "{}", "rate": '"service": "{}"'}
    assert {planted.kind for planted in made.truth.planted} == set(signs)
    for planted in made.truth.planted:
        lines = made.files[planted.source]
        for number in planted.lines:
            line = lines[number - 1]
            assert planted.subject in line
            assert planted.kind != "rate" or '"status": 500' in line
    (order,) = made.truth.instructions
    assert len(order.lines) == 1


def test_only_documentation_addresses_are_used() -> None:
    import re

    for name, lines in composed(7, 3000).files.items():
        found = re.findall(IPV4, "\n".join(lines))
        assert found or name != "auth.log"
        for address in found:
            assert address.startswith(("192.0.2.", "198.51.100.", "203.0.113.")), address


@pytest.mark.slow
def test_a_large_log_has_more_than_a_thousand_failed_logins() -> None:
    made = composed(8, 120_000)
    (guessing,) = [p for p in made.truth.planted if p.kind == "guessing"]
    failed = [
        line
        for line in made.files["auth.log"]
        if "Failed password" in line and guessing.subject in line
    ]
    assert len(failed) >= 1000
    assert blockable(guessing.subject)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Incident, ...]:
    return analyse(generated(21, 6000, tmp_path_factory.mktemp("logs"))).incidents


def test_what_was_planted_is_found_and_nothing_else(found: tuple[Incident, ...]) -> None:
    result = score(found, composed(21, 6000).truth)
    assert (result.planted, result.found, result.false_alarms) == (3, 3, ())
    assert (result.instructions_planted, result.instructions_found) == (1, 1)
    assert result.coverage > 0.9
    assert len(result.blocks) == 1
    assert result.wrong_blocks == ()


def test_an_incident_about_something_else_is_a_false_alarm(found: tuple[Incident, ...]) -> None:
    other = attrs.evolve(
        found[0], key="auth.log/x", kind="guessing", subject="192.0.2.99", unit="",
        source="dpkg.log", block="192.0.2.99",
    )  # fmt: skip
    result = score([*found, other], composed(21, 6000).truth)
    assert len(result.false_alarms) == 1
    assert result.wrong_blocks == ("192.0.2.99",)


def test_an_incident_that_is_missing_is_missed(found: tuple[Incident, ...]) -> None:
    result = score([i for i in found if i.kind != "disk"], composed(21, 6000).truth)
    assert result.found == 2
    assert [missed.split()[1] for missed in result.missed] == ["disk"]
