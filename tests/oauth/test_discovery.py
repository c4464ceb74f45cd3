"""Who logs in for a server: what it says, what its issuer says, and what neither may say."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import OAuth
from mcpctl.oauth import discovery
from mcpctl.oauth.discovery import Issuer
from mcpctl.oauth.requests import LoginFailed, Requests
from tests.table import for_each

URL, ISSUER = "https://s.test/v1/mcp", "https://as.test/tenant"
RESOURCE = "https://s.test/.well-known/oauth-protected-resource"
METADATA = "https://as.test/.well-known/oauth-authorization-server/tenant"
GRANTS = ["authorization_code", "refresh_token"]


class Web(Requests):
    """Answers what it is given, by address; all else is not found."""

    def __init__(self, answers: Mapping[str, Any], status: int = 401, challenge: str = "Bearer") -> None:
        super().__init__(URL)
        self.answers = {URL: httpx2.Response(status, headers={"www-authenticate": challenge}), **answers}
        self.asked: list[str] = []

    async def send(self, method: str, url: str, *_: Any, **__: Any) -> httpx2.Response:
        self.asked.append(url)
        answer = self.answers.get(url, httpx2.Response(404))
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, content=json.dumps(answer))


def resource(*issuers: str, **rest: Any) -> dict[str, Any]:
    return {"resource": URL, "authorization_servers": issuers or [ISSUER], **rest}


def metadata(issuer: str = ISSUER, **rest: Any) -> dict[str, Any]:
    return {
        "issuer": issuer, "authorization_endpoint": f"{issuer}/login", "token_endpoint": f"{issuer}/oauth/token",
        **rest,
    }  # fmt: skip


def found(web: Web, oauth: OAuth | None = None) -> Issuer | None:
    return asyncio.run(discovery.find(web, Endpoint(URL, "http", {}, oauth=oauth)))


def issuer(web: Web, oauth: OAuth | None = None) -> Issuer:
    one = found(web, oauth)
    assert one
    return one


def why_not(web: Web) -> str:
    with pytest.raises(LoginFailed) as raised:
        found(web)
    return raised.value.message


def test_a_refusal_may_say_where_the_server_says_what_it_is() -> None:
    there = "https://s.test/about"
    web = Web({there: resource(), METADATA: metadata()}, challenge=f'Bearer scope="a b", resource_metadata="{there}"')
    one = issuer(web)
    assert (one.name, one.resource_url, one.scope(GRANTS)) == (ISSUER, URL, "a b")
    assert str(one.metadata.token_endpoint) == f"{ISSUER}/oauth/token"
    assert web.asked == [URL, there, METADATA]


@for_each("place", [f"{RESOURCE}/v1/mcp", RESOURCE])
def test_else_it_is_where_the_standard_says(place: str) -> None:
    assert issuer(Web({place: resource(), METADATA: metadata()})).name == ISSUER


def test_a_server_that_answers_all_the_same_may_have_a_login() -> None:
    assert issuer(Web({RESOURCE: resource(), METADATA: metadata()}, status=200)).name == ISSUER
    assert found(Web({}, status=200)) is None


@for_each(
    "place",
    [
        "https://as.test/.well-known/openid-configuration/tenant",
        "https://as.test/tenant/.well-known/openid-configuration",
    ],
)
def test_an_issuer_of_openid_connect_is_one_too(place: str) -> None:
    assert issuer(Web({RESOURCE: resource(), place: metadata()})).name == ISSUER


def test_an_older_server_is_its_own_issuer() -> None:
    origin = "https://s.test"
    one = issuer(Web({f"{origin}/.well-known/oauth-authorization-server": metadata(origin)}))
    assert (one.name, one.resource_url) == (origin, URL)


def test_of_several_issuers_it_is_the_first_unless_the_configuration_names_one() -> None:
    other = "https://other.test"
    answers = {
        RESOURCE: resource(ISSUER, other), METADATA: metadata(),
        f"{other}/.well-known/oauth-authorization-server": metadata(other),
    }  # fmt: skip
    assert issuer(Web(answers)).name == ISSUER
    assert issuer(Web(answers), OAuth(issuer=other)).name == other


@for_each(
    ("said", "challenge", "asked"),
    [
        ({}, "Bearer", None),
        ({"scopes_supported": ["read", "write"]}, "Bearer", "read write offline_access"),
        ({"scopes_supported": ["read"]}, "Bearer scope=admin", "admin offline_access"),
    ],
)
def test_what_is_asked_for_is_what_the_server_wants_and_not_all_that_its_issuer_has(
    said: dict[str, Any], challenge: str, asked: str | None
) -> None:
    has = metadata(scopes_supported=["read", "write", "everything", "offline_access"])
    assert issuer(Web({RESOURCE: resource(**said), METADATA: has}, challenge=challenge)).scope(GRANTS) == asked


@for_each(
    ("answers", "why"),
    [
        ({}, "the server does not say who logs in for it"),
        ({RESOURCE: httpx2.Response(503)}, "the server does not say who logs in for it (HTTP 503)"),
        ({RESOURCE: resource()}, f"the issuer {ISSUER} does not describe its login"),
        ({RESOURCE: {**resource(), "resource": "https://evil.test/"}}, "the server says that it is https://evil.test/"),
        (
            {RESOURCE: resource(), METADATA: metadata("https://evil.test")},
            f"the issuer {ISSUER} calls itself https://evil.test",
        ),
        (
            {RESOURCE: resource(), METADATA: metadata(token_endpoint="http://as.test/token")},
            "the login would go to http://as.test, which is not encrypted",
        ),
        (
            {RESOURCE: resource(), METADATA: metadata(authorization_endpoint="http://127.0.0.1:9/")},
            "the login would go to http://127.0.0.1:9, which is not encrypted",
        ),
        (
            {RESOURCE: resource(), METADATA: metadata(code_challenge_methods_supported=["plain"])},
            "the issuer does not support PKCE with S256",
        ),
        (
            {RESOURCE: resource(), METADATA: metadata(authorization_endpoint="file:///bin/sh")},
            f"the issuer {ISSUER} does not describe its login",
        ),
    ],
)
def test_what_leads_nowhere_or_elsewhere_is_not_followed(answers: dict[str, Any], why: str) -> None:
    assert why_not(Web(answers)) == why


def test_a_server_that_cannot_be_used_says_how_it_answers() -> None:
    assert why_not(Web({}, status=405)) == "the server answers HTTP 405"


def test_a_metadata_address_that_is_not_encrypted_is_not_asked() -> None:
    with pytest.raises(LoginFailed, match="not encrypted"):
        asyncio.run(Requests(URL).send("GET", "http://169.254.169.254/latest"))
