"""Incidents are folds of facts; evidence stays small; campaigns cross sources."""

from itertools import pairwise
from random import Random
from typing import TypedDict, Unpack

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.triage.board import Board
from examples.triage.correlate import correlate
from examples.triage.evidence import MOST_SPANS, Evidence, Named, Span, Spot, joined_spans, merge
from examples.triage.facts import Action, Fact, What
from examples.triage.incidents import Incident
from examples.triage.orient import Said
from examples.triage.summary import Seen, SourceSummary


def evidence(source: str, number: int, count: int, *names: str) -> Evidence:
    first = 1 + number * 100
    spot = Spot(
        template=number % 3,
        unit="sshd",
        text=f"template {number % 3}",
        count=count,
        spans=(Span(first=first, last=first + count, count=count),),
        line=first,
        sample=f"line {first}",
    )
    return Evidence(
        source=source,
        count=count,
        first_line=first,
        last_line=first + count,
        first_time=float(first),
        last_time=float(first + count),
        spots=(spot,),
        named=tuple(Named(kind="user", name=name, count=1) for name in names),
    )


class More(TypedDict, total=False):
    severity: str
    address: str
    template: int


def made(source: str, number: int, key: str, what: What = "extend", **more: Unpack[More]) -> Fact:
    kind = key.partition(":")[0]
    return Fact(
        source=source,
        number=number,
        line=1 + number * 100,
        action=Action(
            what=what,
            key=key,
            incident="" if what == "quiet" else key,
            why=f"because of {number}",
            kind={"address": "guessing", "device": "disk"}.get(kind, "rate"),
            title=f"About {key}" if what == "open" else "",
            **more,
        ),
        by="rules",
        score=0.5 + number / 100,
        unit="sshd",
        evidence=None if what in ("quiet", "propose_block") else evidence(source, number, 5, "bob"),
        said=(Said(facet="severity", score=0.5 + number / 100, why=f"said {number}"),),
        numbers={"logins": 60},
    )


FACTS = (
    made("a.log", 0, "address:203.0.113.7", "open"),
    *(made("a.log", n, "address:203.0.113.7") for n in range(1, 12)),
    made("a.log", 0, "address:203.0.113.7", "propose_block", address="203.0.113.7"),
    made("a.log", 3, "template:4", "quiet", template=4),
    made("b.log", 2, "device:sdb", "open"),
    made("b.log", 3, "device:sdb"),
    made("b.log", 2, "rate:shop", "open"),
)


def board(*facts: Fact) -> Board:
    made = Board()
    made.add(facts)
    return made


def incident(key: str, *, lines: int = 0) -> Incident:
    return next(
        i for i in board(*FACTS).incidents({"a.log": lines, "b.log": 3}) if i.key.endswith(key)
    )


@pytest.mark.slow
@given(st.permutations(FACTS), st.integers(1, 5))
def test_incidents_do_not_depend_on_the_order_of_arrival(order: list[Fact], size: int) -> None:
    piecewise = Board()
    for at in range(0, len(order), size):
        piecewise.add(order[at : at + size])
        assert piecewise.incidents() == board(*order[: at + size]).incidents()
    assert piecewise.incidents() == board(*FACTS).incidents()
    assert piecewise.quieted() == board(*FACTS).quieted()


def test_a_fact_that_arrives_twice_counts_once() -> None:
    twice = board(*FACTS)
    assert twice.add(FACTS) == ()
    assert twice.incidents() == board(*FACTS).incidents()


def test_an_incident_sums_its_evidence_and_keeps_who_decided() -> None:
    found = incident("address:203.0.113.7")
    assert (found.title, found.source, found.kind) == (
        "About address:203.0.113.7",
        "a.log",
        "guessing",
    )
    assert found.evidence.count == 60
    assert found.numbers == {"logins": 720}
    assert (found.evidence.first_line, found.evidence.last_line) == (1, 1106)
    assert found.decided[0].what == "open"
    assert {decided.by for decided in found.decided} == {"rules"}
    assert found.said[0].why == "said 11"
    assert found.block == "203.0.113.7"
    assert found.severity == "high"
    assert found.summary.startswith("720 failed-login lines, users bob")


