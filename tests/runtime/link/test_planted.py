"""The machine can fail: each of these faults is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from boyd.runtime import WireError
from boyd.runtime.link.events import GivenBack
from boyd.runtime.link.frames import Frame
from boyd.runtime.link.gate import Gate
from boyd.runtime.link.handshake import Handshake, Verdict
from boyd.runtime.link.intake import Inflow, Intake
from boyd.runtime.link.life import Life
from boyd.runtime.link.outbox import Outbox
from tests.runtime.link.machine import LinkMachine

MANY: Final = settings(
    max_examples=20_000,  # it ends with the first that is found; how soon depends on what else is loaded
    stateful_step_count=40,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
Plant = Callable[[pytest.MonkeyPatch], None]


def no_dedup(patch: pytest.MonkeyPatch) -> None:
    """What was delivered is not known again."""

    def accept(self: Intake, seq: int, parcel: Any, size: int) -> bool:  # noqa: ANN401
        flow = self.flow
        assert flow is not None
        flow.delivered = min(flow.delivered, seq - 1)
        return true_accept(self, seq, parcel, size)

    def has(self: Intake, seq: int) -> bool:
        return seq in self._early

    true_accept = Intake.accept
    patch.setattr(Intake, "has", has)
    patch.setattr(Intake, "accept", accept)


def ack_before_commit(patch: pytest.MonkeyPatch) -> None:
    """What is delivered counts as committed."""
    true_hand = Inflow.hand

    def hand(self: Inflow, size: int) -> int:
        seq = true_hand(self, size)
        self.commit(seq)
        return seq

    patch.setattr(Inflow, "hand", hand)


def no_epoch_check(patch: pytest.MonkeyPatch) -> None:
    """Any frame of the peer is of this session."""
    true_judge = Handshake.judge

    def judge(self: Handshake, sender: Life, to: Life | None, *, hello: bool) -> Verdict:
        same = self.peer is not None and sender.incarnation == self.peer.incarnation
        return Verdict.CURRENT if same else true_judge(self, sender, to, hello=hello)

    patch.setattr(Handshake, "judge", judge)


def any_hello_renews(patch: pytest.MonkeyPatch) -> None:
    """A replayed hello begins a session with a life that is over."""
    true_judge = Handshake.judge

    def judge(self: Handshake, sender: Life, to: Life | None, *, hello: bool) -> Verdict:
        found = true_judge(self, sender, to, hello=hello)
        return Verdict.RENEWS if hello and found is Verdict.KNOCKS else found

    patch.setattr(Handshake, "judge", judge)


def late_is_sent(patch: pytest.MonkeyPatch) -> None:
    """A deadline passes unnoticed."""

    def expire(_self: Outbox, _now: float) -> Iterator[GivenBack]:
        return iter(())

    patch.setattr(Outbox, "expire", expire)
    patch.setattr(Outbox, "next_at", late_next_at)


def late_next_at(self: Outbox, *, sending: bool) -> float:
    """As `Outbox.next_at`, without deadlines."""
    if not sending:
        return math.inf
    return -math.inf if self._unsent else min((due for due, _ in self._resends), default=math.inf)


def unknown_is_sent_anew(patch: pytest.MonkeyPatch) -> None:
    """A restarted peer gets again what the old one may have handled."""
    true_renew = Outbox.renew

    def renew(self: Outbox, mark: int | None, now: float) -> list[GivenBack]:
        return true_renew(self, self.first - 1 if mark is None else mark, now)

    patch.setattr(Outbox, "renew", renew)


def no_window(patch: pytest.MonkeyPatch) -> None:
    """One more than the window has room."""

    def has_room(self: Outbox, _size: int) -> bool:
        return len(self) <= self._options.window

    patch.setattr(Outbox, "has_room", has_room)


def no_names(patch: pytest.MonkeyPatch) -> None:
    """Who sends to whom is not looked at."""
    true_into = Gate.into

    def into(self: Gate, frame: bytes) -> Frame:
        for sender, to in ((self.peer, self.name), (self.name, self.peer), (self.peer, "third")):
            try:
                return true_into(Gate(to, sender, self.keys), frame)
            except WireError:
                continue
        return true_into(self, frame)

    patch.setattr(Gate, "into", into)


FAULTS: Final[tuple[Plant, ...]] = (
    no_dedup,
    ack_before_commit,
    no_epoch_check,
    any_hello_renews,
    late_is_sent,
    unknown_is_sent_anew,
    no_window,
    no_names,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an assertion of the checked world, or of the protocol itself."""
    plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError, WireError)):
        run_state_machine_as_test(LinkMachine, settings=MANY)
