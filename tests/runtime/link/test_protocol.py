"""What a link promises, one sentence at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import pytest

from boyd.runtime import EncodeError, Headers
from boyd.runtime.link import (
    DEDUP_WINDOW,
    MOST_PARCEL,
    Acked,
    Address,
    Closed,
    Delivered,
    GivenBack,
    LinkClosed,
    LinkFull,
    LinkGap,
    LinkLost,
    LinkOptions,
    Opened,
    Outcome,
    Parcel,
    PeerClosed,
    Purpose,
    Refused,
    Restarted,
)
from boyd.runtime.link.frames import (
    Ack,
    Close,
    Data,
    Hello,
    Route,
    Void,
    decode_frame,
    encode_frame,
)
from boyd.runtime.link.options import resend_delay
from boyd.runtime.link.parcel import encode_header
from boyd.runtime.testing import NetworkFaults, SimulatedEnd, SimulatedLinks
from tests.runtime.link.pair import end_of, frames_of, met, of_kind
from tests.runtime.link.world import parcel

NEVER = LinkOptions(silence=math.inf)


def bodies(end: SimulatedEnd) -> list[bytes]:
    """What it was given."""
    return [delivered.parcel.body for delivered in end.delivered()]


def route_to(links: SimulatedLinks, end: SimulatedEnd) -> Route:
    """As the peer of an end writes it in this session."""
    peer = links.other(end).link
    assert peer.session is not None
    assert end.link.session is not None
    return Route(sender=end.peer, life=end.link.session, recipient=end.name, to=peer.session)


def data(links: SimulatedLinks, end: SimulatedEnd, seq: int) -> bytes:
    """A parcel for an end, of any number."""
    header = encode_header(parcel(to=end.name))
    route = route_to(links, end)
    return encode_frame(Data(route=route, seq=seq, left=math.inf, header=header, body=b"x"))


# ---------------------------------------------------------------- what arrives
def test_p1_parcels_come_in_the_order_in_which_they_were_sent() -> None:
    """Also over a network that reorders."""
    links = met()
    links.network.faults = NetworkFaults(quickest=0.001, slowest=5.0)
    for n in range(50):
        links.send(links.left, parcel(b"%d" % n))
    links.run(100)
    assert bodies(links.right) == [b"%d" % n for n in range(50)]
    assert [one.seq for one in links.right.delivered()] == list(range(1, 51))


def test_a_parcel_arrives_as_it_was() -> None:
    """Addresses, headers and correlation; the body is not looked into."""
    links = met()
    sent = Parcel(
        kind="nobody.knows",
        body=b"\xc1 no msgpack",
        to=Address("right", "/a/b", 7),
        sender=Address("left", "/c", 1 << 40),
        purpose=Purpose.ASK,
        correlation="c-1",
        headers=Headers(thread="t", provenance="p", trace="00-1", labels={"taint": "web"}),
        deadline=links.now + 10,
    )
    links.send(links.left, sent)
    links.run(1)
    [came] = links.right.delivered()
    assert attrs.evolve(came.parcel, deadline=sent.deadline) == sent
    # The way takes a millisecond, and is on top.
    assert came.parcel.deadline == pytest.approx(sent.deadline + 0.001)


def test_what_is_sent_before_the_peer_is_there_waits_for_it() -> None:
    """Accepted at once, delivered after the handshake."""
    links = SimulatedLinks(1, options=NEVER)
    links.network.partition("left", "right")
    links.send(links.left, parcel(b"early"))
    links.run(100)
    assert not of_kind(links.left, Opened)
    links.network.heal()
    links.run(100)
    assert bodies(links.right) == [b"early"]
    [opened] = of_kind(links.left, Opened)
    assert opened.peer == links.left.link.session


def test_p3_a_parcel_that_comes_twice_is_delivered_once() -> None:
    """And acknowledged again: the first ack may be lost."""
    links = met()
    links.send(links.left, parcel(b"once"))
    links.run(1)
    recorded = [flight for flight in links.network.recorded if flight.source == "left"]
    before = links.right.link.statistics().repeated
    links.network.replay(recorded[-1], links.now)
    links.run(1)
    assert bodies(links.right) == [b"once"]
    assert links.right.link.statistics().repeated == before + 1
    assert isinstance(decode_frame(links.network.recorded[-1].frame), Ack)


# ---------------------------------------------------------------- acks
def test_p3_a_parcel_is_acknowledged_after_its_commit() -> None:
    """What is held meanwhile is told, so that it is not sent again."""
    links = met(commits=False)
    for _ in range(3):
        links.send(links.left, parcel())
    links.run(100)
    assert not of_kind(links.left, Acked)
    assert links.left.link.statistics().resent == 0
    links.right.commit(0)
    links.run(1)
    assert of_kind(links.left, Acked) == [Acked(through=1)]


def test_a_commit_out_of_order_is_acknowledged_with_those_before_it() -> None:
    """The mark is cumulative."""
    links = met(commits=False)
    for _ in range(3):
        links.send(links.left, parcel())
    links.run(1)
    links.right.commit(2)
    links.right.commit(1)
    links.run(1)
    assert not of_kind(links.left, Acked)
    links.right.commit(0)
    links.run(1)
    assert of_kind(links.left, Acked) == [Acked(through=3)]


def test_a_lost_ack_is_asked_for() -> None:
    """What the peer holds is not sent again, but the question is."""
    links = met(commits=False)
    links.send(links.left, parcel())
    links.run(1)
    links.network.partition("right", "left", both_ways=False)
    links.right.commit(0)
    links.run(0.01)
    links.network.heal()
    links.run(100)
    assert links.left.link.settled
    assert links.left.link.statistics().resent == 0


def test_what_was_not_delivered_cannot_be_committed() -> None:
    """A bug of the driver, told where it is made; a repetition is none."""
    links = met()
    links.send(links.left, parcel())
    links.run(1)
    links.right.link.committed("left-1", 1)
    for seq in (0, 2):
        with pytest.raises(ValueError, match="was not delivered"):
            links.right.link.committed("left-1", seq)


def test_an_ack_of_what_was_never_sent_is_refused() -> None:
    """It changes nothing."""
    links = met()
    links.send(links.left, parcel())
    for mark, ranges in ((1, ()), (0, ((1, 1),)), (1 << 60, ())):
        route = route_to(links, links.left)
        links.left.link.receive(encode_frame(Ack(route=route, mark=mark, ranges=ranges)), links.now)
    assert links.left.link.statistics().refused == 3
    assert links.left.link.statistics().waiting == 1
    links.run(1)
    assert len(of_kind(links.left, Refused)) == 3
    assert links.left.link.settled


# ---------------------------------------------------------------- bounds
def test_a_full_window_refuses_by_messages_and_by_bytes() -> None:
    """LinkFull says how much waits; nothing was sent."""
    few = end_of(options=LinkOptions(window=2))
    few.send(parcel())
    few.send(parcel())
    with pytest.raises(LinkFull) as caught:
        few.send(parcel())
    assert caught.value.messages == 2

    small = end_of(options=LinkOptions(window_size=MOST_PARCEL))
    small.send(parcel(bytes(MOST_PARCEL // 2)))
    with pytest.raises(LinkFull) as caught:
        small.send(parcel(bytes(MOST_PARCEL // 2)))
    assert caught.value.size > MOST_PARCEL // 2
    small.send(parcel())
    assert small.statistics().waiting == 2


def test_a_parcel_that_no_frame_can_carry_is_refused_at_the_sender() -> None:
    """Too large, or with a header that a peer would refuse; the largest one passes, with the longest names."""
    link = end_of()
    header = len(encode_header(parcel()))
    with pytest.raises(EncodeError, match="may cross a link"):
        link.send(parcel(bytes(MOST_PARCEL - header + 1)))
    labels = Headers(labels={str(n): "" for n in range(65)})
    with pytest.raises(EncodeError, match="no peer would accept"):
        link.send(attrs.evolve(parcel(), headers=labels))
    with pytest.raises(EncodeError):
        link.send(attrs.evolve(parcel(), kind="\ud800"))
    assert link.statistics().waiting == 0

    links = met()
    links.send(links.left, parcel(bytes(MOST_PARCEL - header)))
    links.run(1)
    assert links.left.link.settled


def test_what_the_owner_does_not_commit_holds_the_sender_back() -> None:
    """So many are handed out, and the rest is taken when there is room again."""
    links = met(options=LinkOptions(handed=2, early=2, silence=math.inf), commits=False)
    for _ in range(10):
        links.send(links.left, parcel())
    links.run(50)
    now = links.right.link.statistics()
    assert (now.handed, now.early, now.delivered) == (2, 2, 2)
    assert now.no_room > 0
    while len(links.right.delivered()) < 10:
        links.right.commit(0)
        links.run(50)
    assert [one.seq for one in links.right.delivered()] == list(range(1, 11))


@pytest.mark.parametrize("ahead", [DEDUP_WINDOW, DEDUP_WINDOW + 1])
def test_p3_a_gap_beyond_the_dedup_window_closes_the_link(ahead: int) -> None:
    """The last number of the window is the last that is taken."""
    links = met()
    links.right.link.receive(data(links, links.right, ahead), links.now)
    error = links.right.link.error
    if ahead <= DEDUP_WINDOW:
        assert error is None
        assert links.right.link.statistics().early == 1
        return
    assert isinstance(error, LinkGap)
    assert (error.mark, error.seq) == (0, ahead)
    links.run(1)
    assert isinstance(links.left.link.error, PeerClosed)


def test_times_of_what_is_long_acknowledged_are_not_kept() -> None:
    """A deadline in a year costs no memory once its parcel is done."""
    links = met()
    for _ in range(40):
        for _ in range(20):
            links.send(links.left, parcel(deadline=1e9))
        links.run(0.01)
    assert links.left.link.settled
    outbox = links.left.link._outbox
    assert len(outbox._deadlines) < 200
    assert len(outbox._resends) < 200


# ---------------------------------------------------------------- time
def test_what_is_not_acknowledged_is_sent_again_ever_more_rarely() -> None:
    """RFC 6298, 5.5: doubled each time, up to a limit."""
    options = LinkOptions(resend=1.0, resend_most=10.0)
    delays = [resend_delay(step, options=options, jitter=0.0) for step in range(6)]
    assert delays == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert resend_delay(0, options=options, jitter=1.0) == 1.5
    assert resend_delay(1 << 40, options=options, jitter=0.5) == 12.5

    links = met()
    links.network.partition("left", "right", both_ways=False)
    links.send(links.left, parcel())
    links.run(300)
    assert 10 <= links.left.link.statistics().resent <= 18


def test_two_ends_do_not_send_again_at_the_same_moment() -> None:
    """The jitter comes from the injected chance, and is another one at each end."""
    links = met()
    links.network.partition("left", "right")
    for end in links.ends:
        links.send(end, parcel())
    links.flush()
    left, right = (end.link.next_at() for end in links.ends)
    assert left != right
    again = met()
    again.network.partition("left", "right")
    for end in again.ends:
        again.send(end, parcel())
    again.flush()
    assert [end.link.next_at() for end in again.ends] == [left, right]


def test_a_late_parcel_is_given_back_and_not_sent_again() -> None:
    """Its number is, without it: the peer must not wait for it."""
    links = met()
    links.network.partition("left", "right", both_ways=False)
    late = parcel(b"late", deadline=links.now + 2)
    seq = links.send(links.left, late)
    links.send(links.left, parcel(b"on time"))
    links.run(10)
    [given] = of_kind(links.left, GivenBack)
    assert (given.seq, given.parcel, given.outcome) == (seq, late, Outcome.LATE)
    assert given.tries > 1
    assert links.left.link.statistics().late == 1
    links.network.heal()
    links.run(30)
    assert bodies(links.right) == [b"on time"]
    assert links.left.link.settled


def test_a_parcel_that_is_late_before_it_leaves_was_certainly_not_handled() -> None:
    """Its tries are 0, and only a void is sent."""
    links = met()
    links.send(links.left, parcel(deadline=links.now))
    links.run(1)
    [given] = of_kind(links.left, GivenBack)
    assert (given.outcome, given.tries) == (Outcome.LATE, 0)
    sent = [decode_frame(flight.frame) for flight in links.network.recorded]
    assert any(isinstance(frame, Void) for frame in sent)
    assert not any(isinstance(frame, Data) for frame in sent)


def test_the_time_left_shrinks_with_each_try() -> None:
    """It is the seconds from this frame on, not a time of day."""
    link, now = met().left.link, 1.0
    link.send(parcel(deadline=now + 10))
    [first] = [frame for frame in frames_of(link, now) if isinstance(frame, Data)]
    [second] = [frame for frame in frames_of(link, now + 4) if isinstance(frame, Data)]
    assert (first.left, second.left) == (10.0, 6.0)


# ---------------------------------------------------------------- restarts
def test_what_a_restarted_peer_may_have_handled_is_given_back_as_unknown() -> None:
    """It is not sent again as if it were new; what had not left goes to the new one."""
    links = met(commits=False)
    links.send(links.left, parcel(b"left before"))
    links.run(1)
    links.restart(links.right)
    links.send(links.left, parcel(b"sent after"))
    links.network.partition("left", "right")
    links.flush()
    links.network.heal()
    links.run(100)
    outcomes = {given.parcel.body: given.outcome for given in of_kind(links.left, GivenBack)}
    assert outcomes == {b"left before": Outcome.UNKNOWN, b"sent after": Outcome.UNKNOWN}
    assert len(of_kind(links.left, Restarted)) == 1
    links.right.commits = True
    links.send(links.left, parcel(b"anew"))
    links.run(1)
    assert [(one.seq, one.parcel.body) for one in links.right.delivered()] == [(3, b"anew")]


def test_what_had_not_left_goes_to_the_restarted_peer() -> None:
    """Nobody can have handled it."""
    links = SimulatedLinks(1, options=NEVER)
    links.network.partition("right", "left", both_ways=False)
    links.send(links.left, parcel(b"waits"))
    links.run(10)
    links.restart(links.right)
    links.network.heal()
    links.run(100)
    assert bodies(links.right) == [b"waits"]
    assert not of_kind(links.left, GivenBack)


def test_p3_a_restarted_peer_that_kept_its_marks_is_sent_the_rest_again() -> None:
    """Handled once, because the mark was committed with the effect."""
    links = met(commits=False)
    for n in range(4):
        links.send(links.left, parcel(b"%d" % n))
    links.run(1)
    links.right.commit(0)
    links.right.commit(0)
    mark = links.right.link.mark_of("left-1")
    assert mark == 2
    links.network.partition("right", "left", both_ways=False)  # the ack is lost
    links.run(0.1)
    links.network.heal()
    links.restart(links.right, {"left-1": mark})
    links.run(100)
    assert bodies(links.right) == [b"2", b"3"]
    assert not of_kind(links.left, GivenBack)


def test_frames_of_a_life_that_is_over_are_dropped_and_counted() -> None:
    """Whatever they are, and however often they come."""
    links = met()
    links.send(links.left, parcel(b"old"))
    links.run(1)
    old = [flight for flight in links.network.recorded if flight.source == "left"]
    links.restart(links.left)
    links.run(1)
    for flight in old * 2:
        links.network.replay(flight, links.now)
    links.run(100)
    assert bodies(links.right) == [b"old"]
    session = links.right.link.session
    assert session is not None
    assert session.incarnation == "left-2"
    assert links.left.link.statistics().stale > 0
    links.send(links.left, parcel(b"new"))
    links.run(1)
    assert bodies(links.right) == [b"old", b"new"]


def test_what_came_early_from_a_life_that_is_over_is_forgotten() -> None:
    """It is not taken for what the new one sends under the same numbers."""
    links = met()
    for n in range(3):
        links.send(links.left, parcel(b"old %d" % n))
    links.flush()
    links.network.drop(links.network.flights[0])
    links.run(0.1)
    assert links.right.link.statistics().early == 2
    links.restart(links.left)
    for n in range(3):
        links.send(links.left, parcel(b"new %d" % n))
    links.run(10)
    assert bodies(links.right) == [b"new 0", b"new 1", b"new 2"]
    assert links.right.link.statistics().early_size == 0


def test_a_new_epoch_of_the_same_incarnation_loses_and_repeats_nothing() -> None:
    """A stranger's old hello can make a session begin anew, and no more."""
    links = met()
    links.restart(links.left)
    links.run(1)
    strangers = [flight for flight in links.network.recorded if flight.source == "left"]
    links.restart(links.left)
    links.run(1)
    for n in range(20):
        links.send(links.left, parcel(b"%d" % n))
        links.send(links.right, parcel(b"%d" % n, to="left"))
        links.network.replay(strangers[n % len(strangers)], links.now)
        links.run(0.01)
    links.run(100)
    assert bodies(links.left) == bodies(links.right)[-20:] == [b"%d" % n for n in range(20)]
    assert len(of_kind(links.right, Restarted)) == 2
    assert links.right.link.settled
    assert not of_kind(links.left, GivenBack)


