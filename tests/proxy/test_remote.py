"""Servers at URLs answer as those on pipes do, in both transports and both eras; what goes wrong is told in words."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.failure import Failed
from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import Server
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.http_transports import Sse
from mcpctl.wire import http_client
from mcpctl.wire.jsonrpc import Message
from mcpctl.wire.writer import Turn
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, ROOT, Client, until, write_config
from tests.proxy.conftest import Serve, starter
from tests.proxy.ending import Promise
from tests.servers import command
from tests.servers.web import ODD, SCHEME

pytestmark = pytest.mark.process

ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
SENT = "The call was sent and may have taken effect; it was not sent again"
TRANSPORTS = pytest.mark.parametrize("name", ["http", "sse", "json"])


Web = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    """Runs a `tests.servers.web` for as long as the block lasts; its address."""
    argv = [sys.executable, "-m", "tests.servers.web"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as template:

        def said(line: object) -> str:
            assert template.stdin and template.stdout
            print(json.dumps(line), file=template.stdin, flush=True)
            return template.stdout.readline().strip()

        @contextmanager
        def running(*args: str) -> Iterator[str]:
            try:
                yield said(args)
            finally:
                assert said(None) == "ended"

        yield running


@pytest.fixture(scope="module")
def address(web: Web) -> Iterator[str]:
    """One for all tests that leave it as it is."""
    with web() as found:
        yield found


def entries(address: str, *names: str) -> dict[str, Any]:
    """Entries of config.toml for these."""
    return {
        name: {"url": f"{address}/{name}", "transport": "sse" if name == "raw_sse" else "http"}
        if name.startswith("raw")
        else {"url": f"{address}/{name}/mcp", "transport": "sse" if name == "sse" else "http"}
        for name in names
    }


@pytest.fixture(scope="module")
def clients(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Client]]:
    """A client of each era in front of them all."""
    folder = tmp_path_factory.mktemp("remote")
    for serve in starter(folder, folder / "home", transport="stdio"):
        remote = entries(address, "http", "sse", "json", "legacy", "raw", "raw_sse")
        legacy = serve({**remote, "counter": command("counter")})
        yield {LATEST: legacy, MODERN: serve(revision=MODERN)}


# ---- what comes back


@ERAS
@TRANSPORTS
def test_a_call_comes_back_as_the_server_answered_it(clients: dict[str, Client], revision: str, name: str) -> None:
    arguments = {"text": "ü\n\u2028", "n": [1, 2.5, None, True], "deep": {"a": {}}}
    result = clients[revision].call(f"{name}:echo", arguments).json["result"]
    assert result["structuredContent"] == {"arguments": arguments, "revision": revision}


@ERAS
def test_what_no_sdk_would_answer_passes_equal_as_json(clients: dict[str, Client], revision: str) -> None:
    result = clients[revision].call("raw:odd").json["result"]
    expected = json.loads(ODD)
    if revision == MODERN:
        result["_meta"].pop("io.modelcontextprotocol/serverInfo")
        expected |= {"resultType": "complete", "_meta": {}}
    assert result == expected


@ERAS
@TRANSPORTS
def test_prompts_and_resources_are_had_over_http(clients: dict[str, Client], revision: str, name: str) -> None:
    client = clients[revision]

    def asked(method: str, **params: Any) -> Any:
        return client.ask(method, params).json

    client.call(f"{name}:echo")  # which has it connected, and listed
    until("its prompts", lambda: f"{name}_grüße" in str(asked("prompts/list")))
    got = asked("prompts/get", name=f"{name}_grüße", arguments={"q": "ü"})["result"]
    assert json.loads(got["messages"][0]["content"]["text"]) == {"q": "ü"}
    until("its resources", lambda: f"mcpctl+{name}:{SCHEME}é" in str(asked("resources/list")))
    read = asked("resources/read", uri=f"mcpctl+{name}:{SCHEME}é")["result"]
    assert read["contents"][0] == {"uri": f"{SCHEME}é", "text": "read"}
    none = asked("resources/read", uri=f"mcpctl+{name}:{SCHEME}none")["error"]
    assert none == {"code": -32602 if revision == MODERN else -32002, "message": "no such resource"}
    ref = {"type": "ref/prompt", "name": f"{name}_grüße"}
    completed = asked("completion/complete", ref=ref, argument={"name": "q", "value": "g"})["result"]
    assert completed["completion"]["values"] == ["grüße"]


@ERAS
def test_an_older_server_is_met_with_the_handshake(clients: dict[str, Client], revision: str) -> None:
    result = clients[revision].call("legacy:echo").json["result"]
    assert result["structuredContent"]["revision"] == LATEST


@ERAS
@TRANSPORTS
def test_progress_comes_with_the_callers_token(clients: dict[str, Client], revision: str, name: str) -> None:
    client = clients[revision]
    client.said.clear()
    client.call(f"{name}:progress", token="mine")
    told = [json.loads(line)["params"] for line in client.said if b"progress" in line]
    # One JSON answer has no room for what comes before it.
    steps = [] if name == "json" else [1, 2]
    assert [(params["progressToken"], params["progress"]) for params in told] == [("mine", step) for step in steps]


@ERAS
@pytest.mark.parametrize("name", ["http", "sse"])
def test_a_call_that_is_taken_back_is_taken_back_there(clients: dict[str, Client], revision: str, name: str) -> None:
    client = clients[revision]
    mine = {"name": f"{name} {revision}"}
    id_ = client.start_call(f"{name}:wait", mine, token="w")
    while b"waiting" not in (line := client.line()):
        assert b"list_changed" in line  # of a server that has been listed meanwhile
    client.notify("notifications/cancelled", {"requestId": id_})
    assert client.call(f"{name}:was_cancelled", mine).text == "was_cancelled"


@pytest.mark.parametrize(
    ("tool", "told", "said"),
    [
        ("busy", "HTTP 503 Service Unavailable", ": try later, api_key=***"),
        ("page", "its answer is not a JSON-RPC message", " but 'text/html'"),
        ("rubbish", "its answer is not a JSON-RPC message", ""),
        ("gzip", "its answer cannot be decompressed: it does not match its Content-Encoding. " + SENT, ""),
    ],
)
def test_an_answer_that_is_none_is_told_to_models_in_our_words_alone(
    address: str, serve: Serve, mcpctl: Mcpctl, tool: str, told: str, said: str
) -> None:
    answer = serve(entries(address, "raw")).call(f"raw:{tool}")
    record = mcpctl("calls", "show", "last", "--json").json
    why = f". The user can see why with: mcpctl calls show {record['id'][:8]}" if said else ""
    assert answer.text == f"mcpctl: server 'raw': {told}{why}"
    assert record["error"]["message"].startswith(f"server 'raw': {told}{said}")


def test_arguments_reach_the_server_as_the_bytes_they_were(clients: dict[str, Client]) -> None:
    arguments = b'{"a":1e999, "b":1.50,"a":12345678901234567890123,"c":"\\ud800"}'
    assert arguments.decode() in clients[LATEST].call("raw:sent", arguments).text


@pytest.mark.parametrize("tool", ["no_id", "other_id"])
def test_what_is_in_the_response_is_the_answer_whatever_its_id(clients: dict[str, Client], tool: str) -> None:
    assert clients[LATEST].call(f"raw:{tool}").json["result"] == json.loads(ODD)


@pytest.mark.parametrize("tool", ["error", "not_found", "about_a_session"])
def test_an_error_of_the_server_stays_one_whatever_its_status(clients: dict[str, Client], tool: str) -> None:
    client = clients[LATEST]
    waiting = client.start_call("raw:slow")
    error = client.call(f"raw:{tool}").json["error"]
    assert (error["code"], error["data"]) == (-32050, {"a": [1.0]})
    assert client.answer(waiting).json["result"] == json.loads(ODD)


@pytest.mark.parametrize("name", ["raw", "raw_sse"])
def test_an_odd_answer_costs_no_other_call_its_own(clients: dict[str, Client], name: str) -> None:
    client = clients[LATEST]
    assert client.call(f"{name}:odd").json["result"] == json.loads(ODD)
    waiting = client.start_call(f"{name}:slow")
    odd = client.call(f"{name}:odd_round")
    assert odd.is_error
    assert "asks for input in a way that cannot be understood" in odd.text
    assert client.answer(waiting).json["result"] == json.loads(ODD)
    assert client.call(f"{name}:odd").json["result"] == json.loads(ODD)


def heard(events: bytes, on_message: Callable[[Connection, Message], None]) -> None:
    """Connect to a server of the older transport that says only this; returns when that connection is at its end."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + events)
        await writer.drain()
        writer.close()

    async def connected() -> None:
        async with await asyncio.start_server(say, "127.0.0.1", 0) as listening, asyncio.timeout(10):
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
            remote = Sse(Server(url=url), Endpoint(url, "sse", {}), Turn().readers, on_message, lambda _: None)
            await remote.ready()
            await remote.gone.wait()

    asyncio.run(connected())


