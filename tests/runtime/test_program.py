"""Programs of commands, in many orders: what is accepted is accounted for, and asks have one outcome.

Hypothesis draws a program and a seed; an interpreter runs it against one system
in virtual time, whose dispatcher chooses who goes on by the seed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boyd.runtime import (
    Actor,
    ActorCrashed,
    ActorStopped,
    AskCycle,
    AskTimeout,
    Context,
    Mailbox,
    MailboxFull,
    Overflow,
    Ref,
    RemoteFailure,
    Replies,
    Supervision,
    System,
    Terminated,
    message,
    open_system,
    receives,
)
from boyd.runtime.cell import Cell
from boyd.runtime.supervision import DeadLetter
from boyd.runtime.testing import seeded_seams
from tests.runtime.conftest import run_in_virtual_time
from tests.runtime.stage import Refused

NAMES: Final = ("a", "b", "c")


@message("p.work")
class Work(Replies[int]):
    """Work of a kind, the `n`th of one sender; replies `n`."""

    sender: int
    n: int
    kind: str
    ask: str = ""


@attrs.define
class Known:
    """What the test knows, beside the runtime."""

    accepted: Counter[str] = attrs.field(factory=Counter[str])
    begun: list[tuple[str, int, int, int]] = attrs.field(factory=list[tuple[str, int, int, int]])
    finished: Counter[str] = attrs.field(factory=Counter[str])
    outcomes: list[object] = attrs.field(factory=list[object])
    asked: int = 0
    inside: Counter[str] = attrs.field(factory=Counter[str])
    terminated: Counter[str] = attrs.field(factory=Counter[str])
    watches: Counter[str] = attrs.field(factory=Counter[str])
    posts: list[Cell] = attrs.field(factory=list[Cell])


class Worker(Actor[Work | Terminated]):
    """Does what the work's kind says."""

    known: Known
    refs: dict[str, Ref[Work]]

    @receives
    async def work(self, work: Work, ctx: Context) -> int:
        name = ctx.ref.path
        assert not self.known.inside[name], "two handlers at once"
        assert not any(
            post.path == name and not post.closed and post.suspended for post in self.known.posts
        ), "it is suspended"
        self.known.inside[name] += 1
        self.known.begun.append((name, work.sender, work.n, ctx.attempt))
        try:
            match work.kind:
                case "sleep":
                    await ctx.sleep(1.0)
                case "fail":
                    raise ValueError("work")
                case "refuse":
                    raise Refused("work")
                case "stop":
                    ctx.stop()
                case "ask" if work.ask in self.refs:
                    self.known.asked += 1
                    try:
                        onward = Work(sender=-1, n=work.n, kind="quick")
                        self.known.outcomes.append(
                            await self.refs[work.ask].ask(onward, within=2.0)
                        )
                    except BaseException as error:
                        self.known.outcomes.append(error)
                        raise
                case "fork":
                    async with ctx.open_nursery() as nursery:
                        for _ in range(2):
                            nursery.start_soon(ctx.sleep, 0.5)
                case _:
                    pass
        finally:
            self.known.inside[name] -= 1
        self.known.finished[name] += 1
        return work.n

    @receives
    async def ended(self, end: Terminated, ctx: Context) -> None:
        self.known.terminated[f"{ctx.ref.path} {end.ref.path}"] += 1


KINDS = st.sampled_from(["quick", "quick", "sleep", "fail", "refuse", "stop", "ask", "fork"])
TARGETS = st.sampled_from(NAMES)
COMMANDS = st.one_of(
    st.tuples(st.just("tell"), TARGETS, KINDS, TARGETS),
    st.tuples(st.just("send"), TARGETS, KINDS, TARGETS),
    st.tuples(st.just("ask"), TARGETS, KINDS, TARGETS),
    st.tuples(st.just("cancel"), st.integers(0, 5)),
    st.tuples(st.just("crash"), TARGETS),
    st.tuples(st.just("kill"), TARGETS),
    st.tuples(st.just("stop"), TARGETS),
    st.tuples(st.just("drain"), TARGETS),
    st.tuples(st.just("suspend"), TARGETS),
    st.tuples(st.just("resume"), TARGETS),
    st.tuples(st.just("spawn"), TARGETS),
    st.tuples(st.just("watch"), TARGETS, TARGETS),
    st.tuples(st.just("advance"), st.sampled_from([0.0, 0.3, 1.0, 3.0])),
)
MAILBOXES = st.builds(Mailbox, size=st.integers(1, 4), overflow=st.sampled_from(Overflow))
SUPERVISIONS = st.builds(
    Supervision,
    restarts=st.integers(0, 4),
    redeliver=st.integers(0, 2),
    shutdown=st.sampled_from([0.1, 2.0]),
    significant=st.just(value=False),
)


