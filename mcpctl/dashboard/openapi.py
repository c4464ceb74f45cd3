"""The REST interface as an OpenAPI 3.1 document, made from its operations and the models of its answers."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic.json_schema import models_json_schema

from mcpctl import __version__
from mcpctl.dashboard import event_stream
from mcpctl.dashboard.parameters import FLAGS, MEANINGS, MOST
from mcpctl.dashboard.rest_answers import Operation
from mcpctl.dashboard.rest_models import MODELS

_REF = "#/components/schemas/{model}"
_ERROR = {
    "description": "What is wrong",
    "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}},
}
_EVENTS = {
    "operationId": "events",
    "summary": "What happens, as it happens.",
    "description": "Server-sent events: the lines of mcpctl calls tail -f --json, and what changes of approvals, tools"
    " and servers. An event's id is a position; the header Last-Event-ID goes on from it, and an event reset says that"
    " it cannot. The filters are those of calls. 503 where there are as many streams as there may be.",
    "responses": {"200": {"description": "OK", "content": {"text/event-stream": {}}}, "default": _ERROR},
}
_SINCE = {"name": "since", "in": "query", "description": "A position to go on from.", "schema": {"type": "string"}}


@cache
def document(base: str, operations: Iterable[Operation]) -> dict[str, Any]:
    """The document of these operations, below this path."""
    _, schemas = models_json_schema([(each, "validation") for each in MODELS.values()], ref_template=_REF)
    paths: dict[str, Any] = {}
    for each in operations:
        place = paths.setdefault(f"{base}{each.path.replace(':path', '')}", {})
        place[each.method.lower()] = _operation(each)
    parameters = [_SINCE, *(_in_query(name) for name in event_stream.PARAMETERS if name != "since")]
    paths[f"{base}/events"] = {"get": {**_EVENTS, "parameters": parameters}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mcpctl dashboard",
            "version": __version__,
            "description": "The records, tools and servers of mcpctl on this machine. mcpctl-records(5) says what each"
            " member means.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "What mcpctl dashboard token prints. It reads only.",
                }
            },
        },
        "security": [{"token": []}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    schema = {"$ref": _REF.format(model=operation.model)} if operation.model else {}
    described: dict[str, Any] = {
        "operationId": _id(operation),
        "summary": (operation.answer.__doc__ or "").partition("\n")[0],
        "parameters": [*map(_in_path, re.findall(r"\{(\w+)", operation.path)), *map(_in_query, operation.parameters)],
        "responses": {
            "200": {"description": "OK", "content": {kind: {"schema": schema} for kind in operation.kinds}},
            "default": _ERROR,
        },
    }
    if operation.method == "POST":
        body = {"schema": {"$ref": _REF.format(model="ApprovalAnswer")}}
        described["requestBody"] = {"required": True, "content": {"application/json": body}}
        described["security"] = []
        described["description"] = "With the cookie of a login and its form token in X-Form-Token; never with a token."
    return described


def _id(operation: Operation) -> str:
    is_of_session = operation.path == "/sessions/{id}/tool-calls"
    return "session_tool_calls" if is_of_session else operation.answer.__name__


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if name in FLAGS:
        schema = {"type": "boolean"}
    elif name == "limit":
        schema = {"type": "integer", "minimum": 1, "maximum": MOST, "default": 50}
    elif name == "offset":
        schema = {"type": "integer", "minimum": 0, "default": 0}
    return {"name": name, "in": "query", "description": MEANINGS[name], "schema": schema}
