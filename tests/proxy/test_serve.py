"""Answers of `mcpctl serve` itself to a client, in every revision, whatever it sends and whatever is behind."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pytest_snapshot.plugin import Snapshot

from mcpctl.base import bounds
from tests.conftest import Mcpctl
from tests.proxy.client import ENVELOPE, LATEST, META, MODERN, ROOT, SERVE, Client, write_config
from tests.proxy.conftest import BOTH, Serve, starter
from tests.servers import command

pytestmark = [pytest.mark.process, BOTH]

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, transport: str) -> Iterator[Serve]:
    """Starts `mcpctl serve` for all tests of this module, on a home of its own."""
    folder = tmp_path_factory.mktemp("serve")
    yield from starter(folder, folder / "home", transport=transport)


@pytest.fixture(scope="module")
def legacy(shared: Serve) -> Client:
    """One that has shaken hands."""
    return shared({"counter": command("counter"), "strict": command("strict")})


@pytest.fixture(scope="module")
def modern(legacy: Client, shared: Serve) -> Client:
    """One that is asked in the newer era."""
    return shared(revision=MODERN)


def error(client: Client, method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    """The error that a request gets."""
    found: dict[str, Any] = client.ask(method, params or {}, **more).json["error"]
    return found


# ---- the handshake


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_that_is_known_is_agreed_to(revision: str, serve: Serve) -> None:
    answer = serve({}, revision=revision, opened=False).open()
    assert answer["protocolVersion"] == revision
    assert answer["serverInfo"]["name"] == "mcpctl"
    assert answer["capabilities"] == {"logging": {}, "tools": {"listChanged": False}}


@pytest.mark.parametrize("asked", ["2026-07-28", "2023-01-01", "", None, 7, {"a": 1}])
def test_a_revision_that_is_not_known_is_answered_with_the_latest(asked: Any, legacy: Client) -> None:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    assert legacy.ask("initialize", params).json["result"]["protocolVersion"] == LATEST


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"protocolVersion": LATEST},
        {"protocolVersion": LATEST, "capabilities": None, "clientInfo": None},
        {"protocolVersion": LATEST, "capabilities": {"sampling": True, "experimental": {"a": 1}}},
        {"protocolVersion": LATEST, "capabilities": [], "clientInfo": {"name": 7}},
        {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": "me", "x": 1},
    ],
)
def test_a_sloppy_handshake_is_taken(params: dict[str, Any], legacy: Client) -> None:
    assert legacy.ask("initialize", params).json["result"]["protocolVersion"] == LATEST


@pytest.mark.stdio("over HTTP the handshake gives the session that all else belongs to")
def test_requests_before_the_handshake_are_answered(serve: Serve) -> None:
    client = serve({"counter": command("counter")}, opened=False)
    assert len(client.ask("tools/list").json["result"]["tools"]) == 2
    assert not client.call("counter:count").is_error


# ---- the newer era


def test_discover_tells_the_modern_revision_and_what_is_there(modern: Client) -> None:
    found = modern.ask("server/discover").json["result"]
    assert found["supportedVersions"] == [MODERN]
    assert found["capabilities"] == {
        "logging": {},
        "tools": {"listChanged": False},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
    }
    assert "counter, strict" in found["instructions"]
    assert found["resultType"] == "complete"
    assert found["_meta"][META + "serverInfo"]["name"] == "mcpctl"


def test_discover_without_an_envelope_is_wrong(legacy: Client) -> None:
    assert error(legacy, "server/discover")["code"] == -32602


def test_half_an_envelope_is_wrong_and_executes_nothing(legacy: Client) -> None:
    meta: dict[str, Any] = {META + "clientCapabilities": {}}
    params = {"name": "tool_execute", "arguments": {"toolKey": "a:b"}, "_meta": meta}
    assert error(legacy, "tools/call", params)["code"] == -32602


def test_a_handshake_with_an_envelope_is_not_known(modern: Client) -> None:
    assert error(modern, "initialize")["code"] == -32601


@pytest.mark.parametrize("version", ["2025-11-25", "2027-01-01", "", 7, None])
def test_an_envelope_of_another_version_is_told_the_supported_ones(version: Any, legacy: Client) -> None:
    found = error(legacy, "tools/list", {"_meta": {**ENVELOPE, META + "protocolVersion": version}})
    assert found["code"] == -32022
    assert found["data"]["supported"] == [MODERN]


@pytest.mark.parametrize("capabilities", [None, [], "x", True])
def test_an_envelope_without_capabilities_is_wrong(capabilities: Any, legacy: Client) -> None:
    meta = {**ENVELOPE, META + "clientCapabilities": capabilities}
    assert error(legacy, "tools/list", {"_meta": meta})["code"] == -32602


def test_an_envelope_needs_no_client_info(legacy: Client) -> None:
    meta = {name: value for name, value in ENVELOPE.items() if name != META + "clientInfo"}
    assert "result" in legacy.ask("tools/list", {"_meta": meta}).json


def test_one_connection_serves_both_eras(legacy: Client) -> None:
    assert "resultType" not in legacy.ask("tools/list").json["result"]
    assert legacy.ask("tools/list", {"_meta": ENVELOPE}).json["result"]["resultType"] == "complete"
    assert "resultType" not in legacy.ask("tools/list").json["result"]


def test_a_search_for_a_modern_client_is_stamped(modern: Client) -> None:
    found = modern.tool("tool_discovery", {"query": ["count"]}).json["result"]
    assert found["resultType"] == "complete"
    assert found["_meta"][META + "serverInfo"]["name"] == "mcpctl"


def test_a_refusal_for_a_modern_client_is_stamped(modern: Client) -> None:
    found = modern.call("nowhere:tool").json["result"]
    assert (found["isError"], found["resultType"]) == (True, "complete")


# ---- the two tools


def test_the_tools_are_these(serve: Serve, snapshot: Snapshot) -> None:
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    answer = serve({"weather": command("counter"), "notes": command("counter")}).ask("tools/list")
    snapshot.assert_match(json.dumps(answer.json["result"], indent=2) + "\n", "tools-list.json")


@pytest.mark.parametrize("revision", (*REVISIONS, MODERN))
def test_what_a_client_is_told_at_first_is_this_byte_for_byte(serve: Serve, snapshot: Snapshot, revision: str) -> None:
    """Where no tool is shown directly: a client pays for each byte, and keeps what it was told.

    Each on a home of its own: where it is known from before that no server has prompts, a client is not told of any.
    """
    client = serve({"weather": command("counter"), "notes": command("counter")}, revision=revision, opened=False)
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "tester", "version": "0.1"}}
    first = client.ask("server/discover") if revision == MODERN else client.ask("initialize", params)
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    lines = b"".join(line + b"\n" for line in (first.line, client.ask("tools/list").line))
    snapshot.assert_match(lines, f"first-answers-{revision}.jsonl")


def test_the_tools_are_the_same_in_both_eras(legacy: Client, modern: Client) -> None:
    found = modern.ask("tools/list").json["result"]
    assert found["tools"] == legacy.ask("tools/list").json["result"]["tools"]
    assert set(found) == {"tools", "resultType", "_meta", "ttlMs", "cacheScope"}


def test_the_tools_stay_the_same_whatever_is_called(legacy: Client) -> None:
    before = legacy.ask("tools/list").result
    legacy.call("counter:count")
    legacy.discover("count")
    assert legacy.ask("tools/list").result == before


def test_the_descriptions_name_the_servers_in_order_and_keep_to_a_bound(serve: Serve) -> None:
    client = serve({f"server-{n:03}": command("counter") for n in reversed(range(300))}, opened=False)
    instructions = client.open()["instructions"]
    for text in [tool["description"] for tool in client.ask("tools/list").json["result"]["tools"]] + [instructions]:
        assert "server-000, server-001, server-002" in text
        assert "more" in text
        assert len(text) < 2000


def test_a_disabled_server_is_not_named(serve: Serve) -> None:
    servers = {"hidden": {"command": "x", "enabled": False}, "shown": command("counter")}
    client = serve(servers, opened=False)
    assert "hidden" not in json.dumps([client.open(), client.ask("tools/list").json])


def test_without_servers_it_serves_and_says_so(serve: Serve) -> None:
    client = serve({})
    assert "mcpctl servers add" in client.ask("tools/list").json["result"]["tools"][0]["description"]
    found = client.discover("anything")
    assert found["results"] == []
    assert "No server is configured" in found["notice"]
    assert client.call("a:b").is_error


def test_another_tool_s_name_is_refused_with_the_two_there_are(legacy: Client) -> None:
    found = legacy.tool("get_forecast").json["error"]
    assert found["code"] == -32602
    assert "tool_execute" in found["data"]


SEARCHES: list[dict[str, Any]] = [
    {"query": ["count calls"]},
    {"query": "count calls"},
    {"query": ["zzzzqqqq"]},
    {"query": ["counter:count"]},
    {"query": ["count", "refuses"], "context": "tests", "maxResults": 1},
    {"query": ["count"], "detail": "names"},
    {"query": ["refuses"], "detail": "full"},
    {},
    {"query": []},
    {"query": [7]},
    {"query": ["x"], "maxResults": 0},
    {"query": ["x"], "maxResults": "many"},
    {"query": ["x"], "detail": "some"},
    {"query": ["x"], "context": []},
]


@pytest.mark.parametrize("arguments", SEARCHES, ids=json.dumps)
def test_every_answer_to_a_search_is_as_its_output_schema_says(arguments: dict[str, Any], legacy: Client) -> None:
    schema = legacy.ask("tools/list").json["result"]["tools"][0]["outputSchema"]
    result = legacy.tool("tool_discovery", arguments).json["result"]
    jsonschema.validate(result["structuredContent"], schema)


@pytest.mark.parametrize("arguments", SEARCHES[:7], ids=json.dumps)
def test_the_text_of_a_search_says_all_that_its_structured_content_says(
    arguments: dict[str, Any], legacy: Client
) -> None:
    answer = legacy.tool("tool_discovery", arguments)
    assert json.loads(answer.text) == answer.json["result"]["structuredContent"]


def test_in_full_each_result_says_why_it_was_found(legacy: Client) -> None:
    for detail, told in (("full", True), ("auto", False), ("names", False)):
        answer = legacy.tool("tool_discovery", {"query": ["count the calls"], "detail": detail})
        results = answer.json["result"]["structuredContent"]["results"]
        assert results
        assert [entry.get("explanation", "").startswith("'count' in name") for entry in results[:1]] == [told]


def test_when_nothing_is_good_enough_the_notice_says_so_with_the_nearest_names(legacy: Client) -> None:
    answer = legacy.tool("tool_discovery", {"query": ["zzcountz"]}).json["result"]["structuredContent"]
    assert answer["results"] == []
    assert answer["notice"].startswith("No tool matches. Nearest names: ")


def test_of_a_weak_answer_the_notice_says_first_that_it_is_weak_then_what_was_understood(legacy: Client) -> None:
    answer = legacy.tool(
        "tool_discovery",
        {"query": ["count pizza zamboni carousel tuxedo lagoon walnut sofa violin mustard"], "detail": "names"},
    )
    notice = answer.json["result"]["structuredContent"]["notice"]
    assert notice.startswith(
        "No good match; these are weak. These words of your query occur in tools: count. "
        "No tool has these words: pizza, zamboni, carousel, tuxedo, lagoon, walnut, sofa, violin, mustard. Servers: "
    )


def test_words_that_nobody_knows_are_asked_for_in_english(legacy: Client) -> None:
    for query, asked in (("zzcountz", "in other words or in English."), ("jazz", "in other words.")):
        answer = legacy.tool("tool_discovery", {"query": [query]}).json["result"]["structuredContent"]
        assert (answer["results"], answer["notice"].rpartition("do, ")[2]) == ([], asked)


@pytest.mark.parametrize("arguments", [b"[]", b'"x"', b"null", b"7"])
def test_arguments_of_a_search_that_are_no_object_are_refused(arguments: bytes, legacy: Client) -> None:
    assert legacy.tool("tool_discovery", arguments).is_error


# ---- what a client may send


def test_a_ping_is_answered(legacy: Client) -> None:
    assert legacy.ask("ping").result == b"{}"


@pytest.mark.parametrize("method", ["resources/List", "tasks/list", "nonsense", "", "tools/Call"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_method_that_is_not_known_is_refused(method: str, era: str, legacy: Client, modern: Client) -> None:
    assert error(legacy if era == "legacy" else modern, method)["code"] == -32601


@pytest.mark.parametrize("id", ["a", "", "ü\u2028", 0, -1, 2**60, 1.5])
def test_an_id_comes_back_as_it_was(id: Any, legacy: Client) -> None:
    assert legacy.ask("ping", id=id).json["id"] == id


@pytest.mark.parametrize(
    "line",
    [
        *(b"{", b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"ping"', b"\xff\xfe", b'{"id":1}}', b'"a"', b"7"),
        b'{"id":1,"method":' + b"[" * 2900 + b"]" * 2900 + b"}",
    ],
    ids=range(8),
)
def test_a_line_that_is_no_message_is_a_parse_error(line: bytes, legacy: Client) -> None:
    legacy.send(line)
    found = json.loads(legacy.line())
    assert (found["id"], found["error"]["code"]) == (None, -32700)


@pytest.mark.parametrize("id", [b"true", b"{}", b"[1]"])
def test_an_id_of_another_kind_is_an_invalid_request(id: bytes, legacy: Client) -> None:
    legacy.send(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id)
    found = json.loads(legacy.line())
    assert (found["id"], found["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize("params", [b"[1]", b'"x"', b"7", b'{"_meta":[]}'])
def test_params_that_are_no_object_are_wrong(params: bytes, legacy: Client) -> None:
    assert legacy.ask("tools/list", params).json["error"]["code"] == -32602


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
        b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}',
        b"{}",
    ],
)
def test_what_asks_nothing_is_answered_with_nothing(line: bytes, legacy: Client) -> None:
    legacy.send(line)
    legacy.ask("ping")
    assert legacy.said == []


def test_each_request_of_a_batch_is_answered(legacy: Client) -> None:
    legacy.send(
        b'[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},'
        b'{"jsonrpc":"2.0","id":"b2","method":"nonsense"}]'
    )
    assert legacy.answer("b1").json["result"] == {}
    assert legacy.answer("b2").json["error"]["code"] == -32601


def test_a_batch_has_a_bound(legacy: Client) -> None:
    ping = b'{"jsonrpc":"2.0","id":"%d","method":"ping"}'
    legacy.send(b"[" + b",".join(ping % number for number in range(bounds.BATCH)) + b"]")
    assert legacy.answer(str(bounds.BATCH - 1)).json["result"] == {}
    legacy.send(b"[" + b",".join(ping % number for number in range(2000, 2000 + bounds.BATCH + 1)) + b"]")
    error = legacy.answer(None).json["error"]
    assert (error["code"], str(bounds.BATCH) in error["message"]) == (-32600, True)


def test_lines_may_end_as_on_windows(legacy: Client) -> None:
    legacy.send(b'{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r')
    assert legacy.answer("crlf").json["result"] == {}


def test_a_request_may_be_spaced_and_ordered_in_any_way(legacy: Client) -> None:
    legacy.send(b' {"params" : null , "method":"ping","x":{"id":3}, "id" : "odd" ,"jsonrpc":"2.0" } ')
    assert legacy.answer("odd").json["result"] == {}


def test_a_hundred_requests_at_once_are_answered_in_order(legacy: Client) -> None:
    ids = [f"pipelined-{n}" for n in range(100)]
    legacy.send(*(b'{"jsonrpc":"2.0","id":"%b","method":"ping"}' % id.encode() for id in ids))
    assert [json.loads(legacy.line())["id"] for _ in ids] == ids


def test_a_request_of_5_mb_is_taken(legacy: Client) -> None:
    answer = legacy.call("counter:echo", {"text": "x" * 5_000_000})
    assert len(answer.text) > 5_000_000


# ---- its streams


@pytest.mark.parametrize("kind", ["/dev/null", "file"])
def test_stdin_may_be_no_pipe(kind: str, home: Path, tmp_path: Path) -> None:
    write_config(home, {"counter": command("counter")})
    path = Path(kind) if kind.startswith("/") else tmp_path / "requests"
    if kind == "file":
        path.write_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}')
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MCPCTL_HOME": str(home)}
    with path.open("rb") as stdin:
        ran = subprocess.run(SERVE, stdin=stdin, capture_output=True, env=env, timeout=30)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == ([1, 2] if kind == "file" else [])


def test_stdout_may_be_a_file(home: Path, tmp_path: Path) -> None:
    write_config(home, {})
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MCPCTL_HOME": str(home)}
    with (tmp_path / "out").open("wb") as out:
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        subprocess.run(SERVE, input=ping, stdout=out, env=env, timeout=60, check=True)
    assert json.loads((tmp_path / "out").read_bytes())["result"] == {}


def test_stdout_carries_only_protocol_though_servers_are_chatty(serve: Serve) -> None:
    client = serve({"rubbish": command("rubbish"), "exits": command("exits")})
    client.call("rubbish:works")
    client.call("exits:anything")
    client.discover("works")
    client.end_input()
    assert {json.loads(line)["method"] for line in client.rest()} <= {"notifications/message"}
    assert client.stderr == ""


def test_a_configuration_that_is_no_toml_is_refused_in_one_message(home: Path, serve: Serve) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[servers.x\n")
    client = serve(opened=False)
    assert client.wait() == 5
    assert client.rest() == []
    assert "config.toml" in client.stderr
    assert "line 1" in client.stderr


# ---- at once


@pytest.mark.slow
def test_nothing_waits_for_a_server_that_hangs(home: Path, tmp_path: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    servers = {"counter": command("counter"), "hangs": command("hangs")}
    write_config(home, servers)
    mcpctl("tools", "refresh", "counter")
    # Clients wait for longer than a test does.
    (tmp_path / "sitecustomize.py").write_text(
        "from mcpctl.proxy import session\nsession._FIRST_SEARCH_S = 1000\n", encoding="utf-8"
    )
    client = serve(env={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    client.ask("tools/list")
    found = client.discover("count the calls")
    client.call("counter:count")
    assert found["results"][0]["toolKey"] == "counter:count"
    assert "Server hangs is still starting" in found["notice"]


def test_a_first_search_waits_for_the_servers_that_start(serve: Serve) -> None:
    client = serve({"counter": command("counter"), "exits": command("exits")})
    found = client.discover("count the calls")
    assert found["results"][0]["toolKey"] == "counter:count"
    assert "Server exits has been down since" in found["notice"]
    assert "mcpctl servers check exits" in found["notice"]
    assert "configuration" not in found["notice"]  # its own words are for people


def test_the_first_answers_need_no_server_and_no_heavy_import(home: Path, serve: Serve) -> None:
    names = "mcp, numpy, rank_bm25, jsonschema, pydantic, rich, mcpctl.search.meaning"
    write_config(home, {"counter": command("counter")})
    script = (
        "import sys, os, threading\n"
        "from mcpctl.proxy.client_protocol import ClientProtocol\n"
        "take = ClientProtocol.message\n"
        "def message(self, message):\n"
        "    take(self, message)\n"
        f"    heavy = [name for name in '{names}'.split(', ') if name in sys.modules]\n"
        "    print(heavy, len(self._session.dispatch.in_flight), file=sys.stderr)\n"
        "ClientProtocol.message = message\n"
        "from mcpctl.main import main\n"
        "sys.exit(main(['serve']))\n"
    )
    requests = b'{"id":1,"method":"initialize","params":{}}\n{"id":2,"method":"tools/list"}\n'
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MCPCTL_HOME": str(home)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], env=env, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin and process.stdout
        process.stdin.write(requests)
        process.stdin.flush()
        assert [json.loads(process.stdout.readline())["id"] for _ in range(2)] == [1, 2]
        _, said = process.communicate(timeout=30)
    assert said.decode().splitlines() == ["[] 0", "[] 0"]


@pytest.mark.parametrize("line, id", [(b"[]", None), (b'{"jsonrpc":"2.0","id":"lost"}', "lost")])
def test_what_is_no_request_is_told_so(line: bytes, id: str | None, legacy: Client) -> None:
    before = len(legacy.said)
    legacy.send(line)
    legacy.ask("ping")
    (said,) = [json.loads(answer) for answer in legacy.said[before:]]
    assert (said["id"], said["error"]["code"]) == (id, -32600)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_server_cannot_read_the_environment_of_serve(tmp_path: Path, serve: Serve) -> None:
    seen = tmp_path / "seen"
    notes = [sys.executable, "-m", "mcpctl.demo.notes"]
    script = 'cat /proc/$PPID/environ > "$0" 2>&1; exec "$@"'
    server = {"command": "sh", "args": ["-c", script, str(seen), *notes], "inherit_env": ["PYTHONPATH"]}
    client = serve({"spy": server}, unprivileged=True, env={"MCPCTL_CLOUD_TOKEN": "secret"})
    assert not client.call("spy:list_notes").is_error
    assert seen.read_text(encoding="utf-8").strip().endswith("Permission denied")
