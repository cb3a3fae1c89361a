"""Phases: what can be one, and what is said of what cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import pytest

from boyd.actors.agent import Agent
from boyd.actors.ooda.agent import Ooda
from boyd.actors.ooda.cycle import Cycle, Decision
from boyd.actors.testing import ScriptedModel
from boyd.actors.tools.define import tool
from boyd.runtime import Context


@attrs.frozen
class Sample:
    depth: int


@attrs.frozen
class Other:
    depth: int


@tool
async def act() -> str:
    """Act."""
    return "done"


async def look(given: str) -> Sample:
    return Sample(len(given))


async def depth(sample: Sample) -> float:
    return float(sample.depth)


async def worst(readings: Sequence[float]) -> float:
    return max(readings)


async def choose(view: float) -> Decision:
    return Decision(stop=view > 0)


def ooda(**changes: object) -> Ooda[Any, Any]:
    """A valid definition, but for `changes`."""
    phases: dict[str, Any] = {
        "observe": look,
        "facets": [depth],
        "synthesize": worst,
        "decide": choose,
        **changes,
    }
    return Ooda(**phases)


def sync_facet(sample: Sample) -> float:
    return 0.0


async def untyped(sample) -> float:  # type: ignore[no-untyped-def]  # noqa: ANN001  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    return 0.0


async def silent(sample: Sample):  # type: ignore[no-untyped-def]  # noqa: ANN201
    return 0.0


async def greedy(sample: Sample, more: int) -> float:
    return 0.0


async def anything(*samples: Sample) -> float:
    return 0.0


async def lambda_maker(sample: Sample) -> Callable[[], None]:
    return lambda: None


async def of_other(other: Other) -> float:
    return 0.0


async def words(sample: Sample) -> str:
    return ""


async def one_reading(readings: float) -> float:
    return readings


async def yes(view: float) -> bool:
    return True


async def of_text(view: str) -> Decision:
    return Decision()


class SyncCall:
    def __call__(self, sample: Sample) -> float:
        return 0.0


class TwoInputs:
    def __init__(self, given: str, more: int) -> None:
        self.given = given

    async def __call__(self, sample: Sample) -> float:
        return 0.0


class AsyncRecall:
    async def recall(self, sample: Sample, reading: float) -> None: ...

    async def __call__(self, sample: Sample) -> float:
        return 0.0


class ShortRecall:
    def recall(self, reading: float) -> None: ...

    async def __call__(self, sample: Sample) -> float:
        return 0.0


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"facets": [sync_facet]}, r"facet sync_facet: it must be `async def`"),
    ({"facets": [SyncCall]}, r"facet synccall: its `__call__` must be `async def`"),
    ({"facets": [untyped]}, r"facet untyped: parameter `sample` has no type, so it cannot travel"),
    ({"facets": [silent]}, r"facet silent: it does not say what it returns"),
    ({"facets": [greedy]}, r"facet greedy: it takes 2 inputs, but is given the observation"),
    ({"facets": [anything]}, r"facet anything: parameter `\*samples` could be anything"),
    ({"facets": [lambda_maker]}, r"facet lambda_maker: .*wire form"),
    (
        {"facets": [TwoInputs]},
        r"facet twoinputs: it is built with the input of the run.*given, more",
    ),
    ({"facets": [AsyncRecall]}, r"facet asyncrecall: `recall` must be a plain `def`"),
    (
        {"facets": [ShortRecall]},
        r"facet shortrecall: `recall` is told its 1 input and its product",
    ),
    ({"facets": [of_other]}, r"facet of_other takes Other, but observe returns Sample"),
    ({"facets": [words]}, r"synthesize takes float, but facet words returns str"),
    ({"synthesize": one_reading}, r"synthesize takes float, but is given the list of readings"),
    ({"decide": yes}, r"decide returns bool, not a Decision"),
    ({"decide": of_text}, r"decide takes str, but synthesize returns float"),
    ({"act": depth}, r"act takes Sample, but decide returns Decision"),
]


@pytest.mark.parametrize(("changes", "text"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_d41_a_mistake_in_a_phase_is_a_type_error_at_definition(
    changes: dict[str, Any], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        ooda(**changes)


@pytest.mark.parametrize("missing", ["observe", "facets", "synthesize", "decide"])
def test_g15_a_phase_that_is_missing_is_a_type_error(missing: str) -> None:
    phases: dict[str, Any] = {
        "observe": look,
        "facets": [depth],
        "synthesize": worst,
        "decide": choose,
    }
    del phases[missing]
    with pytest.raises(TypeError, match=missing):
        Ooda(**phases)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"max_cycles": 0}, "max_cycles=0: an Ooda runs at least one cycle"),
        ({"max_cycles": -3}, "max_cycles=-3"),
        ({"every": 0.0}, "every=0.0"),
        ({"remember": 0}, "remember=0"),
        ({"facets": []}, "at least one facet"),
        ({"facets": [depth, depth]}, "two facets have one name: depth, depth"),
        ({"tools": [act, act]}, "two tools are called 'act'"),
        ({"name": "a/b"}, "no name for an actor"),
        ({"decide": Agent(ScriptedModel())}, "decides by calling tools, and has none"),
    ],
    ids=str,
)
def test_g15_g_h_a_wrong_value_is_a_value_error_at_definition(
    changes: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        ooda(**changes)


def test_a_model_that_decides_may_bring_its_tools() -> None:
    assert ooda(decide=Agent(ScriptedModel(), tools=[act])).tools == (act,)


async def test_annotations_may_name_what_stands_around_the_definition() -> None:
    @attrs.frozen
    class Local:
        n: int

    async def observe(given: int) -> Local:
        return Local(given)

    async def facet(local: Local) -> int:
        return local.n

    async def merge(readings: Sequence[int], local: Local) -> int:
        return readings[0] + local.n

    async def decide(view: int) -> Decision:
        return Decision(stop=True)

    local: Ooda[int, int] = Ooda(
        observe=observe, facets=[facet], synthesize=merge, decide=decide, name="local"
    )
    assert (await local.run(21)).output == 42


async def test_phases_may_be_partials_objects_and_classes_with_and_without_input() -> None:
    class Observe:
        def __init__(self, given: str) -> None:
            self.given = given

        async def __call__(self) -> Sample:
            return Sample(len(self.given))

    class Twice:
        async def __call__(self, sample: Sample) -> float:
            return 2.0 * sample.depth

    async def times(factor: float, sample: Sample, cycle: Cycle, ctx: Context) -> float:
        assert ctx.headers.thread
        return factor * sample.depth * cycle.number

    definition = ooda(observe=Observe, facets=[Twice, partial(times, 5.0)])
    assert [facet.name for facet in definition.facets] == ["twice", "times"]
    assert (await definition.run("four")).output == 20.0