class Interpreter:
    """Runs commands, and keeps count of what was accepted."""

    def __init__(self, system: System, mailbox: Mailbox, supervision: Supervision) -> None:
        self.system = system
        self.mailbox = mailbox
        self.supervision = supervision
        self.known = Known()
        self.refs: dict[str, Ref[Work]] = {}
        self.letters: Counter[str] = Counter()
        self.dropped_at: Counter[str] = Counter()
        self.scopes: list[trio.CancelScope] = []
        self.count = 0

    async def spawn(self, name: str) -> None:
        """Have an actor of that name, if there is none."""
        if f"/{name}" not in self.system.paths():
            ref = await self.system.spawn(
                Worker,
                self.known,
                self.refs,
                name=name,
                mailbox=self.mailbox,
                supervision=self.supervision,
            )
            self.refs[name] = ref
            post = self.system.find_post(ref.path, ref.incarnation)
            assert isinstance(post, Cell)
            self.known.posts.append(post)

    def work(self, kind: str, ask: str, sender: int) -> Work:
        """The next piece of work; numbers grow with time."""
        self.count += 1
        return Work(sender=sender, n=self.count, kind=kind, ask=ask)

    async def run(  # noqa: PLR0912  # a case for each command
        self, command: tuple[Any, ...], nursery: trio.Nursery
    ) -> None:
        """One command."""
        match command:
            case ("tell", name, kind, ask):
                try:
                    self.refs[name].tell(self.work(kind, ask, 0))
                except (MailboxFull, ActorStopped):
                    return
                self.known.accepted[f"/{name}"] += 1
            case ("send", name, kind, ask):
                self.begin(nursery, self.sending(name, self.work(kind, ask, 1)))
            case ("ask", name, kind, ask):
                self.begin(nursery, self.asking(name, self.work(kind, ask, 2)))
            case ("cancel", n):
                for scope in self.scopes[n : n + 1]:
                    scope.cancel()
            case ("crash", name):
                if f"/{name}" in self.system.paths():
                    self.system.crash(f"/{name}")
            case ("kill", name):
                if f"/{name}" in self.system.paths():
                    self.system.kill(f"/{name}")
            case ("stop", name):
                ref = self.refs[name]
                self.begin(nursery, lambda: self.system.stop_actor(ref))
            case ("drain", name):
                ref = self.refs[name]
                self.begin(nursery, lambda: self.system.stop_actor(ref, drain=True))
            case ("suspend" | "resume" as what, name):
                if f"/{name}" in self.system.paths():
                    getattr(self.system, what)(f"/{name}")
            case ("spawn", name):
                await self.spawn(name)
            case ("watch", watcher, name):
                post = self.system.find_post(
                    self.refs[watcher].path, self.refs[watcher].incarnation
                )
                if post is not None and not post.closed and watcher != name:
                    self.known.watches[f"/{watcher} /{name}"] += 1
                    self.system.watch(post, self.refs[name])
            case ("advance", seconds):
                await self.system.sleep(
                    seconds
                )  # past the dispatcher, `trio.sleep` would race with it
            case _:
                raise AssertionError(command)

    def begin(self, nursery: trio.Nursery, what: Callable[[], Awaitable[None]]) -> None:
        """Beside the program, in a scope that a later command may cancel."""
        scope = trio.CancelScope()
        self.scopes.append(scope)

        async def job() -> None:
            with scope:
                await what()

        self.system.dispatcher.start_soon(nursery, job)

    def sending(self, name: str, work: Work) -> Callable[[], Awaitable[None]]:
        """Send and count."""

        async def send() -> None:
            try:
                await self.refs[name].send(work)
            except ActorStopped:
                return
            self.known.accepted[f"/{name}"] += 1

        return send

    def asking(self, name: str, work: Work) -> Callable[[], Awaitable[None]]:
        """Ask and keep the outcome, whatever it is."""

        async def ask() -> None:
            self.known.asked += 1
            try:
                reply = await self.refs[name].ask(work, within=5.0)
                assert reply == work.n
                self.known.outcomes.append(reply)
            except trio.Cancelled as cancelled:
                self.known.outcomes.append(cancelled)
                raise
            except (
                ActorCrashed,
                ActorStopped,
                AskCycle,
                AskTimeout,
                MailboxFull,
                Refused,
                RemoteFailure,
            ) as error:
                self.known.outcomes.append(error)

        return ask


