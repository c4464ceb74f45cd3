"""The hash of a request: one that is made in another way is another tool, and no other change makes it so."""

import copy
from collections.abc import Callable
from typing import Any

from mcpctl.base import definitions
from mcpctl.catalog import cache, drift
from tests.openapi.documents import Json, of_paths, only
from tests.table import for_each

PARAMETERS = [
    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
    {"name": "role", "in": "query", "schema": {"type": "string"}},
    {"name": "since", "in": "query", "schema": {"type": "string"}},
]
FORM = {
    "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    "encoding": {"a": {"contentType": "text/plain"}},
}
FLOWS = {"clientCredentials": {"tokenUrl": "https://login.example.com/token", "scopes": {}}}
SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "client": {"type": "oauth2", "flows": FLOWS},
    "unused": {"type": "http", "scheme": "basic"},
}


def document() -> Json:
    operation = {
        "operationId": "op", "parameters": PARAMETERS, "security": [{"key": []}, {"client": ["read"]}],
        "requestBody": {"content": {"multipart/form-data": FORM}},
    }  # fmt: skip
    return copy.deepcopy(of_paths({"/x/{id}": {"post": operation}}, components={"securitySchemes": SCHEMES}))


def operation(of: Json) -> Any:
    return of["paths"]["/x/{id}"]["post"]


def schemes(of: Json) -> Any:
    return of["components"]["securitySchemes"]


def rules_of_change(change: Callable[[Json], object], **entry: Any) -> list[str]:
    """The rules of the changes of the tool by a change of its document; none where its pin is the same."""
    after = document()
    change(after)
    old, new = (
        cache.tool("shop", "op", bytes(only(each, **entry).definition).decode(), is_of_api=True)
        for each in (document(), after)
    )
    changes = [each.rule for each in drift.of_tool(old, new, lambda _: ())]
    assert bool(changes) == (definitions.pin_of(old) != definitions.pin_of(new))
    return changes


@for_each("change", [
    lambda of: of["servers"][0].update(url="https://other.example.com/v1"),
    lambda of: of["servers"][0].update(url="https://api.example.com/admin"),
    lambda of: operation(of)["parameters"][1].update({"in": "header"}),
    lambda of: operation(of)["parameters"][1].update(style="pipeDelimited"),
    lambda of: operation(of)["parameters"][0].update(allowReserved=True),
    lambda of: operation(of)["requestBody"]["content"]["multipart/form-data"]["encoding"]["a"].update(
        contentType="text/html"),
    lambda of: operation(of)["security"].reverse(),
    lambda of: operation(of)["security"].pop(0),
    lambda of: operation(of)["security"][1].update(client=["admin"]),
    lambda of: schemes(of)["key"].update({"in": "query"}),
    lambda of: schemes(of)["key"].update(name="X-Other"),
    lambda of: schemes(of)["client"]["flows"]["clientCredentials"].update(tokenUrl="https://other.example.com/token"),
])  # fmt: skip
def test_a_request_that_is_made_in_another_way_is_a_change_of_its_tool(change: Any) -> None:
    assert rules_of_change(change) == ["W807"]


@for_each("change", [
    lambda of: of.update(info={"title": "Other", "version": "2"}),
    lambda of: of["servers"].append({"url": "https://second.example.com"}),
    lambda of: operation(of)["parameters"].reverse(),
    lambda of: operation(of).update(responses={"200": {"description": "done"}}),
    lambda of: schemes(of)["unused"].update(scheme="bearer"),
    lambda of: of["paths"].update({"/y": {"get": {"operationId": "other", "deprecated": True}}}),
])  # fmt: skip
def test_no_other_change_of_a_document_is_one_of_the_request(change: Any) -> None:
    assert set(rules_of_change(change)) <= {"W802"}  # a schema is compared as it is written


def test_an_entrys_own_url_counts_in_place_of_the_documents() -> None:
    def moved(of: Json) -> None:
        of["servers"][0]["url"] = "https://other.example.com"

    assert rules_of_change(moved, url="https://mine.example.com") == []
    assert only(document(), url="https://mine.example.com").base == "https://mine.example.com"
