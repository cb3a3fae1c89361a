"""Seeds, schedules and crashes at random: a swarm comes to the same as one that nobody disturbed."""

from __future__ import annotations

from functools import cache

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from boyd.runtime import open_memory_ledger, open_system

from .ooda_story import Sight, make_swarm
from .stories import Effects, fixed_seams, told
from .test_kill_each import Told, facts, unknown_outcomes, without_results

PATHS = [
    f"/swarm{rest}"
    for rest in (
        "", "/approvals", "/lead", "/lead/observe", "/lead/facet-same", "/lead/decide", "/lead/act",
        "/scout-0", "/scout-0/observe", "/scout-0/facet-total", "/scout-0/facet-minus",
        "/scout-0/synthesize", "/scout-0/decide", "/scout-0/act", "/scout-0/act/tool-report",
        "/scout-0/act/tool-pay", "/scout-1", "/scout-1/facet-total", "/scout-1/act",
    )
]  # fmt: skip

Kill = tuple[int, str]
"""The number of an event, and the path of the actor that crashes when it is seen."""


def play(seed: int, kills: list[Kill]) -> tuple[Sight, Told, Effects]:
    """The swarm under a schedule drawn from `seed`, with actors that crash."""

    async def main() -> tuple[Sight, Told, Effects]:
        swarm, stories = make_swarm()
        async with open_memory_ledger() as ledger:
            async with open_system(ledger=ledger, seams=fixed_seams(seed)) as system:
                async with swarm.open_run(None, system=system, thread="t") as run:
                    number = 0
                    async for _ in run:
                        number += 1
                        for at, path in kills:
                            if at == number and path in system.paths():
                                system.crash(path)
                assert system.paths() == ()
            effects = sum((story.effects for story in stories), Effects())
            return run.result.output, await told(ledger), effects

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@cache
def undisturbed() -> tuple[Sight, Told, Effects]:
    return play(0, [])


@pytest.mark.slow
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    kills=st.lists(st.tuples(st.integers(1, 60), st.sampled_from(PATHS)), max_size=2),
)
def test_g_i_d20_crashes_at_random_moments_change_nothing(seed: int, kills: list[Kill]) -> None:
    output, entries, effects = play(seed, kills)
    plain, plain_entries, plain_effects = undisturbed()
    assert output == plain
    assert without_results(entries) == without_results(plain_entries)
    if not unknown_outcomes(entries):
        assert facts(entries) == facts(plain_entries)
        assert effects.keys() == plain_effects.keys()
    assert all(times == 1 for effect, times in effects.items() if effect.startswith("pay"))


@pytest.mark.slow
def test_g18_the_same_seed_gives_the_same_entries_byte_for_byte() -> None:
    """With crashes too: ids, clock and the order of actors all follow from the seed."""
    for seed in range(4):
        kills = [(7, "/swarm/scout-0/facet-total"), (20, "/swarm/scout-1")] if seed % 2 else []
        assert play(seed, kills) == play(seed, kills)


def test_g18_other_seeds_are_other_schedules() -> None:
    def order(seed: int) -> list[str]:
        _, entries, _ = play(seed, [])
        return [id_ for _, id_, _ in entries["t"]]

    assert len({tuple(order(seed)) for seed in range(6)}) > 1
