"""The entries of HTTP APIs in config.toml: which keys they have, and which values."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.config.api_environment import api
from mcpctl.config.server_environment import CannotLaunch
from mcpctl.config.server_settings import API_ONLY, API_TIMEOUT_S, NOT_OF_APIS, Server, check_server
from tests.table import for_each

API = {"openapi": "shop.json"}


def problem(table: Any) -> str:
    with pytest.raises(ValueError) as error:
        check_server("shop", table)
    return str(error.value)


def test_a_document_excludes_the_keys_of_programs_of_their_logins_and_of_their_questions() -> None:
    values = {"args": ["x"], "env": {"A": "b"}, "oauth": {}, "may_ask": [], "expose": []}
    assert {"command", "args", "env", "cwd", "transport", "oauth", "may_ask", "expose"} <= {*NOT_OF_APIS}
    for key in NOT_OF_APIS:
        assert problem({**API, key: values.get(key, "http")}) == f".{key}: is not for servers with openapi"


def test_the_keys_of_an_api_need_a_document() -> None:
    values = {"parameters": {}, "auth": {}, "deprecated": True, "upload_root": "x"}
    for key in API_ONLY:
        for other in ({"command": "x"}, {"url": "https://a.example"}):
            assert problem({**other, key: values.get(key, ["x"])}) == f".{key}: is for servers with openapi"


def test_a_call_of_an_api_may_take_60_s_unless_the_entry_says_otherwise() -> None:
    assert check_server("shop", API).call_timeout_s == API_TIMEOUT_S == 60
    assert check_server("shop", {**API, "call_timeout_s": 0}).call_timeout_s == 0
    assert check_server("shop", {"command": "x"}).call_timeout_s == 0


@for_each(
    "table, message",
    [
        ({"openapi": ""}, ".openapi: must not be empty"),
        ({"openapi": "${DOC}"}, ".openapi: has no variables"),
        ({"openapi": "http://a.example/x.json"}, ".openapi: must be a file or an https:// address"),
        ({"openapi": "https://u:p@a.example/x.json"}, ".openapi: must be a file or an https:// address"),
        ({"openapi": "https://[x/x.json"}, ".openapi: must be a file or an https:// address"),
        ({"openapi": "https://a.example:99999/x.json"}, ".openapi: must be a file or an https:// address"),
        ({"openapi": "file:///x.json"}, ".openapi: must be a file or an https:// address"),
        ({"url": "shop"}, ".url: must be an http:// or https:// address"),
        ({"url": "http://[x"}, ".url: must be an address with a host, and with a port of 1 to 65535"),
        ({"url": "https://a.example:99999/v1"}, ".url: must be an address with a host, and with a port of"),
        ({"url": "https://a.example:0/v1"}, ".url: must be an address with a host, and with a port of"),
        ({"url": "https://a.example/v1?key=s3cret"}, ".url: must have no user, ? or #; it comes before the paths of"),
        ({"url": "https://user:s3cret@a.example"}, ".url: must have no user"),
        ({"url": "https://${USER}@a.example/v1"}, ".url: must have no user"),
        ({"headers": {"a:b": "x"}}, ".headers: 'a:b' is not a name of a header"),
        ({"include": [" "]}, ".include[0]: must be a name of 1 to"),
        ({"exclude": ["a", "b" * 2000]}, ".exclude[1]: must be a name of 1 to"),
        ({"slash_in": ["a"] * (bounds.API_NAMES + 1)}, f".slash_in: may have {bounds.API_NAMES} at most"),
        ({"origins": ["http://a.example"]}, ".origins[0]: must be such as https://HOST:PORT"),
        ({"origins": ["https://a.example/path"]}, ".origins[0]: must be such as"),
        ({"origins": ["https://u@a.example"]}, ".origins[0]: must be such as"),
        ({"origins": ["http://localhost.a.example"]}, ".origins[0]: must be such as"),
        ({"parameters": {"day": date(2026, 1, 1)}}, ".parameters.day: must be a value that JSON"),
        ({"parameters": {"n": float("inf")}}, ".parameters.n: must be a value that JSON has"),
        ({"auth": {"a": ""}}, ".auth.a: must not be empty"),
        ({"auth": {"a": 1}}, ".auth: must be text or a table"),
        ({"auth": {"a": {"client_id": "x"}}}, ".auth.a.client_secret: is missing"),
        ({"auth": {"a": {"client_id": "x", "client_secret": "y", "grant": "code"}}}, ".auth.grant: unknown key"),
        ({"auth": {"a": {"client_id": "x", "client_secret": "y", "scopes": ["a b"]}}}, ".auth.a.scopes: 'a b' is not"),
    ],
)
def test_values_of_an_api_are_checked(table: dict[str, Any], message: str) -> None:
    assert problem({**API, **table}).startswith(message)


@for_each(
    "table",
    [
        {"openapi": "https://a.example/openapi.json?v=3"},
        {"openapi": "http://127.0.0.1:8080/openapi.json"},
        {"url": "http://a.example"},
        {"url": "${BASE}/v1"},
        {"env_file": ".env"},
        {"origins": ["https://a.example:8443", "http://localhost:1", "http://[::1]"]},
        {"parameters": {"a": {"b": [1, 2.5, True, "x"]}}},
        {"auth": {"a": "${T}", "b": {"client_id": "x", "client_secret": "${S}", "scopes": ["read"]}}},
    ],
)
def test_values_of_an_api_that_are_right_are_taken(table: dict[str, Any]) -> None:
    assert check_server("shop", {**API, **table}).kind == "openapi"


CHANGES = {
    "openapi": "b.json", "url": "https://b.example", "include": ["b"], "exclude": ["b"], "parameters": {"b": 1},
    "deprecated": True, "headers": {"B": "c"}, "slash_in": ["b"], "origins": ["https://b.example"], "upload_root": "b",
    "auth": {"b": "c"}, "call_timeout_s": 1, "start_timeout_s": 1, "env_file": "b", "only": ["b"], "limit_tokens": 1,
    "tools": {"b": False}, "projects": ["b"], "trust_hints": "yes", "enabled": False, "shared": True,
    "require_own_login": True,
}  # fmt: skip


def changed(name: str) -> Server:
    return check_server("shop", {**API, name: CHANGES[name]})


def test_the_fingerprint_is_of_the_tools_that_the_entry_chooses_and_of_no_document() -> None:
    before = check_server("shop", API).fingerprint
    differing = {name for name in CHANGES if changed(name).fingerprint != before}
    assert differing == {"openapi", "url", "include", "exclude", "parameters", "deprecated"}
    values = [check_server("shop", {**API, "parameters": {"a": value}}).fingerprint for value in (1, 2)]
    assert values[0] == values[1], "only names of parameters count"


def test_a_changed_entry_is_connected_to_again_but_for_who_may_call_it() -> None:
    before = check_server("shop", API).launch
    alike = {name for name in CHANGES if changed(name).launch == before}
    assert alike == {"only", "tools", "projects", "trust_hints", "limit_tokens", "enabled", "require_own_login"}
    assert {*CHANGES} | {*NOT_OF_APIS} == {*Server.__struct_fields__}, "a new key belongs to either"


@for_each("value", ["[x", "a.example:99999", "a.example:0", "/x"])
def test_a_url_that_is_no_address_once_it_is_expanded_is_told(value: str) -> None:
    with pytest.raises(CannotLaunch, match="its url, once expanded, is not an address"):
        api(Server(openapi="shop.json", url="https://${PLACE}"), Path("config.toml"), {"PLACE": value})


def test_a_value_of_parameters_with_the_name_of_a_secret_is_one() -> None:
    server = Server(openapi="shop.json", parameters={"api_key": "as-it-is-12345", "account": "acme"})
    assert api(server, Path("config.toml"), {}).secrets == ("as-it-is-12345", "", "")
    shown = api(server, Path("config.toml"), {}, masked=True).parameters
    assert shown == {"api_key": b'"***"', "account": b'"acme"'}


def test_a_user_without_a_password_is_a_key() -> None:
    for text, secrets in (
        ("key-as-user:X", {"key-as-user"}),
        ("key-as-user:", {"key-as-user"}),
        ("ann:long-word", set()),
    ):
        server = Server(openapi="shop.json", auth={"basic": text})
        assert {"ann", "key-as-user"}.intersection(api(server, Path("config.toml"), {}).secrets) == secrets
