"""Operations as tools: what is said of each, and why others are none."""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from mcpctl.openapi import descriptions
from mcpctl.openapi.faults import WrongDocument
from tests.openapi.documents import Json, compiled, definition, of_operation, of_paths, only, skipped, tools
from tests.table import for_each

CUT = "[The description is longer.]"


@for_each("operation, title, description", [
    ({"summary": "List", "description": "All of them."}, "List", "List\n\nAll of them."),
    ({"summary": "List"}, "List", "List"),
    ({"description": "All of them."}, None, "All of them."),
    ({"summary": "Same", "description": "Same"}, "Same", "Same"),
    ({}, None, "POST /x"),
    ({"summary": 7, "description": None}, None, "POST /x"),
    ({"summary": "<b>Bold</b> &amp;\n new"}, "Bold & new", "Bold &\n new"),
    ({"description": "<p>One</p><p>Two<br/>three</p>"}, None, "One\nTwo\nthree"),
    ({"description": "<a href='x'>A link</a>, <!-- a note -->List<String>, &lt;b&gt;, 1 < 2"}, None,
     "A link, List<String>, <b>, 1 < 2"),
])  # fmt: skip
def test_title_and_description_are_the_operations_without_html(
    operation: Json, title: str | None, description: str
) -> None:
    made = definition(only(of_operation(operation)))
    assert (made.get("title"), made["description"]) == (title, description)


def test_a_deprecated_tool_says_so_first() -> None:
    whole = of_operation({"summary": "List", "deprecated": True})
    assert definition(only(whole, deprecated=True))["description"] == "[deprecated] List"
    assert skipped(whole) == {"deprecated": ["POST /x"]}


@for_each("text, end", [
    ("a paragraph" * 30 + "\n\n", "paragraph"), ("a line" * 30 + "\n", "line"), ("word ", "word"), ("x", "x"),
])  # fmt: skip
def test_a_description_is_cut_at_a_paragraph_and_says_so(text: str, end: str) -> None:
    long = (text * 5000)[:50_000]
    made = definition(only(of_operation({"description": long})))["description"]
    assert 2000 < len(made) <= 4000
    kept, _, said = made.rpartition("\n\n")
    assert said == CUT
    assert long.startswith(kept)
    assert kept.endswith(end)
    if "\n" in text:
        assert long[len(kept) :].lstrip(" ").startswith("\n")


@for_each(
    "text", [" " * 60_000, "<" * 60_000, "<b " * 20_000, "<!--" * 15_000, "&" * 60_000, "\n" * 60_000, "&amp" * 15_000]
)
def test_no_text_takes_long_to_be_made_plain(text: str) -> None:
    assert len(descriptions.description("", text, "otherwise")) <= 4000


def test_a_tool_has_nothing_but_its_members() -> None:
    declared = {
        "readOnlyHint": True, "destructiveHint": False, "idempotentHint": "yes", "title": "T", "other": True,
        "openWorldHint": None,
    }  # fmt: skip
    operation = {
        "summary": "List", "tags": ["pets", 7, "x" * 500], "x-mcp-annotations": declared, "x-other": 1,
        "responses": {"200": {"description": "ok"}}, "externalDocs": {"url": "https://example.com"},
    }  # fmt: skip
    made = definition(only(of_operation(operation)))
    assert len(made["_meta"].pop("mcpctl/request")) == 32
    assert made == {
        "name": "op",
        "title": "List",
        "description": "List",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": {"title": "T", "readOnlyHint": True, "destructiveHint": False},
        "_meta": {"mcpctl/http": {"method": "POST", "path": "/x"}, "mcpctl/tags": ["pets", "x" * 100]},
    }


@for_each("declared", [None, 1, [], {}, {"readOnlyHint": 1}])
def test_annotations_are_what_is_declared_and_nothing_else(declared: Any) -> None:
    assert "annotations" not in definition(only(of_operation({"x-mcp-annotations": declared})))


@pytest.mark.parametrize("path", ["/files/{id}?acl=1#restore", "/?Action=List", "/x#y"])
def test_a_query_and_a_fragment_of_a_path_stay_in_it(path: str) -> None:
    made = only(of_operation({}, path=path))
    assert made.path == path
    assert definition(made)["_meta"]["mcpctl/http"] == {"method": "POST", "path": path}


METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def test_options_and_trace_are_skipped() -> None:
    made = compiled(of_paths({"/x": {each: {"operationId": each} for each in METHODS}}))
    assert sorted(each.method for each in made.operations) == ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"]
    assert made.skipped == {
        "the method OPTIONS is never sent": ["OPTIONS /x"], "the method TRACE is never sent": ["TRACE /x"]
    }  # fmt: skip


def test_callbacks_and_webhooks_are_never_tools() -> None:
    callback: dict[str, Any] = {"done": {"{$request.body#/url}": {"post": {}, "put": {}}}}
    components: dict[str, Any] = {"pathItems": {"sent": {"post": {}}}}
    webhooks = {"sent": {"$ref": "#/components/pathItems/sent"}}
    made = compiled(of_operation({"callbacks": callback}, components=components, webhooks=webhooks))
    assert [each.tool for each in made.operations] == ["op"]
    assert made.skipped == {
        "a callback, which is never called": ["PUT done", "POST done"],
        "a webhook, which is never called": ["POST sent"],
    }


PATHS = {
    "/issues": {"get": {"operationId": "issues/list", "tags": ["issues"]}, "post": {"operationId": "issues/create"}},
    "/repos/{id}": {
        "get": {"operationId": "repos/get", "tags": ["repos", "core"]},
        "delete": {"operationId": "repos/x"},
    },
}


@for_each("include, exclude, names", [
    ([], [], ["issues/list", "issues/create", "repos/get", "repos/x"]),
    (["issues/*"], [], ["issues/list", "issues/create"]),
    (["issues/list"], [], ["issues/list"]),
    (["tag:core"], [], ["repos/get"]),
    (["tag:*"], [], ["issues/list", "repos/get"]),
    (["GET /repos/*"], [], ["repos/get"]),
    (["* /repos/{id}"], [], ["repos/get", "repos/x"]),
    (["DELETE *", "issues/create"], [], ["issues/create", "repos/x"]),
    (["repos/*"], ["repos/x"], ["repos/get"]),
    ([], ["GET *"], ["issues/create", "repos/x"]),
    ([], ["tag:issues", "*/x"], ["issues/create", "repos/get"]),
    (["*s*e*/*a*"], [], ["issues/create"]),
    (["repos/x*", "issues.list"], [], ["repos/x"]),
])  # fmt: skip
def test_patterns_choose_by_name_tag_or_method_and_path(include: Any, exclude: Any, names: list[str]) -> None:
    made = compiled(of_paths(PATHS), include=include, exclude=exclude)
    assert [each.tool for each in made.operations] == names
    assert sum(map(len, made.skipped.values())) == 4 - len(names)


def test_where_all_are_deprecated_the_key_is_named_that_takes_them() -> None:
    with pytest.raises(WrongDocument, match="1: deprecated") as refused:
        compiled(of_operation({"deprecated": True}))
    assert "write deprecated = true" in refused.value.hint


def test_no_tag_makes_a_pattern_try_for_ever() -> None:
    whole = of_operation({"tags": ["a" * 50_000]})
    assert skipped(whole, include=["*a*a*a*a*a*a*b", "kept"]) == {"left out by include or exclude": ["POST /x"]}


@for_each("members, reason", [
    ({}, ""), ({"exclude": ["*"]}, "4: left out by include or exclude"), ({"include": ["none"]}, "4: left out"),
])  # fmt: skip
def test_a_document_without_a_usable_operation_is_an_error_with_the_reasons(members: Json, reason: str) -> None:
    whole = of_paths(PATHS if members else {})
    with pytest.raises(WrongDocument, match=r"^shop\.json#/paths: no operation is usable") as refused:
        compiled(whole, **members)
    assert reason in refused.value.message
    assert refused.value.hint == (
        "check the patterns of include and exclude" if members else "correct it there, or get another document"
    )


@for_each("value", [None, 1, "x", [], True])
def test_an_operation_that_is_no_object_is_skipped(value: Any) -> None:
    assert skipped(of_paths({"/x": {"post": value}})) == {"an operation is no object": ["POST /x"]}


