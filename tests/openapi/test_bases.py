"""The address to which each operation is sent."""

from typing import Any

import pytest

from mcpctl.openapi.bases import origin_of
from mcpctl.openapi.faults import WrongDocument
from tests.openapi.documents import compiled, of_paths, only
from tests.table import for_each

HERE = {"operationId": "op"}


def server(url: str, **variables: Any) -> list[Any]:
    return [{"url": url, "variables": variables}, {"url": "https://second.example.com"}]


def base(servers: Any = None, operation: Any = None, path: Any = None, **wanted: Any) -> str:
    own = {"servers": operation} if operation else {}
    whole = of_paths({"/x": {"get": {**HERE, **own}, **({"servers": path} if path else {})}})
    return only({**whole, "servers": servers}, **wanted).base


@for_each("servers, result", [
    (server("https://api.example.com/v1/"), "https://api.example.com/v1"),
    (server("https://{host}/{v}", host={"default": "api.example.com"}, v={"default": 2}), "https://api.example.com/2"),
    (server("http://localhost:8080"), "http://localhost:8080"),
    (server("http://127.0.0.1"), "http://127.0.0.1"),
])  # fmt: skip
def test_the_base_is_the_first_server_with_its_variables_defaults(servers: Any, result: str) -> None:
    assert base(servers) == result


def test_the_https_form_of_a_base_is_named_and_its_other_form_is_taken_on_purpose() -> None:
    with pytest.raises(WrongDocument) as refused:
        base(server("http://api.example.com/v1"))
    assert "--url https://api.example.com/v1; http:// has to be written there on purpose" in refused.value.hint
    assert base(url="http://api.example.com/v1") == "http://api.example.com/v1"


@for_each("url, origin", [
    ("https://A.example.com:443/x", "https://a.example.com"), ("http://a.example.com:80", "http://a.example.com"),
    ("https://a.example.com:80", "https://a.example.com:80"), ("http://[::1]:8080/x", "http://[::1]:8080"),
    ("https://a.example.com:x", ""),
])  # fmt: skip
def test_an_origin_has_its_port_where_that_is_not_the_usual_one(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@for_each("servers, problem", [
    (None, "#/servers: no base is known"),
    ([], "#/servers: no base is known"),
    (server("/v1"), "#/servers/0/url: '/v1' is relative"),
    (server("//api.example.com"), "#/servers/0/url: '//api.example.com' is relative"),
    (server("api.example.com/v1"), "is relative"),
    (server("https://{host}/v1"), "#/servers/0/url: its variable 'host' has no default"),
    (server("https://{host}/v1", host={"default": ""}), "its variable 'host' has no default"),
    (server("http://api.example.com"), "#/servers/0/url: 'http://api.example.com' is not encrypted"),
    (server("ftp://api.example.com"), "is no https:// address"),
    (server("https://user:secret@api.example.com"), "has more than a host and a path"),
    (server("https://api.example.com/?key=1"), "has more than a host and a path"),
    (server("https://api.example.com/a b"), "has characters that no address has"),
    (server("https://[::1"), "is no address"),
    *((server(f"https://api.example.com/{path}"), "has a part such as .. that leads elsewhere")
      for path in ("../x", "a/..", "./a", "a/%2e%2e/b", "a/%252E./b", "a\\b", "a%5cb")),
    (server("https://{host}/v1", host={"default": "api.example.com/a/../b"}), "that leads elsewhere"),
    ([{}], "it has no address"),
    ("https://api.example.com", "it has no address"),
])  # fmt: skip
def test_without_a_base_that_can_be_used_url_is_required(servers: Any, problem: str) -> None:
    with pytest.raises(WrongDocument) as refused:
        base(servers)
    assert refused.value.message.startswith("shop.json#/servers")
    assert problem in refused.value.message
    assert "--url" in refused.value.hint
    assert base(servers, url="https://mine.example.com/api/") == "https://mine.example.com/api"


@for_each("path", ["..", "a/../b", "%2e%2E/a", "a\\b"])
def test_a_url_of_the_entry_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(WrongDocument, match="url in the entry has a part such as"):
        base(server("https://api.example.com"), url=f"https://api.example.com/{path}")


def test_a_base_of_the_entry_stays_as_it_is_written_there() -> None:
    assert base(server("https://api.example.com"), url="https://api.example.com/bot${TOKEN}") == (
        "https://api.example.com/bot${TOKEN}"
    )


def test_the_operations_server_comes_before_the_paths_and_that_before_the_documents() -> None:
    main, path, own = (server(f"https://api.example.com/{each}") for each in ("main", "path", "own"))
    assert base(main) == "https://api.example.com/main"
    assert base(main, path=path) == "https://api.example.com/path"
    assert base(main, own, path) == "https://api.example.com/own"
    assert base(main, own, path, url="https://mine.example.com") == "https://mine.example.com"


OTHER = server("https://upload.example.com/v1")


def test_an_operation_of_another_origin_is_skipped_unless_origins_names_it() -> None:
    whole = of_paths({"/x": {"get": {**HERE, "servers": OTHER}}, "/y": {"get": {"operationId": "y"}}})
    reason = (
        'its own server is of another origin, which origins = ["https://upload.example.com"] in its entry would allow'
    )
    for url in ("", "https://mine.example.com"):
        made = compiled(whole, url=url)
        assert made.skipped == {reason: ["GET /x"]}
        assert [each.base for each in made.operations] == [url or "https://api.example.com/v1"]
        named = compiled(whole, url=url, origins=["https://upload.example.com"])
        assert named.base == (url or "https://api.example.com/v1")
        assert named.operations[0].base == "https://upload.example.com/v1"
        assert not compiled(whole, url=url, origins=["http://upload.example.com", "https://example.com"]).operations[1:]


def test_where_the_document_has_no_base_the_first_of_an_operation_counts() -> None:
    own = {"servers": server("https://api.example.com/a")}
    whole = of_paths({"/x": {"get": {**HERE, **own}}, "/y": {"get": {"operationId": "y", "servers": OTHER}}})
    made = compiled({**whole, "servers": []})
    assert (made.base, [each.base for each in made.operations]) == ("https://api.example.com/a",) * 1 + (
        ["https://api.example.com/a"],
    )
    assert [each.tool for each in made.operations] == ["op"]


def test_a_wrong_server_of_one_operation_skips_that_operation() -> None:
    whole = of_paths({"/x": {"get": {**HERE, "servers": server("http://api.example.com")}}, "/y": {"get": {}}})
    assert compiled(whole).skipped == {"its own server: 'http://api.example.com' is not encrypted": ["GET /x"]}
    whole = of_paths({"/x": {"get": {**HERE, "servers": server("//[x")}}, "/y": {"get": {}}})
    reasons = compiled(whole, place="https://example.com/shop.json").skipped
    assert reasons == {"its own server: '//[x' is no address": ["GET /x"]}


@for_each("servers, result", [
    (server("/v2"), "https://example.com/v2"),
    (server("v2"), "https://example.com/api/v2"),
    (server("//other.example.com/v2"), "https://other.example.com/v2"),
    (None, "https://example.com"),
])  # fmt: skip
def test_a_relative_base_of_a_document_from_an_address_begins_there(servers: Any, result: str) -> None:
    assert base(servers, place="https://example.com/api/shop.json") == result
