"""Topics: named fan-out."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from boyd.runtime import Actor, Context, EncodeError, Inbox, message, open_system, receives
from boyd.runtime.testing import wire_spy
from boyd.runtime.topics import matches
from tests.runtime.stage import Add, Note


@message("t.parts_of")
class Parts:
    """Something mutable."""

    parts: list[int]


class Speaker(Actor[Note]):
    """Publishes what it is told."""

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        ctx.publish(f"speech/{note.n % 2}", note)


@pytest.mark.parametrize(
    ("pattern", "topic", "hears"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("a", "a/b", False),
        ("a/b", "a", False),
        ("a/*", "a/b", True),
        ("a/*", "a", False),
        ("a/*", "a/b/c", False),
        ("*/b", "a/b", True),
        ("a/**", "a", True),
        ("a/**", "a/b/c/d", True),
        ("a/**", "b/a", False),
        ("**", "anything/at/all", True),
        ("*/**", "a", True),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/b/d", False),
        ("a*", "ab", False),
    ],
)
def test_a_pattern_hears_a_topic(pattern: str, topic: str, hears: bool) -> None:
    assert matches(pattern, topic) is hears


WORDS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=4)


@given(WORDS, st.data())
def test_a_topic_is_heard_by_each_pattern_made_of_it(words: list[str], data: st.DataObject) -> None:
    topic = "/".join(words)
    stars = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    pattern = "/".join("*" if star else word for star, word in zip(stars, words, strict=True))
    assert matches(topic, topic)
    assert matches(pattern, topic)
    assert matches(f"{pattern}/**", topic)
    assert matches("**", topic)
    assert not matches(f"{pattern}/x", topic)


def heard(inbox: Inbox[Note]) -> list[int]:
    """What is in it."""
    found: list[int] = []
    while True:
        try:
            found.append(inbox.receive_nowait().n)
        except trio.WouldBlock:
            return found


async def test_each_subscription_hears_its_patterns_in_the_publishers_order() -> None:
    async with (
        open_system() as system,
        system.open_subscription("speech/0", Note) as even,
        system.open_subscription("speech/*", Note) as both,
        system.open_subscription("other", Note) as none,
    ):
        speaker = await system.spawn(Speaker)
        for n in range(6):
            speaker.tell(Note(n=n))
        await system.settle(1)
        assert (heard(even), heard(both), heard(none)) == ([0, 2, 4], list(range(6)), [])


async def test_a_subscription_hears_from_its_beginning_to_its_end() -> None:
    async with open_system() as system:
        system.publish("t", Note(n=0))
        async with system.open_subscription("t", Note) as one:
            system.publish("t", Note(n=1))
            async with system.open_subscription("t", Note) as two:
                system.publish("t", Note(n=2))
                assert (heard(one), heard(two)) == ([1, 2], [2])
            system.publish("t", Note(n=3))
            assert heard(one) == [3]
        assert not system.is_heard("t")
        assert system.dead_letters == {}


async def test_a_subscription_hears_its_kind_only() -> None:
    async with open_system() as system, system.open_subscription("t", Note) as notes:
        system.publish("t", Add())
        system.publish("t", Note(n=1))
        assert heard(notes) == [1]


async def test_every_subscriber_decodes_a_copy_of_its_own() -> None:
    async with (
        open_system() as system,
        system.open_subscription("t", Parts) as one,
        system.open_subscription("t", Parts) as two,
    ):
        system.publish("t", Parts(parts=[1]))
        (await one.receive()).parts.append(2)
        assert (await two.receive()).parts == [1]


async def test_what_cannot_be_sent_fails_at_the_publisher() -> None:
    @message("t.anything")
    class Anything:
        value: object

    async with open_system() as system, system.open_subscription("t", Anything):
        with pytest.raises(EncodeError):
            system.publish("t", Anything(value=print))


async def test_a_slow_subscriber_does_not_hold_up_the_others() -> None:
    async with (
        open_system() as system,
        system.open_subscription("t", Note, size=1),
        system.open_subscription("t", Note, size=100) as quick,
    ):
        for n in range(50):
            system.publish("t", Note(n=n))
        assert heard(quick) == list(range(50))


async def test_a_publication_is_encoded_once() -> None:
    async with (
        open_system() as system,
        system.open_subscription("t", Note) as one,
        system.open_subscription("**", Note) as two,
    ):
        with wire_spy(system) as hops:
            system.publish("t", Note(n=1))
            one.receive_nowait()
            two.receive_nowait()
        assert len(hops) == 2
        assert hops[0].body is hops[1].body