# ---------------------------------------------------------------- ends
def test_closing_gives_back_what_is_not_acknowledged_and_says_which_may_have_been_handled() -> None:
    """In order, with the end last; the peer learns it."""
    links = met(commits=False)
    links.send(links.left, parcel(b"left"))
    links.run(1)
    links.send(links.left, parcel(b"did not"))
    links.left.link.close("enough")
    links.left.link.close("again")
    links.run(1)
    given = of_kind(links.left, GivenBack)
    assert [(one.parcel.body, one.outcome) for one in given] == [
        (b"left", Outcome.UNKNOWN),
        (b"did not", Outcome.UNSENT),
    ]
    assert isinstance(links.left.events[-1], Closed)
    assert len(of_kind(links.left, Closed)) == 1
    with pytest.raises(LinkClosed, match="enough") as caught:
        links.send(links.left, parcel())
    assert isinstance(caught.value.__cause__, LinkClosed)
    [closed] = of_kind(links.right, Closed)
    assert isinstance(closed.error, PeerClosed)
    assert "enough" in str(closed.error)
    assert links.left.link.next_at() == math.inf


def test_a_last_commit_is_acknowledged_before_the_link_closes() -> None:
    """So that the peer does not call it unknown."""
    links = met(commits=False)
    links.send(links.left, parcel())
    links.run(1)
    links.right.commit(0)
    links.right.link.close()
    links.run(1)
    assert of_kind(links.left, Acked) == [Acked(through=1)]
    assert not of_kind(links.left, GivenBack)


