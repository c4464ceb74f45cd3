"""HTTP APIs behind `mcpctl serve`: the calls of a client, the bytes that an API gets, and what is kept of them."""

import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config.config import load
from mcpctl.openapi import snapshot
from mcpctl.openapi.snapshot import HttpOperation, Scheme
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, write_config
from tests.proxy.conftest import BOTH, Serve
from tests.upstreams.http_api.own_api import OwnApi, answer, document, operation, own_api, parameter

pytestmark = BOTH

SECRETS = ("k3y-of-the-query", "h34der-of-the-api", "pa55word-1", "t0ken-in-a-path", "c00kie-value-1")
SCHEMES = {"q": Scheme("apiKey", "query", "key"), "b": Scheme("basic"), "c": Scheme("apiKey", "cookie", "sid")}
ENTRY: dict[str, Any] = {
    "openapi": "shop.json", "url": "${PLACE}", "headers": {"X-Secret": "${HEADER}"},
    "auth": {"q": "${KEY}", "b": "someone:${PASSWORD}", "c": SECRETS[4]},
}  # fmt: skip
SECURE: list[dict[str, list[str]]] = [{"q": [], "b": [], "c": []}]


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnApi]:
    """An API that repeats every request, with credentials in the environment."""
    with own_api() as served:
        monkeypatch.setenv("KEY", SECRETS[0])
        monkeypatch.setenv("HEADER", SECRETS[1])
        monkeypatch.setenv("PASSWORD", SECRETS[2])
        monkeypatch.setenv("PLACE", f"{served.url}/{SECRETS[3]}")
        served.respond = lambda request, _: answer(request, Content_Type="text/plain", Location=served.target)
        yield served


def configured(home: Path, paths: Paths, *operations: HttpOperation, **settings: Any) -> None:
    """An entry named shop, and its compiled document."""
    write_config(home, {"shop": {**ENTRY, **settings}})
    server = load(paths.config).servers["shop"]
    compiled = document(ENTRY["url"], *operations, schemes=SCHEMES, title="Shop")
    snapshot.save(paths, "shop", server, snapshot.encoded(compiled))


GET = operation("GET", "/orders/{id}", parameter("id", "path"), parameter("page"), tool="orders/get", security=SECURE)
POST = operation("POST", "/orders", body=("application/json", "json"), tool="orders/add", security=SECURE)


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_call_is_one_request_with_the_bytes_that_the_client_gave(
    serve: Serve, home: Path, paths: Paths, own: OwnApi, revision: str
) -> None:
    configured(home, paths, GET, POST)
    own.respond = lambda *_: answer(b'{"n": 1.50}', Content_Type="application/json", ETag='"1"')
    client = serve(revision=revision)
    result = client.call("shop:orders/get", b'{"id":"a/../b","page":12345678901234567890123}').json["result"]
    assert own.target == f"/{SECRETS[3]}/orders/a%2F..%2Fb?page=12345678901234567890123&key={SECRETS[0]}"
    assert result["content"] == [{"type": "text", "text": '{"n": 1.50}'}]
    assert result["_meta"]["mcpctl/http"] == {"status": 200, "contentType": "application/json", "etag": '"1"'}
    body = b'{ "amount": 1e400, "s": "\\u00e4" }'
    assert not client.call("shop:orders/add", b'{"body":%b}' % body).is_error
    assert own.body == body
    assert len(own.requests) == 2


def test_a_refusal_is_an_error_with_a_code_of_its_own_on_record(
    serve: Serve, home: Path, paths: Paths, own: OwnApi, mcpctl: Mcpctl
) -> None:
    configured(home, paths, GET)
    client = serve()
    cases = {
        b'{"id":".."}': "bad_path", b'{"id":"1","pag":2}': "unknown_argument", b"{}": "missing_argument",
    }  # fmt: skip
    for arguments, code in cases.items():
        refused = client.call("shop:orders/get", arguments)
        assert refused.is_error
        assert "may have taken effect" not in refused.text
        assert mcpctl("calls", "show", "last", "--json").json["error"]["code"] == code
    assert "did you mean 'page'" in client.call("shop:orders/get", b'{"id":"1","pag":2}').text
    assert own.requests == []


