"""Parameters: which are arguments, where each stands, and how it is written there."""

from typing import Any

from mcpctl.openapi.snapshot import Parameter
from tests.openapi.documents import input_schema, of_operation, of_paths, only, skipped
from tests.table import for_each

STRING = {"type": "string"}


def parameter(name: str, place: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": STRING, **more}


def sent(*parameters: Any, path: str = "/x", **more: Any) -> list[Parameter]:
    return only(of_operation({"parameters": list(parameters)}, path=path, **more.pop("members", {})), **more).parameters


def arguments(*parameters: Any, path: str = "/x", **more: Any) -> list[str]:
    return [each.argument for each in sent(*parameters, path=path, **more)]


@for_each("place, written, style, explode, allow_reserved", [
    ("path", {}, "simple", False, False),
    ("path", {"style": "label"}, "label", False, False),
    ("path", {"style": "matrix", "explode": True}, "matrix", True, False),
    ("path", {"allowReserved": True}, "simple", False, True),
    ("query", {}, "form", True, False),
    ("query", {"explode": False}, "form", False, False),
    ("query", {"style": "spaceDelimited"}, "spaceDelimited", False, False),
    ("query", {"style": "pipeDelimited", "explode": True}, "pipeDelimited", True, False),
    ("query", {"style": "deepObject"}, "deepObject", True, False),
    ("query", {"style": "deepObject", "explode": False}, "deepObject", True, False),
    ("query", {"allowReserved": True}, "form", True, True),
    ("header", {}, "simple", False, False),
    ("header", {"explode": True}, "simple", True, False),
    ("cookie", {}, "form", True, False),
    ("cookie", {"explode": False}, "form", False, False),
    ("cookie", {"style": "cookie"}, "cookie", True, False),
])  # fmt: skip
def test_styles_have_the_defaults_of_the_standard(
    place: str, written: Any, style: str, explode: bool, allow_reserved: bool
) -> None:
    made = sent(parameter("a", place, **written), path="/x/{a}" if place == "path" else "/x")
    assert made == [Parameter("a", "a", place, style, explode, allow_reserved)]


@for_each("place, style", [
    ("path", "form"), ("query", "simple"), ("header", "form"), ("cookie", "simple"), ("query", "cookie"),
    ("query", "tabDelimited"), ("query", 7),
])  # fmt: skip
def test_an_operation_is_skipped_with_a_style_that_its_place_does_not_have(place: str, style: Any) -> None:
    whole = of_operation({"parameters": [parameter("a", place, style=style)]}, path="/x/{a}")
    assert skipped(whole) == {f"a parameter in {place} has the style {str(style)!r}": ["POST /x/{a}"]}


def test_a_parameter_with_content_is_a_text_of_its_media_type() -> None:
    content = {"application/json": {"schema": {"type": "object"}}}
    whole = of_operation({"parameters": [{"name": "a", "in": "query", "content": content}]})
    assert only(whole).parameters == [Parameter("a", "a", "query", media_type="application/json")]
    assert input_schema(whole)["properties"] == {"a": {"type": "object"}}


def test_the_operations_parameter_overrides_that_of_its_path_of_the_same_name_and_place() -> None:
    item = {
        "parameters": [parameter("a", "query"), parameter("X-A", "header"), parameter("b", "query", required=True)],
        "get": {
            "operationId": "op",
            "parameters": [parameter("x-a", "header", required=True), parameter("a", "query", description="own")],
        },
    }
    schema = input_schema(of_paths({"/x": item}))
    assert schema["properties"] == {"a": {**STRING, "description": "own"}, "x-a": STRING, "b": STRING}
    assert schema["required"] == ["x-a", "b"]


def test_parameters_of_the_path_come_first_in_its_order() -> None:
    assert arguments(
        parameter("q", "query"), parameter("b", "path"), parameter("a", "path"), path="/{a}/x/{b}"
    ) == ["a", "b", "q"]  # fmt: skip


def test_a_hole_without_a_parameter_is_a_required_string() -> None:
    schema = input_schema(of_operation({}, path="/x/{a}/y/{b}/{a}"))
    assert schema["properties"] == {"a": STRING, "b": STRING}
    assert schema["required"] == ["a", "b"]
    assert sent(path="/x/{a}") == [Parameter("a", "a", "path", "simple")]


def test_a_parameter_of_the_path_without_a_hole_is_left_out() -> None:
    assert arguments(parameter("a", "path"), parameter("b", "path"), path="/x/{b}") == ["b"]


def test_a_hole_of_a_fragment_is_none_and_one_of_a_query_is() -> None:
    assert arguments(path="/x/{a}?y={b}#z={c}") == ["a", "b"]


def test_every_parameter_of_the_path_is_required_and_others_as_the_document_has_it() -> None:
    parameters = [
        parameter("a", "path", required=False),
        parameter("b", "query", required=True),
        parameter("c", "query"),
    ]
    assert input_schema(of_operation({"parameters": parameters}, path="/{a}"))["required"] == ["a", "b"]
    assert "required" not in input_schema(of_operation({"parameters": parameters[2:]}))


def test_no_other_argument_is_taken() -> None:
    assert input_schema(of_operation({}))["additionalProperties"] is False


@for_each("name", [
    "Accept", "content-type", "AUTHORIZATION", "Host", "Content-Length", "Cookie", "Connection", "Accept-Encoding",
    "Expect", "Upgrade", "TE", "Keep-Alive", "Trailer", "Proxy-Authorization", "Proxy-Connection",
])  # fmt: skip
def test_headers_that_the_standard_ignores_and_those_of_the_connection_are_left_out(name: str) -> None:
    assert arguments(parameter(name, "header"), parameter(name, "query")) == [name]


@for_each("name", ["X-HTTP-Method-Override", "x-http-method", "X-Method-Override", "_method"])
def test_another_method_than_the_operations_is_nowhere_an_argument(name: str) -> None:
    assert arguments(*(parameter(name, place) for place in ("header", "query", "cookie")), parameter("b", "query")) == [
        "b"
    ]  # fmt: skip


@for_each("place, name, written", [
    ("header", "X-Key", "x-key"), ("query", "key", "key"), ("cookie", "session", "session"),
])  # fmt: skip
def test_the_place_of_an_api_key_is_no_argument(place: str, name: str, written: str) -> None:
    schemes = {"a": {"type": "apiKey", "in": place, "name": name}}
    members: dict[str, Any] = {"members": {"components": {"securitySchemes": schemes}}}
    assert arguments(parameter(written, place), parameter("b", place), **members) == ["b"]
    assert arguments(parameter(written, place)) == [written]


def test_a_header_that_the_entry_sets_is_left_out_whatever_its_letters() -> None:
    assert arguments(parameter("x-version", "header"), parameter("a", "query"), headers=["X-Version"]) == ["a"]


def test_a_parameter_that_the_entry_sets_is_sent_wherever_it_occurs_and_is_no_argument() -> None:
    parameters = [parameter("account", place, required=True) for place in ("query", "path", "header")]
    whole = of_operation({"parameters": [*parameters, parameter("b", "query")]}, path="/{account}")
    made = only(whole, parameters=["account"])
    assert [(each.argument, each.name, each.place) for each in made.parameters] == [
        ("", "account", "path"), ("", "account", "query"), ("", "account", "header"), ("b", "b", "query")
    ]  # fmt: skip
    schema = input_schema(whole, parameters=["account"])
    assert schema["properties"] == {"b": STRING}
    assert "required" not in schema


def test_what_is_said_of_a_parameter_is_said_of_its_argument() -> None:
    written = parameter("a", "query", description="of it", deprecated=True, example="x", allowEmptyValue=True)
    written["schema"] = {"type": "integer", "description": "of its schema", "default": 1}
    assert input_schema(of_operation({"parameters": [written]}))["properties"]["a"] == {
        "type": "integer", "description": "of it", "default": 1, "deprecated": True
    }  # fmt: skip


@for_each("written, reason", [
    ("a", "a parameter is no object"),
    ({"in": "query"}, "a parameter has no name"),
    ({"name": "", "in": "query"}, "a parameter has no name"),
    ({"name": "a"}, "a parameter is in 'None'"),
    ({"name": "a", "in": "body"}, "a parameter is in 'body'"),
    ({"name": "a", "in": ["query"]}, "a parameter is in \"['query']\""),
])  # fmt: skip
def test_a_wrong_parameter_skips_its_operation(written: Any, reason: str) -> None:
    assert skipped(of_operation({"parameters": [written]})) == {reason: ["POST /x"]}


def test_parameters_that_are_no_list_skip_their_operation() -> None:
    assert skipped(of_operation({"parameters": {"a": 1}})) == {"its parameters are no list": ["POST /x"]}
