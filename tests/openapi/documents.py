"""Documents for tests, compiled in this process: that is what the one of `compiling` does."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mcpctl.openapi import document
from mcpctl.openapi.faults import OperationFault
from mcpctl.openapi.operations import ChosenEntry, Operations
from mcpctl.openapi.references import References
from mcpctl.openapi.snapshot import CompiledDocument, HttpOperation

NAME = "shop.json"
Json = dict[str, Any]


def of_paths(paths: Json, version: str = "3.1.1", **members: Any) -> Json:
    info = {"title": "Shop", "version": "1"}
    return {
        "openapi": version, "info": info, "servers": [{"url": "https://api.example.com/v1"}], "paths": paths, **members
    }  # fmt: skip


def of_operation(
    operation: Json, version: str = "3.1.1", *, path: str = "/x", method: str = "post", **more: Any
) -> Json:
    return of_paths({path: {method: {"operationId": "op", **operation}}}, version, **more)


def compiled(whole: Json, files: Mapping[str, Any] | None = None, **wanted: Any) -> CompiledDocument:
    def read(place: str) -> document.Text:
        if place not in (files or {}):
            raise OperationFault(f"{place} cannot be read")
        return document.Text(msgspec.json.encode((files or {})[place]), place)

    place = wanted.setdefault("place", NAME)
    wanted.setdefault("name", NAME)
    checked = document.checked(document.value_of(document.Text(msgspec.json.encode(whole), NAME)), NAME)
    return Operations(checked, References(checked, place, NAME, read), ChosenEntry(source=NAME, **wanted)).compiled(
        "", 0
    )


def only(whole: Json, files: Mapping[str, Any] | None = None, **wanted: Any) -> HttpOperation:
    """The one operation that a document has."""
    [operation] = compiled(whole, files, **wanted).operations
    return operation


def definition(operation: HttpOperation) -> Json:
    decoded: Json = msgspec.json.decode(operation.definition)
    return decoded


def input_schema(whole: Json, **more: Any) -> Json:
    schema: Json = definition(only(whole, **more))["inputSchema"]
    return schema


def body_schema(schema: Any, version: str = "3.1.1", media_type: str = "application/json", **more: Any) -> Any:
    """The schema of `body` that comes of a schema of a document, with the components of `more`."""
    operation = {"requestBody": {"content": {media_type: {"schema": schema}}}}
    return input_schema(of_operation(operation, version, **more))["properties"]["body"]


def skipped(whole: Json, **wanted: Any) -> dict[str, list[str]]:
    """The operations that are skipped, by the reason, of a document that has another one."""
    whole["paths"]["/kept"] = {"get": {"operationId": "kept"}}
    return compiled(whole, **wanted).skipped


def tools(whole: Json, **wanted: Any) -> list[str]:
    return [each.tool for each in compiled(whole, **wanted).operations]
