"""The request that reaches an API, as the raw bytes that it gets: exactly what its document says, or none."""

import json
from typing import Any

import pytest

from mcpctl.base.failure import Failed
from mcpctl.base.paths import Paths
from mcpctl.config.server_settings import Server
from mcpctl.openapi.snapshot import HttpOperation, Parameter, Scheme
from mcpctl.upstreams.http_api import request
from tests.table import for_each
from tests.upstreams.http_api.own_api import OwnApi, called, document, operation, own_api, parameter, refusal


@pytest.fixture(scope="module")
def own() -> Any:
    """One API for all tests of this module; each looks at its own last request."""
    with own_api() as served:
        yield served


def target(paths: Paths, own: OwnApi, of: HttpOperation, arguments: Any, **settings: Any) -> str:
    """The path and query of the request that a call makes."""
    called(paths, document(f"{own.url}/v1", of), arguments, **settings)
    return own.target


def refused(paths: Paths, own: OwnApi, of: HttpOperation, arguments: Any, **settings: Any) -> str:
    """The code of a call that is refused; nothing has reached the API."""
    before = len(own.requests)
    failure = refusal(paths, document(f"{own.url}/v1", of), arguments, **settings)
    assert not failure.was_sent
    assert len(own.requests) == before
    return failure.code


FILE = operation("GET", "/files/{name}/raw", parameter("name", "path"))

ATTACKS = [
    # A value, and the path that is sent for it; None where the call is refused.
    ("..", None), (".", None), ("", None), ("%2e%2e", None), ("%2E.", None), ("%2e", None), ([], None),
    ("../admin", "/v1/files/..%2Fadmin/raw"), ("a/../../b", "/v1/files/a%2F..%2F..%2Fb/raw"),
    ("%2e%2e%2fadmin", "/v1/files/%252e%252e%252fadmin/raw"), ("%252e%252e", "/v1/files/%25252e%25252e/raw"),
    ("//evil.example", "/v1/files/%2F%2Fevil.example/raw"),
    ("https://evil.example", "/v1/files/https%3A%2F%2Fevil.example/raw"),
    ("\\..\\admin", "/v1/files/%5C..%5Cadmin/raw"), ("a?admin=1", "/v1/files/a%3Fadmin%3D1/raw"),
    ("a#b", "/v1/files/a%23b/raw"), ("100%", "/v1/files/100%25/raw"), ("{name}", "/v1/files/%7Bname%7D/raw"),
    ("a\r\nX-Evil: 1", "/v1/files/a%0D%0AX-Evil%3A%201/raw"), ("a\x00b", "/v1/files/a%00b/raw"),
    ("a;b=c", "/v1/files/a%3Bb%3Dc/raw"), ("@evil.example", "/v1/files/%40evil.example/raw"),
    ("ä b", "/v1/files/%C3%A4%20b/raw"), ("a" * 10_000, f"/v1/files/{'a' * 10_000}/raw"),
    (12345678901234567890123, "/v1/files/12345678901234567890123/raw"),
    (True, "/v1/files/true/raw"), ("...", "/v1/files/.../raw"),
]  # fmt: skip


@for_each("value, expected", ATTACKS)
def test_a_value_of_the_path_stays_one_segment_of_it(
    paths: Paths, own: OwnApi, value: Any, expected: str | None
) -> None:
    if expected is None:
        assert refused(paths, own, FILE, {"name": value}) == "bad_path"
    else:
        assert target(paths, own, FILE, {"name": value}) == expected
        assert b"\r\nX-Evil" not in own.last


def test_an_address_that_is_too_long_is_refused(paths: Paths, own: OwnApi) -> None:
    assert refused(paths, own, FILE, {"name": "a" * 70_000}) == "too_large"


def test_a_slash_stays_where_slash_in_or_the_document_says_so_and_each_of_its_segments_is_looked_at(
    paths: Paths, own: OwnApi
) -> None:
    assert target(paths, own, FILE, {"name": "a b/c"}, slash_in=["name"]) == "/v1/files/a%20b/c/raw"
    for name in ("a/../b", "a//b", "/a", "a/", "a/./b", "a/%2e%2e/b", "..", "a/%2e%2e"):
        assert refused(paths, own, FILE, {"name": name}, slash_in=["name"]) == "bad_path"
    assert target(paths, own, FILE, {"name": "a%2fb/c?d"}, slash_in=["name"]) == "/v1/files/a%252fb/c%3Fd/raw"
    reserved = operation("GET", "/{name}", parameter("name", "path", allow_reserved=True))
    assert target(paths, own, reserved, {"name": "projects/x;y"}) == "/v1/projects/x%3By"


