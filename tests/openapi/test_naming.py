"""Names of tools and arguments: section by section, none depends on what else is listed."""

import hashlib
from typing import Any

from tests.openapi.documents import compiled, input_schema, of_operation, of_paths, only, skipped, tools
from tests.table import for_each


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@for_each("id, name", [
    ("listPets", "listPets"),
    ("pets/list all", "pets/list all"),
    (" padded ", " padded "),
    ("naïve ✓", "naïve ✓"),
    ("x" * 1024, "x" * 1024),
    ("x" * 1025, "get_pets_by_id"),
    ("", "get_pets_by_id"),
    ("  ", "get_pets_by_id"),
    ("two\nlines", "get_pets_by_id"),
    ("turned\u202e", "get_pets_by_id"),
    (7, "get_pets_by_id"),
    (None, "get_pets_by_id"),
])  # fmt: skip
def test_an_operation_id_is_the_name_verbatim_where_it_can_be(id: Any, name: str) -> None:
    assert tools(of_paths({"/pets/{id}": {"get": {"operationId": id}}})) == [name]


@for_each("method, path, name", [
    ("get", "/", "get_"),
    ("get", "/pets/{id}", "get_pets_by_id"),
    ("get", "/pets/{pet-id}/v1.0", "get_pets_by_pet-id_v1.0"),
    ("post", "/a__b//c", "post_a_b_c"),
    ("delete", "/files/{id}#acl", "delete_files_by_id_acl"),
    ("get", "/?Action=List", "get_Action_List"),
])  # fmt: skip
def test_without_an_operation_id_the_name_is_made_of_method_and_path(method: str, path: str, name: str) -> None:
    assert tools(of_paths({path: {method: {}}})) == [name]


def test_an_operation_id_that_is_there_twice_names_neither() -> None:
    paths = {"/a": {"get": {"operationId": "same"}}, "/b": {"post": {"operationId": "same"}}}
    assert tools(of_paths(paths)) == ["get_a", "post_b"]


def test_two_made_names_that_are_the_same_each_get_a_hash_of_method_and_path() -> None:
    assert tools(of_paths({"/a_b": {"get": {}}, "/a__b": {"get": {}}})) == [
        f"get_a_b-{short('GET /a_b')}", f"get_a_b-{short('GET /a__b')}"
    ]  # fmt: skip


def test_a_made_name_gives_way_to_an_operation_id() -> None:
    assert tools(of_paths({"/a": {"get": {}}, "/b": {"get": {"operationId": "get_a"}}})) == [
        f"get_a-{short('GET /a')}", "get_a"
    ]  # fmt: skip


def test_no_filter_changes_a_name() -> None:
    paths = {
        "/a_b": {"get": {}}, "/a__b": {"get": {"deprecated": True}}, "/c": {"get": {"operationId": "same"}},
        "/d": {"options": {}, "post": {"operationId": "same"}},
    }  # fmt: skip
    every = tools(of_paths(paths), deprecated=True)
    assert tools(of_paths(paths)) == [every[0], every[2], every[3]]
    assert tools(of_paths(paths), include=["GET /a_b"]) == every[:1]
    assert tools(of_paths(paths), exclude=["GET /a_b", "POST *"]) == [every[2]]


def test_the_operation_id_of_a_method_that_is_never_sent_counts() -> None:
    assert tools(of_paths({"/a": {"get": {"operationId": "a"}, "options": {"operationId": "a"}}})) == ["get_a"]


def test_the_operation_id_of_a_callback_or_a_webhook_counts() -> None:
    callback = {"done": {"{$url}": {"post": {"operationId": "a"}}}}
    paths = {"/a": {"get": {"operationId": "a", "callbacks": callback}}, "/b": {"get": {"operationId": "b"}}}
    assert tools(of_paths(paths, webhooks={"sent": {"post": {"operationId": "b"}}})) == ["get_a", "get_b"]


def test_a_made_name_is_never_longer_than_a_name_may_be() -> None:
    [name] = tools(of_paths({"/" + "a" * 3000: {"get": {}}}))
    assert len(name) == 1024
    assert name.endswith(f"-{short('GET /' + 'a' * 3000)}")