def test_a_message_that_breaks_something_costs_none_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    methods = []

    def on_message(connection: Connection, message: Message) -> None:
        methods.append(message.method)
        if message.method == "odd":
            raise ValueError("this one")

    heard(b'event: endpoint\ndata: /\n\ndata: {"method":"odd"}\n\ndata: {"method":"next"}\n\n', on_message)
    assert methods == ["odd", "next"]
    assert capsys.readouterr().err == "mcpctl: internal error: ValueError('this one')\n"


def test_an_endpoint_that_is_no_address_is_told_at_once() -> None:
    with pytest.raises(Failed):
        heard(b"event: endpoint\ndata: //a:b/\n\n", lambda *_: None)


def test_redirects_on_the_same_origin_are_followed_and_others_named(address: str, home: Path, mcpctl: Mcpctl) -> None:
    write_config(home, {"near": {"url": f"{address}/moved"}, "far": {"url": f"{address}/gone"}})
    assert mcpctl("tools", "call", "near:odd", "--json").json == json.loads(ODD)
    told = mcpctl("servers", "check", "far").out
    assert "it redirects to another place: http://elsewhere.invalid/mcp; write that as its url" in told


def test_a_message_of_3_mb_passes_both_ways(clients: dict[str, Client]) -> None:
    text = "x" * 3_000_000
    for name in ("http", "sse"):
        result = clients[LATEST].call(f"{name}:echo", {"text": text}, timeout=60).json["result"]
        assert result["structuredContent"]["arguments"] == {"text": text}


