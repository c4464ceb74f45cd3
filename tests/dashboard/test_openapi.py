"""The OpenAPI document: whole, and true of every answer."""

import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from mcpctl.base.fields import CALL_STATUSES
from mcpctl.base.paths import Paths
from mcpctl.dashboard.app import OPERATIONS
from mcpctl.dashboard.approvals import ApprovalAnswer
from mcpctl.dashboard.openapi import MODELS, document
from mcpctl.dashboard.rest import BASE, MEANINGS
from mcpctl.dashboard.streaming import EVENT_PARAMETERS
from tests import configured
from tests.commands.approvals.waiting import opened as waiting
from tests.dashboard.conftest import PERSON
from tests.dashboard.held import ALIVE, every_kind
from tests.recorded import CLAUDE, call_id

Browser = Callable[..., TestClient]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (value["$ref"] for _ in range("$ref" in value))
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from references(inner)


def test_the_document_is_whole(browser: Browser) -> None:
    answer = browser().get("/api/v1/openapi.json").json()
    assert answer == document(BASE, OPERATIONS)
    assert answer["openapi"] == "3.1.0"
    schemas = answer["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    assert {ref.rpartition("/")[2] for ref in references(answer)} == set(schemas)
    ids = []
    for path, methods in answer["paths"].items():
        for operation in methods.values():
            ids.append(operation["operationId"])
            in_path = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
            assert in_path == re.findall(r"\{(\w+)\}", path)
            assert operation["summary"].endswith(".")
    assert len(set(ids)) == len(ids) == len(OPERATIONS) + 1


def test_it_names_what_is_served_and_every_parameter_has_a_meaning() -> None:
    served = {(f"{BASE}{each.path.replace(':path', '')}", each.method.lower()) for each in OPERATIONS}
    described = {(path, method) for path, methods in document(BASE, OPERATIONS)["paths"].items() for method in methods}
    assert described == served | {(f"{BASE}/events", "get")}
    of_operations = {name for each in OPERATIONS for name in each.parameters}
    assert of_operations | set(EVENT_PARAMETERS) == set(MEANINGS)


def test_models_say_what_the_code_says() -> None:
    assert get_args(MODELS["ToolCallRecord"].model_fields["status"].annotation) == CALL_STATUSES
    said = MODELS["ApprovalAnswer"].model_fields
    assert {name: field.annotation for name, field in said.items()} == ApprovalAnswer.__annotations__


def test_every_member_of_a_row_has_its_meaning() -> None:
    for name in (
        "MCPSession",
        "ToolCallRecord",
        "ToolShown",
        "Server",
        "Discovery",
        "Decision",
        "Approval",
        "Stat",
        "Held",
    ):
        for member, field in MODELS[name].model_fields.items():
            assert (field.description or "").endswith(".") or member == "metrics", (name, member)


@pytest.fixture
def client(browser: Browser, paths: Paths) -> Iterator[TestClient]:
    """A dashboard with something of everything."""
    web = {"url": "https://example.com/mcp", "headers": {"A": "b"}}
    configured.demo_tools(paths, {**configured.DEMO, "web": web})
    titled = {"name": "x", "title": "X", "annotations": {"readOnlyHint": True}}
    configured.listed(paths, "web", [{"name": "bare"}, titled])
    with every_kind(paths):
        yield browser()


PATHS = {
    "/sessions": ["", "?limit=1"],
    "/sessions/{id}": [CLAUDE, ALIVE, "last"],
    "/sessions/{id}/timeline": [CLAUDE, ALIVE],
    "/sessions/{id}/tool-calls": [CLAUDE, ALIVE],
    "/tool-calls": ["", "?payloads=false"],
    "/tool-calls/{id}": [call_id(number) for number in range(1, 9)],
    "/discoveries": [""],
    "/reads": [""],
    "/decisions": ["", "?decision=denied,asked"],
    "/stats": [
        "",
        "?kind=read",
        *(f"?by={group}" for group in ("tool", "server", "client", "project", "status", "day,hour", "error")),
    ],
    "/tools": ["", "?q=note", "?toolset=none"],
    "/tools/{key:path}": ["notes:add_note", "web:bare", "web:x"],
    "/servers": [""],
    "/approvals": [""],
    "/approvals/{id}": ["last"],
    "/review": [""],
    "/waiting": [""],
}


def test_every_answer_is_what_its_model_says(client: TestClient, paths: Paths) -> None:
    approval = waiting(paths)
    described = [each for each in OPERATIONS if each.model and each.method == "GET"]
    assert {each.path for each in described} == set(PATHS)
    for each in described:
        for what in PATHS[each.path]:
            path = re.sub(r"\{.*?\}", what, each.path) if "{" in each.path else each.path + what
            answer = client.get(BASE + path)
            assert answer.status_code == 200, path
            MODELS[each.model].model_validate_json(answer.content)
            schema = {
                "$ref": f"#/components/schemas/{each.model}",
                "components": document(BASE, OPERATIONS)["components"],
            }
            Draft202012Validator(schema).validate(answer.json())
    answer = client.post(
        f"{BASE}/approvals/{approval.id}", json={"decision": "deny"}, headers={"X-Form-Token": PERSON.form_token}
    )
    MODELS["Approval"].model_validate_json(answer.content)
    MODELS["Error"].model_validate_json(client.get(f"{BASE}/sessions?x=1").content)