def parameter(name: str, place: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": {"type": "string"}, **more}


def arguments(parameters: list[Any], operation: dict[str, Any] | None = None, path: str = "/x/{id}") -> set[str]:
    whole = of_operation({"parameters": parameters, **(operation or {})}, path=path)
    return set(input_schema(whole)["properties"])


def test_a_parameter_is_an_argument_of_its_own_name() -> None:
    assert arguments([parameter("q", "query"), parameter("X-A", "header"), parameter("id", "path")]) == {
        "q", "X-A", "id"
    }  # fmt: skip


def test_a_name_in_two_places_has_its_place_behind_it_each_time() -> None:
    assert arguments([parameter("id", "path"), parameter("id", "query"), parameter("q", "query")]) == {
        "id_path", "id_query", "q"
    }  # fmt: skip


def test_a_parameter_body_beside_a_body_has_its_place_behind_it_and_so_has_the_body() -> None:
    body: dict[str, Any] = {"requestBody": {"content": {"application/json": {}}}}
    assert arguments([parameter("body", "query")], body, "/x") == {"body_query", "body_body"}
    operation = only(of_operation({"parameters": [parameter("body", "query")], **body}))
    assert operation.body
    assert operation.body.argument == "body_body"
    assert arguments([parameter("body", "query")], path="/x") == {"body"}


def test_a_parameter_content_type_beside_a_choice_of_types_has_its_place_behind_it() -> None:
    body: dict[str, Any] = {"requestBody": {"content": {"application/json": {}, "text/plain": {}}}}
    operation = only(of_operation({"parameters": [parameter("contentType", "query")], **body}))
    assert operation.parameters[0].argument == "contentType_query"
    assert operation.body
    assert operation.body.chosen_by == "contentType_body"


def test_an_operation_is_skipped_where_a_name_with_its_place_is_taken_too() -> None:
    parameters = [parameter("id", "path"), parameter("id", "query"), parameter("id_query", "query")]
    assert skipped(of_operation({"parameters": parameters}, path="/x/{id}")) == {
        "two of its parameters would have the same name": ["POST /x/{id}"]
    }


@for_each("key, name", [
    ("Pet", "Pet"),
    ("pet.v1_a-b", "pet.v1_a-b"),
])  # fmt: skip
def test_a_component_keeps_its_name_in_defs(key: str, name: str) -> None:
    assert set(defs({key: {"type": "string"}}, f"#/components/schemas/{key}")) == {name}


def defs(schemas: dict[str, Any], *references: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"anyOf": [{"$ref": each} for each in references]}}}
    whole = of_operation({"requestBody": {"content": content}}, components={"schemas": schemas})
    found: dict[str, Any] = input_schema(whole)["$defs"]
    return found


def test_names_in_defs_are_cut_to_plain_characters_and_two_are_never_the_same() -> None:
    schemas = {"Page«Pet»": {"const": 1}, "Page(Pet)": {"const": 2}, "Page_Pet_": {"const": 3}}
    found = defs(schemas, *(f"#/components/schemas/{key}" for key in schemas))
    assert sorted(each["const"] for each in found.values()) == [1, 2, 3]
    assert all(name.replace("-", "").replace("_", "").isalnum() and name.isascii() for name in found)


def test_a_component_cannot_have_the_name_that_another_schema_gets() -> None:
    schemas = {"Pet": {"properties": {"name": {"const": 1}}}}
    [made] = defs(schemas, "#/components/schemas/Pet/properties/name")
    found = defs(
        {**schemas, made: {"const": 2}}, "#/components/schemas/Pet/properties/name", f"#/components/schemas/{made}"
    )
    assert sorted(each["const"] for each in found.values()) == [1, 2]


def test_a_name_in_defs_does_not_depend_on_other_operations() -> None:
    def paths(*names: str) -> dict[str, Any]:
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/A%20B"}}}
        return {f"/{name}": {"post": {"operationId": name, "requestBody": {"content": content}}} for name in names}

    components = {"schemas": {"A B": {"type": "string"}, "A_B": {"type": "string"}}}
    one, many = (compiled(of_paths(paths(*names), components=components)) for names in (("b",), ("a", "b", "c")))
    assert one.operations[0].definition == many.operations[1].definition
