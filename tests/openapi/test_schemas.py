"""Schemas of documents as JSON Schema 2020-12."""

from typing import Any

import jsonschema
import pytest

from mcpctl.openapi.faults import WrongDocument
from tests.openapi.documents import body_schema, compiled, input_schema, of_operation, skipped
from tests.table import for_each

NULL = {"type": "null"}
REF = {"$ref": "#/components/schemas/A"}
HERE = {"$ref": "#/$defs/A"}
COMPONENTS: dict[str, Any] = {"components": {"schemas": {"A": {"type": "string"}}}}


@for_each("schema, result", [
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "string", "nullable": False}, {"type": "string"}),
    ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
    ({"enum": ["a", None], "nullable": True}, {"enum": ["a", None]}),
    ({"nullable": True}, {}),
    ({"allOf": [REF], "nullable": True}, {"anyOf": [{"allOf": [HERE]}, NULL]}),
    (
        {"type": "object", "oneOf": [REF], "nullable": True, "description": "d", "default": None},
        {"anyOf": [{"type": "object", "oneOf": [HERE]}, NULL], "description": "d", "default": None},
    ),
    ({"not": {"type": "integer", "nullable": True}}, {"not": {"type": ["integer", "null"]}}),
    ({"properties": {"a": {"type": "string", "nullable": True}}}, {"properties": {"a": {"type": ["string", "null"]}}}),
    ({"items": {"type": "integer", "nullable": True}}, {"items": {"type": ["integer", "null"]}}),
    ({**REF, "nullable": True}, HERE),
])  # fmt: skip
def test_nullable_of_3_0_is_a_type_an_any_of_and_null_in_an_enum(schema: Any, result: Any) -> None:
    assert body_schema(schema, "3.0.3", **COMPONENTS) == result


def test_nullable_is_no_keyword_of_3_1() -> None:
    assert body_schema({"type": "string", "nullable": True}) == {"type": "string"}


@for_each("schema, result", [
    ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
    ({"maximum": 9, "exclusiveMaximum": True}, {"exclusiveMaximum": 9}),
    ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
    ({"exclusiveMinimum": True}, {}),
    ({"exclusiveMinimum": 1}, {"exclusiveMinimum": 1}),
])  # fmt: skip
def test_exclusive_bounds_are_numbers(schema: Any, result: Any) -> None:
    assert body_schema(schema, "3.0.3") == result


@for_each("keyword, value", [
    ("example", 1), ("examples", [1]), ("xml", {"name": "x"}), ("externalDocs", {"url": "https://example.com"}),
    ("discriminator", {"propertyName": "kind"}), ("x-go-name", "A"), ("$schema", "https://example.com"),
    ("optional", True), ("definitions", {"a": {"$ref": "#/nowhere"}}),
])  # fmt: skip
def test_keywords_that_say_nothing_to_a_caller_go(keyword: str, value: Any) -> None:
    for version in ("3.0.3", "3.1.1"):
        assert body_schema({"type": "string", keyword: value}, version) == {"type": "string"}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
def test_a_map_of_properties_is_never_mistaken_for_keywords(version: str) -> None:
    names = ("example", "$ref", "nullable", "xml", "x-a", "$id", "required", "properties", "items", "default", "enum")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    assert body_schema(schema, version) == schema


def test_values_are_never_mistaken_for_schemas() -> None:
    value = {"$ref": "#/nowhere", "nullable": True, "$id": "x", "example": 1}
    schema = {"default": value, "const": value, "enum": [value]}
    assert body_schema(schema) == schema
    assert body_schema(schema, "3.0.3") == schema


@for_each("version, result", [
    ("3.0.3", {**HERE, "description": "d"}),
    ("3.1.1", {**HERE, "description": "d", "maxLength": 3, "readOnly": True}),
    ("3.2.0", {**HERE, "description": "d", "maxLength": 3, "readOnly": True}),
])  # fmt: skip
def test_beside_a_reference_3_0_has_a_description_alone_and_3_1_any_keyword(version: str, result: Any) -> None:
    beside = {**REF, "description": "d", "maxLength": 3, "readOnly": True, "example": "x"}
    assert body_schema(beside, version, **COMPONENTS) == result


