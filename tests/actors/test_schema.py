"""JSON Schema of signatures and classes, and the way of values there and back."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NewType

import attrs
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.actors.secret import Secret
from boyd.actors.tools.docstrings import described_arguments, described_purpose
from boyd.actors.tools.schema import schema_of
from boyd.actors.tools.structure import Misfit, from_json
from boyd.actors.tools.validate import Validator
from boyd.actors.tools.values import to_json

OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": False}
UserId = NewType("UserId", str)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.Enum):
    SMALL = (1, 2)
    LARGE = (3, 4)


@attrs.frozen
class Address:
    """Where somebody lives.

    Attributes:
        zip: five digits
    """

    street: Annotated[str, "with the number"]
    zip: str = ""


@dataclasses.dataclass(frozen=True)
class Line:
    sku: str
    count: int = 1


@dataclasses.dataclass(frozen=True)
class Order:
    id: int
    lines: list[Line]
    to: Address | None = None
    note: str | None = None
    tags: list[str] = dataclasses.field(default_factory=list[str])


@attrs.frozen
class Tree:
    value: int
    children: tuple[Tree, ...] = ()


@attrs.frozen
class Card:
    number: str
    kind: Literal["card"] = "card"


@attrs.frozen
class Cash:
    amount: float
    kind: Literal["cash"] = "cash"


def test_g22_a_dataclass_with_a_nested_list_of_dataclasses() -> None:
    assert schema_of(Order) == {
        "$ref": "#/$defs/Order",
        "$defs": {
            "Order": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
                    "to": {
                        "anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}],
                        "default": None,
                    },
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["id", "lines"],
                "additionalProperties": False,
            },
            "Line": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string"},
                    "count": {"type": "integer", "default": 1},
                },
                "required": ["sku"],
                "additionalProperties": False,
            },
            "Address": {
                "type": "object",
                "properties": {
                    "street": {"type": "string", "description": "with the number"},
                    "zip": {"type": "string", "description": "five digits", "default": ""},
                },
                "required": ["street"],
                "additionalProperties": False,
            },
        },
    }


@pytest.mark.parametrize(
    ("tp", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (object, {}),
        (Any, {}),
        (UserId, {"type": "string"}),
        (Annotated[int, 5, "how many"], {"type": "integer", "description": "how many"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, True], {"enum": ["a", 1, True]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Size, {"type": "string", "enum": ["SMALL", "LARGE"]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, object], {"type": "object", "additionalProperties": {}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (pathlib.Path, {"type": "string"}),
    ],
)
def test_schemas_of_types(tp: object, schema: dict[str, Any]) -> None:
    assert schema_of(tp) == schema


def test_recursion_ends_in_a_reference() -> None:
    properties = schema_of(Tree)["$defs"]["Tree"]["properties"]
    assert properties["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert not Validator(schema_of(Tree)).problems({"value": 1, "children": [{"value": 2}]})


def test_two_classes_of_one_name_are_two_definitions() -> None:
    def other() -> type:
        @attrs.frozen
        class Line:
            other: bool

        return Line

    schema = schema_of(Line | other())
    assert set(schema["$defs"]) == {"Line", "Line_2"}


@pytest.mark.parametrize("tp", [bytes, list[bytes], dict[int, str], Secret, complex, type])
def test_what_has_no_json_form_is_refused_by_name(tp: object) -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        schema_of(tp)


@pytest.mark.parametrize(
    "tp", [Order, Tree, Card | Cash | None, tuple[int, str], set[Color], dict[str, Size]]
)
def test_every_schema_passes_the_metaschema(tp: object) -> None:
    schema = schema_of(tp)
    assert jsonschema_rs.meta.is_valid({"$schema": META, **schema})
    assert not jsonschema_rs.meta.is_valid({"$schema": META, **schema, "minLength": "x"})


META = "https://json-schema.org/draft/2020-12/schema"

# ------------------------------------------------------------------ values
texts = st.text(max_size=5)
addresses = st.builds(Address, texts, texts)
orders = st.builds(
    Order,
    st.integers(-(2**60), 2**60),
    st.lists(st.builds(Line, texts, st.integers(0, 9)), max_size=3),
    st.none() | addresses,
    st.none() | texts,
    st.lists(texts, max_size=3),
)
trees = st.recursive(
    st.builds(Tree, st.integers(0, 9)),
    lambda inner: st.builds(Tree, st.integers(0, 9), st.lists(inner, max_size=2).map(tuple)),
    max_leaves=5,
)
floats = st.floats(allow_nan=False, allow_infinity=False)
TYPED: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers(-(2**60), 2**60)),
    (float, floats),
    (bool, st.booleans()),
    (str, texts),
    (Order, orders),
    (Tree, trees),
    (Card | Cash | None, st.none() | st.builds(Card, texts) | st.builds(Cash, floats)),
    (int | float | str | None, st.integers(0, 9) | floats | texts | st.none()),
    (Color | bool, st.sampled_from(Color) | st.booleans()),
    (list[tuple[int, str]], st.lists(st.tuples(st.integers(0, 9), texts), max_size=3)),
    (frozenset[int], st.frozensets(st.integers(0, 9))),
    (set[Size], st.sets(st.sampled_from(Size))),
    (dict[str, list[Address]], st.dictionaries(texts, st.lists(addresses, max_size=2), max_size=2)),
    (datetime.datetime, st.datetimes()),
    (datetime.date, st.dates()),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (uuid.UUID, st.uuids()),
    (pathlib.Path, st.sampled_from(["/a/b", "c"]).map(pathlib.Path)),
    (object, st.recursive(st.none() | st.integers(0, 9) | texts, st.lists, max_leaves=4)),
]


@given(st.data())
def test_a_value_validates_against_the_schema_of_its_type_and_comes_back(
    data: st.DataObject,
) -> None:
    tp, values = data.draw(st.sampled_from(TYPED))
    value = data.draw(values)
    tree = json.loads(json.dumps(to_json({"it": value})))
    schema = schema_of(dict[str, tp])  # type: ignore[valid-type]
    assert Validator(schema).problems(tree) == ()
    again = from_json(tree["it"], tp)
    assert again == value
    assert type(again) is type(value)


@given(st.data())
def test_any_tree_is_a_value_that_comes_back_or_is_refused(data: st.DataObject) -> None:
    tp, _ = data.draw(st.sampled_from(TYPED))
    leaves = st.none() | st.booleans() | st.integers() | floats | texts
    tree = data.draw(
        st.recursive(
            leaves,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
            max_leaves=6,
        )
    )
    try:
        value = from_json(tree, tp)
    except Misfit:
        return
    assert from_json(json.loads(json.dumps(to_json(value))), tp) == value


@pytest.mark.parametrize(
    ("tree", "tp"),
    [
        ("12", int),
        (True, int),
        (1, bool),
        (1.5, int),
        (1, str),
        ("abc", list[str]),
        (None, str),
        ("nan", float),
        ({"street": "s", "zzz": 1}, Address),
        ({}, Address),
        ([1], tuple[int, str]),
        ("green", Color),
        ("soon", datetime.datetime),
    ],
)
def test_nothing_is_coerced(tree: object, tp: object) -> None:
    with pytest.raises(Misfit):
        from_json(tree, tp)


def test_numbers_of_json_fit_where_they_are_equal() -> None:
    assert repr(from_json(1, float)) == "1.0"
    assert repr(from_json(1.0, int)) == "1"
    assert repr(from_json(1, float | int)) == "1"
    assert repr(from_json(1.0, int | float)) == "1.0"


def test_a_misfit_names_the_way_to_it() -> None:
    with pytest.raises(Misfit, match=r"^lines/1/count: expected a whole number, got a text$"):
        from_json({"id": 1, "lines": [{"sku": "a"}, {"sku": "b", "count": "2"}]}, Order)


@pytest.mark.parametrize("value", [b"x", object(), {1: 2}, Secret("sk-canary"), {"a": [b"x"]}])
def test_what_cannot_be_told_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON form") as caught:
        to_json(value)
    assert "sk-canary" not in str(caught.value)


# ------------------------------------------------------------------ docstrings
DOC = """Search the index
    and the archive.

    Slow in the morning.

    Args:
        query: what to look for,
            in plain words
        limit (int): at most so many
        **rest: more

    Returns:
        not: an argument
    """


def test_docstrings_give_purpose_and_arguments() -> None:
    assert described_purpose(DOC) == "Search the index and the archive.\n\nSlow in the morning."
    assert described_arguments(DOC) == {
        "query": "what to look for, in plain words",
        "limit": "at most so many",
        "rest": "more",
    }
    assert described_purpose("") == ""
    assert described_arguments("One line.") == {}
