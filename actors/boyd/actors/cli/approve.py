"""`boyd approve`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from boyd.actors.cli.definitions import find_tools
from boyd.actors.cli.ledgers import ledger_option, ledger_with
from boyd.actors.cli.open_questions import Numbered, numbered_questions
from boyd.actors.cli.origin import module_of, recorded_target
from boyd.actors.cli.output import say
from boyd.actors.cli.problems import UsageError
from boyd.actors.cli.program import program
from boyd.actors.cli.prompt import described
from boyd.actors.cli.session import current_session
from boyd.actors.cli.visible import shortened
from boyd.actors.events import Approve, Reject
from boyd.actors.tools.approvals import settle
from boyd.actors.tools.define import AnyTool
from boyd.runtime import LeaseHeld, Ledger, System, open_lease, open_system

__all__ = ["approve"]


async def approve(
    thread: str,
    number: str | None = None,
    /,
    *,
    reject: bool = False,
    reason: str = "refused by a person",
    ledger: str | None = None,
    target: str | None = None,
) -> int:
    """List what waits for an approval, or settle one of it.

    An approved call is made now, unless its run stands still at the question:
    that one makes it when it goes on. Nothing is settled while the run is alive.

    Args:
        thread: the run's, as boyd threads lists it.
        number: of the question, or its id. Without it they are listed.
        reject: refuse instead.
        reason: why it is refused; the agent is told.
        ledger: sqlite:PATH. Default: BOYD_LEDGER, or the ledger in this folder that has the thread.
        target: the program that has the tool, as boyd run takes it; it is loaded.
    """
    address = await ledger_with(thread, ledger)
    async with open_system(ledger=address, drain=1.0, grace=1.0) as system:
        questions = await numbered_questions(system.ledger, thread)
        if number is None:
            _list(questions, thread, ledger_option(address))
            return 0
        chosen = _choose(questions, number, thread)
        pending = chosen.question.asked.pending
        if pending.deadline is not None and system.clock.wall() > pending.deadline:
            raise UsageError(f"question {chosen.number} has expired: no answer counts any more")
        async with _not_running(system, thread):
            say(f"{'refuse' if reject else 'approve'}: {described(pending)}")
            tool = None if reject else await _tool(system.ledger, thread, chosen, target)
            current_session().began = True
            answer = Reject(reason) if reject else Approve()
            say(shortened(await settle(system, chosen.question.id, answer, tool), 2000))
        if chosen.question.asked.waits:
            option = ledger_option(address)
            again = target or await recorded_target(system.ledger, thread) or "TARGET"
            say(f"the run goes on with: {program()} run {again} --thread {thread} --resume{option}")
        made = (await numbered_questions(system.ledger, thread))[chosen.number - 1].question.result
        return 1 if made is not None and made.is_error else 0


def _list(questions: Sequence[Numbered], thread: str, option: str) -> None:
    still_open = [one for one in questions if one.question.is_open]
    if not still_open:
        say(f"nothing in {thread} waits for an approval")
        return
    for one in still_open:
        say(f"{one.number:>3}  {described(one.question.asked.pending)}")
    say(f"settle one: {program()} approve {thread} NUMBER{option}, or with --reject --reason TEXT")


def _choose(questions: Sequence[Numbered], number: str, thread: str) -> Numbered:
    for one in questions:
        if number in (str(one.number), one.question.id):
            if not one.question.is_open:
                raise UsageError(f"question {number} of {thread} was answered before")
            return one
    numbers = ", ".join(str(one.number) for one in questions if one.question.is_open)
    there = f"open are {numbers}" if numbers else "none is open"
    raise UsageError(f"{thread} has no question {number}: {there}")


async def _tool(
    ledger: Ledger, thread: str, chosen: Numbered, target: str | None
) -> AnyTool | None:
    """The definition of the tool that carries the call out; None where the run itself will make it.

    Raises:
        UsageError: it is not at hand.
    """
    asked = chosen.question.asked
    if asked.waits or asked.pending.call is None:
        return None
    name = asked.pending.call.tool
    module = await module_of(ledger, thread, target, needed_for=f"the tool {name}")
    tools: Mapping[str, AnyTool] = {} if module is None else find_tools(module)
    if name not in tools:
        has = f"has no tool {name}" if module is not None else "is not known"
        raise UsageError(f"the program that wrote {thread} {has}: name it with --target")
    return tools[name]


@asynccontextmanager
async def _not_running(system: System, thread: str) -> AsyncGenerator[None]:
    """Hold the leases of `thread` and of the runs around it, so that none of them is alive.

    Raises:
        UsageError: a process runs one of them now.
    """
    parts = thread.split("/")
    names = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
    async with AsyncExitStack() as stack:
        for name in names:
            if await system.ledger.tip(name):
                lease = open_lease(
                    system.ledger, name, owner=system.seams.process, clock=system.clock
                )
                try:
                    await stack.enter_async_context(lease)
                except LeaseHeld as held:
                    raise UsageError(
                        f"{name} is being run by {held.owner}: answer there, or when it has ended"
                    ) from None
        yield
