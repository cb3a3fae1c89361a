"""A NaN compares with nothing: as a deadline it would never come, or keep all others from coming."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import trio

from boyd.runtime import Context, Supervision, message, open_system
from boyd.runtime.spans import check_span
from tests.runtime.stage import Add, Door, Note, Recorder

NAN = math.nan


@pytest.mark.parametrize("value", [0.0, 1, -1.0, math.inf, -math.inf])
def test_numbers_are_spans(value: float) -> None:
    assert check_span(value, "x") == value


@pytest.mark.parametrize(("value", "least"), [(NAN, -math.inf), (NAN, 0.0), (-0.1, 0.0)])
def test_what_is_no_span_is_named(value: float, least: float) -> None:
    with pytest.raises(ValueError, match=r"^x=.*it must be a number of seconds"):
        check_span(value, "x", least=least)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Supervision(per=NAN),
        lambda: Supervision(shutdown=-1),
        lambda: Supervision(restarts=-1),
        lambda: Supervision(redeliver=-1),
        lambda: message("t.spans.never", within=NAN),
    ],
)
def test_declarations_are_checked_where_they_are_made(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        make()


@pytest.mark.parametrize("option", ["ask_timeout", "drain", "grace"])
@pytest.mark.parametrize("value", [NAN, -1.0])
async def test_a_system_is_not_opened_with_a_span_that_is_none(option: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{option}=.* 0 or more"):
        async with open_system(**{option: value}):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            pass


async def test_no_wait_of_an_actor_takes_a_nan_and_all_others_go_on(
    autojump_clock: trio.abc.Clock,
) -> None:
    door = Door()

    class Odd(Recorder):
        async def started(self, ctx: Context) -> None:
            with pytest.raises(ValueError, match="after=nan"):
                ctx.start_timer("a", Note(n=1), after=NAN)
            with pytest.raises(ValueError, match="seconds=nan"):
                await ctx.sleep(NAN)
            ctx.start_timer("b", Note(n=2), after=-1)

    async with open_system() as system:
        ref = await system.spawn(Odd, door)
        with pytest.raises(ValueError, match="within=nan"):
            await ref.ask(Add(), within=NAN)
        assert await ref.ask(Add(), within=1) == 1
        await system.settle(1)
    assert door.log == [2, "stopped"]
