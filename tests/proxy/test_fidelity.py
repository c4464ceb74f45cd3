"""Answers of a server reach the client as they were: the same bytes as on a direct connection."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.conftest import Mcpctl
from tests.proxy.client import INFO, LATEST, META, MODERN, ROOT, SERVE, Client, write_config
from tests.proxy.conftest import BOTH, Serve, starter
from tests.servers import command

pytestmark = [pytest.mark.process, BOTH]

OLDEST = "2024-11-05"

RESULTS = {
    "plain": b'{"content":[{"type":"text","text":"hello"}]}',
    "spaces": b'{ "content" : [ { "type":"text" , "text":"a" } ] , "isError" : false }',
    "unknown-members": b'{"content":[],"x-vendor":{"a":[1,null]},"_meta":{"b":1},"zeta":0}',
    "unknown-content-type": b'{"content":[{"type":"hologram","depth":3.50,"data":"AAAA"}]}',
    "no-content": b'{"anything":true}',
    "not-an-object": b'["a",1]',
    "a-string": b'"done"',
    "a-number": b"17",
    "null-content": b'{"content":null,"structuredContent":null}',
    "structured-array": b'{"content":[],"structuredContent":[1,2]}',
    "big-integers": b'{"content":[],"structuredContent":{"n":123456789012345678901234567890,"m":-9007199254740993}}',
    "floats": b'{"content":[],"structuredContent":{"a":1.0,"b":1,"c":1E400,"d":-0.0,"e":1e2,"f":0.10}}',
    "duplicate-keys": b'{"content":[],"structuredContent":{"a":1,"a":2},"content":[{"type":"text","text":"b"}]}',
    "not-a-number": b'{"content":[],"structuredContent":{"a":NaN,"b":Infinity,"c":-Infinity}}',
    "lone-surrogates": rb'{"content":[{"type":"text","text":"\ud800 and \udfff"}]}',
    "raw-control-characters": b'{"content":[{"type":"text","text":"a\tb\x00\x1b[31m\x7f"}]}',
    "escapes": rb'{"content":[{"type":"text","text":"\u0041\/\u00e9\n\ud83d\ude00"}]}',
    "text": '{"content":[{"type":"text","text":"naïve 東京 \u2028 😀 \u202e"}]}'.encode(),
    "deep-array": b'{"content":[],"structuredContent":{"a":' + b"[" * 3000 + b"]" * 3000 + b"}}",
    "deep-object": b'{"content":[],"structuredContent":' + b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"}",
    "braces-in-strings": rb'{"content":[{"type":"text","text":"}}]]\"{[,\\"}],"x":"\\\\\""}',
    "carriage-return": b'{"content":[],\r"x":1}',
    "1-mb": b'{"content":[{"type":"text","text":"' + b"0123456789abcdef" * 65_536 + b'"}]}',
    "1-mb-of-small-values": b'{"content":[],"structuredContent":{"rows":[' + b"[1.0,null,true]," * 65_536 + b"0]}}",
}
ERRORS = {
    "plain": b'{"code":-32000,"message":"no"}',
    "data": b'{"code":-32001,"message":"no","data":{"why":[1.0,123456789012345678901234567890]}}',
    "unknown-members": b'{"code":-32000,"message":"no","x-trace":"abc","data":null}',
    "odd-code": b'{"code":"E_STRING","message":null}',
    "not-a-number": b'{"code":-32000,"message":"no","data":NaN}',
    "a-string": b'"failed"',
}


TAPPED = r"""
import json, re, sys
handshake = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {'name': 't', 'version': '1'}}
with open(sys.argv[1], 'ab', buffering=0) as file:
    for line in sys.stdin.buffer:
        file.write(line)
        if not (found := re.search(rb'"id":(\d+),', line)):
            continue
        answer = {'result': {'content': []}}
        if b'"initialize"' in line:
            answer = {'result': handshake}
        elif b'"tools/list"' in line:
            answer = {'result': {'tools': [{'name': 'nothing', 'inputSchema': {'type': 'object'}}]}}
        elif b'"server/discover"' in line:
            answer = {'error': {'code': -32601, 'message': 'Method not found'}}
        print(json.dumps({'jsonrpc': '2.0', 'id': int(found[1]), **answer}), flush=True)
"""


def tapped(received: Path) -> list[str]:
    """A server of the older era alone; every line it gets is kept in a file."""
    return [sys.executable, "-S", "-c", TAPPED, str(received)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, transport: str) -> Path:
    """Where this module's processes write."""
    return tmp_path_factory.mktemp(f"fidelity-{transport}")


@pytest.fixture(scope="module")
def shared(folder: Path, transport: str) -> Iterator[Serve]:
    """Starts `mcpctl serve` for all tests of this module, on a home of its own."""
    yield from starter(folder, folder / "home", transport=transport)


