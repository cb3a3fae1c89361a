"""Writing actors: a class with `@receives` methods, or one async function."""

# pyright: reportUnusedClass=false
# what is told is that they cannot be made

from __future__ import annotations

import gc
import weakref
from typing import Generic, TypeVar

import attrs
import pytest

from boyd.runtime import Actor, Context, Replies, actor, message, open_system, receives
from tests.runtime.stage import Add, Note

M = TypeVar("M")


@actor
async def counter(what: Note | Add, ctx: Context) -> int | None:
    """One async function."""
    return what.amount + 1 if isinstance(what, Add) else None


async def test_one_async_function_is_an_actor() -> None:
    async with open_system() as system:
        ref = await system.spawn(counter, name="c")
        ref.tell(Note(n=1))
        assert await ref.ask(Add(amount=2)) == 3
        assert ref.statistics().kind == "counter"


async def test_a_function_within_a_function_may_mention_what_is_defined_there() -> None:
    @message
    class Local(Replies[str]):
        x: str

    @actor
    async def echo(local: Local, ctx: Context) -> str:
        return local.x

    async with open_system() as system:
        assert await (await system.spawn(echo)).ask(Local(x="hi")) == "hi"


async def test_the_fields_of_an_actor_are_the_arguments_of_its_factory() -> None:
    class Account(Actor[Add]):
        balance: int
        step: int = 1
        seen: list[int] = attrs.field(factory=list[int])

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            self.seen.append(add.amount)
            self.balance += self.step * add.amount
            return self.balance

    async with open_system() as system:
        assert await (await system.spawn(Account, 100)).ask(Add(amount=5)) == 105
        assert await (await system.spawn(Account, 100, 10)).ask(Add(amount=5)) == 150


async def test_an_actor_may_extend_another() -> None:
    class First(Actor[Add]):
        start: int

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            return self.start + add.amount

    class Second(First):
        more: int = 1000

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            return self.more + self.start + add.amount

    async with open_system() as system:
        assert await (await system.spawn(Second, 100)).ask(Add(amount=5)) == 1105


async def test_a_base_may_leave_its_messages_open() -> None:
    class Base(Actor[M], Generic[M]):
        prefix: str

        async def started(self, ctx: Context) -> None:
            self.prefix += "!"

    class Concrete(Base[Note | Add]):
        @receives
        async def note(self, note: Note, ctx: Context) -> None: ...

        @receives
        async def add(self, add: Add, ctx: Context) -> int:
            return len(self.prefix)

    async with open_system() as system:
        assert await (await system.spawn(Concrete, "abc")).ask(Add()) == 4


async def test_one_method_may_receive_several_messages() -> None:
    class Both(Actor[Note | Add]):
        @receives
        async def both(self, what: Note | Add, ctx: Context) -> int:
            return 7

    async with open_system() as system:
        assert await (await system.spawn(Both)).ask(Add()) == 7


def test_an_actor_that_could_not_work_is_no_class() -> None:
    with pytest.raises(TypeError, match="Deaf accepts Add, but has no @receives method for it"):

        class Deaf(Actor[Note | Add]):
            @receives
            async def note(self, note: Note, ctx: Context) -> None: ...

    with pytest.raises(TypeError, match=r"Greedy\.add receives Add, which Greedy does not accept"):

        class Greedy(Actor[Note]):
            @receives
            async def note(self, note: Note, ctx: Context) -> None: ...

            @receives
            async def add(self, add: Add, ctx: Context) -> int:
                return 0

    with pytest.raises(TypeError, match="Twice has two @receives methods for Note"):

        class Twice(Actor[Note]):
            @receives
            async def one(self, note: Note, ctx: Context) -> None: ...

            @receives
            async def two(self, note: Note, ctx: Context) -> None: ...


def test_a_method_that_could_not_work_receives_nothing() -> None:
    with pytest.raises(TypeError, match="must be `async def` to receive messages"):

        @receives  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        def sync(self: object, note: Note, ctx: Context) -> None: ...

    with pytest.raises(TypeError, match="must take a message and a Context, and nothing else"):

        @receives  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        async def short(self: object, note: Note) -> None: ...

    with pytest.raises(TypeError, match="annotate `note` with the message that it receives"):

        class Vague(Actor[Note]):
            @receives  # pyright: ignore[reportUnknownArgumentType]
            async def note(self, note, ctx: Context) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]

    with pytest.raises(TypeError, match="Nowhere cannot be found"):

        class Lost(Actor[Note]):
            @receives  # pyright: ignore[reportUnknownArgumentType]
            async def note(self, note: Nowhere, ctx: Context) -> None: ...  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]

    with pytest.raises(TypeError, match="must be `async def` to be an actor"):

        @actor  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        def sync_actor(note: Note, ctx: Context) -> None: ...


def test_an_actor_class_keeps_nothing_alive_but_what_it_mentions() -> None:
    class Big:
        pass

    def define() -> weakref.ref[Big]:
        big = Big()

        class Small(Actor[Note]):
            @receives
            async def note(self, note: Note, ctx: Context) -> None: ...

        kept.append(Small)
        return weakref.ref(big)

    kept: list[type] = []
    big = define()
    gc.collect()
    assert big() is None
    assert kept
