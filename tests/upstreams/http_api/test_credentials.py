"""The credentials that an API gets, where they may go, and what is said where they are missing."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config.server_settings import OAuth
from mcpctl.openapi.snapshot import CompiledDocument, Scheme
from mcpctl.secrets.redact import mask
from mcpctl.upstreams.http_api.connection import HttpApi
from tests.table import for_each
from tests.upstreams.http_api.own_api import (
    OwnApi,
    answer,
    called,
    document,
    operation,
    own_api,
    parameter,
    refusal,
    sent,
    with_api,
)  # fmt: skip

SCHEMES = {
    "basic": Scheme("basic"), "bearer": Scheme("bearer"), "key": Scheme("apiKey", "header", "X-Key"),
    "query": Scheme("apiKey", "query", "api key"), "cookie": Scheme("apiKey", "cookie", "sid"),
    "oauth": Scheme("oauth2"), "oidc": Scheme("openIdConnect"),
}  # fmt: skip


@pytest.fixture
def own() -> Iterator[OwnApi]:
    """An API."""
    with own_api() as served:
        yield served


def securing(own: OwnApi, *alternatives: dict[str, list[str]], **more: Any) -> CompiledDocument:
    """A document with one operation that has these alternatives."""
    of = operation("GET", "/x", parameter("q"), security=list(alternatives), **more)
    return document(own.url, of, schemes=SCHEMES)


def test_each_kind_of_scheme_is_sent_in_its_place(paths: Paths, own: OwnApi) -> None:
    auth = {name: f"{name}-value-1" for name in SCHEMES} | {"basic": "user:pa:ss"}
    called(paths, securing(own, {"basic": [], "key": [], "query": [], "cookie": []}), {"q": 1}, auth=auth)
    assert own.header("Authorization") == f"Basic {base64.b64encode(b'user:pa:ss').decode()}"
    assert own.header("X-Key") == "key-value-1"
    assert own.header("Cookie") == "sid=cookie-value-1"
    assert own.target == "/x?q=1&api%20key=query-value-1"
    for name in ("bearer", "oauth", "oidc"):
        called(paths, securing(own, {name: []}), auth=auth)
        assert own.header("Authorization") == f"Bearer {name}-value-1"


def test_the_first_alternative_that_is_complete_counts(paths: Paths, own: OwnApi) -> None:
    alternatives: tuple[dict[str, list[str]], ...] = ({"basic": [], "key": []}, {"key": []}, {"bearer": []}, {})
    called(paths, securing(own, *alternatives), auth={"basic": "u:p", "bearer": "b-1", "key": ""})
    assert (own.header("Authorization"), own.header("X-Key")) == ("Bearer b-1", None)
    called(paths, securing(own, *alternatives), auth={"key": "k-1", "bearer": "b-1"})
    assert (own.header("Authorization"), own.header("X-Key")) == (None, "k-1")
    called(paths, securing(own, *alternatives))
    assert (own.header("Authorization"), own.header("X-Key")) == (None, None)


def test_a_scheme_whose_variable_is_not_set_has_no_value(paths: Paths, own: OwnApi) -> None:
    called(paths, securing(own, {"bearer": []}, {"key": []}), auth={"bearer": "${NOT_SET}", "key": "k-${NOT_SET:-1}"})
    assert (own.header("Authorization"), own.header("X-Key")) == (None, "k-1")


def test_a_401_or_403_without_credentials_names_those_that_are_missing(paths: Paths, own: OwnApi) -> None:
    for status in ("401 Unauthorized", "403 Forbidden"):
        own.respond = lambda *_, status=status: answer(b"no", status)
        result = called(paths, securing(own, {"bearer": []}, {"key": [], "basic": []}))
        assert [block["text"] for block in result["content"]] == [
            f"HTTP {status}\nno", "shop:op needs one of: bearer; key with basic"
        ]  # fmt: skip
        result = called(paths, securing(own, {"bearer": []}), auth={"bearer": "b-1"})
        assert len(result["content"]) == 1


def test_a_document_without_schemes_takes_a_bearer_or_headers(paths: Paths, own: OwnApi) -> None:
    compiled = document(own.url, operation("GET", "/x"))
    called(paths, compiled, auth={"bearer": "b-1"})
    assert own.header("Authorization") == "Bearer b-1"
    called(paths, compiled, headers={"Authorization": "Token t-1"})
    assert own.header("Authorization") == "Token t-1"


def test_headers_of_the_entry_are_in_place_of_a_scheme_of_the_same_name(paths: Paths, own: OwnApi) -> None:
    called(paths, securing(own, {"bearer": []}), auth={"bearer": "b-1"}, headers={"authorization": "ours"})
    assert own.last.lower().count(b"authorization") == 1
    assert own.header("Authorization") == "ours"


def test_credentials_go_over_http_to_this_machine_alone(paths: Paths) -> None:
    of = operation("GET", "/x", security=[{"bearer": []}], base="http://api.example.com")
    compiled = document("http://api.example.com", of, schemes=SCHEMES)
    assert refusal(paths, compiled, auth={"bearer": "b-1"}).code == "credentials_kept_back"
    for settings in (
        {"headers": {"Authorization": "b"}},
        {"headers": {"X-Api-Key": "b"}},
        {"parameters": {"token": "b"}},
    ):
        assert refusal(paths, compiled, **settings).code == "credentials_kept_back"


def test_a_redirect_to_another_place_gets_nothing(paths: Paths, own: OwnApi) -> None:
    with own_api() as other:
        own.respond = lambda *_: answer(status="302 Found", Location=f"{other.url}/x?token=abc")
        result = called(paths, securing(own, {"bearer": []}), auth={"bearer": "b-1"})
        assert other.requests == []
        text = f"HTTP 302 Found\nIt redirects to {other.url}, which is not followed."
        assert result["content"] == [{"type": "text", "text": text}]
        assert result["isError"]


def test_an_api_that_repeats_credentials_gets_them_to_nobody(paths: Paths, own: OwnApi) -> None:
    auth = {"basic": "user:top-secret-1", "query": "a secret/2", "key": "secret-key-3"}

    def echo(request: bytes, _: Any) -> bytes:
        return answer(request + b" top-secret-1", Content_Type="text/plain", Link=f"<{own.url}{own.target}>; rel=next")

    own.respond = echo
    result = called(paths, securing(own, {"basic": [], "key": [], "query": []}), auth=auth)
    text = json.dumps(result)
    for secret in ("top-secret-1", base64.b64encode(b"user:top-secret-1").decode(), "secret%2F2", "secret-key-3"):
        assert secret not in text
    assert "Authorization: Basic ***" in result["content"][0]["text"]


def test_every_expanded_value_is_learnt_and_masked_in_texts_for_people(
    paths: Paths, own: OwnApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIR", "someone:hunter2x")
    monkeypatch.setenv("IN_QUERY", "word one")
    settings: dict[str, Any] = {"auth": {"basic": "${PAIR}", "key": "correcthorse"}, "parameters": {"q": "${IN_QUERY}"}}
    called(paths, securing(own, {"basic": []}), **settings)
    for text in ("hunter2x", "correcthorse", "word one", "word%20one", base64.b64encode(b"someone:hunter2x").decode()):
        assert text not in mask(f"it said {text}")


# ---- a client's own tokens


class Issuer:
    """Gives out tokens, each with a number."""

    def __init__(self, api: OwnApi) -> None:
        self.api = api
        self.asked: list[tuple[str | None, dict[str, list[str]]]] = []
        self.takes = "basic"
        self.lives_s = 3600
        api.respond = self._respond
        self._lock = threading.Lock()

    def _respond(self, request: bytes, _: Any) -> bytes:
        with self._lock:
            form = parse_qs(self.api.body.decode())
            header = self.api.header("Authorization")
            self.asked.append((header, form))
            if (self.takes == "post" and header) or self.takes == "nothing":
                return answer(b'{"error":"invalid_client"}', "401 Unauthorized")
            token = {"access_token": f"token-{len(self.asked)}", "token_type": "Bearer", "expires_in": self.lives_s}
            return answer(json.dumps(token).encode())


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """A place where clients get tokens."""
    with own_api() as served:
        yield Issuer(served)


def clients(own: OwnApi, issuer: Issuer, scopes: list[str] | None = None) -> CompiledDocument:
    """A document whose operation wants a client's token."""
    schemes = {"c": Scheme("oauth2", token_url=f"{issuer.api.url}/token")}
    return document(own.url, operation("GET", "/x", security=[{"c": scopes or ["read"]}]), schemes=schemes)


