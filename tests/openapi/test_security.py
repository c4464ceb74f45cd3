"""Security schemes: which can be met, and which operations need none that can."""

from typing import Any

import pytest

from mcpctl.openapi.faults import WrongDocument
from mcpctl.openapi.snapshot import Scheme
from tests.openapi.documents import compiled, of_operation, only, skipped
from tests.table import for_each

SCHEMES = {
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    "key": {"type": "apiKey", "in": "query", "name": "key"},
    "oauth": {
        "type": "oauth2",
        "flows": {"clientCredentials": {"tokenUrl": "https://example.com/token", "scopes": {}}, "implicit": {}},
    },
    "implicit": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://example.com", "scopes": {}}}},
    "open": {"type": "openIdConnect", "openIdConnectUrl": "https://example.com"},
    "signed": {"type": "http", "scheme": "AWS4-HMAC-SHA256"},
    "digest": {"type": "http", "scheme": "digest"},
    "tls": {"type": "mutualTLS"},
}
COMPONENTS: dict[str, Any] = {"components": {"securitySchemes": SCHEMES}}


def test_the_schemes_that_can_be_met_are_kept() -> None:
    assert compiled(of_operation({}, **COMPONENTS)).schemes == {
        "basic": Scheme("basic"),
        "bearer": Scheme("bearer"),
        "key": Scheme("apiKey", "query", "key"),
        "oauth": Scheme("oauth2", token_url="https://example.com/token"),
        "implicit": Scheme("oauth2"),
        "open": Scheme("openIdConnect"),
    }


@for_each("written, kept", [
    ([{"bearer": []}], [{"bearer": []}]),
    ([{"oauth": ["read", 7]}, {"basic": []}], [{"oauth": ["read"]}, {"basic": []}]),
    ([{}, {"bearer": []}], [{"bearer": []}, {}]),
    ([{"bearer": [], "key": []}], [{"bearer": [], "key": []}]),
    ([{"signed": []}, {"bearer": []}], [{"bearer": []}]),
    ([{"bearer": [], "tls": []}, {"key": []}], [{"key": []}]),
    ([{"digest": []}, {}], [{}]),
    ([], []),
    (None, []),
    ([{"unknown": []}], []),
    ([{"unknown": []}, {"key": []}], [{"key": []}]),
])  # fmt: skip
def test_alternatives_that_can_be_met_are_kept_and_the_empty_one_comes_last(written: Any, kept: Any) -> None:
    assert only(of_operation({"security": written}, **COMPONENTS)).security == kept
    if written is not None:
        assert only(of_operation({}, security=written, **COMPONENTS)).security == kept


def test_an_operations_own_security_replaces_the_documents() -> None:
    assert only(of_operation({"security": []}, security=[{"key": []}], **COMPONENTS)).security == []


@for_each("written, needed", [
    ([{"signed": []}], "the HTTP scheme 'AWS4-HMAC-SHA256'"),
    ([{"tls": []}], "a scheme of the type 'mutualTLS'"),
    ([{"bearer": [], "digest": []}, {"signed": []}], "the HTTP scheme 'digest'"),
])  # fmt: skip
def test_an_operation_is_skipped_that_needs_a_signature_which_cannot_be_made(written: Any, needed: str) -> None:
    reasons = skipped(of_operation({"security": written}, **COMPONENTS))
    assert reasons == {f"it needs {needed}, which cannot be made": ["POST /x"]}


@for_each("place, name", [
    ("header", "X\r\nEvil: 1"), ("header", "a b"), ("header", "Host"), ("header", "content-length"),
    ("cookie", "a=b; c"), ("cookie", "a\0"), ("query", "a\r\n"), ("header", "Schlüssel"),
])  # fmt: skip
def test_an_api_key_with_a_name_that_its_place_cannot_have_is_never_met(place: str, name: str) -> None:
    schemes = {"key": {"type": "apiKey", "in": place, "name": name}, "bearer": SCHEMES["bearer"]}
    components: dict[str, Any] = {"components": {"securitySchemes": schemes}}
    assert list(compiled(of_operation({}, **components)).schemes) == ["bearer"]
    assert only(of_operation({"security": [{"key": []}, {"bearer": []}]}, **components)).security == [{"bearer": []}]
    assert skipped(of_operation({"security": [{"key": []}]}, **components)) == {
        f"it needs an API key with a name that no {place} has: {name!r}, which cannot be made": ["POST /x"]
    }


def test_a_wrong_security_skips_its_operation() -> None:
    assert skipped(of_operation({"security": "bearer"}, **COMPONENTS)) == {
        "its security is no list of objects": ["POST /x"]
    }


def test_a_scheme_may_be_a_reference() -> None:
    schemes = {"a": {"$ref": "#/components/securitySchemes/b"}, "b": SCHEMES["bearer"]}
    assert compiled(of_operation({}, components={"securitySchemes": schemes})).schemes["a"] == Scheme("bearer")


@for_each("schemes, problem", [
    (1, "shop.json#/components/securitySchemes is not an object"),
    ({"a": {"$ref": "#/none"}}, "shop.json#/components/securitySchemes/a: a reference leads nowhere: #/none"),
    ({"a": 1}, "shop.json#/components/securitySchemes/a: a security scheme is no object"),
])  # fmt: skip
def test_a_wrong_scheme_is_an_error_since_every_tool_needs_them(schemes: Any, problem: str) -> None:
    with pytest.raises(WrongDocument) as refused:
        compiled(of_operation({}, components={"securitySchemes": schemes}))
    assert refused.value.message == problem


@for_each("place, url, result", [
    ("shop.json", "/token", ""),
    ("shop.json", "ftp://example.com/token", ""),
    ("https://example.com/api/shop.json", "/token", "https://example.com/token"),
    ("https://example.com/api/shop.json", "//[x/token", ""),
    ("shop.json", 7, ""),
])  # fmt: skip
def test_a_token_address_is_whole_or_none(place: str, url: Any, result: str) -> None:
    schemes = {"a": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url}}}}
    whole = of_operation({}, components={"securitySchemes": schemes})
    assert compiled(whole, place=place).schemes["a"].token_url == result