def check_order(known: Known) -> None:
    """Each sender's work is begun in its order; what is redelivered keeps its place."""
    last: dict[tuple[str, int], int] = {}
    for path, sender, n, attempt in known.begun:
        if sender in (0, 1, 2) and attempt == 1:
            before = last.get((path, sender), 0)
            if sender == 0:
                assert n > before, f"{path}: {n} of sender {sender} after {before}"
            last[path, sender] = max(n, before)


def check_accounts(run: Interpreter) -> None:
    """What went into the mailboxes came out of them, one way or another."""
    handled = crashed = queued = dropped = taken = 0
    for post in run.known.posts:
        handled += post.handled
        crashed += post.crashed
        queued += len(post.queue)
        dropped += post.queue.dropped
        taken += post.queue.taken
        assert post.closed
        assert post.current is None
        assert post.asking == []
        assert post.queue.bytes == 0
    dead = run.system.dead_letters
    assert queued == 0
    assert dead.get("dropped", 0) == dropped == run.letters["dropped"]
    assert dead.get("crashed", 0) == crashed == run.letters["crashed"]
    in_hand_at_a_stop = taken - handled - crashed - dead.get("withdrawn", 0)
    assert 0 <= in_hand_at_a_stop <= dead.get("stopped", 0)
    assert dict(run.letters) == dead
    finished = sum(run.known.finished.values())
    assert finished <= handled + crashed + dead.get("stopped", 0)
    assert set(dead) <= {"dropped", "crashed", "stopped", "withdrawn", "late"}


def check_asks(run: Interpreter) -> None:
    """Every ask had one outcome."""
    assert len(run.known.outcomes) == run.known.asked
    assert len(run.system.deadlines) == 0


async def play(
    program: list[tuple[Any, ...]], seed: int, mailbox: Mailbox, supervision: Supervision
) -> Interpreter:
    """The program, to its end and the system's."""
    async with open_system(
        seams=seeded_seams(seed), drain=3.0, grace=1.0, ask_timeout=6.0
    ) as system:
        run = Interpreter(system, mailbox, supervision)
        async with system.open_subscription("boyd.dead", DeadLetter, size=10_000) as dead:
            async with trio.open_nursery() as nursery:
                for name in NAMES:
                    await run.spawn(name)
                for command in program:
                    await run.run(command, nursery)
                for path in system.paths():
                    system.resume(path)  # else a drain may wait for ever
            await system.settle(10)
            await system.stop()
            while True:
                try:
                    run.letters[dead.receive_nowait().reason] += 1
                except trio.WouldBlock:
                    break
    return run


EXAMPLES = 300 if os.environ.get("BOYD_HYPOTHESIS", "commit") == "commit" else 2_000


@settings(max_examples=EXAMPLES)
@given(
    program=st.lists(COMMANDS, max_size=25),
    seed=st.integers(0, 2**16),
    mailbox=MAILBOXES,
    supervision=SUPERVISIONS,
)
@example(
    program=[("tell", "a", "sleep", "a"), ("ask", "a", "quick", "a"), ("kill", "a")],
    seed=0,
    mailbox=Mailbox(),
    supervision=Supervision(),
)
def test_whatever_happens_all_is_accounted_for(
    program: list[tuple[Any, ...]], seed: int, mailbox: Mailbox, supervision: Supervision
) -> None:
    runs: list[Interpreter] = []

    async def main() -> None:
        runs.append(await play(program, seed, mailbox, supervision))

    run_in_virtual_time(main)
    (run,) = runs
    check_order(run.known)
    check_accounts(run)
    check_asks(run)
    for pair, count in run.known.terminated.items():
        assert count <= run.known.watches[pair]


@settings(max_examples=EXAMPLES // 3)
@given(program=st.lists(COMMANDS, max_size=20), seed=st.integers(0, 2**16))
def test_p17_a_program_of_one_seed_runs_the_same_way_twice(
    program: list[tuple[Any, ...]], seed: int
) -> None:
    runs: list[object] = []

    async def main() -> None:
        run = await play(program, seed, Mailbox(size=3), Supervision(significant=False))
        runs.append(
            (run.known.begun, run.system.dead_letters, [repr(o)[:20] for o in run.known.outcomes])
        )

    run_in_virtual_time(main)
    run_in_virtual_time(main)
    assert runs[0] == runs[1]