AUTH = {"c": OAuth(client_id="me", client_secret="client-secret-1", scopes=["base"])}


def test_a_client_gets_its_token_once_keeps_it_and_asks_for_the_scopes(
    paths: Paths, own: OwnApi, issuer: Issuer
) -> None:
    for _ in range(2):  # the second is another process's, which reads the token store
        called(paths, clients(own, issuer), auth=AUTH)
        assert own.header("Authorization") == "Bearer token-1"
    header, form = issuer.asked[0]
    assert header == f"Basic {base64.b64encode(b'me:client-secret-1').decode()}"
    assert (form["grant_type"], form["scope"]) == (["client_credentials"], ["base read"])
    called(paths, clients(own, issuer, ["write"]), auth=AUTH)
    assert own.header("Authorization") == "Bearer token-2"
    assert len(issuer.asked) == 2
    for file in Path(paths.oauth).iterdir():
        assert "client-secret-1" not in file.read_text()


def test_a_client_that_may_only_say_who_it_is_in_the_form_does_so(paths: Paths, own: OwnApi, issuer: Issuer) -> None:
    issuer.takes = "post"
    called(paths, clients(own, issuer), auth=AUTH)
    assert own.header("Authorization") == "Bearer token-2"
    assert issuer.asked[1][1]["client_secret"] == ["client-secret-1"]