def test_no_credential_is_in_any_file_log_error_or_output(
    serve: Serve, home: Path, paths: Paths, own: OwnApi, mcpctl: Mcpctl
) -> None:
    configured(home, paths, GET, POST)
    client = serve()
    said = [client.call("shop:orders/get", {"id": "1"}).line, client.call("shop:orders/add", {"body": {}}).line]
    assert all(secret.encode() in b"".join(own.requests) for secret in (SECRETS[0], SECRETS[1], SECRETS[3], SECRETS[4]))
    own.respond = lambda request, _: answer(request, "500 Internal Server Error", Content_Type="text/plain")
    said.append(client.call("shop:orders/get", {"id": "1"}).line)
    own.respond = lambda *_: answer(status="302 Found", Location=f"http://other.example/?key={SECRETS[0]}")
    said.append(client.call("shop:orders/get", {"id": "1"}).line)
    own.respond = lambda request, _: answer(request, Content_Type="text/plain")
    said.append(client.call("shop:orders/get", {"id": ".."}).line)
    commands = [
        ("calls", "show", "last", "--json"), ("calls", "ls", "--json"), ("servers", "show", "shop"),
        ("servers", "show", "shop", "--json"), ("servers", "ls", "--json"), ("tools", "show", "shop:orders/get"),
        ("tools", "call", "shop:orders/get", "id=1"), ("tools", "call", "shop:orders/get", "id=1", "--dry-run"),
        ("config", "show"), ("doctor",), ("servers", "check", "shop"),
    ]  # fmt: skip
    for command in commands:
        ran = mcpctl(*command)
        said += [ran.out.encode(), ran.err.encode()]
    client.close()
    said += [client.stderr.encode(), *(file.read_bytes() for file in (home / "data").rglob("*") if file.is_file())]
    forms = [*SECRETS, base64.b64encode(f"someone:{SECRETS[2]}".encode()).decode()]
    found = [(form, text[:300]) for text in said for form in forms if form.encode() in text]
    assert not found


def test_a_call_has_60_seconds_and_one_that_takes_longer_was_sent(
    serve: Serve, home: Path, paths: Paths, own: OwnApi, mcpctl: Mcpctl
) -> None:
    configured(home, paths, GET)
    assert load(paths.config).servers["shop"].call_timeout_s == 60
    configured(home, paths, GET, call_timeout_s=0.2)
    came = threading.Event()

    def wait(_: bytes, connected: Any) -> None:
        came.set()
        connected.recv(1)

    own.respond = wait
    late = serve().call("shop:orders/get", {"id": "1"})
    assert came.is_set()
    assert "no answer within 0.2 s (call_timeout_s)" in late.text
    assert "The call was sent and may have taken effect" in late.text
    assert mcpctl("calls", "show", "last", "--json").json["error"]["code"] == "timed_out"


def test_a_call_that_a_client_takes_back_closes_its_connection(
    serve: Serve, home: Path, paths: Paths, own: OwnApi
) -> None:
    configured(home, paths, GET)
    came = threading.Event()

    def wait(_: bytes, connected: Any) -> None:
        came.set()
        connected.recv(1)

    own.respond = wait
    client = serve()
    id_ = client.start_call("shop:orders/get", {"id": "1"})
    assert came.wait(60)
    client.notify("notifications/cancelled", {"requestId": id_})
    assert own.closed.acquire(timeout=20)


def test_a_long_answer_is_shortened_and_read_on(serve: Serve, home: Path, paths: Paths, own: OwnApi) -> None:
    configured(home, paths, GET, limit_tokens=500)
    items = [{"id": number, "title": "lorem ipsum " * 5} for number in range(500)]
    own.respond = lambda *_: answer(json.dumps({"items": items}).encode(), Content_Type="application/json")
    client = serve()
    result = client.call("shop:orders/get", {"id": "1"}).json["result"]
    uri = result["_meta"]["mcpctl/shortened"]["uri"]
    read = client.call("@mcpctl:read", {"uri": uri, "path": "items[499].id"})
    assert "499" in read.text