@pytest.fixture(scope="module")
def direct(folder: Path) -> Iterator[Client]:
    """The server itself."""
    client = Client(command("raw"), folder / "direct.txt")
    client.open()
    yield client
    client.close()


@pytest.fixture(scope="module")
def through(folder: Path, shared: Serve) -> Client:
    """The same server behind `mcpctl serve`, for a client of the handshake's era; and others."""
    return shared(
        {"raw": command("raw"), "counter": command("counter"), "tapped": tapped(folder / "received")},
    )


@pytest.fixture(scope="module")
def through_oldest(through: Client, shared: Serve) -> Client:
    """The same for a client of the oldest revision."""
    return shared(revision=OLDEST)


@pytest.fixture(scope="module")
def through_modern(through: Client, shared: Serve) -> Client:
    """The same for a client of the newer era."""
    return shared(revision=MODERN)


def written(folder: Path, content: bytes) -> dict[str, str]:
    """The arguments that make the server answer with `content`."""
    file = folder / "answer"
    file.write_bytes(content)
    return {"file": str(file)}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_the_same_bytes_as_on_a_direct_connection(
    name: str, folder: Path, direct: Client, through: Client
) -> None:
    arguments = written(folder, RESULTS[name])
    assert direct.tool("raw", arguments).result == RESULTS[name]
    assert through.call("raw:raw", arguments).result == RESULTS[name]


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_the_same_bytes_as_on_a_direct_connection(
    name: str, folder: Path, direct: Client, through: Client
) -> None:
    arguments = written(folder, ERRORS[name])
    assert direct.tool("raw_error", arguments).error == ERRORS[name]
    assert through.call("raw:raw_error", arguments).error == ERRORS[name]


def test_a_result_of_20_mb_is_the_same_bytes(through: Client) -> None:
    size = 20 * 1024 * 1024
    answer = through.call("raw:big", {"bytes": size}, timeout=30)
    assert answer.result == b'{"content":[{"type":"text","text":"' + b"x" * size + b'"}]}'


def test_a_modern_server_s_result_reaches_a_modern_client_as_it_was(folder: Path, through_modern: Client) -> None:
    content = b'{"resultType":"complete","content":[],"x":1.0,"_meta":{"a":1E400}}'
    assert through_modern.call("raw:raw", written(folder, content)).result == content


@pytest.mark.parametrize(
    "arguments",
    [
        b'{"n":123456789012345678901234567890,"f":1.0,"g":1E400}',
        b'{ "a" : [ 1 , 2 ] }',
        b'{"a":1,"a":2}',
        rb'{"a":"\u0041\/ \ud83d\ude00"}',
        rb'{"a":"\ud800"}',
        b'{"a":NaN}',
        '{"a":"東京 😀"}'.encode(),
        b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}",
    ],
    ids=["numbers", "spaces", "duplicates", "escapes", "surrogate", "nan", "text", "deep"],
)
def test_arguments_reach_the_server_as_the_bytes_they_were(arguments: bytes, folder: Path, through: Client) -> None:
    through.call("tapped:nothing", arguments)
    calls = [line for line in (folder / "received").read_bytes().splitlines() if b"tools/call" in line]
    assert b'"arguments":' + arguments + b"}" in calls[-1]


@pytest.mark.parametrize(
    "params",
    [
        rb'{"n\u0061me":"tool_execute","arguments":{"t\u006folKey":"tapped:nothing","\u0061rguments":{"a":1}}}',
        b'{"arguments":{"arguments":{"a":1},"other":[1],"toolKey":"tapped:nothing"},"name":"tool_execute"}',
        b'{"name":"x","name":"tool_execute","arguments":{"toolKey":1,"arguments":[],"toolKey":"tapped:nothing","arguments":{"a":1}}}',
        b'{"name":"tool_execute","arguments":{"toolKey":"tapped:nothing","arguments": {"a":1}},"other":{"b":2}}',
    ],
    ids=["escaped names", "another order", "twice", "more"],
)
def test_however_a_call_is_written_its_tool_gets_its_arguments(params: bytes, folder: Path, through: Client) -> None:
    assert not through.answer(through.request("tools/call", params)).is_error
    calls = [line for line in (folder / "received").read_bytes().splitlines() if b"tools/call" in line]
    assert b'"arguments":{"a":1}' in calls[-1]
    assert (b'"other":{"b":2}' in calls[-1]) == (b'"other":{"b":2}' in params)


def test_arguments_given_as_a_json_string_are_taken_for_the_object_they_hold(through: Client) -> None:
    answer = through.call("counter:echo", json.dumps('{"n": 123456789012345678901234567890, "f": 1.0}').encode())
    assert answer.text == '{"n": 123456789012345678901234567890, "f": 1.0}'


