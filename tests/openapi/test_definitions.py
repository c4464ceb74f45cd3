"""Definitions: at most 64 KB each and 16 MB together, made smaller in one order."""

from typing import Any

import msgspec
import pytest

from mcpctl.base import bounds
from mcpctl.openapi.faults import WrongDocument
from tests.openapi.documents import compiled, definition, of_operation, of_paths, only, skipped

STUB = {"description": "not shown: see tools show --schema"}
KB = 1 << 10


def of_chain(length: int, text: str, size: int = 0) -> dict[str, Any]:
    """An operation whose body leads to so many schemas, one after the other."""
    filling = {f"p{i}": {"type": "string", "description": text} for i in range(size)}
    schemas = {
        f"S{i:03}": {
            "type": "object",
            "description": text,
            "properties": {**filling, "next": {"$ref": f"#/components/schemas/S{min(i + 1, length - 1):03}"}},
        }
        for i in range(length)
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/S000"}}}
    return of_operation({"requestBody": {"content": content}}, components={"schemas": schemas})


def defs_of(whole: dict[str, Any]) -> dict[str, Any]:
    operation = only(whole)
    assert len(operation.definition) <= 64 * KB
    found: dict[str, Any] = definition(operation)["inputSchema"]["$defs"]
    return found


def test_a_definition_that_fits_is_whole() -> None:
    text = "d" * 1000
    defs = defs_of(of_chain(50, text))
    assert [each["description"] for each in defs.values()] == [text] * 50


def test_first_descriptions_of_defs_are_cut_to_200_characters() -> None:
    defs = defs_of(of_chain(100, "d" * 1000))
    assert {each["description"] for each in defs.values()} == {"d" * 199 + "…"}
    assert len(defs) == 100


def test_then_they_go() -> None:
    defs = defs_of(of_chain(40, "d" * 250, size=10))
    assert len(defs) == 40
    assert "ddd" not in msgspec.json.encode(defs).decode()
    assert STUB not in defs.values()


def test_then_the_deepest_defs_are_not_shown() -> None:
    defs = defs_of(of_chain(100, "d" * 250, size=40))
    names = list(defs)
    assert names == [f"S{i:03}" for i in range(len(names))]
    assert defs[names[-1]] == STUB
    assert list(defs.values()).count(STUB) == 1  # no more than has to be; and nothing leads to those behind it
    assert len(msgspec.json.encode(defs)) > 60 * KB


def test_a_schema_that_is_too_large_by_itself_loses_descriptions_and_then_its_deepest_parts() -> None:
    def body(text: str, width: int) -> Any:
        deep = {"type": "object", "properties": {"z": {"type": "string", "enum": ["a" * 30, "b" * 30]}}}
        wide = {f"x{i:04}": deep for i in range(width)}
        schema = {"description": text, "properties": {"a": {"properties": wide}, "b": {"type": "string"}}}
        operation = only(of_operation({"requestBody": {"content": {"application/json": {"schema": schema}}}}))
        assert len(operation.definition) <= 64 * KB
        made = definition(operation)["inputSchema"]["properties"]["body"]
        assert made["properties"]["b"] == {"type": "string"}
        return made["properties"]["a"]

    assert body("d" * 70_000, 1)["properties"]["x0000"]["properties"]["z"]["enum"]
    assert body("d", 600)["properties"]["x0000"] == {"type": "object", "properties": {"z": STUB}}
    assert body("d", 800)["properties"]["x0000"] == STUB
    assert body("d", 3000) == STUB


def test_an_operation_is_skipped_that_cannot_be_made_small_enough() -> None:
    parameters = [{"name": f"parameter-{i:06}", "in": "query", "schema": {"type": "string"}} for i in range(3000)]
    assert skipped(of_operation({"parameters": parameters})) == {
        "its definition is larger than 64 KB, however it is cut": ["POST /x"]
    }


def test_an_operation_is_skipped_whose_request_takes_too_much_to_describe() -> None:
    properties = {f"property-{i:06}": {"type": "object"} for i in range(3000)}
    content = {"multipart/form-data": {"schema": {"properties": properties}}}
    assert skipped(of_operation({"requestBody": {"content": content}})) == {
        "its request takes too much to describe": ["POST /x"]
    }


def test_a_document_with_too_many_tools_is_refused_with_the_words_include(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (bounds.TOOLS, bounds.LIST_BYTES) == (10_000, 16 << 20)
    long = {"requestBody": {"content": {"application/json": {"schema": {"const": "c" * 60_000}}}}}
    cases: list[tuple[str, int, dict[str, Any], str]] = [
        ("TOOLS", 30, {f"/{i}": {"get": {}} for i in range(31)}, "has more than 30 operations"),
        ("LIST_BYTES", 1 << 20, {f"/{i}": {"get": {}, "post": long} for i in range(20)}, "have more than 1 MB"),
    ]
    for bound, most, paths, message in cases:
        with monkeypatch.context() as patched:
            patched.setattr(f"mcpctl.base.bounds.{bound}", most)
            with pytest.raises(WrongDocument, match=message) as refused:
                compiled(of_paths(paths))
            assert "--include" in refused.value.hint
            assert len(compiled(of_paths(paths), include=["GET /1"]).operations) == 1


def test_operations_with_the_same_schemas_have_the_same_defs() -> None:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}
    paths = {f"/{i}": {"post": {"requestBody": {"content": content}}} for i in range(3)}
    made = compiled(of_paths(paths, components={"schemas": {"A": {"type": "string"}}}))
    assert {str(definition(each)["inputSchema"]["$defs"]) for each in made.operations} == {"{'A': {'type': 'string'}}"}
