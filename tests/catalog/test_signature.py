"""A tool's parameters in one line."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcpctl.base.models import Tool
from mcpctl.catalog.signature import signature
from tests.effort import calls
from tests.table import for_each


def written(schema: Any, limit: int = 400) -> str:
    return signature(Tool("s", "t", {"inputSchema": schema}, ""), limit)


def parameter(schema: Any, **root: Any) -> str:
    """How one optional parameter `p` of this schema is written."""
    text = written({"properties": {"p": schema}, **root})
    assert text.startswith("(p: ")
    return text.removeprefix("(p: ").removesuffix(")")


def test_required_parameters_come_first_in_the_order_of_the_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "state": {"enum": ["open", "closed"], "default": "open"},
            "owner": {"type": "string"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "repo": {"type": "string"},
        },
        "required": ["repo", "owner"],
    }
    assert written(schema) == "(owner*: str, repo*: str, state: open|closed = open, labels: [str])"


@for_each("schema", [{}, None, [], "x", {"type": "object"}, {"properties": {}}, {"properties": "x"}])
def test_a_tool_without_parameters_has_empty_brackets(schema: Any) -> None:
    assert written(schema) == "()"


@for_each(
    ("schema", "expected"),
    [
        ({"type": "string"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "num"),
        ({"type": "boolean"}, "bool"),
        ({"type": "object"}, "{…}"),
        ({"properties": {"a": {}}}, "{…}"),
        ({"type": "array"}, "[any]"),
        ({"items": {"type": "integer"}}, "[int]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, "[[str]]"),
        ({}, "any"),
        (True, "any"),
        (None, "any"),
        ({"type": ["string", "null"]}, "str"),
        ({"type": ["string", "integer"]}, "str|int"),
        ({"type": "string", "nullable": True}, "str"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, "str"),
        ({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "str|[str]"),
        ({"anyOf": [{"const": "asc"}, {"const": "desc"}]}, "asc|desc"),
        ({"anyOf": [{"type": "string"}, {}]}, "any"),
        ({"allOf": [{"description": "x"}, {"type": "integer"}]}, "int"),
        ({"type": "object", "anyOf": [{"required": ["a"]}]}, "{…}"),
        ({"const": 5}, "5"),
        ({"enum": list("abcde")}, "a|b|c|d|e"),
        ({"enum": list("abcdef")}, "a|b|c|d|e|…"),
        ({"enum": ["a b", "", "a|b", "1", "true", 1, True, {"x": 1}, [2]]}, 'a b|""|"a|b"|"1"|"true"|…'),
        ({"enum": [{"x": 1}, [2], 1.5]}, "{…}|[…]|1.5"),
    ],
)
def test_a_type_is_written_shortly(schema: Any, expected: str) -> None:
    assert parameter(schema) == expected


@for_each(
    ("default", "expected"),
    [
        ("open", "str = open"),
        (5, "str = 5"),
        (False, "str = false"),
        ("", 'str = ""'),
        ([], "str = []"),
        ([1], "str = […]"),
        ("x" * 99, f"str = {'x' * 23}…"),
        (None, "str"),
    ],
)
def test_a_default_is_shown_as_far_as_it_is_short(default: Any, expected: str) -> None:
    assert parameter({"type": "string", "default": default}) == expected


def test_an_integer_too_long_for_python_to_write_is_left_out() -> None:
    assert parameter({"type": "integer", "default": 10**5000}) == "int = …"


def test_null_is_shown_only_where_the_parameter_cannot_be_left_out() -> None:
    schema = {"properties": {"p": {"type": ["string", "null"]}}, "required": ["p"]}
    assert written(schema) == "(p*: str|null)"


def test_a_required_parameter_that_is_not_described_is_still_named() -> None:
    assert written({"properties": {"a": {"type": "string"}}, "required": ["b", 5, None]}) == "(b*: any, a: str)"


@for_each("required", [None, "p", {"p": 1}, 5, [["p"]]])
def test_a_broken_list_of_required_parameters_requires_nothing(required: Any) -> None:
    assert written({"properties": {"p": {"type": "string"}}, "required": required}) == "(p: str)"


@for_each(
    ("ref", "expected"),
    [
        ("#/$defs/State", "open|closed"),
        ("#/$defs/a~1b", "int"),
        ("#/$defs/Loop", "any"),
        ("#/$defs/Tree", "[any]"),
        ("#/$defs/missing", "any"),
        ("https://example.org/x.json", "any"),
        (7, "any"),
    ],
)
def test_a_local_reference_is_followed_as_far_as_it_leads(ref: Any, expected: str) -> None:
    definitions = {
        "State": {"enum": ["open", "closed"]},
        "a/b": {"type": "integer"},
        "Loop": {"$ref": "#/$defs/Loop"},
        "Tree": {"type": "array", "items": {"$ref": "#/$defs/Loop"}},
    }
    assert parameter({"$ref": ref}, **{"$defs": definitions}) == expected


def test_parameters_come_from_references_and_parts_of_the_whole_schema() -> None:
    schema = {
        "$ref": "#/$defs/Arguments",
        "allOf": [{"properties": {"b": {"type": "integer"}}}, {"$ref": "#"}],
        "$defs": {"Arguments": {"properties": {"a": {"type": "string"}}, "required": ["a"]}},
    }
    assert written(schema) == "(a*: str, b: int)"


def test_alternatives_for_the_whole_schema_are_marked_as_left_out() -> None:
    assert written({"properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}]}) == "(a: str, …)"


def test_what_does_not_fit_is_marked() -> None:
    schema = {"properties": {f"parameter_{n}": {"type": "string"} for n in range(100)}}
    assert written(schema, limit=50) == "(parameter_0: str, parameter_1: str, …)"
    assert written(schema, limit=10) == "(…)"


@for_each("name", ["a\nb", "a\x1b[31mb", "a\u202eb", "a\u2028b", "a\ud800b", "a\x00b"])
def test_control_characters_are_replaced(name: str) -> None:
    text = written({"properties": {name: {"enum": [name], "default": name}}})
    assert text.isprintable()
    assert "a\ufffd" in text


def test_a_name_cannot_pass_for_two_parameters() -> None:
    assert written({"properties": {"a*: str, b": {"type": "string"}}}) == '("a*: str, b": str)'


def test_a_schema_that_fans_out_without_end_is_written_in_bounded_time() -> None:
    fan = {f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 1000 + [{"type": "string"}]} for n in range(50)}
    schema = {"$defs": fan, "properties": {f"p{n}": {"$ref": "#/$defs/L0"} for n in range(5000)}}
    assert len(written(schema)) <= 400


def nested(outer: Callable[[Any], Any]) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(4):
        schema = outer(schema)
    return schema


@for_each(
    "schema",
    [
        nested(lambda inner: {"type": ["array"] * 50, "items": inner}),
        nested(lambda inner: {"anyOf": [inner] * 50}),
        {"enum": [{}] * 100_000},
        {"$ref": "#" + "/a" * 100_000},
        {"type": ["string"] * 100_000},
    ],
)
def test_a_type_that_says_the_same_over_and_over_is_read_a_little(schema: Any) -> None:
    assert calls(lambda: parameter(schema)) < 20_000


members = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "default",
        "nullable",
    ]
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["#", "#/items", "array"]),
)
schemas = st.recursive(
    values,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(members | st.text(max_size=3), inner),
    max_leaves=10,
)


@given(st.dictionaries(members, schemas), st.integers(3, 120))
def test_any_schema_gives_one_bounded_printable_line_and_always_the_same(schema: dict[str, Any], limit: int) -> None:
    text = written(schema, limit)
    assert len(text) <= limit
    assert text.isprintable()
    assert text == written(schema, limit)


@given(st.dictionaries(members, schemas))
def test_the_signature_depends_on_the_json_alone(schema: dict[str, Any]) -> None:
    assert written(schema) == written(json.loads(json.dumps(schema)))