@pytest.mark.parametrize("arguments", [b"[1]", b"7", b'"[1]"', b'"{"', b'"hello"', b"true"])
def test_arguments_that_are_no_object_are_refused_with_an_example(arguments: bytes, through: Client) -> None:
    answer = through.call("counter:echo", arguments)
    assert answer.is_error
    assert '"toolKey": "server:tool"' in answer.text


@pytest.mark.parametrize("arguments", [b"null", b"{}"])
def test_no_arguments_are_no_arguments(arguments: bytes, through: Client) -> None:
    assert through.call("counter:echo", arguments).text == "{}"


# ---- between the eras and revisions


def test_a_client_of_the_oldest_revision_gets_structured_content_as_text(folder: Path, through_oldest: Client) -> None:
    content = b'{"content":[],"structuredContent":{"n":123456789012345678901234567890,"f":1.0},"x":1}'
    found = through_oldest.call("raw:raw", written(folder, content)).json["result"]
    assert found["content"] == [{"type": "text", "text": '{"n":123456789012345678901234567890,"f":1.0}'}]
    assert found["x"] == 1


def test_a_client_of_the_oldest_revision_gets_content_that_is_there_as_it_was(
    folder: Path, through_oldest: Client
) -> None:
    content = b'{"content":[{"type":"text","text":"a"}],"structuredContent":{"f":1.0}}'
    assert through_oldest.call("raw:raw", written(folder, content)).result == content


def test_a_modern_client_of_an_older_server_gets_a_result_type_and_the_server_s_name(through_modern: Client) -> None:
    assert through_modern.call("tapped:nothing").json["result"] == {
        "content": [],
        "resultType": "complete",
        "_meta": {META + "serverInfo": {"name": "t", "version": "1"}},
    }


def test_a_modern_client_s_envelope_does_not_reach_an_older_server(folder: Path, through_modern: Client) -> None:
    through_modern.call("tapped:nothing", {"unique": "enveloped"})
    (line,) = [line for line in (folder / "received").read_bytes().splitlines() if b'"enveloped"' in line]
    assert META.encode() not in line


MODERN_ONLY = """
import json, sys
META = 'io.modelcontextprotocol/'
for line in sys.stdin:
    message = json.loads(line)
    meta = message.get('params', {}).get('_meta', {})
    if 'id' not in message: continue
    answer = {'jsonrpc': '2.0', 'id': message['id']}
    if meta.get(META + 'protocolVersion') != '2026-07-28':
        data = {'supported': ['2026-07-28'], 'requested': '?'}
        answer['error'] = {'code': -32022, 'message': 'Unsupported protocol version', 'data': data}
    elif message['method'] == 'server/discover':
        answer['result'] = {'supportedVersions': ['2026-07-28'], 'capabilities': {}, 'resultType': 'complete'}
    elif message['method'] == 'tools/list':
        answer['result'] = {'resultType': 'complete', 'tools': [{'name': 'who', 'inputSchema': {'type': 'object'}}]}
    else:
        answer['result'] = {'resultType': 'complete', 'content': [], 'structuredContent': [1, meta], 'f': 1.0}
    print(json.dumps(answer), flush=True)
"""


def test_a_legacy_client_can_call_a_server_of_the_newer_era_alone(serve: Serve) -> None:
    client = serve({"new": [sys.executable, "-S", "-c", MODERN_ONLY]})
    found = client.call("new:who").json["result"]
    assert "resultType" not in found
    number, meta = found["structuredContent"]["result"]
    assert number == 1
    assert meta[META + "protocolVersion"] == MODERN
    assert meta[META + "clientInfo"] == INFO


def test_a_server_of_the_newer_era_gets_each_modern_client_s_own_envelope(serve: Serve) -> None:
    client = serve({"new": [sys.executable, "-S", "-c", MODERN_ONLY]}, revision=MODERN)
    found = client.call("new:who").json["result"]
    assert found["resultType"] == "complete"
    assert found["structuredContent"][1][META + "clientInfo"] == INFO


