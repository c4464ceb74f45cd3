"""Requests to a server on this machine go to it, whatever proxies the environment names."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from mcpctl.base.failure import Failed
from mcpctl.base.paths import Paths
from mcpctl.config.server_environment import is_here
from mcpctl.wire import http_client
from tests.conftest import Mcpctl
from tests.oauth import sites
from tests.oauth.serving import served
from tests.proxy.client import write_config
from tests.table import for_each

VARIABLES = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What a proxy that every variable names is sent; it answers nothing."""
    heard: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def listen() -> None:
        while True:
            connection, _ = listening.accept()
            with connection:
                if not (said := connection.recv(1 << 16)):
                    return  # the end of the test
                heard.append(said)

    thread = threading.Thread(target=listen)
    thread.start()
    for name in VARIABLES:
        monkeypatch.setenv(name, f"http://127.0.0.1:{listening.getsockname()[1]}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield heard
    socket.create_connection(listening.getsockname()).close()
    thread.join()
    listening.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "127.1", "[::1]"])
def test_no_proxy_is_asked_for_a_server_on_this_machine(seen: list[bytes], host: str) -> None:
    async def authorization(request: Request) -> PlainTextResponse:
        return PlainTextResponse(request.headers["authorization"])

    async def asked(url: str) -> bytes:
        client = http_client.client(url, {"authorization": "Bearer mine"})
        async with contextlib.aclosing(client), http_client.request(client, "GET", url, {}) as response:
            return bytes(await http_client.whole(response, 1 << 20))

    family = socket.AF_INET6 if host == "[::1]" else socket.AF_INET
    listening = socket.create_server(("::1" if host == "[::1]" else "127.0.0.1", 0), family=family)
    with served(Starlette(routes=[Route("/", authorization)]), listening):
        assert asyncio.run(asked(f"http://{host}:{listening.getsockname()[1]}/")) == b"Bearer mine"
    assert not seen


@pytest.mark.slow
def test_a_login_and_the_calls_after_it_go_past_the_proxy(seen: list[bytes], mcpctl: Mcpctl, paths: Paths) -> None:
    oauth = {
        "client_id": "robot",
        "client_secret": "s3cret",
        "grant": "client_credentials",
        "scopes": ["read", "write"],
    }
    with sites.running() as at:
        write_config(paths.config.parent, {"guarded": {"url": at.url, "oauth": oauth}})
        ran = mcpctl("servers", "login", "guarded")
        assert ran.code == 0, ran.err
        assert at.issuer.asked and at.issuer.access
        mcpctl("servers", "check")
    assert not seen


def test_a_server_elsewhere_is_asked_through_the_proxy(seen: list[bytes]) -> None:
    async def asked() -> None:
        url = "http://elsewhere.invalid/mcp"
        client = http_client.client(url, {})
        async with contextlib.aclosing(client), http_client.request(client, "GET", url, {}):
            pass

    with pytest.raises(Failed):
        asyncio.run(asked())
    assert seen[0].startswith(b"GET http://elsewhere.invalid/mcp ")


@for_each(
    ("host", "is_one"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("127.1", True), ("0x7f.1", True), ("2130706433", True),
        ("localhost", True), ("localhost.", True), ("a.localhost", True), ("::1", True), ("::ffff:127.0.0.1", True),
        ("0.0.0.0", True), ("0", True), ("::", True), ("::ffff:0.0.0.0", True), ("0.0.0.1", False),
        ("10.0.0.1", False), ("::ffff:10.0.0.1", False), ("localhost.example", False), ("127.example", False),
        ("notlocalhost", False), ("", False),
    ],
)  # fmt: skip
def test_this_machine_has_many_names(host: str, is_one: bool) -> None:
    assert is_here(host) is is_one