def test_a_commit_after_the_end_is_nothing() -> None:
    """An owner may still be at work."""
    links = met(options=LinkOptions(handed=1, silence=math.inf), commits=False)
    links.send(links.left, parcel())
    links.send(links.left, parcel())
    links.run(1)
    links.right.link.close()
    links.right.commit(0)
    links.right.link.receive(b"", links.now)
    links.run(1)
    assert len(links.right.delivered()) == 1


def test_a_peer_that_says_nothing_is_lost() -> None:
    """A half-open link: after its silence, with the question asked before."""
    links = met(options=LinkOptions(silence=30.0))
    links.run(300)
    assert links.left.link.error is None, "two that are there answer each other"
    assert len(links.network.recorded) < 150
    links.network.partition("left", "right", both_ways=False)
    links.run(31)
    assert isinstance(links.right.link.error, LinkLost)
    links.run(31)
    # It hears the other's last words, or nothing any more.
    assert isinstance(links.left.link.error, PeerClosed | LinkLost)


# ---------------------------------------------------------------- bad frames
def test_bytes_that_are_no_frame_are_refused_and_change_nothing() -> None:
    """A typed error for each, and nothing lost."""
    links = met()
    good = data(links, links.right, 1)
    bad = [b"", b"\xc1", good[:-1], good + b"\0", b"\x90", b"\x91\x02", bytes((1 << 20) + 1)]
    for frame in bad:
        links.right.link.receive(frame, links.now)
    links.send(links.left, parcel(b"good"))
    links.run(1)
    assert links.right.link.statistics().refused == len(bad)
    assert len(of_kind(links.right, Refused)) == len(bad)
    assert bodies(links.right) == [b"good"]


