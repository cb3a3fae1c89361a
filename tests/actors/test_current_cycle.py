"""A call knows the cycle that it belongs to, whenever and by whomever it is made."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from boyd.actors.events import Approve, Pending
from boyd.actors.ooda.agent import Ooda
from boyd.actors.ooda.current import Current, current_cycle
from boyd.actors.ooda.cycle import Cycle, Decision
from boyd.actors.tools.approvals import settle
from boyd.actors.tools.define import AnyTool, tool
from boyd.actors.tools.questions import questions_of
from boyd.actors.tools.spec import Effect, Risk
from boyd.runtime import Context, WireError, open_system


class Told:
    """An agent that calls `act` twice in each; what the calls were told."""

    def __init__(self, *, risk: Risk = Risk.READ, cycles: int = 4) -> None:
        self.seen: list[tuple[int, int, str]] = []
        self.currents: list[Current[list[int]]] = []

        @tool(effect=Effect.ONCE, risk=risk)
        async def act(ctx: Context, n: int) -> str:
            """Act."""
            current = await current_cycle(ctx, list[int])
            self.currents.append(current)
            self.seen.append((n, current.number, current.decision.why))
            assert current.view == [current.number]
            return "done"

        async def observe(_: None, cycle: Cycle) -> int:
            return cycle.number

        async def facet(number: int) -> int:
            return number

        async def synthesize(readings: Sequence[int]) -> list[int]:
            return list(readings)

        async def decide(view: list[int]) -> Decision:
            [n] = view
            return Decision(
                calls=[act.call(n=n), act.call(n=-n)], why=f"because of {n}", stop=n == cycles
            )

        self.act: AnyTool = act
        self.ooda: Ooda[None, list[int]] = Ooda(
            observe=observe, facets=[facet], synthesize=synthesize, decide=decide, tools=[act]
        )


async def test_the_calls_of_a_cycle_read_it_once_and_share_what_they_read() -> None:
    told = Told()
    await told.ooda.run(None)
    assert sorted(told.seen, key=abs_first) == [
        (sign * n, n, f"because of {n}") for n in range(1, 5) for sign in (1, -1)
    ]
    assert len({id(current) for current in told.currents}) == 4


def abs_first(seen: tuple[int, int, str]) -> tuple[int, int]:
    return abs(seen[0]), -seen[0]


async def test_a_call_that_is_approved_cycles_later_is_told_its_own_cycle() -> None:
    told = Told(risk=Risk.DANGEROUS)
    async with (
        open_system() as system,
        told.ooda.open_run(None, system=system, thread="t") as run,
    ):
        asked: list[Pending] = []
        async for event in run:
            if isinstance(event, Pending):
                asked.append(event)
                if event.id == "t!3.0":
                    await run.answer("t!1.0", Approve())
    assert told.seen == [(1, 1, "because of 1")]
    assert len(asked) == 8


async def test_a_call_that_is_made_after_its_run_is_told_its_own_cycle() -> None:
    told = Told(risk=Risk.DANGEROUS)
    async with open_system() as system:
        await told.ooda.run(None, system=system, thread="t")
        assert len(await questions_of(system.ledger, "t")) == 8
        assert await settle(system, "t!2.1", Approve(), told.act) == "done"
    assert told.seen == [(-2, 2, "because of 2")]


async def test_a_cycle_is_found_however_much_came_after_it() -> None:
    """More came after it than one page, read from the end of the thread, holds."""
    told = Told(risk=Risk.DANGEROUS, cycles=40)
    async with open_system() as system:
        await told.ooda.run(None, system=system, thread="t")
        assert await system.ledger.tip("t") > 2 * 64
        assert await settle(system, "t!1.0", Approve(), told.act) == "done"
    assert told.seen == [(1, 1, "because of 1")]


async def test_a_view_of_another_type_is_refused() -> None:
    refused: list[str] = []

    @tool(effect=Effect.PURE)
    async def act(ctx: Context) -> str:
        """Act."""
        with pytest.raises(WireError, match=r"str") as caught:
            await current_cycle(ctx, str)
        refused.append(str(caught.value))
        return "refused"

    async def observe() -> int:
        return 1

    async def facet(number: int) -> int:
        return number

    async def synthesize(readings: Sequence[int]) -> int:
        return sum(readings)

    async def decide(_view: int) -> Decision:
        return Decision(calls=[act.call()], stop=True)

    ooda: Ooda[None, int] = Ooda(
        observe=observe, facets=[facet], synthesize=synthesize, decide=decide, tools=[act]
    )
    await ooda.run(None)
    assert refused
