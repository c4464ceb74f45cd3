"""References of documents, to their own parts and to other files."""

from typing import Any

import pytest

from mcpctl.openapi.faults import WrongDocument
from tests.openapi.documents import compiled, input_schema, of_operation, of_paths, only, skipped
from tests.table import for_each

SCHEMA = {"type": "string"}


@for_each("reference", [
    "#/components/schemas/a~1b~0c%20d",
    "#/components/schemas/a~1b~0c d",
    "#%2Fcomponents/schemas/a%7E1b~0c%20d",
    "#/components/schemas/list/oneOf/1",
    "shop.json#/components/schemas/list/oneOf/1",
    "./shop.json#/components/schemas/list/oneOf/1",
])  # fmt: skip
def test_a_pointer_is_percent_decoded_first_and_leads_through_arrays(reference: str) -> None:
    components = {"schemas": {"a/b~c d": SCHEMA, "list": {"oneOf": [{}, SCHEMA]}}}
    content = {"application/json": {"schema": {"$ref": reference}}}
    [found] = input_schema(of_operation({"requestBody": {"content": content}}, components=components))["$defs"].values()
    assert found == SCHEMA


@for_each("reference", [
    "#/components/schemas/none", "#/components/schemas/list/oneOf/2", "#/components/schemas/list/oneOf/-1",
    "#/components/schemas/list/oneOf/01", "#/components/schemas/list/oneOf/99999999999999999999", "#/openapi/x",
])  # fmt: skip
def test_an_operation_is_skipped_with_the_reference_that_leads_nowhere(reference: str) -> None:
    content = {"application/json": {"schema": {"items": {"$ref": reference}}}}
    components: dict[str, Any] = {"schemas": {"list": {"oneOf": [{}, {}]}}}
    reasons = skipped(of_operation({"requestBody": {"content": content}}, components=components))
    assert reasons == {f"a reference leads nowhere: {reference}": ["POST /x"]}


@for_each("reference, reason", [
    (7, "a $ref is no text"),
    ("#name", "a reference by a name: #name"),
    ("https://example.com/a.json", "a reference leads to another place: https://example.com/a.json"),
    ("file:///etc/passwd", "a reference leads to another place: file:///etc/passwd"),
    ("//[x#/a", "a reference leads to another place: //[x"),
    ("other.json#/a", "other.json cannot be read"),
])  # fmt: skip
def test_an_operation_is_skipped_with_a_reference_that_cannot_be_followed(reference: Any, reason: str) -> None:
    for operation in ({"parameters": [{"$ref": reference}]}, {"requestBody": {"$ref": reference}}):
        assert skipped(of_operation(operation)) == {reason: ["POST /x"]}
        if "//[" in str(reference):
            assert skipped(of_operation(operation), place="https://example.com/shop.json") == {reason: ["POST /x"]}


def test_every_object_may_be_a_reference() -> None:
    components: dict[str, Any] = {
        "parameters": {"q": {"$ref": "#/components/parameters/real"}, "real": {"name": "q", "in": "query"}},
        "requestBodies": {"b": {"content": {"application/json": {"schema": SCHEMA}}}},
        "pathItems": {"p": {"post": {"operationId": "op", "requestBody": {"$ref": "#/components/requestBodies/b"}}}},
    }
    path = {"$ref": "#/components/pathItems/p", "parameters": [{"$ref": "#/components/parameters/q"}]}
    assert set(input_schema(of_paths({"/x": path}, components=components))["properties"]) == {"q", "body"}


def test_a_description_beside_a_reference_replaces_that_of_what_it_leads_to() -> None:
    parameter = {"name": "q", "in": "query", "description": "theirs"}
    components = {"parameters": {"q": parameter}}
    listed = [{"$ref": "#/components/parameters/q", "description": "ours"}]
    whole = of_operation({"parameters": listed}, components=components)
    assert input_schema(whole)["properties"]["q"] == {"description": "ours"}


def test_a_circle_of_references_is_an_error_wherever_it_is() -> None:
    components: dict[str, Any] = {
        "parameters": {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}}
    }
    with pytest.raises(WrongDocument, match=r"^shop\.json#/components/parameters/a is a circle") as refused:
        compiled(of_operation({"parameters": [{"$ref": "#/components/parameters/a"}]}, components=components))
    assert refused.value.exit_code == 2


def test_operations_that_are_left_out_are_not_looked_at() -> None:
    components = {"parameters": {"a": {"$ref": "#/components/parameters/a"}}}
    operation = {"parameters": [{"$ref": "#/components/parameters/a"}]}
    assert skipped(of_operation(operation, components=components), exclude=["op"]) == {
        "left out by include or exclude": ["POST /x"]
    }


FILES = {
    "paths/pets.json": {"post": {"operationId": "op", "requestBody": {"$ref": "../bodies.json#/pet"}}},
    "bodies.json": {"pet": {"content": {"application/json": {"schema": {"$ref": "schemas/pet.json"}}}}},
    "schemas/pet.json": {"properties": {"owner": {"$ref": "common.json#/Owner"}, "pet": {"$ref": "#"}}},
    "schemas/common.json": {"Owner": {"properties": {"shop": {"$ref": "../shop.json#/components/schemas/Shop"}}}},
}


def test_a_reference_in_another_file_is_relative_to_that_file() -> None:
    whole = of_paths({"/pets": {"$ref": "paths/pets.json"}}, components={"schemas": {"Shop": SCHEMA}})
    defs = input_schema(whole, files=FILES)["$defs"]
    [pet, owner, shop] = defs
    assert defs == {
        pet: {"properties": {"owner": {"$ref": f"#/$defs/{owner}"}, "pet": {"$ref": f"#/$defs/{pet}"}}},
        owner: {"properties": {"shop": {"$ref": "#/$defs/Shop"}}},
        shop: SCHEMA,
    }
    assert (pet.partition("-")[0], owner.partition("-")[0], shop) == ("pet", "Owner", "Shop")


def test_a_document_from_an_address_refers_to_addresses() -> None:
    place = "https://example.com/api/shop.json"
    files = {"https://example.com/common.json": {"q": {"name": "q", "in": "query"}}}
    whole = of_operation({"parameters": [{"$ref": "../common.json#/q"}]})
    assert set(input_schema(whole, files=files, place=place)["properties"]) == {"q"}


def test_a_file_that_is_no_document_is_an_error_with_its_name() -> None:
    whole = of_operation({"parameters": [{"$ref": "deep.json"}]})
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(WrongDocument, match=r"^deep\.json is nested deeper than 200 levels"):
        only(whole, {"deep.json": deep})


def test_a_reference_to_the_whole_document_takes_nothing_of_it_that_is_no_schema() -> None:
    content = {"application/json": {"schema": {"$ref": "#"}}}
    schema = input_schema(of_operation({"requestBody": {"content": content}}))
    [(name, made)] = schema["$defs"].items()
    assert schema["properties"]["body"] == {"$ref": f"#/$defs/{name}"}
    assert (name.partition("-")[0], made) == ("document", {})