def test_a_parameter_that_the_schema_names_a_header_is_sent_as_one(clients: dict[str, Client]) -> None:
    client = clients[MODERN]
    client.call("http:echo")
    until("the list", lambda: client.discover("http:region")["results"])
    result = client.call("http:region", {"region": "zürich"}).json["result"]
    assert result["structuredContent"]["arguments"] == {"region": "zürich"}


# ---- what changes, and what goes away


@ERAS
@pytest.mark.parametrize("name", ["http", "sse"])
def test_a_tool_that_is_new_is_found(clients: dict[str, Client], revision: str, name: str) -> None:
    client = clients[revision]
    new = client.call(f"{name}:grow").json["result"]["structuredContent"]["did"]
    until("it", lambda: f"{name}:{new}" in {tool["toolKey"] for tool in client.discover(f"{name}:{new}")["results"]})


@ERAS
def test_a_server_that_goes_away_and_comes_back_is_connected_anew(serve: Serve, web: Web, revision: str) -> None:
    with web() as address:
        client = serve(entries(address, "http", "sse"), revision=revision)
        for name in ("http", "sse"):
            assert not client.call(f"{name}:echo").is_error
        lost = client.call("http:crash")
        assert lost.is_error
        assert "may have taken effect; it was not sent again" in lost.text
        for name in ("http", "sse"):
            refused = f"server '{name}' cannot be used: nothing listens there (connection refused)"
            until("the end", lambda name=name, refused=refused: refused in client.call(f"{name}:echo").text)
        with web("--port", address.rpartition(":")[2]):
            for name in ("http", "sse"):
                until("it to be tried again", lambda name=name: not client.call(f"{name}:echo").is_error)


def test_a_session_that_the_server_has_forgotten_is_opened_again_and_every_call_sent(serve: Serve, web: Web) -> None:
    with web() as address:
        client = serve(entries(address, "http"))
        client.call("http:echo")
    with web("--port", address.rpartition(":")[2]):
        ids = [client.start_call("http:echo") for _ in range(20)]
        assert [client.answer(id_).is_error for id_ in ids] == [False] * 20


# ---- what is told