def test_a_frame_of_other_ends_is_refused() -> None:
    """As one that somebody else has made."""
    links = met()
    route = route_to(links, links.right)
    for wrong in (
        attrs.evolve(route, sender="third"),
        attrs.evolve(route, recipient="third"),
        attrs.evolve(route, sender="right", recipient="left"),
    ):
        links.right.link.receive(encode_frame(Void(route=wrong, seq=1)), links.now)
    assert links.right.link.statistics().forged == 3


def test_a_parcel_with_a_broken_header_is_refused() -> None:
    """It is not acknowledged, so that it is not lost if only this copy was broken."""
    links = met()
    route = route_to(links, links.right)
    for header in (b"", b"\x90", b"\x93\x09\xa0\x90", b"\x93\x01\xa0\x93\xa0\xa0\xc3"):
        frame = Data(route=route, seq=1, left=1.0, header=header, body=b"")
        links.right.link.receive(encode_frame(frame), links.now)
    links.run(1)
    assert links.right.link.statistics().refused == 4
    assert not of_kind(links.right, Delivered)
    assert not of_kind(links.left, Acked)


def test_a_close_of_an_old_session_closes_nothing() -> None:
    """Replayed last words are stale."""
    links = met()
    old = encode_frame(Close(route=route_to(links, links.right), reason="old"))
    links.restart(links.left)
    links.run(1)
    links.right.link.receive(old, links.now)
    assert links.right.link.error is None