def test_an_incident_without_news_becomes_quiet() -> None:
    assert incident("address:203.0.113.7", lines=1_200).state == "open"
    assert incident("address:203.0.113.7", lines=4_000).state == "quiet"


def test_a_severity_that_was_chosen_counts_when_it_is_worse() -> None:
    chosen = made("b.log", 4, "rate:shop", severity="critical")
    found = board(*FACTS, chosen).incidents()
    assert next(i for i in found if i.kind == "rate").severity == "critical"


def test_incidents_are_sorted_the_worst_first() -> None:
    found = board(*FACTS).incidents()
    assert [i.severity for i in found] == ["high", "high", "high"]
    assert [i.score for i in found] == sorted((i.score for i in found), reverse=True)


def test_merged_evidence_does_not_depend_on_the_order() -> None:
    parts = [evidence("a", number, 3 + number, "bob", "eve") for number in range(9)]
    rng = Random(1)
    whole = parts[0]
    for part in parts[1:]:
        whole = merge(whole, part)
    for _ in range(5):
        rng.shuffle(parts)
        again = parts[0]
        for part in parts[1:]:
            again = merge(again, part)
        assert again == whole


def span(first: int, size: int) -> Span:
    return Span(first=first, last=first + size, count=size + 1)


SPANS = st.builds(span, st.integers(1, 500), st.integers(0, 4))


@given(st.lists(SPANS, min_size=1, max_size=60))
def test_spans_cover_what_they_covered_in_a_bounded_number(spans: list[Span]) -> None:
    joined = joined_spans(spans)
    assert len(joined) <= MOST_SPANS
    assert all(before.last < after.first for before, after in pairwise(joined))
    for part in spans:
        assert any(j.first <= part.first and part.last <= j.last for j in joined)


# ---------------------------------------------------------------------------------- campaigns


def source(name: str, *seen: str, dated: bool = True) -> SourceSummary:
    return SourceSummary(
        name=name,
        shape="syslog",
        lines=100,
        judged=100,
        batches=1,
        done=True,
        dated=dated,
        failing=0,
        templates=1,
        seen=tuple(Seen(kind="address", name=address, count=7, suspicious=0) for address in seen),
    )


def test_an_address_is_followed_through_the_sources() -> None:
    (campaign,) = correlate(
        [incident("address:203.0.113.7")],
        [source("a.log"), source("c.log", "203.0.113.7"), source("d.log", "203.0.113.8")],
    )
    assert campaign.sources == ("a.log", "c.log")
    assert "seen in c.log (7 lines)" in campaign.why


def test_the_same_service_in_two_sources_is_one_campaign_when_close_in_time() -> None:
    shop = incident("rate:shop")
    other = attrs.evolve(shop, key="c.log/rate:/shop", source="c.log", subject="/shop")
    sources = [source("b.log"), source("c.log")]
    (campaign,) = correlate([shop, other], sources)
    assert campaign.incidents == ("b.log/rate:shop", "c.log/rate:/shop")
    far = attrs.evolve(other.evidence, first_time=1e9, last_time=1e9)
    assert correlate([shop, attrs.evolve(other, evidence=far)], sources) == ()


def test_a_log_without_a_year_is_compared_by_the_time_of_year() -> None:
    shop = incident("rate:shop")
    in_2024 = attrs.evolve(shop.evidence, first_time=1704164645.0, last_time=1704164645.0)
    in_1972 = attrs.evolve(shop.evidence, first_time=63169445.0, last_time=63169445.0)
    one = attrs.evolve(shop, evidence=in_2024)
    other = attrs.evolve(shop, key="c.log/rate:shop", source="c.log", evidence=in_1972)
    assert correlate([one, other], [source("b.log"), source("c.log", dated=False)])


def test_nothing_in_common_is_no_campaign() -> None:
    assert correlate(board(*FACTS).incidents(), [source("a.log"), source("b.log")]) == ()
