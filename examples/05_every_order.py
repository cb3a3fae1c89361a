"""Does my auction award its task exactly once, whatever the order of messages? A hundred seeds say."""

import sys
from functools import partial

import attrs
import trio
import trio.testing

from boyd.runtime import Actor, Context, Ref, Replies, message, open_system, receives
from boyd.runtime.testing import open_probe, seeded_seams


@message("auction.award")
class Award:
    task: str


@message("auction.bid")
class Bid(Replies[bool]):
    price: int
    prize: Ref[Award]


class Board(Actor[Bid]):
    """Waits for all bids, then awards the task to the cheapest."""

    expected: int
    hasty: bool
    bids: list[Bid] = attrs.field(factory=list[Bid])

    @receives
    async def bid(self, bid: Bid, ctx: Context) -> bool:
        self.bids.append(bid)
        if self.hasty or len(self.bids) == self.expected:  # hasty: awards to whoever comes first
            min(self.bids, key=lambda one: one.price).prize.tell(Award(task="t1"))
        return True


async def auction(seed: int, *, hasty: bool) -> int:
    """How many awards there were."""
    async with open_system(seams=seeded_seams(seed)) as system:
        board = await system.spawn(Board, 3, hasty)
        with open_probe(system, Award) as probe:
            async with trio.open_nursery() as nursery:
                for price in (3, 1, 2):
                    nursery.start_soon(board.ask, Bid(price=price, prize=probe.ref))
            await probe.expect(Award)
            awards = 1
            with trio.move_on_after(1):
                while True:
                    await probe.expect(Award, within=2)
                    awards += 1
            return awards


def main(*, hasty: bool) -> None:
    for seed in range(100):
        clock = trio.testing.MockClock(autojump_threshold=0)
        awards = trio.run(partial(auction, seed, hasty=hasty), clock=clock)
        if awards != 1:
            sys.exit(f"seed {seed}: {awards} awards")
    print("one award in each of 100 orders")


main(hasty="--hasty" in sys.argv)
