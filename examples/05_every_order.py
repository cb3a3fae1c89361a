"""Does my auction go to the cheapest bid, once, in every order of delivery? Two hundred seeds say.

--hasty plants a fault that most orders hide. The seed that finds it shows it again, each time.
"""

import sys

import attrs
import trio
import trio.testing

from boyd.runtime import Actor, Context, Ref, message, open_system, receives
from boyd.runtime.testing import open_probe, seeded_seams

PRICES = (3, 1, 2)


@message("auction.award")
class Award:
    price: int


@message("auction.bid")
class Bid:
    price: int


@message("auction.announce")
class Announce:
    board: Ref[Bid]


class Bidder(Actor[Announce]):
    price: int

    @receives
    async def announced(self, announce: Announce, ctx: Context) -> None:
        await announce.board.send(Bid(price=self.price))


class Board(Actor[Bid]):
    patience: int
    winner: Ref[Award]
    bids: list[int] = attrs.field(factory=list[int])

    @receives
    async def bid(self, bid: Bid, ctx: Context) -> None:
        self.bids.append(bid.price)
        if len(self.bids) == self.patience:
            await self.winner.send(Award(price=min(self.bids)))


async def auction(seed: int, patience: int) -> int:
    async with open_system(seams=seeded_seams(seed)) as system:
        with open_probe(system, Award) as probe:
            board = await system.spawn(Board, patience, probe.ref)
            for bidder in [await system.spawn(Bidder, price) for price in PRICES]:
                bidder.tell(Announce(board=board))
            award = await probe.expect(Award)
            await probe.expect_none()
            return award.price


patience = 2 if "--hasty" in sys.argv else len(PRICES)
for seed in range(200):
    clock = trio.testing.MockClock(autojump_threshold=0)
    price = trio.run(auction, seed, patience, clock=clock)
    if price != min(PRICES):
        sys.exit(f"seed {seed}: awarded at {price}, though somebody asked {min(PRICES)}")
print("the cheapest bid won, once, in each of 200 orders")
