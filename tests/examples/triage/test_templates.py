"""Masks and the Drain miner."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.triage.masks import Masks, mask
from examples.triage.templates import Change, Templates


@pytest.mark.parametrize(
    ("token", "masked"),
    [
        ("8080", "<num>"),
        ("port=8080", "port=<num>"),
        ("ssh2", "ssh<num>"),
        ("192.0.2.7", "<ip>"),
        ("[192.0.2.7]", "[<ip>]"),
        ("rhost=192.0.2.7", "rhost=<ip>"),
        ("192.0.2.7:443", "<ip>:<num>"),
        ("2001:db8::7", "<ip>"),
        ("::1", "<ip>"),
        ("00:1a:2b:3c:4d:5e", "<mac>"),
        ("12:34:56", "<time>"),
        ("2024-01-02T03:04:05Z", "<time>"),
        ("0x0b85eee0", "<hex>"),
        ("0064588e", "<hex>"),
        ("12345678", "<num>"),
        ("550e8400-e29b-41d4-a716-446655440000", "<uuid>"),
        ("/var/log/syslog:", "<path>:"),
        ("/api/orders/12?page=3", "<path>"),
        ("https://example.com/a?b", "<url>"),
        ("bob@example.com", "<mail>"),
        ("libc6:amd64", "<pkg>"),
        ("/dev/sdb", "<dev>"),
        ("http-503", "http-503"),
        ("and/or", "and/or"),
        ("std::string", "std::string"),
        ("failed.", "failed."),
        ("x" * 300, "<long>"),
        ("1" * 300, "<num>"),
    ],
)
def test_what_varies_is_masked(token: str, masked: str) -> None:
    assert mask(token) == masked


@given(st.text(max_size=60))
def test_a_remembered_mask_is_the_mask(token: str) -> None:
    masks = Masks()
    assert masks[token] == masks[token] == mask(token)


def mined(templates: Templates, *messages: str, unit: str = "u") -> list[int]:
    return [templates.mine(unit, tuple(message.split()))[0] for message in messages]


def text(templates: Templates, cluster: int) -> str:
    return templates.template(cluster).text


def test_messages_that_differ_in_a_word_share_a_template() -> None:
    templates = Templates()
    first, second = mined(templates, "Invalid user bob from <ip>", "Invalid user eve from <ip>")
    assert first == second
    assert text(templates, first) == "Invalid user <*> from <ip>"


def test_messages_of_different_units_never_share_a_template() -> None:
    templates = Templates()
    assert mined(templates, "it is done") != mined(templates, "it is done", unit="v")


def test_failure_and_success_never_share_a_template() -> None:
    templates = Templates()
    for one, other in (
        ("backup of the disk failed today", "backup of the disk succeeded today"),
        ("interface eth0 is now up again", "interface eth0 is now down again"),
        ("GET <path> http-200 from <ip>", "GET <path> http-500 from <ip>"),
    ):
        first, second = mined(templates, one, other)
        assert first != second


def test_short_messages_stay_apart() -> None:
    templates = Templates()
    first, second = mined(templates, "lost connection", "lost packet")
    assert first != second


def test_when_the_table_is_full_strangers_share_the_common_template() -> None:
    templates = Templates(max_clusters=3)
    mined(templates, "alpha one", "beta two")
    assert mined(templates, "gamma three", "delta four") == [0, 0]
    assert mined(templates, "alpha one") != [0]
    assert len(templates) == 3


def test_a_message_of_nothing_and_one_of_very_much_are_mined() -> None:
    templates = Templates()
    mined(templates, "", "x " * 500, "x " * 501)
    assert len(templates.state()) == 2


WORDS = st.sampled_from(["a", "b", "c", "up", "down", "<num>", "<ip>", "failed", "x1", "y"])
MESSAGES = st.lists(WORDS, max_size=7).map(tuple)
BATCHES = st.lists(st.lists(st.tuples(st.sampled_from("uv"), MESSAGES), max_size=25), max_size=6)


@pytest.mark.slow
@given(BATCHES, st.integers(2, 12))
def test_a_restarted_miner_knows_what_it_knew(
    batches: list[list[tuple[str, tuple[str, ...]]]], limit: int
) -> None:
    lasting, recorded = Templates(max_clusters=limit), list[tuple[Change, ...]]()
    for batch in batches:
        restarted = Templates(max_clusters=limit)
        for changes in recorded:
            restarted.recall(changes)
        assert restarted.state() == lasting.state()
        found = [lasting.mine(unit, message)[0] for unit, message in batch]
        assert [restarted.mine(unit, message)[0] for unit, message in batch] == found
        recorded.append(lasting.changes())
        assert restarted.changes() == recorded[-1]


@pytest.mark.slow
@given(BATCHES)
def test_a_leaf_that_did_not_change_gives_the_same_answer(
    batches: list[list[tuple[str, tuple[str, ...]]]],
) -> None:
    templates = Templates()
    answers: dict[tuple[str, tuple[str, ...]], tuple[int, int]] = {}
    for message in [message for batch in batches for message in batch]:
        cluster, leaf = templates.mine(*message)
        known = answers.get(message)
        if known is not None and leaf is not None and known[1] == leaf.version:
            assert known[0] == cluster
        if leaf is not None:
            answers[message] = cluster, leaf.version


@pytest.mark.slow
@given(BATCHES)
def test_every_message_fits_its_template(
    batches: list[list[tuple[str, tuple[str, ...]]]],
) -> None:
    templates = Templates()
    for unit, message in [message for batch in batches for message in batch]:
        cluster, _ = templates.mine(unit, message)
        found = next(change.tokens for change in templates.state() if change.id == cluster)
        assert found[0] == unit
        assert all(known in ("<*>", token) for known, token in zip(found[1:], message, strict=True))
