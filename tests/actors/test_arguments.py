"""What a model wrote as arguments to a plain tree, and against a schema."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.actors.tools.arguments import ArgumentsError, parse_arguments
from boyd.actors.tools.results import MOST_BYTES, MOST_LINES, capped, result_text
from boyd.actors.tools.validate import Validator


@pytest.mark.parametrize(
    ("raw", "tree"),
    [
        ("", {}),
        (" \n", {}),
        (None, {}),
        ("null", {}),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        (json.dumps('{"a": 1}'), {"a": 1}),
        (json.dumps(""), {}),
        (' {"a": {"b": [1, 2.5, null, true]}}\n', {"a": {"b": [1, 2.5, None, True]}}),
    ],
)
def test_b21_what_means_an_object(raw: str | None, tree: dict[str, object]) -> None:
    assert parse_arguments(raw) == tree


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("[1]", "are an array"),
        ("5", "are a number"),
        ("true", "are true or false"),
        (json.dumps(json.dumps('{"a": 1}')), "are a text"),
        ('{"a":1}{"a":2}', "more than one JSON value"),
        ('{"a":1,"a":2}', "'a' is given twice"),
        ('{"b": {"a":1,"a":2}}', "'a' is given twice"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": -Infinity}', "-Infinity is no JSON number"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "1" * 5000 + "}", "too long"),
        ('{"a": "' + "x" * 1_000_000 + '"}', "characters long"),
        ("x" * 1_000_000, "characters long"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "nested deeper"),
        ("[" * 10_000, "nested deeper"),
        ('{"a":' * 70 + "1" + "}" * 70, "nested deeper than 64"),
        ('{"text": "it was', "cut off"),
        ('{"a": 1,', "cut off"),
        ("{'a': 1}", "not valid JSON"),
        ("call me", "not valid JSON"),
    ],
)
def test_b21_the_rest_is_an_error_that_names_the_problem(raw: str, words: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        parse_arguments(raw)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.text() | st.from_regex(r'[\[\]{}",:0-9a-z\\ ]*', fullmatch=True))
def test_b21_any_text_is_an_object_or_an_error(raw: str) -> None:
    try:
        tree = parse_arguments(raw)
    except ArgumentsError:
        return
    assert type(tree) is dict


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["a", "b"]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "when": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["limit"],
    "additionalProperties": False,
    "$defs": {"Line": {"type": "object", "required": ["sku"], "properties": {"sku": {}}}},
}


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({}, "the field 'limit' is missing"),
        ({"limit": 1, "zz": 1}, "there is no field 'zz'"),
        ({"limit": "7"}, 'limit: "7" is not of type "integer"'),
        ({"limit": True}, 'limit: True is not of type "integer"'),
        ({"limit": 0}, "limit: 0 is less than the minimum of 1"),
        ({"limit": 1, "kind": "c"}, 'kind: "c" is not one of "a" or "b"'),
        ({"limit": 1, "lines": [{"sku": 1}, {}]}, "lines/1: the field 'sku' is missing"),
        (
            {"limit": 1, "when": "now"},
            'when: "now" fits none of the allowed forms: when is no integer; when is no null',
        ),
        ({"limit": 1, "lines": {"a": 1}}, 'lines: this object is not of type "array"'),
        ({"limit": "\ud83e"}, "a text has half of a surrogate pair in it"),
    ],
)
def test_g22_each_problem_names_its_field(tree: dict[str, object], problem: str) -> None:
    assert Validator(SCHEMA).problems(tree) == (problem,)


def test_g22_no_value_is_repeated_beyond_80_characters() -> None:
    long = "x" * 5000
    problems = Validator(SCHEMA).problems({"limit": long, "kind": long, "when": long, long: 1})
    assert len(problems) == 4
    assert all(len(problem) < 250 for problem in problems)
    many = Validator({"type": "object", "additionalProperties": {"type": "null"}})
    told = many.problems({f"f{n}": n for n in range(100)})
    assert len(told) == 11
    assert told[-1] == "and 90 more"


def test_no_reference_is_ever_fetched(tmp_path: pathlib.Path) -> None:
    there = tmp_path / "schema.json"
    there.write_text('{"type": "integer"}')
    for where in ("http://127.0.0.1:9/x.json", there.as_uri()):
        with pytest.raises(ValueError, match="not a usable JSON Schema"):
            Validator({"$ref": where})
    with pytest.raises(ValueError, match="not a usable JSON Schema"):
        Validator({"type": "nonsense"})


def test_a_pattern_from_elsewhere_cannot_hang() -> None:
    rules = Validator({"properties": {"a": {"pattern": "^(a+)+$"}}})
    assert rules.problems({"a": "a" * 40 + "!"})


# ------------------------------------------------------------------ results
def test_text_is_told_as_it_is_and_values_as_json() -> None:
    assert result_text("as it is") == "as it is"
    assert result_text({"a": [1, "ü", None]}) == '{"a": [1, "ü", null]}'
    assert result_text(None) == "null"
    assert result_text("half \ud83e") == "half \ufffd"


@pytest.mark.parametrize(
    "text",
    [
        "x" * 60_000,
        "🦀" * 20_000,
        "a\n" * 3000,
        "🦀\n" * 30_000,
        "x" + "🦀" * 20_000,
        "x" * 49_999 + "🦀",
    ],
)
def test_s4_a_long_result_is_its_beginning_and_a_note(text: str) -> None:
    told = capped(text)
    assert len(told.encode()) <= MOST_BYTES
    assert told.count("\n") + 1 <= MOST_LINES
    kept, _, note = told.rpartition("\n")
    assert text.startswith(kept)
    assert note.startswith("[cut: this is the beginning, ")
    assert len(kept.encode()) > 3000


@given(st.text(), st.integers(200, 400), st.integers(2, 9))
def test_s4_a_result_is_never_over_its_caps(text: str, most_bytes: int, most_lines: int) -> None:
    told = capped(text * 20, most_bytes=most_bytes, most_lines=most_lines)
    assert len(told.encode()) <= most_bytes
    assert told.count("\n") + 1 <= most_lines


def test_what_fits_is_left_alone() -> None:
    assert capped("x" * 50_000) == "x" * 50_000
    assert capped("\n" * 1999) == "\n" * 1999
