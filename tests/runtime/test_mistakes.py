"""What people read when it goes wrong: the table of `api.md` section 3, as far as the stage has it.

Where a text differs from the table, the test says why.
"""

# pyright: reportUnusedClass=false
# what is told is that they cannot be made

from __future__ import annotations

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from boyd.runtime import (
    Actor,
    AskCycle,
    AskTimeout,
    Context,
    EncodeError,
    Mailbox,
    MailboxFull,
    NotAccepted,
    Ref,
    RemoteFailure,
    Replies,
    message,
    open_system,
    receives,
)


@message
class Deposit(Replies[None]):
    """Some money."""

    amount: int
    meta: dict[str, object] = attrs.field(factory=dict[str, object])


@message
class Balance(Replies[int]):
    """How much there is."""


@message
class Hit:
    """Something else."""


@message
class Mean(Replies[float]):
    """A question that takes long."""


@message
class Question(Replies[str]):
    """Asked on."""

    rest: tuple[Ref[Question], ...]


class Account(Actor[Deposit | Balance]):
    """An account."""

    balance: int = 0

    @receives
    async def deposit(self, deposit: Deposit, ctx: Context) -> None:
        self.balance += deposit.amount

    @receives
    async def ask(self, balance: Balance, ctx: Context) -> int:
        return self.balance


class Slow(Actor[Mean | Hit]):
    """Waits at each hit."""

    @receives
    async def hit(self, hit: Hit, ctx: Context) -> None:
        await ctx.sleep(1000)

    @receives
    async def mean(self, mean: Mean, ctx: Context) -> float:
        await ctx.sleep(1000)
        return 0.0


class Desk(Actor[Question]):
    """Asks the next desk."""

    @receives
    async def question(self, question: Question, ctx: Context) -> str:
        first, *rest = question.rest
        return await first.ask(Question(rest=tuple(rest)))


async def test_an_instance_instead_of_a_factory() -> None:
    async with open_system() as system:
        with pytest.raises(TypeError) as caught:
            await system.spawn(Account())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == (
        "spawn takes a factory, because a restart must build a fresh actor: write spawn(Account, ...)"
    )


async def test_a_factory_of_something_else() -> None:
    """Not in the table: the text names what the factory made."""
    async with open_system() as system:
        with pytest.raises(
            TypeError, match=r"spawn takes a factory of actors; <class 'dict'> made a dict"
        ):
            await system.spawn(dict)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_a_bare_async_function() -> None:
    """Not in the table: `@actor` was forgotten."""

    async def forgotten(hit: Hit, ctx: Context) -> None: ...

    async with open_system() as system:
        with pytest.raises(
            TypeError, match="forgotten is an async function: decorate it with @actor"
        ):
            await system.spawn(forgotten)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_mutable_default() -> None:
    with pytest.raises(TypeError) as caught:

        class Basket(Actor[Hit]):
            items: list[str] = []  # noqa: RUF012

            @receives
            async def hit(self, hit: Hit, ctx: Context) -> None: ...

    assert str(caught.value) == (
        "Basket.items: this list would be shared by every life of the actor; write attrs.field(factory=list)"
    )


def test_a_message_that_nobody_receives() -> None:
    with pytest.raises(TypeError) as caught:

        class Account(Actor[Deposit | Hit]):
            @receives
            async def deposit(self, deposit: Deposit, ctx: Context) -> None: ...

    assert str(caught.value) == "Account accepts Hit, but has no @receives method for it"


async def test_an_ask_that_is_not_accepted() -> None:
    async with open_system() as system:
        ref = await system.spawn(Account, name="acc")
        with pytest.raises(NotAccepted) as caught:
            await ref.ask(Hit())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == "/acc is an Account and accepts Deposit or Balance, not Hit"
    assert isinstance(caught.value, TypeError)


async def test_a_value_without_a_wire_form() -> None:
    """The table says "a lambda in a field"; its type is called function."""
    async with open_system() as system:
        ref = await system.spawn(Account)
        with pytest.raises(EncodeError) as caught:
            ref.tell(Deposit(amount=1, meta={"key": lambda: None}))
    assert str(caught.value).startswith(
        "Deposit.meta['key']: function has no wire form; allowed are None, bool, "
    )
    assert isinstance(caught.value, TypeError)


async def test_a_full_mailbox() -> None:
    async with open_system(drain=0, grace=0) as system:
        ref = await system.spawn(Slow, name="ingest")
        ref.tell(Hit())
        await wait_all_tasks_blocked()
        for _ in range(1024):
            ref.tell(Hit())
        await trio.sleep(8.2)
        with pytest.raises(MailboxFull) as caught:
            ref.tell(Hit())
    assert str(caught.value) == (
        "/ingest holds 1,024 of 1,024 messages, the oldest 8.2 s: "
        "await ref.send(...) to wait, or Mailbox(size=..., overflow=...)"
    )
    assert isinstance(caught.value, trio.WouldBlock)


async def test_no_answer() -> None:
    """The table has "it waited 1.9 s behind 412 messages" of 2.0 s: this one never had its turn."""
    async with open_system(drain=0, grace=0) as system:
        ref = await system.spawn(Slow, name="acc", mailbox=Mailbox(size=5000))
        ref.tell(Hit())
        await wait_all_tasks_blocked()
        for _ in range(412):
            ref.tell(Hit())
        with pytest.raises(AskTimeout) as caught:
            await ref.ask(Mean(), within=2.0)
    assert (
        str(caught.value)
        == "/acc did not answer Mean within 2.0 s: it waited 2.0 s behind 412 messages"
    )
    assert isinstance(caught.value, trio.TooSlowError)


async def test_an_ask_that_would_wait_for_itself() -> None:
    """The table offers `@receives(reentrant=True)` as well, which does not exist yet."""
    async with open_system() as system:
        desk = await system.spawn(Desk, name="desk")
        billing = await system.spawn(Desk, name="billing")
        with pytest.raises(RemoteFailure) as caught:
            await desk.ask(Question(rest=(billing, desk)))
    cause: BaseException | None = caught.value
    while cause is not None and not isinstance(cause, AskCycle):
        cause = cause.__cause__
    assert str(cause) == "/desk -> /billing -> /desk would wait for itself; tell instead"
    assert isinstance(cause, RuntimeError)
