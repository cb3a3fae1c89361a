"""The actors that many tests of the stage use."""

from __future__ import annotations

import attrs
import trio

from boyd.runtime import Actor, BoydError, Context, Replies, Terminated, failure, message, receives


@message("t.note")
class Note:
    """Told; the recorder writes `n` into its log."""

    n: int


@message("t.add")
class Add(Replies[int]):
    """Asked; replies the sum of this life."""

    amount: int = 1


@message("t.hold")
class Hold(Replies[str]):
    """Asked or told; its handler waits until the door is opened."""

    n: int = 0


@message("t.fail")
class Fail(Replies[int]):
    """Its handler raises ValueError."""

    text: str = "boom"


@message("t.refuse")
class Refuse(Replies[int]):
    """Its handler raises an error that is an answer."""

    why: str


@failure("t.Refused")
class Refused(BoydError):
    """An answer, not a crash."""

    def __init__(self, why: str, *, code: str = "t.no", tries: int = 3) -> None:
        super().__init__(f"refused: {why}")
        self.why = why
        self.code = code
        self.tries = tries


@attrs.define(eq=False)
class Door:
    """What a test shares with its actors over their lives.

    Attributes:
        log: what happened, in order.
        entered: set when a `Hold` is being handled.
        opened: lets it go on.
    """

    log: list[object] = attrs.field(factory=list[object])
    entered: trio.Event = attrs.field(factory=trio.Event)
    opened: trio.Event = attrs.field(factory=trio.Event)


class Recorder(Actor[Note | Add | Hold | Fail | Refuse | Terminated]):
    """Writes what it handles into the door's log."""

    door: Door
    total: int = 0

    async def started(self, ctx: Context) -> None:
        self.door.log.append(f"started {ctx.epoch}")

    async def stopped(self, ctx: Context) -> None:
        self.door.log.append("stopped")

    @receives
    async def note(self, note: Note, ctx: Context) -> None:
        self.door.log.append(note.n)

    @receives
    async def add(self, add: Add, ctx: Context) -> int:
        self.total += add.amount
        return self.total

    @receives
    async def hold(self, hold: Hold, ctx: Context) -> str:
        self.door.log.append(f"hold {hold.n}")
        self.door.entered.set()
        try:
            await self.door.opened.wait()
        finally:
            self.door.log.append(f"held {hold.n}")
        return f"held {hold.n}"

    @receives
    async def fail(self, fail: Fail, ctx: Context) -> int:
        self.door.log.append(f"fail {fail.text}")
        raise ValueError(fail.text)

    @receives
    async def refuse(self, refuse: Refuse, ctx: Context) -> int:
        raise Refused(refuse.why)

    @receives
    async def ended(self, end: Terminated, ctx: Context) -> None:
        self.door.log.append(f"{end.ref.path} {end.reason}")
