"""An ask over a link has exactly one outcome."""

from __future__ import annotations

import math

import attrs
import pytest

from boyd.runtime import AskTimeout
from boyd.runtime.link import (
    Acked,
    Address,
    Closed,
    GivenBack,
    Life,
    LinkLost,
    Outcome,
    Parcel,
    PeerRestarted,
    PendingAsks,
    Purpose,
    Restarted,
)
from boyd.runtime.link.asks import Answer

REPLY = Parcel(
    kind="", body=b"5", to=Address("left", "/a", 1), purpose=Purpose.REPLY, correlation="one"
)


def test_an_answer_settles_its_ask_once() -> None:
    """What comes after it is late."""
    asks, answers = PendingAsks(), list[Answer]()
    asks.wait("one", answers.append)
    asks.wait("two", answers.append)
    with pytest.raises(ValueError, match="waits already"):
        asks.wait("one", answers.append)
    assert asks.answer(REPLY)
    assert not asks.answer(REPLY)
    assert answers == [REPLY]
    assert len(asks) == 1


def test_an_asker_that_has_left_is_not_settled() -> None:
    """Its answer is late."""
    asks, answers = PendingAsks(), list[Answer]()
    asks.wait("one", answers.append)
    asks.forget("one")
    asks.forget("one")
    assert not asks.answer(REPLY)
    asks.hear(Closed(error=LinkLost("gone")))
    assert answers == []


def test_a_restart_or_an_end_settles_all_at_once() -> None:
    """With an error that says which; other events settle nothing."""
    asks, answers = PendingAsks(), list[Answer]()
    asks.wait("one", answers.append)
    asks.hear(Acked(through=1))
    asks.hear(Restarted(before=Life("r-1", 1), peer=Life("r-2", 1)))
    asks.wait("two", answers.append)
    lost = LinkLost("gone")
    asks.hear(Closed(error=lost))
    assert isinstance(answers[0], PeerRestarted)
    assert answers[1:] == [lost]
    assert len(asks) == 0


def test_an_ask_that_was_late_to_leave_has_timed_out() -> None:
    """One that is given back for another reason waits for what that reason settles."""
    asks, answers = PendingAsks(), list[Answer]()
    asks.wait("one", answers.append)
    ask = attrs.evolve(REPLY, purpose=Purpose.ASK, kind="t.ask", deadline=math.inf)
    asks.hear(GivenBack(seq=1, parcel=ask, outcome=Outcome.UNKNOWN, tries=1))
    assert answers == []
    asks.hear(GivenBack(seq=1, parcel=ask, outcome=Outcome.LATE, tries=0))
    asks.hear(GivenBack(seq=1, parcel=ask, outcome=Outcome.LATE, tries=0))
    [timeout] = answers
    assert isinstance(timeout, AskTimeout)
