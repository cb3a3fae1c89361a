"""Nouns as their number wants them."""

from __future__ import annotations

import pytest

from boyd.actors.conversation.artifacts import Usage
from boyd.actors.conversation.usage import total_usage
from boyd.actors.patterns.react import StepLimit
from boyd.actors.plural import counted, noun_for


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("lines", "line"),
        ("cycles", "cycle"),
        ("entries", "entry"),
        ("batches", "batch"),
        ("boxes", "box"),
    ],
)
def test_only_one_is_singular(plural: str, singular: str) -> None:
    assert noun_for(1, plural) == singular
    assert [noun_for(number, plural) for number in (0, 2, 1.5, 11)] == [plural] * 4


def test_a_number_is_written_as_people_read_it() -> None:
    assert [counted(number, "lines") for number in (0, 1, 1_500)] == [
        "0 lines",
        "1 line",
        "1,500 lines",
    ]


def test_what_is_told_of_one_turn_and_one_token_is_grammar() -> None:
    assert str(StepLimit(turns=1)).startswith("ReAct stopped after 1 turn, ")
    assert str(total_usage([Usage(input_tokens=1, output_tokens=2)])) == "1 token in, 2 out"
