"""Bodies: in which order media types are taken, and how properties of forms and parts are written."""

from typing import Any

import pytest

from mcpctl.openapi import media_types
from mcpctl.openapi.bodies import FILE
from mcpctl.openapi.snapshot import Body, Content, Encoding
from tests.openapi.documents import body_schema, input_schema, of_operation, only, skipped
from tests.table import for_each

STRING = {"type": "string"}
BINARY = {"type": "string", "format": "binary"}
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


def body_of(content: Any, version: str = "3.1.1", **more: Any) -> Body:
    body = only(of_operation({"requestBody": {"content": content, **more}}, version)).body
    assert body
    return body


def kinds(*written: str) -> list[tuple[str, str]]:
    return [(each.media_type, each.kind) for each in body_of({each: {} for each in written}).contents]


ORDER = [
    "application/json", "application/merge-patch+json", "application/hal+json", "text/json", FORM, MULTIPART,
    "application/json-patch+json", "text/csv", "application/octet-stream",
]  # fmt: skip


def test_media_types_are_taken_in_one_order() -> None:
    assert [each for each, _ in kinds(*reversed(ORDER))] == ORDER


@for_each("written, sent, kind", [
    ("application/json", "application/json", "json"),
    ("application/json; charset=utf-8", "application/json; charset=utf-8", "json"),
    ("Application/JSON;version=2", "Application/JSON;version=2", "json"),
    ("*/*", "application/json", "json"),
    ("application/*+json", "application/json", "json"),
    ("application/vnd.api+json", "application/vnd.api+json", "json"),
    ("application/json-patch+json", "application/json-patch+json", "json"),
    ("text/json", "text/json", "json"),
    (FORM, FORM, "form"),
    (MULTIPART, MULTIPART, "multipart"),
    ("text/plain", "text/plain", "text"),
    ("text/*", "text/plain", "text"),
    ("application/xml", "application/xml", "text"),
    ("application/atom+xml", "application/atom+xml", "text"),
    ("application/apply-patch+yaml", "application/apply-patch+yaml", "text"),
    ("application/x-yaml", "application/x-yaml", "text"),
    ("application/x-ndjson", "application/x-ndjson", "text"),
    ("application/graphql", "application/graphql", "text"),
    ("application/octet-stream", "application/octet-stream", "binary"),
    ("image/png", "image/png", "binary"),
    ("image/*", "image/*", "binary"),
    ("application/*", "application/*", "binary"),
    ("application/pdf", "application/pdf", "binary"),
    ("application/x-json-smile", "application/x-json-smile", "binary"),
])  # fmt: skip
def test_a_media_type_is_sent_as_written_and_a_range_of_texts_as_one_of_it(written: str, sent: str, kind: str) -> None:
    assert kinds(written) == [(sent, kind)]