@for_each("schema, result", [
    (True, True),
    ({"additionalProperties": False}, {"additionalProperties": False}),
    ({"additionalProperties": {"nullable": True, "type": "string"}}, {"additionalProperties": {"type": "string"}}),
    ({"not": {"example": 1}}, {"not": {}}),
    ({"prefixItems": [{"example": 1}], "items": False}, {"prefixItems": [{}], "items": False}),
    ({"items": [{"type": "string"}]}, {"prefixItems": [{"type": "string"}]}),
    ({"patternProperties": {"^a": {"example": 1}}}, {"patternProperties": {"^a": {}}}),
    ({"dependentSchemas": {"a": {"xml": {}}}}, {"dependentSchemas": {"a": {}}}),
    ({"if": {"xml": {}}, "then": {}, "else": {}}, {"if": {}, "then": {}, "else": {}}),
    ({"contains": {"xml": {}}, "propertyNames": {"xml": {}}}, {"contains": {}, "propertyNames": {}}),
    ({"dependentRequired": {"a": ["b"]}, "minContains": 1}, {"dependentRequired": {"a": ["b"]}, "minContains": 1}),
    ({"type": "date"}, {}),
    ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
    ({"type": "object", "required": True, "enum": "a", "description": 1}, {"type": "object"}),
    ({"maxLength": "3", "minItems": -1, "maximum": "9", "uniqueItems": 1, "pattern": 7, "multipleOf": True}, {}),
    ({"maxLength": 3, "maximum": 9.5, "multipleOf": 0.1}, {"maxLength": 3, "maximum": 9.5, "multipleOf": 0.1}),
])  # fmt: skip
def test_every_place_of_a_schema_is_converted(schema: Any, result: Any) -> None:
    assert body_schema(schema) == result


