"""What is odd about a definition is said in one sentence, by tool name."""

import json
from typing import Any

from mcpctl.calling.server_check import oddities
from tests.table import for_each

GOOD = {"name": "a", "description": "d", "inputSchema": {"type": "object"}}


def odd(**members: Any) -> list[str]:
    return oddities([json.dumps({**GOOD, **members}).encode()])


def test_a_usual_definition_is_not_odd() -> None:
    schema = {"type": "object", "properties": {"x": {"type": ["string", "null"]}}, "required": ["x"]}
    assert odd(inputSchema=schema, outputSchema=schema, title="A", annotations={"readOnlyHint": True}) == []
    assert odd(title=None, annotations=None, outputSchema=None) == []


@for_each(
    ("members", "what"),
    [
        ({"name": "a b"}, "its name has characters, or a length, that clients may refuse"),
        ({"name": "a" * 129}, "its name has characters, or a length, that clients may refuse"),
        ({"title": 5}, "its title is not a text"),
        ({"description": 5}, "its description is not a text"),
        ({"inputSchema": None}, "its inputSchema is missing"),
        ({"inputSchema": True}, "its inputSchema is not an object"),
        ({"inputSchema": {}}, "its inputSchema is not of type object"),
        ({"inputSchema": {"type": "object", "required": "x"}}, "its inputSchema is not a JSON Schema: $.required: "),
        ({"outputSchema": {"type": "array"}}, "its outputSchema is not of type object"),
        ({"annotations": []}, "its annotations are not an object"),
        ({"annotations": {"idempotentHint": "yes"}}, "its idempotentHint is neither true nor false"),
        ({"annotations": {"readOnlyHint": True, "destructiveHint": True}}, "which contradict each other"),
    ],
)
def test_an_odd_member_is_named(members: dict[str, Any], what: str) -> None:
    (said,) = odd(**members)
    assert said.startswith(f"tool '{members.get('name', 'a')}': ")
    assert what in said


@for_each("name", [None, "", " ", 5, []])
def test_a_tool_without_a_usable_name_is_told_by_its_place(name: Any) -> None:
    good = json.dumps(GOOD).encode()
    assert oddities([good, json.dumps({**GOOD, "name": name}).encode()]) == [
        "tool no. 2 has no usable name: it is left out"
    ]


def test_what_is_listed_twice_and_what_is_no_json_is_told() -> None:
    good = json.dumps(GOOD).encode()
    assert oddities([good, good, b'{"name":"b","x":NaN}', b"[]"]) == [
        "tool 'a' is listed twice: the second is left out",
        "tool no. 3 is not strict JSON",
        "tool no. 4 has no usable name: it is left out",
    ]


def test_a_schema_that_is_too_deep_ends_nothing() -> None:
    deep: Any = {"type": "object"}
    for _ in range(2000):
        deep = {"type": "object", "properties": {"x": deep}}
    text = b'{"name":"a","description":"d","inputSchema":' + _dumped(deep) + b"}"
    assert oddities([text]) in (["tool 'a': its inputSchema is too deep"], ["tool no. 1 is not strict JSON"])


def _dumped(schema: Any) -> bytes:
    depth = 0
    while "properties" in schema:
        schema, depth = schema["properties"]["x"], depth + 1
    return b'{"type":"object","properties":{"x":' * depth + b'{"type":"object"}' + b"}}" * depth


def test_tools_without_a_description_are_told_together() -> None:
    texts = [json.dumps({"name": name, "inputSchema": {"type": "object"}}).encode() for name in "abcde"]
    told = "no description, so that only the name can be found: "
    assert oddities(texts) == [f"{told}a, b, c and 2 more"]
    assert oddities(texts[:1]) == [f"{told}a"]