def test_merge_patch_comes_before_json_patch() -> None:
    written = [
        "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ]  # fmt: skip
    assert [each for each, _ in kinds(*written)] == [written[2], written[3], written[1], written[0]]


def test_a_message_is_one_text() -> None:
    assert kinds("message/rfc822") == [("message/rfc822", "text")]


def test_of_two_that_are_sent_alike_the_first_counts() -> None:
    assert kinds("*/*", "application/json") == [("application/json", "json")]


@for_each("written", [
    "", "json", "multipart/mixed", "a/b\r\nX-Evil: 1", "tëxt/plain", "a/b; " + "x" * 300,
    "text/plain; charset=punycode", "application/xml; charset=unicode_escape", "text/csv;charset=none",
])  # fmt: skip
def test_an_operation_is_skipped_whose_body_cannot_be_sent(written: str) -> None:
    assert media_types.rank(written) is None
    for more in ({}, {"required": True}):
        [reason] = skipped(of_operation({"requestBody": {"content": {written: {}}, **more}}))
        assert reason.startswith("its body has a type that cannot be sent")
    assert kinds(written, "text/plain") == [("text/plain", "text")]


@for_each("written", ["text/plain\r\nX-Evil: 1", "json", "a/b, c", "text/plain\0", "tëxt/plain"])
@for_each("media_type", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_an_operation_is_skipped_whose_body_names_no_media_type_for_a_property(written: str, media_type: str) -> None:
    media = {"schema": {"type": "object"}, "encoding": {"a": {"contentType": written}}}
    assert skipped(of_operation({"requestBody": {"content": {media_type: media}}})) == {
        f"a property of its body has the contentType {written!r}": ["POST /x"]
    }
    media["encoding"] = {"a": {"contentType": "image/png, image/*;q=1"}}
    assert only(of_operation({"requestBody": {"content": {media_type: media}}})).body


def test_where_more_than_one_can_be_sent_an_argument_chooses_with_the_default_first() -> None:
    content = {"text/csv": {}, "application/json": {"schema": {"type": "array"}}}
    whole = of_operation({"requestBody": {"content": content, "required": True}})
    schema = input_schema(whole)
    assert schema["properties"] == {
        "body": {"anyOf": [{"type": "array"}, STRING]},
        "contentType": {"type": "string", "enum": ["application/json", "text/csv"], "default": "application/json"},
    }
    assert schema["required"] == ["body"]
    assert body_of(content).chosen_by == "contentType"
    assert "contentType" not in input_schema(of_operation({"requestBody": {"content": {"text/csv": {}}}}))["properties"]


def test_bodies_with_the_same_schema_have_it_once() -> None:
    content = {"application/json": {"schema": STRING}, "application/hal+json": {"schema": STRING}}
    assert input_schema(of_operation({"requestBody": {"content": content}}))["properties"]["body"] == STRING


@for_each("media_type, schema", [
    ("application/json", {}), ("text/plain", STRING), ("application/xml", STRING), ("application/octet-stream", FILE),
    ("image/png", FILE),
])  # fmt: skip
def test_a_body_without_a_schema_has_that_of_its_kind(media_type: str, schema: Any) -> None:
    assert input_schema(of_operation({"requestBody": {"content": {media_type: {}}}}))["properties"]["body"] == schema


def test_a_body_is_never_taken_apart_and_has_its_description() -> None:
    content = {"application/json": {"schema": {"properties": {"a": STRING}}}}
    schema = input_schema(of_operation({"requestBody": {"content": content, "description": "all of it"}}))
    assert schema["properties"] == {"body": {"properties": {"a": STRING}, "description": "all of it"}}


@pytest.mark.parametrize("method", ["get", "head"])
def test_get_and_head_have_no_body_and_are_skipped_where_one_is_required(method: str) -> None:
    content = {"application/json": {"schema": STRING}}
    whole = of_operation({"requestBody": {"content": content}}, method=method)
    assert only(whole).body is None
    assert input_schema(whole)["properties"] == {}
    required = of_operation({"requestBody": {"content": content, "required": True}}, method=method)
    reason = f"a body is required, which {method.upper()} has not"
    assert skipped(required) == {reason: [f"{method.upper()} /x"]}


def test_delete_has_its_body() -> None:
    content = {"application/json": {"schema": STRING}}
    assert only(of_operation({"requestBody": {"content": content}}, method="delete")).body


def test_a_body_without_a_type_is_none() -> None:
    assert only(of_operation({"requestBody": {"content": {}}})).body is None


def encodings(schema: Any, encoding: Any = None, version: str = "3.1.1", media_type: str = MULTIPART) -> Any:
    properties = {"properties": {"a": schema}}
    content = {media_type: {"schema": properties, **({"encoding": {"a": encoding}} if encoding else {})}}
    return body_of(content, version).contents[0].encodings.get("a", Encoding())


@for_each("schema, version, is_binary", [
    (BINARY, "3.0.3", True),
    (BINARY, "3.1.1", True),
    ({"type": ["string", "null"], "format": "binary"}, "3.1.1", True),
    ({"anyOf": [BINARY, {"type": "null"}]}, "3.1.1", True),
    ({"allOf": [BINARY], "nullable": True}, "3.0.3", True),
    ({"type": "array", "items": BINARY}, "3.0.3", True),
    ({"type": "string", "format": "byte"}, "3.0.3", False),
    ({"type": "string", "format": "uuid"}, "3.0.3", False),
    ({"contentMediaType": "image/png"}, "3.1.1", True),
    ({"type": "string", "contentMediaType": "application/octet-stream"}, "3.1.1", True),
    ({"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"}, "3.1.1", False),
    ({"type": "string", "contentMediaType": "text/html"}, "3.1.1", False),
    ({}, "3.1.1", True),
    ({"description": "any"}, "3.1.1", True),
    ({}, "3.0.3", False),
    ({"enum": ["a"]}, "3.1.1", False),
    ({"properties": {}}, "3.1.1", False),
    ({"type": "object"}, "3.1.1", False),
    ({"type": "integer"}, "3.1.1", False),
])  # fmt: skip
def test_a_part_is_a_file_where_the_standard_has_bytes(schema: Any, version: str, is_binary: bool) -> None:
    assert encodings(schema, version=version).is_binary is is_binary


@for_each("schema, is_json", [
    ({"type": "object"}, True), ({"type": "array", "items": {"type": "object"}}, True), ({"properties": {}}, True),
    ({"type": "array", "items": STRING}, False), (STRING, False),
    ({"oneOf": [{"type": "null"}, {"type": "object"}]}, True),
])  # fmt: skip
def test_a_part_of_an_object_is_json(schema: Any, is_json: bool) -> None:
    assert encodings(schema).is_json is is_json


@for_each("encoding, version, media_type, result", [
    ({"contentType": "application/xml"}, "3.1.1", MULTIPART, Encoding("application/xml")),
    ({"contentType": "application/xml"}, "3.1.1", FORM, Encoding("application/xml")),
    ({"style": "deepObject"}, "3.0.3", FORM, Encoding(style="deepObject", explode=True)),
    ({"style": "deepObject", "explode": False}, "3.1.1", FORM, Encoding(style="deepObject", explode=True)),
    ({"style": "pipeDelimited", "contentType": "a/b"}, "3.1.1", FORM, Encoding(style="pipeDelimited")),
    ({"explode": True}, "3.1.1", FORM, Encoding(style="form", explode=True)),
    ({"explode": False}, "3.1.1", FORM, Encoding(style="form")),
    ({"allowReserved": True}, "3.1.1", FORM, Encoding(style="form", explode=True, allow_reserved=True)),
    ({"explode": True}, "3.1.1", MULTIPART, Encoding(style="form", explode=True)),
    ({"explode": True, "contentType": "a/b"}, "3.0.4", MULTIPART, Encoding("a/b")),
])  # fmt: skip
def test_encodings_are_those_of_the_standard(encoding: Any, version: str, media_type: str, result: Encoding) -> None:
    assert encodings({"type": "array", "items": STRING}, encoding, version, media_type) == result


def test_bytes_in_a_text_of_a_part_say_how_they_are_written() -> None:
    result = Encoding("application/octet-stream", headers={"Content-Transfer-Encoding": "base64"})
    assert encodings({"type": "string", "format": "byte"}, version="3.0.4") == result
    assert encodings({"type": "string", "contentEncoding": "base64"}) == result
    assert encodings({"type": "string", "contentEncoding": "base64"}, media_type=FORM) == Encoding()


def test_a_file_has_no_style() -> None:
    encoding = {"style": "form", "contentType": "image/png, image/jpeg"}
    assert encodings(BINARY, encoding) == Encoding("image/png, image/jpeg", is_binary=True)


def test_headers_of_a_part_are_those_with_one_value() -> None:
    headers = {
        "X-One": {"schema": {"const": "1"}}, "X-Two": {"schema": {"enum": ["2"]}},
        "X-Many": {"schema": {"enum": ["3", "4"]}},
        "X-Any": {"schema": STRING}, "Content-Type": {"schema": {"const": "a/b"}},
    }  # fmt: skip
    assert encodings(STRING, {"headers": headers}) == Encoding(headers={"X-One": "1", "X-Two": "2"})
    assert encodings(STRING, {"headers": headers}, media_type=FORM) == Encoding()


def test_a_style_that_forms_do_not_have_skips_the_operation() -> None:
    content = {FORM: {"schema": {"properties": {"a": {}}}, "encoding": {"a": {"style": "simple"}}}}
    reasons = skipped(of_operation({"requestBody": {"content": content}}))
    assert reasons == {"a property of its body has the style 'simple'": ["POST /x"]}


def test_a_file_in_a_part_has_the_schema_of_one() -> None:
    schema = {
        "required": ["a", "id"],
        "properties": {
            "a": {**BINARY, "description": "a picture"}, "b": {"type": "array", "items": BINARY}, "c": STRING,
            "id": {"type": "integer", "readOnly": True},
        },
    }  # fmt: skip
    made = body_schema({"$ref": "#/components/schemas/A"}, "3.0.3", MULTIPART, components={"schemas": {"A": schema}})
    assert made == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {**FILE, "description": f"a picture ({FILE['description']})"}, "b": {"type": "array", "items": FILE},
            "c": STRING, "id": {"type": "integer", "readOnly": True},
        },
    }  # fmt: skip
    assert set(FILE["properties"]) == {"base64", "text", "file", "filename", "contentType"}


