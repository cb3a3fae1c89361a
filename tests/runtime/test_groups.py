"""The registry: groups of actors, and the news of who comes and goes."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from boyd.runtime import (
    Actor,
    Context,
    Joined,
    Left,
    Ref,
    Replies,
    Spawned,
    Supervision,
    Terminated,
    message,
    open_system,
    receives,
)
from boyd.runtime.groups import GROUPS_TOPIC, Groups
from boyd.runtime.system import ACTORS_TOPIC
from tests.runtime.stage import Door, Fail, Recorder


@message("t.groups.do")
class Do(Replies[None]):
    """Join or leave."""

    what: str
    group: str


class Worker(Actor[Do | Fail]):
    """Belongs to groups from its start."""

    groups: tuple[str, ...] = ()

    async def started(self, ctx: Context) -> None:
        for group in self.groups:
            ctx.join(group)

    @receives
    async def do(self, do: Do, ctx: Context) -> None:
        (ctx.join if do.what == "join" else ctx.leave)(do.group)

    @receives
    async def fail(self, fail: Fail, ctx: Context) -> int:
        raise ValueError(fail.text)


async def test_the_members_of_a_group_stand_in_order_of_joining_until_they_leave_or_end() -> None:
    async with open_system() as system:
        one, two, three = [await system.spawn(Worker, ("eu/workers",)) for _ in range(3)]
        assert system.group("eu/workers", Do) == (one, two, three)
        await one.ask(Do(what="leave", group="eu/workers"))
        await one.ask(Do(what="leave", group="eu/workers"))
        await two.ask(Do(what="join", group="eu/workers"))  # it belongs already
        await one.ask(Do(what="join", group="eu/workers"))
        assert system.group("eu/workers", Do) == (two, three, one)
        system.kill(three.path)
        await system.settle(1)
        assert system.group("eu/workers", Do) == (two, one)
        await system.stop_actor(two)
        await system.stop_actor(one)
        assert system.group("eu/workers", Do) == ()


async def test_a_member_stays_one_over_its_restarts() -> None:
    async with open_system() as system:
        ref = await system.spawn(Worker, ("g",))
        await ref.ask(Do(what="join", group="other"))
        async with system.open_subscription(f"{GROUPS_TOPIC}/**", Joined | Left) as news:
            ref.tell(Fail())
            await system.settle(1)
            assert ref.statistics().restarts == 1
            assert system.group("g", Do) == system.group("other", Do) == (ref,)
            with pytest.raises(trio.WouldBlock):
                news.receive_nowait()


async def test_changes_of_a_group_are_published_in_order() -> None:
    async with open_system() as system:
        async with system.open_subscription(f"{GROUPS_TOPIC}/g", Joined | Left) as news:
            ref: Ref[Any] = await system.spawn(Worker, ("g", "h"))
            other: Ref[Any] = await system.spawn(Worker)
            await other.ask(Do(what="join", group="g"))
            await other.ask(Do(what="leave", group="g"))
            system.kill(ref.path)
            await system.settle(1)
            heard = [news.receive_nowait() for _ in range(4)]
            with pytest.raises(trio.WouldBlock):
                news.receive_nowait()
        assert heard == [
            Joined(group="g", ref=ref),
            Joined(group="g", ref=other),
            Left(group="g", ref=other),
            Left(group="g", ref=ref),
        ]


@pytest.mark.parametrize("name", ["", "a//b", "*", "a/**", "a\n", "/a"])
async def test_a_name_that_topics_cannot_have_is_refused(name: str) -> None:
    async with open_system() as system:
        with pytest.raises(ValueError, match="is no name for a topic or a group"):
            await system.spawn(Worker, (name,))


async def test_births_and_ends_of_actors_are_published() -> None:
    async with (
        open_system() as system,
        system.open_subscription(ACTORS_TOPIC, Spawned | Terminated) as news,
    ):
        ref: Ref[Any] = await system.spawn(Worker, name="w")
        calm = Supervision(restarts=0, significant=False)
        sick: Ref[Any] = await system.spawn(Recorder, Door(), name="sick", supervision=calm)
        system.kill("/w")
        sick.tell(Fail())
        await system.settle(1)
        heard: list[Any] = [news.receive_nowait() for _ in range(4)]
    spawned, ended = heard[:2], {end.ref.path: end for end in heard[2:]}
    assert spawned == [Spawned(ref=ref, kind="Worker"), Spawned(ref=sick, kind="Recorder")]
    assert (ended["/w"].reason, ended["/sick"].reason) == ("stopped", "crashed")
    assert ended["/sick"].failure.type == "ValueError"


class _Post:
    """What groups look at in a post."""

    def __init__(self, number: int) -> None:
        self.ref: Ref[Any] = Ref("s", f"/{number}", number, None)


class GroupsMachine(RuleBasedStateMachine):
    """Against a list for each group."""

    def __init__(self) -> None:
        super().__init__()
        self.news: list[object] = []
        self.groups = Groups(lambda _topic, one: self.news.append(one))
        self.posts: list[Any] = [_Post(n) for n in range(4)]
        self.model: dict[str, list[int]] = {name: [] for name in ("a", "b", "b/c")}

    names = st.sampled_from(["a", "b", "b/c"])
    numbers = st.integers(0, 3)

    @rule(number=numbers, name=names)
    def join(self, number: int, name: str) -> None:
        self.news.clear()
        self.groups.join(self.posts[number], name)
        told = [Joined(group=name, ref=self.posts[number].ref)]
        assert self.news == ([] if number in self.model[name] else told)
        if number not in self.model[name]:
            self.model[name].append(number)

    @rule(number=numbers, name=names)
    def leave(self, number: int, name: str) -> None:
        self.news.clear()
        self.groups.leave(self.posts[number], name)
        told = [Left(group=name, ref=self.posts[number].ref)]
        assert self.news == (told if number in self.model[name] else [])
        if number in self.model[name]:
            self.model[name].remove(number)

    @rule(number=numbers)
    def end(self, number: int) -> None:
        self.news.clear()
        self.groups.leave_all(self.posts[number])
        left = {name for name, members in self.model.items() if number in members}
        assert {one.group for one in self.news if isinstance(one, Left)} == left
        assert len(self.news) == len(left)
        for name in left:
            self.model[name].remove(number)

    @invariant()
    def as_the_model(self) -> None:
        for name, members in self.model.items():
            assert self.groups.members(name) == tuple(self.posts[n].ref for n in members)


@pytest.mark.slow
def test_groups_are_as_their_model() -> None:
    run_state_machine_as_test(GroupsMachine, settings=settings(max_examples=50))
