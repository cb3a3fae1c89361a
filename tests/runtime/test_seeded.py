"""One seed, one order of everything; many seeds, many orders."""

from __future__ import annotations

import attrs
import pytest
import trio
from trio.testing import MockClock

from boyd.runtime import (
    Actor,
    Context,
    Dispatcher,
    Mailbox,
    Overflow,
    Ref,
    Replies,
    Supervision,
    System,
    TaskDispatcher,
    Terminated,
    Waiter,
    message,
    open_system,
    receives,
)
from boyd.runtime.seams import Seams
from boyd.runtime.testing import SeededDispatcher, assert_no_leaks, seeded_seams, wire_spy


@message("t.bid")
class Bid:
    """An offer."""

    bidder: str
    amount: int


@message("t.offer")
class Offer:
    """What is for sale, and where to bid."""

    price: int
    to: Ref[Bid]


@message("t.auction")
class Auction(Replies[str]):
    """Run one; replies who won."""

    rounds: int


class Bidder(Actor[Offer]):
    """Bids one more than the price."""

    name: str

    @receives
    async def offer(self, offer: Offer, ctx: Context) -> None:
        if ctx.random.random() < 0.8:
            await offer.to.send(Bid(bidder=self.name, amount=offer.price + 1))


class Auctioneer(Actor[Auction | Bid | Terminated]):
    """The first bid of each price wins it."""

    best: Bid = Bid(bidder="", amount=0)
    bidders: list[Ref[Offer]] = attrs.field(factory=list[Ref[Offer]])

    async def started(self, ctx: Context) -> None:
        for n in range(3):
            # One may wait for room in the house's mailbox while the house waits for it to stop.
            hasty, name = Supervision(shutdown=0.1), f"bidder-{n}"
            bidder = await ctx.spawn(Bidder, name, name=name, supervision=hasty)
            ctx.watch(bidder)
            self.bidders.append(bidder)

    @receives
    async def auction(self, auction: Auction, ctx: Context) -> str:
        for bidder in self.bidders:
            bidder.tell(Offer(price=self.best.amount, to=ctx.ref))
        return self.best.bidder

    @receives
    async def bid(self, bid: Bid, ctx: Context) -> None:
        if bid.amount > self.best.amount:
            self.best = bid
            if bid.amount < 4:
                async with ctx.open_nursery() as nursery:
                    for bidder in self.bidders:
                        nursery.start_soon(bidder.send, Offer(price=bid.amount, to=ctx.ref))

    @receives
    async def ended(self, end: Terminated, ctx: Context) -> None: ...


async def auction(system: System) -> list[tuple[str, str, str, bytes]]:
    """Every hop of an auction in which a bidder crashes and another is killed."""
    with wire_spy(system) as hops:
        mailbox = Mailbox(size=2, overflow=Overflow.REJECT)
        supervision = Supervision(restarts=100)
        ref = await system.spawn(Auctioneer, name="house", mailbox=mailbox, supervision=supervision)
        await ref.ask(Auction(rounds=1))
        await system.settle(5)
        system.crash("/house/bidder-1")
        with trio.move_on_after(0.5):
            await ref.ask(Auction(rounds=1))
        system.kill("/house/bidder-2")
        await system.settle(5)
        system.crash("/house")
        await system.settle(5)
        await ref.ask(Auction(rounds=1))
        await system.settle(5)
    return [(hop.sender, hop.receiver, hop.name, hop.body) for hop in hops]


def hops_of(seed: int) -> list[tuple[str, str, str, bytes]]:
    """In a Trio run of its own."""

    async def main() -> list[tuple[str, str, str, bytes]]:
        with assert_no_leaks():
            async with open_system(seams=seeded_seams(seed)) as system:
                return await auction(system)

    return trio.run(main, clock=MockClock(autojump_threshold=0))


SEEDS = range(12)


def test_p17_the_same_seed_gives_the_same_hops() -> None:
    for seed in SEEDS:
        assert hops_of(seed) == hops_of(seed)


def test_p17_different_seeds_give_different_orders() -> None:
    orders = {tuple(hops_of(seed)) for seed in SEEDS}
    assert len(orders) > len(SEEDS) * 2 / 3


def test_different_seeds_give_different_winners_of_a_race() -> None:
    def first(seed: int) -> str:
        return next(hop[0] for hop in hops_of(seed) if hop[2] == "t.bid")

    assert {first(seed) for seed in range(30)} == {f"/house/bidder-{n}" for n in range(3)}


def test_the_choices_are_recorded() -> None:
    dispatchers: list[SeededDispatcher] = []

    def make() -> Dispatcher:
        dispatchers.append(SeededDispatcher(3))
        return dispatchers[-1]

    async def main() -> None:
        async with open_system(seams=attrs.evolve(seeded_seams(3), dispatcher=make)) as system:
            await auction(system)

    for _ in range(2):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    first, second = (dispatcher.order for dispatcher in dispatchers)
    assert first == second
    assert any(candidates > 2 for candidates, _ in first)
    assert all(0 <= chosen < candidates for candidates, chosen in first)


def test_ids_and_chance_follow_from_the_seed() -> None:
    one, same, other = seeded_seams(1), seeded_seams(1), seeded_seams(2)
    assert [one.ids.new() for _ in range(3)] == [same.ids.new() for _ in range(3)]
    assert one.random.random() == same.random.random() != other.random.random()
    assert one.ids.new() != other.ids.new()


# ---------------------------------------------------------------- nothing past the dispatcher
class Recording(TaskDispatcher):
    """Knows which wakes are its own."""

    orders_cancels = True

    def __init__(self) -> None:
        super().__init__(batch=4)
        self.resuming = False
        self.wakes = 0
        self.past: list[trio.lowlevel.Task] = []

    def ready(self, waiter: Waiter, /) -> None:
        self.wakes += 1
        self.resuming = True
        waiter.resume()
        self.resuming = False

    async def enter(self) -> None:
        if trio.lowlevel.current_task() in self.past:
            self.past.remove(trio.lowlevel.current_task())


class Watching(trio.abc.Instrument):
    """Sees every time that Trio is told to run a task of an actor."""

    def __init__(self, dispatcher: Recording) -> None:
        self.dispatcher = dispatcher
        self.seen: set[trio.lowlevel.Task] = set()
        self.woken = 0

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        if not task.name.startswith("/"):
            return
        if task not in self.seen:  # its first step
            self.seen.add(task)
            return
        try:
            by_itself = trio.lowlevel.current_task() is task
        except RuntimeError:
            by_itself = False
        if by_itself:  # a checkpoint
            return
        self.woken += 1
        if not self.dispatcher.resuming:
            self.dispatcher.past.append(task)


@pytest.mark.parametrize("round_", range(3))
async def test_d8_nothing_wakes_an_actor_past_the_dispatcher(round_: int) -> None:
    """Mail, replies, room, timers, sleeps, gates, cancels: each wake is seen.

    The end of a nursery is Trio's to tell; whom it wakes asks for a turn before anything else.
    """
    dispatcher = Recording()
    watching = Watching(dispatcher)
    trio.lowlevel.add_instrument(watching)
    try:
        async with open_system(seams=Seams(dispatcher=lambda: dispatcher)) as system:
            await auction(system)
    finally:
        trio.lowlevel.remove_instrument(watching)
    assert dispatcher.past == []
    assert watching.woken > 20
    assert dispatcher.wakes >= watching.woken
