"""Which frames belong to a session: a table, by example."""

from __future__ import annotations

from boyd.runtime.link.handshake import Handshake, Verdict
from boyd.runtime.link.life import Life

B1, B2, B3 = Life("b", 1), Life("b", 2), Life("b", 3)
OLD, NEW = Life("old", 1), Life("new", 1)


def in_session(peer: Life = B2) -> Handshake:
    """The end `a` in epoch 1, with `peer`."""
    hands = Handshake("a")
    hands.offer(peer)
    hands.adopt(peer)
    return hands


def test_an_end_that_has_met_nobody_believes_the_first_that_names_it() -> None:
    """It has sent nothing yet, so that nothing can be lost by it."""
    hands = Handshake("a")
    assert hands.judge(B1, None, hello=True) is Verdict.KNOCKS
    assert hands.judge(B1, Life("a", 1), hello=False) is Verdict.KNOCKS
    assert hands.judge(B1, Life("a", 1), hello=True) is Verdict.RENEWS
    assert hands.judge(B1, Life("a", 2), hello=True) is Verdict.KNOCKS
    assert hands.judge(B1, Life("x", 1), hello=True) is Verdict.STALE


def test_an_offer_is_good_for_the_incarnation_that_it_was_made_to() -> None:
    """In the epoch that it names, or in a later one; another incarnation gets another number."""
    hands = Handshake("a")
    hands.offer(B2)
    assert hands.offered == Life("a", 1)
    assert hands.judge(B2, hands.offered, hello=True) is Verdict.RENEWS
    assert hands.judge(B3, hands.offered, hello=True) is Verdict.RENEWS
    assert hands.judge(B1, hands.offered, hello=True) is Verdict.STALE
    assert hands.judge(NEW, hands.offered, hello=True) is Verdict.KNOCKS
    hands.offer(NEW)
    assert hands.offered == Life("a", 2)
    assert hands.judge(B2, Life("a", 1), hello=True) is Verdict.KNOCKS
    assert hands.judge(NEW, Life("a", 2), hello=True) is Verdict.RENEWS


def test_within_a_session_only_its_two_lives_count() -> None:
    """Older epochs of either side are stale, whatever they say; a later one of the peer may renew."""
    hands = in_session()
    assert hands.judge(B2, Life("a", 1), hello=False) is Verdict.CURRENT
    assert hands.judge(B2, None, hello=True) is Verdict.STALE
    assert hands.judge(B1, Life("a", 1), hello=True) is Verdict.STALE
    assert hands.judge(B1, None, hello=True) is Verdict.STALE
    assert hands.judge(B3, Life("a", 1), hello=True) is Verdict.RENEWS
    assert hands.judge(B3, None, hello=True) is Verdict.KNOCKS


def test_a_stranger_begins_a_session_by_proving_that_it_lives_now() -> None:
    """Until then the old one goes on; what it says of an epoch that others were offered proves nothing."""
    hands = in_session()
    assert hands.judge(NEW, Life("a", 1), hello=True) is Verdict.KNOCKS
    hands.offer(OLD)
    hands.offer(NEW)
    assert hands.offered == Life("a", 3)
    assert hands.judge(B2, Life("a", 1), hello=False) is Verdict.CURRENT
    assert hands.judge(OLD, Life("a", 2), hello=True) is Verdict.KNOCKS
    assert hands.judge(OLD, Life("a", 3), hello=True) is Verdict.KNOCKS
    assert hands.judge(NEW, Life("a", 3), hello=True) is Verdict.RENEWS
    assert hands.adopt(NEW) == B2
    assert hands.me == Life("a", 3)
    assert hands.judge(B2, Life("a", 1), hello=False) is Verdict.KNOCKS
    # It comes back, and its frames for an epoch of before are not of now.
    hands.offer(B2)
    hands.adopt(B2)
    assert hands.judge(B2, Life("a", 1), hello=False) is Verdict.STALE
    assert hands.judge(B2, hands.me, hello=False) is Verdict.CURRENT