@pytest.mark.parametrize(
    ("headers", "env", "told"),
    [
        ({"Authorization": "Bearer ${TOKEN}"}, {"TOKEN": "no"}, "not accepted: header Authorization (from TOKEN)"),
        ({"Authorization": "Bearer ${TOKEN}"}, {"TOKEN": ""}, "header Authorization (from TOKEN, which is empty)"),
        ({"Authorization": "Bearer ${TOKEN}"}, {}, "variable TOKEN is not set"),
        ({"Authorization": "Bearer x"}, {}, "header Authorization (as written in the configuration)"),
    ],
)
def test_a_refused_token_is_told_with_its_header_and_variable(
    address: str, home: Path, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str], env: dict[str, str], told: str,
) -> None:  # fmt: skip
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    write_config(home, {"token": {"url": f"{address}/token/mcp", "headers": headers}})
    ran = mcpctl("tools", "refresh")
    assert ran.code == 4
    assert told in ran.err
    if "TOKEN is not set" not in told:
        assert "HTTP 401 Unauthorized: a token is wanted" in ran.err


def test_a_server_that_wants_a_token_and_gets_no_header_needs_a_login(address: str, home: Path, mcpctl: Mcpctl) -> None:
    write_config(home, {"token": {"url": f"{address}/token/mcp"}})
    ran = mcpctl("tools", "refresh")
    assert ran.code == 4
    assert "server 'token' needs a login: mcpctl servers login token" in ran.err


def test_a_token_that_is_right_lets_us_in(
    address: str, home: Path, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    headers = {"Authorization": "Bearer ${TOKEN}"}
    write_config(home, {"token": {"url": f"{address}/token/mcp", "headers": headers}})
    assert mcpctl("tools", "call", "token:echo", "a=1").code == 0
    journals = b"".join(file.read_bytes() for file in (home / "data").rglob("*") if file.is_file())
    assert b"secret" not in journals


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1:9/mcp", "nothing listens there (connection refused)"),
        ("http://nowhere.invalid/mcp", "no such host"),
        (
            "{address}/nowhere",
            "HTTP 404 Not Found; is the path right? If it speaks the other transport, write transport =",
        ),
        ("{https}/http/mcp", "TLS: the encrypted connection failed"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_in_words(
    address: str, home: Path, mcpctl: Mcpctl, kind: str, url: str, told: str
) -> None:
    url = url.format(address=address, https=address.replace("http", "https"))
    write_config(home, {"s": {"url": url, "transport": kind}})
    ran = mcpctl("tools", "refresh")
    assert (ran.code, "server 's' cannot be used: " in ran.err, told in ran.err) == (4, True, True), ran.err


def test_a_certificate_that_nobody_vouches_for_is_told_with_what_to_do(
    home: Path, tmp_path: Path, web: Web, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert = tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=test"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(tmp_path / "key.pem"), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "key.pem").read_text() + cert.read_text(), encoding="utf-8")
    with web("--cert", str(both)) as address:
        write_config(home, entries(address, "http"))
        ran = mcpctl("tools", "refresh")
        assert ran.code == 4
        assert "TLS: its certificate is not trusted (self-signed certificate); if it is the right server" in ran.err
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert mcpctl("tools", "call", "http:echo").code == 0


def test_certificates_are_read_for_tls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(**_: Any) -> Any:
        raise OSError("no such file")

    monkeypatch.setattr("httpcore2.default_ssl_context", unreadable)
    http_client.client("http://127.0.0.1/mcp", {})
    with pytest.raises(Failed):
        http_client.client("https://127.0.0.1/mcp", {})


@pytest.mark.slow
def test_a_server_that_never_answers_harms_only_its_own_calls(serve: Serve) -> None:
    listens = "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); signal.pause()"
    silent = [sys.executable, "-c", f"import signal, socket; {listens}"]
    with subprocess.Popen(silent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        client = serve({"silent": {"url": url, "start_timeout_s": 0.5}, "counter": command("counter")})
        id_ = client.start_call("silent:any")
        assert json.loads(client.call("counter:count").text)["count"] == 1
        assert "no answer within 0.5 s" in client.answer(id_).text
        process.kill()


@pytest.mark.slow
def test_the_session_ends_in_time_while_a_call_to_it_hangs(serve: Serve, address: str) -> None:
    client = serve(entries(address, "http"), process=True)
    client.start_call("http:wait", token=1)
    assert b"waiting" in client.line()
    promise = Promise(client)
    client.end_input()
    assert any(b"the session is ending" in line for line in client.rest())
    promise.kept()