@for_each("keyword", ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"])
def test_an_operation_with_a_schema_that_is_referred_to_by_a_name_is_skipped(keyword: str) -> None:
    content = {"application/json": {"schema": {"properties": {"a": {"allOf": [{keyword: "x"}]}}}}}
    assert skipped(of_operation({"requestBody": {"content": content}})) == {f"a schema has {keyword}": ["POST /x"]}
    shared = {"application/json": {"schema": REF}}
    components = {"schemas": {"A": {"items": {"$ref": "#/components/schemas/B"}}, "B": {keyword: "x"}}}
    whole = of_operation({"requestBody": {"content": shared}}, components=components)
    assert skipped(whole) == {f"a schema has {keyword}": ["POST /x"]}


def test_an_operation_with_something_else_in_place_of_a_schema_is_skipped() -> None:
    content = {"application/json": {"schema": {"properties": {"a": "string"}}}}
    reasons = skipped(of_operation({"requestBody": {"content": content}}))
    assert reasons == {"a schema is no object": ["POST /x"]}


USER = {
    "type": "object",
    "required": ["id", "name", "made"],
    "properties": {
        "id": {"type": "integer", "readOnly": True}, "name": {"type": "string"},
        "made": {"$ref": "#/components/schemas/Made"},
    },
}  # fmt: skip
MADE = {"schemas": {"Made": {"type": "string", "readOnly": True}, "User": USER}}


@for_each("schema, required", [
    (USER, ["name"]),
    ({"type": "array", "items": USER}, ["name"]),
    ({"allOf": [{"$ref": "#/components/schemas/User"}, {"required": ["id", "name"]}]}, ["name"]),
    ({"allOf": [{"properties": USER["properties"]}], "required": ["id", "made", "name"]}, ["name"]),
    ({**USER, "required": ["id"]}, None),
])  # fmt: skip
def test_bodies_do_not_require_what_only_the_api_writes(schema: Any, required: Any) -> None:
    made = body_schema(schema, "3.0.3", components=MADE)
    inner = made.get("items", made)
    inner = inner["allOf"][-1] if "required" not in inner and "allOf" in inner else inner
    assert inner.get("required") == required


def test_parts_for_the_same_value_do_not_require_what_only_the_api_writes() -> None:
    parts = [{"required": ["id"]}, {"required": ["name", "id"]}]
    schema = body_schema({**USER, "anyOf": parts}, components=MADE)
    assert schema["anyOf"] == [{}, {"required": ["name"]}]
    beside = body_schema({"$ref": "#/components/schemas/User", "required": ["id", "name"]}, components=MADE)
    assert beside == {"$ref": "#/$defs/User", "required": ["name"]}


def test_in_3_1_read_only_beside_a_reference_counts() -> None:
    schema = {"required": ["a"], "properties": {"a": {**REF, "readOnly": True}}}
    assert "required" not in body_schema(schema, **COMPONENTS)
    assert body_schema(schema, "3.0.3", **COMPONENTS)["required"] == ["a"]


def shared(schemas: Any, version: str = "3.1.1") -> Any:
    content = {"application/json": {"schema": REF}}
    whole = of_operation({"requestBody": {"content": content}}, version, components={"schemas": schemas})
    return input_schema(whole)["$defs"]


def test_defs_have_what_can_be_reached_and_nothing_else() -> None:
    schemas = {
        "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"items": {"$ref": "#/components/schemas/C"}},
        "C": {"type": "string"},
        "D": {"type": "string"},
    }
    assert shared(schemas) == {
        "A": {"properties": {"b": {"$ref": "#/$defs/B"}}},
        "B": {"items": {"$ref": "#/$defs/C"}},
        "C": {"type": "string"},
    }


def test_circles_stay_references() -> None:
    schemas = {
        "A": {"properties": {"a": REF, "b": {"$ref": "#/components/schemas/B"}}},
        "B": {"allOf": [REF, {"$ref": "#/components/schemas/B"}]},
    }
    assert shared(schemas) == {
        "A": {"properties": {"a": HERE, "b": {"$ref": "#/$defs/B"}}}, "B": {"allOf": [HERE, {"$ref": "#/$defs/B"}]}
    }  # fmt: skip


def test_a_circle_of_references_without_a_schema_is_an_error_with_its_pointer() -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": REF}
    with pytest.raises(WrongDocument, match=r"^shop\.json#/components/schemas/A is a circle"):
        shared(schemas)


def test_a_chain_of_references_is_followed() -> None:
    assert shared({"A": {"$ref": "#/components/schemas/B"}, "B": {"type": "string"}}) == {
        "A": {"$ref": "#/$defs/B"}, "B": {"type": "string"}
    }  # fmt: skip


def test_a_thousand_references_that_double_are_converted_once_each() -> None:
    schemas: dict[str, Any] = {
        f"A{i or ''}": {"properties": {side: {"$ref": f"#/components/schemas/A{i + 1}"} for side in "ab"}}
        for i in range(1000)
    }
    schemas["A1000"] = {"type": "string"}
    content = {"application/json": {"schema": REF}}
    made = compiled(of_operation({"requestBody": {"content": content}}, components={"schemas": schemas}))
    assert len(made.operations[0].definition) <= 64 << 10


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
def test_all_that_comes_out_is_a_schema_of_2020_12(version: str) -> None:
    schemas = {
        "A": {
            "type": "object", "nullable": True, "required": ["b", "b"], "discriminator": {"propertyName": "b"},
            "properties": {
                "b": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                "c": {"items": [{"type": "string", "nullable": True}]}, "d": {"type": "any"}, "e": {"enum": {}},
                "f": {"oneOf": [], "anyOf": [{"type": "string", "example": 1}]},
            },
        }
    }  # fmt: skip
    content = {"application/json": {"schema": REF}}
    whole = of_operation({"requestBody": {"content": content}}, version, components={"schemas": schemas})
    jsonschema.Draft202012Validator.check_schema(input_schema(whole))