@pytest.mark.slow
@pytest.mark.parametrize("to_the_unknown", ["continue", "sys.exit(1)"], ids=["silent", "exits"])
def test_a_server_that_takes_the_probe_badly_is_probed_once_and_used(
    to_the_unknown: str, tmp_path: Path, serve: Serve
) -> None:
    script = TAPPED.replace("{'error': {'code': -32601, 'message': 'Method not found'}}", "None")
    script = script.replace("        print(", f"        if not answer: {to_the_unknown}\n        print(")
    argv = [sys.executable, "-S", "-c", script, str(tmp_path / "received")]
    (tmp_path / "sitecustomize.py").write_text(
        "from mcpctl.upstreams import transports\nassert transports._PROBE_S == 2\ntransports._PROBE_S = 0.2\n",
        encoding="utf-8",
    )
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    client = serve({"old": argv}, revision=MODERN, env=env)
    assert not client.call("old:nothing").is_error
    assert not serve(revision=MODERN, env=env).call("old:nothing").is_error
    assert (tmp_path / "received").read_bytes().count(b'"server/discover"') == 1


@pytest.mark.parametrize("revision", [OLDEST, LATEST])
def test_an_upstream_is_offered_the_client_s_own_revision(revision: str, tmp_path: Path, serve: Serve) -> None:
    client = serve({"old": tapped(tmp_path / "received")}, revision=revision)
    client.call("old:nothing")
    received = [json.loads(line) for line in (tmp_path / "received").read_bytes().splitlines()]
    assert [m["params"]["protocolVersion"] for m in received if m["method"] == "initialize"] == [revision]
    assert not [m for m in received if m["method"] == "server/discover"]


# ---- on record


def test_every_strange_result_is_on_record_as_a_finished_call(tmp_path: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"raw": command("raw")})
    for content in RESULTS.values():
        client.call("raw:raw", written(tmp_path, content))
    recorded = [(row["status"], row["response_bytes"]) for row in reversed(mcpctl("calls", "ls", "--json").json)]
    assert recorded == [("ok", len(content)) for content in RESULTS.values()]


@pytest.mark.parametrize("name", ["not-a-number", "lone-surrogates", "deep-array", "raw-control-characters"])
def test_what_strict_readers_refuse_is_on_record_as_its_text(
    name: str, tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    serve({"raw": command("raw")}).call("raw:raw", written(tmp_path, RESULTS[name]))
    (call,) = mcpctl("calls", "ls", "--json").json
    assert call["response"].encode() == RESULTS[name]


@pytest.mark.slow
def test_a_request_id_that_strict_readers_refuse_costs_no_record(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"counter": command("counter")})
    client.send(
        rb'{"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":'
        rb'{"name":"tool_execute","arguments":{"toolKey":"counter:count"}}}'
    )
    assert client.line().startswith(rb'{"jsonrpc":"2.0","id":"\ud800","result":')
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["ok"]


# ---- the SDK's client


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "names"), [("auto", ("weather", "time", "git")), ("legacy", ("weather", "time"))])
def test_the_sdk_s_client_uses_real_servers_through_it(
    mode: Any, names: Sequence[str], home: Path, tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    from mcp.client import Client as SdkClient
    from mcp.client.stdio import StdioServerParameters, stdio_client

    subprocess.run(["git", "init", "-q", str(tmp_path / "repository")], check=True)
    modules = {"weather": "mcpctl.demo.weather", "time": "mcp_server_time", "git": "mcp_server_git"}
    write_config(home, {name: [sys.executable, "-m", modules[name]] for name in names})
    sent: list[tuple[str, dict[str, Any]]] = [
        ("weather:get_forecast", {"city": "Oslo", "days": 2}),
        ("time:get_current_time", {"timezone": "Europe/Oslo"}),
        ("git:git_status", {"repo_path": str(tmp_path / "repository")}),
    ]
    del sent[len(names) :]

    async def drive() -> list[Any]:
        parameters = StdioServerParameters(
            command=SERVE[0], args=list(SERVE[1:]), env={"MCPCTL_HOME": str(home), "PYTHONPATH": str(ROOT)}
        )
        with anyio.fail_after(60):
            async with SdkClient(stdio_client(parameters), mode=mode) as client:
                tools = await client.list_tools()
                assert [tool.name for tool in tools.tools] == ["tool_discovery", "tool_execute"]
                results = [
                    await client.call_tool("tool_execute", {"toolKey": key, "arguments": arguments})
                    for key, arguments in sent
                ]
                # The server that was called has listed its tools.
                answer = await client.call_tool("tool_discovery", {"query": ["current time in a timezone"]})
                assert answer.structured_content
                assert answer.structured_content["results"][0]["toolKey"] == "time:get_current_time"
                return results

    results = anyio.run(drive)
    assert [result.is_error for result in results] == [False] * len(names)
    assert "Europe/Oslo" in results[1].content[0].text
    recorded = mcpctl("calls", "ls", "--json").json
    assert [(f"{row['server']}:{row['tool']}", row["arguments"]) for row in reversed(recorded)] == sent
    assert [row["status"] for row in recorded] == ["ok"] * len(names)
    assert [block["text"] for block in recorded[-2]["response"]["content"]] == [results[1].content[0].text]