def test_all_holes_are_filled_in_one_pass(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/{a}/{b}.{c}", *(parameter(name, "path") for name in "abc"))
    assert target(paths, own, of, {"a": "{b}", "b": "{c}", "c": "{a}"}) == "/v1/%7Bb%7D/%7Bc%7D.%7Ba%7D"
    assert refused(paths, own, of, {"a": "x", "b": "", "c": ""}) == "bad_path"  # together they would be a dot


def test_the_query_of_a_path_comes_first_and_its_fragment_is_dropped(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/files/{id}?Action=Do it&x#add", parameter("id", "path"), parameter("page"))
    assert target(paths, own, of, {"id": "a&b", "page": 2}) == "/v1/files/a%26b?Action=Do%20it&x&page=2"


def test_a_template_that_leads_out_of_its_base_is_refused(paths: Paths, own: OwnApi) -> None:
    for path in ("/../x", "/a/../../x", "/a/./b"):
        assert refused(paths, own, operation("GET", path), {}) == "bad_path"


def test_an_unknown_argument_is_refused_with_the_near_names(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/x", parameter("per_page"), parameter("sort"))
    failure = refusal(paths, document(own.url, of), {"perpage": 1})
    assert failure.code == "unknown_argument"
    assert failure.facts["reason"] == "it has no argument 'perpage': did you mean 'per_page'?"
    failure = refusal(paths, document(own.url, of), {"zzz\u202e": None})
    assert failure.facts["reason"] == "it has no argument 'zzz\\u202e': it has 'per_page', 'sort'"


def test_a_missing_argument_is_refused_in_the_path_and_left_to_the_api_elsewhere(paths: Paths, own: OwnApi) -> None:
    for arguments in ({}, {"name": None}):
        assert refused(paths, own, FILE, arguments) == "missing_argument"
    of = operation("POST", "/x", parameter("q"), parameter("X-H", "header"), body=("application/json", "json"))
    assert target(paths, own, of, {}) == "/v1/x"
    assert target(paths, own, of, {"q": None, "X-H": None, "body": None}) == "/v1/x"
    assert (own.header("X-H"), own.header("Content-Type"), own.body) == (None, None, b"")


def test_values_are_sent_as_given(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/x", *(parameter(name) for name in "abcde"))
    arguments = b'{"a": 12345678901234567890123, "b": 1.50, "c": 1e400, "d": true, "e": "01"}'
    assert target(paths, own, of, arguments) == "/v1/x?a=12345678901234567890123&b=1.50&c=1e400&d=true&e=01"


def test_styles_reach_the_query(paths: Paths, own: OwnApi) -> None:
    of = operation(
        "GET", "/x", parameter("a", explode=False), parameter("b", style="pipeDelimited"),
        parameter("c", style="deepObject"), parameter("d", media_type="application/json"),
        parameter("e", allow_reserved=True), parameter("f[g]", argument="f"),
    )  # fmt: skip
    arguments = b'{"a":[1,2],"b":["x","y"],"c":{"k":{"l":1}},"d":{"n": 1.50},"e":"a/b?c=d&e","f":"v"}'
    assert target(paths, own, of, arguments) == (
        "/v1/x?a=1,2&b=x%7Cy&c%5Bk%5D%5Bl%5D=1&d=%7B%22n%22%3A%201.50%7D&e=a/b?c=d%26e&f%5Bg%5D=v"
    )


def test_styles_reach_headers_and_cookies(paths: Paths, own: OwnApi) -> None:
    of = operation(
        "GET", "/x", parameter("X-A", "header"), parameter("X-B", "header", explode=True),
        parameter("X-C", "header", media_type="application/json"), parameter("s", "cookie", explode=False),
        parameter("t", "cookie"), parameter("u", "cookie", style="cookie"),
    )  # fmt: skip
    arguments = b'{"X-A":["a b",1],"X-B":{"k":"v","l":2},"X-C":[1.50],"s":["a","b c"],"t":["x","y"],"u":"p%20q!"}'
    called(paths, document(own.url, of), arguments)
    assert [own.header(name) for name in ("X-A", "X-B", "X-C")] == ["a b,1", "k=v,l=2", "[1.50]"]
    assert own.header("Cookie") == "s=a,b%20c; t=x; t=y; u=p%20q!"


@for_each("place, value", [
    (place, value) for place in ("header", "cookie") for value in ("a\r\nX-Evil: 1", "a\nb", "a\rb", "a\x00b", "a\x7fb")
] + [("header", "ä"), ("header", " a"), ("header", "a\t")])  # fmt: skip
def test_a_header_or_cookie_with_characters_that_it_cannot_have_is_refused(
    paths: Paths, own: OwnApi, place: str, value: str
) -> None:
    assert refused(paths, own, operation("GET", "/x", parameter("X-A", place)), {"X-A": value}) == "bad_header"
    assert refused(paths, own, operation("GET", "/x", parameter("X-A", place)), {"X-A": [value]}) == "bad_header"


@for_each("part", [".", "..", "%2e%2e", ".%2E", "%252e%252e", "a/../b"])
def test_a_base_with_parts_that_lead_elsewhere_is_refused(paths: Paths, own: OwnApi, part: str) -> None:
    places: list[dict[str, str]] = [{}, {"url": f"{own.url}/v1/{part}"}]
    for settings in places:
        compiled = document(settings.get("url", f"{own.url}/{part}/v1"), operation("GET", "/v1/x"))
        before = len(own.requests)
        failure = refusal(paths, compiled, **settings)
        assert (failure.code, failure.was_sent, len(own.requests)) == ("bad_path", False, before)


def test_an_address_is_sent_whole_as_it_was_made_or_not_at_all() -> None:
    base = "https://example.com/a/b"
    request._check(f"{base}/x?y=/../z", base)
    for other, of in ((f"{base}/x/../x", base), ("https://example.com/a/../b/x", "https://example.com/a/../b")):
        with pytest.raises(Failed):
            request._check(other, of)


OBJECT: dict[str, dict[str, Any]] = {
    "query": {"explode": True},
    "cookie": {"style": "cookie"},
    "path": {"style": "matrix", "explode": True},
}


KEYS = ("account", "Account", "other", "key", "ACCOUNT", "_method", "X-HTTP-Method-Override")


def test_a_key_of_an_object_is_none_of_the_query_in_the_document(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/x?action=list#f", parameter("o", "query", style="form", explode=True))
    failure = refusal(paths, document(own.url, of), {"o": {"Action": "delete"}})
    assert (failure.code, failure.was_sent) == ("key_taken", False)


@for_each("place, key", [(place, key) for place in OBJECT for key in KEYS])
@pytest.mark.slow
def test_a_key_of_an_object_is_no_other_parameter_and_no_credential(
    paths: Paths, own: OwnApi, place: str, key: str
) -> None:
    path = "/x{o}{account}{other}" if place == "path" else "/x"
    of = operation("GET", path, *(parameter(name, place, **OBJECT[place]) for name in ("o", "account", "other")))
    compiled = document(own.url, of, schemes={"k": Scheme("apiKey", place, "key")})
    arguments = {"o": {"a": 1}, "other": "2"}
    before = len(own.requests)
    settings: Any = {"parameters": {"account": "acme"}}
    failure = refusal(paths, compiled, {**arguments, "o": {"a": 1, key: "evil"}}, **settings)
    assert (failure.code, failure.was_sent, len(own.requests)) == ("key_taken", False, before)
    assert key.lower() in failure.facts["reason"]
    called(paths, compiled, arguments, **settings)
    assert b"a=1" in own.last
    own_object = {"o": {"account": "mine"}, "account": "acme"}
    called(paths, compiled, {"other": 2}, parameters=own_object)
    assert b"account=mine" in own.last


def test_a_raw_cookie_ends_no_cookie(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/x", parameter("c", "cookie", style="cookie"))
    for value in ("a; admin=1", "a b", "a;b", 'a"b', "ä"):
        assert refused(paths, own, of, {"c": value}) == "bad_header"


@for_each("name", ["Host", "content-length", "Transfer-Encoding", "Connection", "Cookie", "Accept", "Authorization", "X-Set"])  # fmt: skip # noqa: E501
def test_headers_of_the_connection_and_of_the_entry_cannot_be_arguments(paths: Paths, own: OwnApi, name: str) -> None:
    of = operation("GET", "/x", parameter(name, "header", argument="h"))
    assert refused(paths, own, of, {"h": "evil"}, headers={"x-set": "ours"}) == "unknown_argument"


def test_what_the_entry_sets_is_in_every_request_and_is_no_argument(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/{account}", parameter("account", "path"), Parameter("", "tags", "query", "form", True))
    settings = {"headers": {"X-Version": "2022-11-28"}, "parameters": {"account": "acme/x", "tags": ["a", 1.5]}}
    assert target(paths, own, of, {}, **settings) == "/v1/acme%2Fx?tags=a&tags=1.5"
    assert own.header("X-Version") == "2022-11-28"
    assert refused(paths, own, of, {"account": "other"}, **settings) == "unknown_argument"


def test_values_of_the_entry_are_expanded(paths: Paths, own: OwnApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", f"{own.url}/v2")
    monkeypatch.setenv("KEY", "k-12345678")
    of = operation("GET", "/x", parameter("key"), base="${PLACE}")
    settings = {"url": "${PLACE}", "parameters": {"key": "${KEY}"}, "headers": {"X-K": "${cmd:printf abc}"}}
    assert target(paths, own, of, {}, **settings) == "/v2/x?key=k-12345678"
    assert own.header("X-K") == "abc"


def test_an_operation_of_another_origin_is_sent_only_where_origins_names_it(paths: Paths, own: OwnApi) -> None:
    with own_api() as other:
        of = operation("GET", "/x", base=f"{other.url}/up")
        failure = refusal(paths, document(own.url, of), {})
        assert (failure.code, other.requests) == ("other_origin", [])
        assert other.url in failure.facts["reason"]
        called(paths, document(own.url, of), {}, origins=[other.url], auth={"bearer": "tok-123456"})
        assert other.target == "/up/x"
        assert other.header("Authorization") == "Bearer tok-123456"


def test_arguments_that_cannot_be_read_are_refused(paths: Paths, own: OwnApi) -> None:
    of = operation("GET", "/x", parameter("a"))
    for arguments in (b"[]", b'"x"', b'{"a": "\\ud800"}', b'{"\\ud800": 1}'):
        assert refused(paths, own, of, arguments) in ("bad_argument", "unknown_argument")


def test_what_is_shown_is_what_is_sent_with_credentials_masked_and_no_command_run(
    paths: Paths, own: OwnApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret-token-1")
    schemes = {"b": Scheme("bearer"), "q": Scheme("apiKey", "query", "key"), "c": Scheme("apiKey", "cookie", "sid")}
    of = operation(
        "POST", "/{id}", parameter("id", "path"), parameter("p"), body=("application/json", "json"),
        security=[{"b": [], "q": [], "c": []}],
    )  # fmt: skip
    server = Server(
        openapi="api.json", headers={"X-Version": "2022", "X-Api-Key": "literal-key-1", "X-Who": "${TOKEN}"},
        auth={"b": "${TOKEN}", "q": "${cmd:touch ran}", "c": "literal-cookie"}, parameters={"p": "${TOKEN}"},
    )  # fmt: skip
    compiled = document(f"{own.url}/v1", of, schemes=schemes)
    shown = request.shown(compiled, compiled.operations[0], b'{"id":"a b","body":{"n": 1.50}}', server, paths.config)
    assert shown.method == "POST"
    assert shown.url == f"{own.url}/v1/a%20b?p=***&key=***"
    assert shown.headers == {
        "Accept": "application/json, */*;q=0.8", "Content-Type": "application/json", "Authorization": "Bearer ***",
        "Cookie": "sid=***", "X-Version": "2022", "X-Api-Key": "***", "X-Who": "***",
    }  # fmt: skip
    assert shown.content == [b'{"n": 1.50}']
    assert "s3cret" not in repr(shown)


def test_the_connection_sends_its_own_headers_alone(paths: Paths, own: OwnApi) -> None:
    called(paths, document(own.url, operation("GET", "/x")))
    names = [line.partition(b":")[0].lower().decode() for line in own.last.strip().split(b"\r\n")[1:]]
    assert sorted(names) == ["accept", "accept-encoding", "connection", "host", "user-agent"]
    assert json.dumps(names).count("mcp") == 0
