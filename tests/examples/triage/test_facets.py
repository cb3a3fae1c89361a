"""Four lenses, each a fold of digests."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.triage.facets import Concentration, Facet, Novelty, Severity, Volume
from examples.triage.readings import Finding, Reading
from tests.examples.triage.logs import composed_digests, digests


def line(second: int, message: str, unit: str = "app") -> str:
    day, rest = divmod(second, 86_400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"Jan {1 + day:2d} {clock} web1 {unit}: {message}"


def steady(count: int, *, every: int = 10, begin: int = 0) -> list[str]:
    return [line(begin + i * every, f"request {i} served") for i in range(count)]


def readings(facet: Facet, lines: list[str], *, batch_lines: int = 500) -> list[Reading]:
    return [facet.read(digest) for digest in digests(lines, batch_lines=batch_lines)]


def findings(facet: Facet, lines: list[str], **how: int) -> dict[str, Finding]:
    """The strongest finding of each key."""
    found: dict[str, Finding] = {}
    for reading in readings(facet, lines, **how):
        for finding in reading.findings:
            if finding.key not in found or finding.score > found[finding.key].score:
                found[finding.key] = finding
    return found


@pytest.mark.slow
@pytest.mark.parametrize("make", [Volume, Novelty, Severity, Concentration])
@given(
    before=st.integers(0, 20),
    batch_lines=st.sampled_from([70, 190]),
    name=st.sampled_from(["auth.log", "shop.jsonl", "syslog"]),
)
@settings(max_examples=25)
def test_a_restarted_facet_reads_what_it_would_have_read(
    make: Callable[[], Facet], before: int, batch_lines: int, name: str
) -> None:
    batches = composed_digests(3, 3000, name, batch_lines)
    lasting, restarted = make(), make()
    expected = [lasting.read(digest) for digest in batches]
    for digest in batches[:before]:
        restarted.recall(digest)
    assert [restarted.read(digest) for digest in batches[before:]] == expected[before:]


# ------------------------------------------------------------------------------------- volume


def test_a_burst_is_found_and_ordinary_traffic_is_not() -> None:
    usual = steady(3000)
    flood = [line(15_000 + i // 100, "connection from nowhere") for i in range(3000)]
    assert findings(Volume(), usual) == {}
    found = findings(Volume(), usual[:1500] + flood + usual[1500:])
    (burst,) = [finding for finding in found.values() if finding.kind == "burst"]
    assert burst.score >= 0.6
    assert "connection from nowhere" in burst.why


def test_a_log_that_falls_silent_is_noticed() -> None:
    lines = steady(3000, every=1) + steady(500, every=1, begin=30_000)
    silence = findings(Volume(), lines)["silence"]
    assert (silence.evidence.first_line, silence.evidence.last_line) == (3000, 3001)


def test_a_unit_that_suddenly_fails_is_found_with_the_change_before_it() -> None:
    rng = Random(5)
    lines: list[str] = []
    for i in range(2000):
        if i == 1200:
            lines.append(line(i * 10, "deployed shop version 2", "deployer"))
        fails = rng.random() < (0.5 if i >= 1200 else 0.01)
        lines.append(line(i * 10, "error: no total" if fails else "fine", "shop"))
    jump = findings(Volume(), lines)["rate:shop"]
    assert jump.score >= 0.6
    assert jump.evidence.first_line >= 1150
    assert [mark.line for mark in jump.evidence.marks] == [1201]


def test_a_unit_that_always_fails_a_little_is_ordinary() -> None:
    rng = Random(6)
    lines = [
        line(i * 10, "error: no total" if rng.random() < 0.05 else "fine", "shop")
        for i in range(4000)
    ]
    assert findings(Volume(), lines) == {}


def test_a_log_without_times_has_no_volume() -> None:
    (reading,) = readings(Volume(), ["alpha", "beta"])
    assert (reading.note, reading.findings) == ("no times in this source", ())


# ------------------------------------------------------------------------------------ novelty


def test_a_new_failure_is_found_after_learning_and_not_before() -> None:
    early = [line(5, "frobnicator failed to mesh today"), *steady(600)]
    late = [
        *steady(1500),
        *[line(20_000 + i, "frobnicator failed to mesh today") for i in range(9)],
    ]
    assert findings(Novelty(), early) == {}
    (found,) = findings(Novelty(), late).values()
    assert "none in the 1,500 lines before" in found.why
    assert found.score > 0.5


def test_a_template_that_fills_the_log_without_trouble_is_noisy() -> None:
    noisy = [noisy for reading in readings(Novelty(), steady(4000)) for noisy in reading.noisy]
    assert {(n.text, n.share) for n in noisy} == {("request <num> served", 1.0)}
    assert len(noisy) == 3  # from 3,000 lines on, in batches of 500


# ----------------------------------------------------------------------------------- severity


def test_one_grave_line_is_enough_and_a_few_plain_errors_are_not() -> None:
    grave = findings(Severity(), [*steady(900), line(9100, "kernel panic - not syncing", "kernel")])
    plain = findings(Severity(), [*steady(900), *[line(9100, "error: no total")] * 5])
    assert max(finding.score for finding in grave.values()) >= 0.8
    assert max(finding.score for finding in plain.values()) < 0.6


def test_plain_errors_count_when_they_are_many() -> None:
    lines = [*steady(450), *[line(9100, "error: no total")] * 50]
    (found,) = findings(Severity(), lines).values()
    assert found.score >= 0.6
    assert found.why == "10 % of the latest lines say this"


# ------------------------------------------------------------------------------- concentration


def guesses(count: int, address: str = "203.0.113.7") -> list[str]:
    return [
        line(i, f"Failed password for user{i % 5} from {address} port {i} ssh2", "sshd")
        for i in range(count)
    ]


def test_an_address_that_guesses_passwords_stands_out() -> None:
    found = findings(Concentration(), [*steady(300), *guesses(60)])["address:203.0.113.7"]
    assert found.kind == "guessing"
    assert found.score > 0.9
    assert found.numbers["logins"] == 60
    assert found.evidence.count == 60


def test_somebody_who_mistypes_does_not_stand_out() -> None:
    login = line(9, "Accepted password for bob from 203.0.113.7 port 1 ssh2", "sshd")
    assert findings(Concentration(), [*steady(300), *guesses(4), login]) == {}
    often = [part for _ in range(30) for part in (*guesses(2), login, *steady(3))]
    assert all(finding.score < 0.6 for finding in findings(Concentration(), often).values())


def test_a_guess_that_succeeds_is_certain() -> None:
    login = line(90, "Accepted password for user1 from 203.0.113.7 port 1 ssh2", "sshd")
    found = findings(Concentration(), [*guesses(40), login])["address:203.0.113.7"]
    assert found.score == 1.0
    assert "LOGGED IN (line 41)" in found.why


def test_many_addresses_that_try_a_little_stand_out_together() -> None:
    lines = [part for i in range(30) for part in guesses(4, f"203.0.113.{i + 1}")]
    found = findings(Concentration(), [*steady(300), *lines])
    assert set(found) == {"addresses"}
    assert found["addresses"].numbers["logins"] == 120


def test_clients_of_a_broken_service_are_not_blamed() -> None:
    lines = [line(i, f"error: upstream failed, client: 203.0.113.{i % 3}") for i in range(200)]
    found = findings(Concentration(), lines)
    assert all(key.startswith(("host:", "unit:")) for key in found)


def test_a_failing_device_stands_out() -> None:
    lines = [
        line(i, f"blk_update_request: I/O error, dev sdb, sector {i}", "kernel") for i in range(9)
    ]
    assert findings(Concentration(), lines)["device:sdb"].score >= 0.8


@pytest.mark.slow
def test_what_a_facet_remembers_is_bounded() -> None:
    facet = Concentration()
    for start in range(0, 20_000, 1000):
        lines = [
            line(
                i,
                f"Failed password for bob from 203.{i // 250 % 250}.{start // 1000}.{i % 250}",
                "sshd",
            )
            for i in range(1000)
        ]
        for digest in digests(lines):
            facet.read(digest)
    assert len(facet._known) <= 600
