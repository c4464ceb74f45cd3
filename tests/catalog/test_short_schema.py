"""A schema without what a call can do without."""

from typing import Any

from mcpctl.catalog.short_schema import shortened

LONG = "word " * 40


def test_names_types_choices_and_limits_stay() -> None:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "create_issueArguments",
        "type": "object",
        "additionalProperties": False,
        "required": ["title"],
        "properties": {
            "title": {"type": "string", "title": "Title", "description": "Of the issue."},
            "state": {"enum": [LONG, "closed"], "default": LONG, "title": "State", "examples": ["closed"]},
            "labels": {"type": "array", "maxItems": 5, "items": {"$ref": "#/$defs/Label"}},
            "more": {"type": "object", "additionalProperties": {"type": "string", "title": "More"}},
        },
        "$defs": {"Label": {"anyOf": [{"type": "string", "pattern": "^a"}, {"const": 7, "title": "Seven"}]}},
    }
    assert shortened(schema, 100) == {
        "type": "object",
        "required": ["title"],
        "properties": {
            "title": {"type": "string", "description": "Of the issue."},
            "state": {"enum": [LONG, "closed"], "default": LONG},
            "labels": {"type": "array", "maxItems": 5, "items": {"$ref": "#/$defs/Label"}},
            "more": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "$defs": {"Label": {"anyOf": [{"type": "string", "pattern": "^a"}, {"const": 7}]}},
    }


def test_parameters_with_the_names_of_what_is_left_out_stay() -> None:
    parameters = {name: {"type": "string"} for name in ("title", "examples", "$schema", "description", "enum")}
    schema = {"properties": parameters, "required": [*parameters]}
    assert shortened(schema, 10) == schema


def test_what_refers_to_a_schema_or_a_parameter_finds_it() -> None:
    schema = {
        "$id": "https://a.example/tool",
        "properties": {"user": {"$ref": "user"}, "pet": {"discriminator": {"mapping": {"title": "#/$defs/b"}}}},
        "dependencies": {"title": ["user"], "example": {"required": ["pet"]}},
        "$defs": {"a": {"$id": "user", "type": "string"}, "b": {}},
    }
    assert shortened(schema, 10) == schema


def test_a_long_description_ends_in_an_ellipsis() -> None:
    found = shortened({"description": LONG, "properties": {"a": {"description": LONG}}}, 20)
    assert found == {
        "description": "word word word…",
        "properties": {"a": {"description": "word word word…"}},
    }


def test_a_schema_that_holds_anything_is_read_to_a_depth_and_stays_below_it() -> None:
    deep: dict[str, Any] = {"title": "deepest"}
    for _ in range(5000):
        deep = {"items": deep}
    found: Any = shortened({"properties": 7, "enum": {}, "description": [LONG], "anyOf": [[deep]]}, 10)
    assert (found["properties"], found["enum"], found["description"]) == (7, {}, [LONG])
    assert found["anyOf"][0][0]["items"]