def test_properties_are_found_through_references_and_parts() -> None:
    schemas = {"A": {"properties": {"a": BINARY}}, "B": {"allOf": [{"$ref": "#/components/schemas/A"}], "oneOf": [{}]}}
    schema = {"allOf": [{"$ref": "#/components/schemas/B"}, {"properties": {"b": {"$ref": "#/components/schemas/A"}}}]}
    made = body_schema(schema, "3.0.3", MULTIPART, components={"schemas": schemas})
    assert made["properties"]["a"] == FILE
    assert made["properties"]["b"] == {"$ref": "#/$defs/A"}


@for_each("json, multipart, first", [
    ({"properties": {"a": STRING}}, {"properties": {"a": BINARY}}, MULTIPART),
    ({"properties": {"a": BINARY}}, {"properties": {"a": BINARY}}, "application/json"),
    ({"properties": {"a": STRING}}, {"properties": {"a": STRING}}, "application/json"),
])  # fmt: skip
def test_multipart_comes_first_where_it_alone_has_a_binary_property(json: Any, multipart: Any, first: str) -> None:
    body = body_of({"application/json": {"schema": json}, MULTIPART: {"schema": multipart}}, "3.0.3")
    assert body.contents[0].media_type == first


def test_json_keeps_a_binary_property_as_it_is() -> None:
    assert body_schema({"properties": {"a": BINARY}}) == {"properties": {"a": BINARY}}


def test_whether_a_body_is_required_is_kept() -> None:
    assert body_of({"application/json": {}}, required=True).is_required
    assert body_of({"application/json": {}}) == Body([Content("application/json", "json")])


@for_each("written, reason", [
    ("x", "its body is no object"),
    ({"content": {"application/json": 1}}, "a media type is no object"),
])  # fmt: skip
def test_a_wrong_body_skips_its_operation(written: Any, reason: str) -> None:
    assert skipped(of_operation({"requestBody": written})) == {reason: ["POST /x"]}
