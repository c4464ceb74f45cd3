"""The texts of documents: JSON, YAML as JSON, versions, and depth."""

import sys
from typing import Any

import pytest

from mcpctl.openapi import document
from mcpctl.openapi.faults import WrongDocument
from tests.openapi.documents import compiled, of_operation, of_paths, skipped
from tests.table import for_each


def value(text: str | bytes, name: str = "shop.yaml") -> Any:
    return document.value_of(document.Text(text.encode() if isinstance(text, str) else text, name))


@for_each("text, result", [
    ("a: no", "no"), ("a: yes", "yes"), ("a: on", "on"), ("a: 012", "012"), ("a: 22:22", "22:22"),
    ("a: 2024-01-01", "2024-01-01"), ("a: 0x10", "0x10"), ("a: 0o7", "0o7"), ("a: 1_000", "1_000"), ("a: .5", ".5"),
    ("a: .inf", ".inf"), ("a: .nan", ".nan"), ("a: '1'", "1"), ('a: "true"', "true"), ("a: !!str 1", "1"),
    ("a: |\n  1\n", "1\n"), ("a: 1", 1), ("a: -1.5e3", -1500.0), ("a: true", True), ("a: False", False),
    ("a: null", None), ("a: ~", None), ("a:", None), ("a: {b: [1, x]}", {"b": [1, "x"]}),
    ("a: &x {b: 1}\nb: *x", {"b": 1}), ("x: &x {b: 1, c: 1}\na: {<<: *x, c: 2}", {"b": 1, "c": 2}),
])  # fmt: skip
def test_yaml_has_no_types_but_those_of_json(text: str, result: Any) -> None:
    assert value(text)["a"] == result


def test_a_key_of_yaml_is_the_text_that_is_written() -> None:
    assert value("200: a\ntrue: b\n1.0: c\n2024-01-01: d\n") == {"200": "a", "true": "b", "1.0": "c", "2024-01-01": "d"}


DOUBLING = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))


@for_each("text, problem", [
    (DOUBLING, "too large"),
    ("a: &a [*a]", "is none"),
    ("a: *b", "undefined|is none"),
    ("a: !!python/object:os.system x", "the tag tag:yaml.org,2002:python/object:os.system in line 1"),
    ("a: !env HOME", "the tag !env in line 1"),
    ("a: !!int x", "the tag"),
    ("a: !!binary x", "the tag"),
    ("? [1]\n: 2", "a key is no text in line 1"),
    ("a: 1\n---\nb: 2", "more than one document"),
    ("a: [1", "line 1 is not YAML|line 2 is not YAML|is not YAML"),
    ("a: " + "[" * 300 + "]" * 300, "nested deeper than 200"),
    ("a: " + "1" * 99, "a number in it is too large"),
    ("a: 1e999", "a number in it is too large"),
    ('a: "\\uD800"', "is not YAML"),
    ("a: {<<: 1}", "merge key"),
    (b"a: \xff", "is not YAML"),
])  # fmt: skip
def test_yaml_that_is_no_json_is_refused_in_words(text: Any, problem: str) -> None:
    with pytest.raises(WrongDocument, match=rf"^shop\.yaml.*(?:{problem})") as refused:
        value(text)
    assert refused.value.exit_code == 2


def test_without_pyyaml_an_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(WrongDocument, match="YAML needs PyYAML") as refused:
        value("a: 1")
    assert f"{sys.executable} -m pip install 'mcpctl[openapi]'" in refused.value.hint
    for place, command in (("uv/tools", "uv tool install 'mcp"), ("pipx/venvs", "pipx install --force 'mcp")):
        monkeypatch.setattr(sys, "executable", f"/x/{place}/mcpctl/bin/python")
        with pytest.raises(WrongDocument) as refused:
            value("# the shop\nopenapi: 3.1.0", "openapi")
        assert command in refused.value.hint
    for text in ("<!DOCTYPE html>", "not found", "{x", "openapi"):
        with pytest.raises(WrongDocument, match="is not JSON: ") as refused:
            value(text, "openapi")
        assert "install" not in refused.value.hint
    assert value('{"a": 1}', "shop.yaml") == {"a": 1}
    assert value('{"a": 1}', "shop.json") == {"a": 1}


def test_json_needs_no_name_and_yaml_none_either() -> None:
    assert value('\ufeff {"a": 1}', "openapi") == {"a": 1}
    assert value("a: 1", "openapi") == {"a": 1}
    assert value("{a: 1}", "openapi.yml") == {"a": 1}


@for_each("text, problem", [
    ("{", "is not JSON"), ('{"a": NaN}', "is not JSON"), (b'{"a": "\xff"}', "is not JSON"),
    ('{"a": 1} x', "is not JSON"),
    ("[" * 300 + "]" * 300, "is nested deeper than 200"),
])  # fmt: skip
def test_a_text_that_is_no_json_is_refused_in_words(text: Any, problem: str) -> None:
    with pytest.raises(WrongDocument, match=rf"^shop\.json (?:{problem})"):
        value(text, "shop.json")


def test_a_text_that_is_nested_endlessly_is_refused() -> None:
    with pytest.raises(WrongDocument):
        value("[" * 100_000, "shop.json")


def test_two_hundred_levels_are_read() -> None:
    assert value("[" * 200 + "]" * 200, "shop.json")


@for_each("whole, problem", [
    ([], "is not an OpenAPI document"),
    ({}, "#/openapi is missing"),
    ({"openapi": 3.0}, "#/openapi is missing"),
    ({"openapi": "4.0.0"}, "#/openapi: version '4.0.0' is not read"),
    ({"openapi": "3.10.0"}, "#/openapi: version '3.10.0' is not read"),
    ({"swagger": "2.0", "paths": {}}, "#/swagger: Swagger 2.0 is not read"),
    ({"openapi": "3.0.0", "paths": []}, "#/paths is not an object"),
    ({"openapi": "3.0.0", "components": 1}, "#/components is not an object"),
    ({"openapi": "3.1.0", "info": "x"}, "#/info is not an object"),
])  # fmt: skip
def test_a_wrong_document_ends_with_its_name_and_a_pointer(whole: Any, problem: str) -> None:
    with pytest.raises(WrongDocument) as refused:
        document.checked(whole, "shop.json")
    assert refused.value.message.startswith("shop.json")
    assert problem in refused.value.message
    assert refused.value.exit_code == 2


def test_swagger_2_is_refused_with_the_way_out() -> None:
    with pytest.raises(WrongDocument) as refused:
        document.checked({"swagger": "2.0"}, "shop.json")
    assert "npx swagger2openapi" in refused.value.hint


@pytest.mark.parametrize("version", ["3.0.0", "3.0.4", "3.1.0", "3.1.2", "3.2.0"])
def test_versions_3_0_to_3_2_are_read(version: str) -> None:
    assert compiled(of_operation({}, version)).openapi == version


def test_new_methods_of_3_2_are_skipped() -> None:
    item = {"get": {"operationId": "op"}, "query": {}, "additionalOperations": {"COPY": {}, "lock": {}}}
    assert compiled(of_paths({"/x": item}, "3.2.0")).skipped == {
        "the method QUERY is never sent": ["QUERY /x"],
        "the method COPY is never sent": ["COPY /x"],
        "the method LOCK is never sent": ["LOCK /x"],
    }


def test_a_querystring_parameter_of_3_2_is_skipped_with_its_operation() -> None:
    parameter = {"name": "q", "in": "querystring", "content": {"application/json": {}}}
    assert skipped(of_operation({"parameters": [parameter]}, "3.2.0")) == {
        "a parameter is in 'querystring'": ["POST /x"]
    }