@for_each("paths, reason", [
    ({"x": {"post": {}}}, {"a path does not begin with /": ["POST x"]}),
    ({"/x": []}, {"a path is no object": ["/x"]}),
    ({"/x": {"$ref": "#/none"}}, {"a reference leads nowhere: #/none": ["/x"]}),
    ({"/x": None, "x-more": {"post": {}}}, {}),
])  # fmt: skip
def test_a_path_that_cannot_be_used_is_skipped(paths: Json, reason: Json) -> None:
    assert skipped(of_paths(paths)) == reason


def test_texts_of_the_document_are_kept_in_bounds() -> None:
    info = {"title": "<b>Shop</b> &amp; more", "version": 1.5, "description": "word " * 5000}
    made = compiled({**of_operation({}), "info": info})
    assert (made.title, made.version, made.openapi) == ("Shop & more", "1.5", "3.1.1")
    assert len(made.description) <= 4000
    assert made.description.endswith(CUT)


@pytest.mark.slow
def test_ten_thousand_operations_are_tools() -> None:
    paths = {f"/{i}/{{id}}": {"get": {"operationId": f"op{i}", "summary": "List"}} for i in range(10_000)}
    assert len(tools(of_paths(paths))) == 10_000


def test_more_operations_than_are_looked_at_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpctl.base.bounds.OPENAPI_OPERATIONS", 3)
    assert compiled(of_paths({"/x": {"get": {}, "options": {}, "trace": {}}}))
    many: list[Json] = [
        {"/x": {"get": {}, "put": {}, "options": {}, "trace": {}}},
        {f"/{i}": {"get": {}} for i in range(4)},
    ]
    for paths in many:
        with pytest.raises(WrongDocument, match=r"#/paths has more than 3 operations"):
            compiled(of_paths(paths), exclude=["GET /*"])


RICH = of_paths(
    {
        "/x/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "post": {
                "operationId": "op", "summary": "s", "tags": ["t"], "security": [{"key": []}],
                "servers": [{"url": "https://api.example.com/{v}", "variables": {"v": {"default": "1"}}}],
                "callbacks": {"c": {"u": {"post": {}}}}, "x-mcp-annotations": {"title": "T"},
                "parameters": [{"name": "q", "in": "query", "style": "form", "content": {"a/b": {"schema": {}}}}],
                "requestBody": {
                    "required": True,
                    "content": {
                        "multipart/form-data": {
                            "schema": {"allOf": [{"$ref": "#/components/schemas/A"}], "required": ["a"]},
                            "encoding": {"a": {"contentType": "a/b", "headers": {"X": {"schema": {"const": "1"}}}}},
                        }
                    },
                },
            },
        }
    },
    components={
        "schemas": {"A": {"type": "object", "nullable": True, "properties": {"a": {"type": "array", "items": {}}}}},
        "securitySchemes": {"key": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://example.com"}}}},
    },
    security=[{"key": ["scope"]}], webhooks={"w": {"post": {"operationId": "w"}}},
)  # fmt: skip
JUNK: list[Any] = [
    None,
    1,
    1.5,
    True,
    "",
    "junk",
    [],
    ["junk"],
    [[]],
    [{}],
    {},
    {"$ref": 1},
    {"$ref": "#"},
    {"a": None},
]


def places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, *path, key)


@pytest.mark.slow
def test_junk_anywhere_in_a_document_is_compiled_or_refused_in_words() -> None:
    assert tools(RICH) == ["op"]
    ends = {"compiled": 0, "refused": 0}
    for version in ("3.0.3", "3.1.1"):
        for path in places(RICH):
            for junk in JUNK:
                whole: Any = {"": {**copy.deepcopy(RICH), "openapi": version}}
                at, last = whole, ""
                for key in path:
                    at, last = at[last], key
                at[last] = junk
                try:
                    made = compiled(whole[""])
                    ends["compiled"] += 1
                    assert all(msgspec.json.decode(each.definition) for each in made.operations)
                except WrongDocument as refused:
                    assert refused.message.startswith("shop.json")
                    ends["refused"] += 1
    assert min(ends.values()) > 100
