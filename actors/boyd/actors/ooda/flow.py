"""What flows between the phases of a definition: the plan, and whether its types can fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args, get_origin

import attrs

from boyd.actors.graph.frontier import Plan
from boyd.actors.ooda.cycle import Decision
from boyd.actors.ooda.phases import Phase

__all__ = ["check_flow", "facet_node", "plan_of"]


def facet_node(name: str) -> str:
    """The node of a facet."""
    return f"facet-{name}"


def plan_of(facets: Sequence[str], *, with_observation: bool) -> Plan:
    """Observe, then all facets at once, then synthesize, decide, act.

    Raises:
        ValueError: there is no facet, or two have one name.
    """
    if not facets:
        raise ValueError("Ooda needs at least one facet to orient by")
    if len(set(facets)) != len(facets):
        raise ValueError(f"two facets have one name: {', '.join(facets)}")
    nodes = tuple(facet_node(name) for name in facets)
    return Plan(
        {
            "observe": (),
            **dict.fromkeys(nodes, ("observe",)),
            "synthesize": (*nodes, *(("observe",) if with_observation else ())),
            "decide": ("synthesize",),
            "act": ("decide", "synthesize"),
        }
    )


def check_flow(
    observe: Phase,
    facets: Sequence[Phase],
    synthesize: Phase,
    decide: Phase | None,
    act: Phase | None,
) -> None:
    """Raises TypeError where a phase cannot take what the one before makes."""
    for facet in facets:
        _fits(f"facet {facet.name}", facet.takes[0], "observe", observe.returns)
    if len(synthesize.takes) > 1:
        _fits("synthesize", synthesize.takes[1], "observe", observe.returns)
    _check_readings(synthesize, facets)
    if decide is not None:
        _fits("decide", decide.takes[0], "synthesize", synthesize.returns)
        if decide.returns is not Decision:
            raise TypeError(f"decide returns {_name(decide.returns)}, not a Decision")
    if act is not None:
        _fits("act", act.takes[0], "decide", Decision)
        if len(act.takes) > 1:
            _fits("act", act.takes[1], "synthesize", synthesize.returns)


def _check_readings(synthesize: Phase, facets: Sequence[Phase]) -> None:
    readings = synthesize.takes[0]
    origin, arguments = get_origin(readings), get_args(readings)
    if origin is None or not issubclass(origin, Sequence):
        raise TypeError(
            f"synthesize takes {_name(readings)}, but is given the list of readings: Sequence[...]"
        )
    if len(arguments) == 1 or (len(arguments) == 2 and arguments[1] is Ellipsis):  # noqa: PLR2004  # tuple[X, ...]
        for facet in facets:
            _fits("synthesize", arguments[0], f"facet {facet.name}", facet.returns)


def _fits(taker: str, takes: Any, maker: str, makes: Any) -> None:  # noqa: ANN401
    """Two plain classes fit when one is the other, or may stand for it on the wire; of other types nothing is said."""
    if not (_is_plain(takes) and _is_plain(makes)) or takes is makes or object in (takes, makes):
        return
    if takes is float and makes is int:
        return
    if attrs.has(takes) or attrs.has(makes) or {takes, makes} <= {str, int, float, bool, bytes}:
        raise TypeError(f"{taker} takes {_name(takes)}, but {maker} returns {_name(makes)}")


def _is_plain(annotation: Any) -> bool:  # noqa: ANN401
    return isinstance(annotation, type) and get_origin(annotation) is None


def _name(annotation: Any) -> str:  # noqa: ANN401
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