def test_many_calls_at_once_ask_for_one_token(paths: Paths, own: OwnApi, issuer: Issuer) -> None:
    async def calls(connection: HttpApi) -> None:
        await asyncio.gather(*(sent(connection, b"{}")[1].answered for _ in range(8)))

    with_api(paths, clients(own, issuer), calls, auth=AUTH)
    assert len(issuer.asked) == 1


def test_a_client_that_is_refused_fails_the_call_before_it_is_sent(paths: Paths, own: OwnApi, issuer: Issuer) -> None:
    issuer.takes = "nothing"
    failure = refusal(paths, clients(own, issuer), auth=AUTH)
    assert (failure.code, failure.was_sent, own.requests) == ("unauthorized", False, [])
    assert "auth.c" in failure.facts["reason"]


def test_a_token_that_the_api_refuses_is_renewed_for_the_next_call_and_none_is_repeated(
    paths: Paths, own: OwnApi, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.oauth.bearer._SETTLES_S", 0)
    own.respond = lambda *_: answer(status="401 Unauthorized")

    async def calls(connection: HttpApi) -> None:
        for _ in range(2):
            assert (await sent(connection, b"{}")[1].answered)["isError"]
            await asyncio.gather(*connection._tokens._renewing)

    with_api(paths, clients(own, issuer), calls, auth=AUTH)
    assert [request.count(b"Bearer token-1") for request in own.requests] == [1, 0]


def test_a_client_without_a_token_address_has_no_value(paths: Paths, own: OwnApi) -> None:
    schemes = {"c": Scheme("oauth2")}
    called(paths, document(own.url, operation(security=[{"c": []}]), schemes=schemes), auth=AUTH)
    assert own.header("Authorization") is None


@for_each("scheme", ["bearer", "key", "cookie"])
def test_a_credential_that_no_header_can_have_is_not_sent(
    paths: Paths, own: OwnApi, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("BROKEN", "a\r\nX-Evil: 1")
    failure = refusal(paths, securing(own, {scheme: []}), auth={scheme: "${BROKEN}"})
    assert (failure.code, own.requests) == ("bad_header", [])


def test_a_credential_is_any_text_where_it_is_encoded(paths: Paths, own: OwnApi) -> None:
    called(paths, securing(own, {"basic": [], "query": []}), auth={"basic": "user:pä ß", "query": "kéy&"})
    assert own.header("Authorization") == f"Basic {base64.b64encode('user:pä ß'.encode()).decode()}"
    assert own.target == "/x?api%20key=k%C3%A9y%26"