def test_a_hello_that_acknowledges_what_was_never_sent_begins_no_session() -> None:
    """It is refused whole."""
    link = end_of()
    [knock] = frames_of(link, 0.0)
    assert isinstance(knock, Hello)
    route = Route(sender="right", life=knock.route.life, recipient="left", to=knock.route.life)
    link.receive(encode_frame(Hello(route=route, phase=knock.phase, first=1, mark=5)), 0.0)
    assert link.session is None
    assert link.statistics().refused == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LinkOptions(window=0),
        lambda: LinkOptions(window=DEDUP_WINDOW + 1),
        lambda: LinkOptions(early_size=5),
        lambda: LinkOptions(resend=0.0),
        lambda: LinkOptions(resend=9.0, resend_most=5.0),
        lambda: LinkOptions(resend_most=math.inf),
        lambda: LinkOptions(silence=math.nan),
        lambda: LinkOptions(silence=0.0),
    ],
)
def test_bounds_that_bound_nothing_are_refused(wrong: Callable[[], LinkOptions]) -> None:
    """When the options are made."""
    with pytest.raises(ValueError, match="must be"):
        wrong()


def test_names_that_no_frame_can_carry_are_refused() -> None:
    """When the link is made."""
    for name in ("", "x" * 256, "a\nb"):
        with pytest.raises(ValueError, match="printable"):
            end_of(name)
