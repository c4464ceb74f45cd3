"""`serve --http` as clients of both eras see it: who is let in, what is answered how, and what ends what."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.paths import Paths
from mcpctl.over_http import front, post_answer, process
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store.run import Run
from tests.over_http.asgi import HOST, Answer, PlayWeb, Web, play_web, token_of
from tests.proxy.client import META, MODERN
from tests.proxy.in_memory import MemoryConnection, MemoryServer, World, echo, play, tool

CALL = {"name": "tool_execute", "arguments": {"toolKey": "files:read", "arguments": {}}}


def files() -> MemoryServer:
    """A server that echoes."""
    return MemoryServer(tool("read", readOnlyHint=True))


@pytest.fixture
def web(home: Path, paths: Paths) -> PlayWeb:
    """Plays a scene with clients over HTTP on this test's home."""

    def begin(scene: Callable[[Web], Any], **more: Any) -> None:
        play_web(home, paths, scene, **{"servers": {"files": files}, **more})

    return begin


def lines(paths: Paths, kind: str) -> list[dict[str, Any]]:
    """The lines of this kind in all journals."""
    texts = [line for file in paths.sessions.glob("*.jsonl") for line in file.read_text().splitlines()]
    return [line for line in map(json.loads, texts) if line["type"] == kind]


def calls(paths: Paths) -> list[dict[str, Any]]:
    """The calls on record, each with how it ended."""
    ends = {line["id"]: line["status"] for line in lines(paths, "calls.finished")}
    return [{**line, "status": ends.get(line["id"])} for line in lines(paths, "calls.started")]


# ---- who may ask


def test_pages_of_an_allowed_origin_read_answers_and_no_others_do(web: PlayWeb, paths: Paths) -> None:
    _, text = token_of(paths)
    page = "https://app.example"
    before: dict[str, Any] = {
        "access_control_request_method": "POST",
        "access_control_request_headers": "authorization,mcp-method",
    }

    async def scene(at: Web) -> None:
        allowed = await at.ask("OPTIONS", None, origin=page, **before).whole()
        assert (allowed.status, allowed.headers["access-control-allow-origin"]) == (204, page)
        assert allowed.headers["access-control-allow-headers"] == "authorization,mcp-method"
        assert "content-length" not in allowed.headers
        for token, status in ((text, 200), ("wrong", 401)):
            answer = await at.call("files:read", token=token, origin=page).whole()
            assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, page)
        other = await at.ask("OPTIONS", None, origin="https://evil.example", **before).whole()
        assert (other.status, "access-control-allow-origin" in other.headers) == (403, False)
        assert "access-control-allow-origin" not in (await at.call("files:read", token=text).whole()).headers
        assert (await at.ask("OPTIONS", None, origin=page, token=text).whole()).status == 405

    web(scene, http={"require_token": True, "allowed_origins": [page]})


def test_host_and_origin_and_token_let_in_only_who_may_ask(web: PlayWeb, paths: Paths) -> None:
    id_, text = token_of(paths)
    _, revoked = token_of(paths)
    with PolicyFile.connect(paths) as file:
        tokens.revoke(
            file, [tokens.every(file)[-1].id if tokens.every(file)[-1].id != id_ else tokens.every(file)[0].id]
        )
    hosts = {HOST: 200, "localhost:8080": 403, "127.0.0.1": 403, "evil.example": 403, "evil.example:8080": 403}
    origins = {
        None: 200,
        "http://localhost:8080": 403,
        "https://app.example": 200,
        "https://evil.example": 403,
        "null": 403,
    }
    given = {None: 401, text: 200, revoked: 401, "wrong": 401, text + "x": 401, "": 401}

    async def scene(at: Web) -> None:
        found = {}
        expected = {}
        for host, of_host in hosts.items():
            for origin, of_origin in origins.items():
                for token, of_token in given.items():
                    headers: dict[str, Any] = {"host": host, "origin": origin}
                    headers |= {"authorization": f"Bearer {token}"} if token is not None else {}
                    case = host, origin, token
                    answer = await at.call("files:read", None, **headers).whole()
                    found[case] = answer.status
                    expected[case] = next((each for each in (of_host, of_origin, of_token) if each != 200), 200)
                    if answer.status == 401:
                        assert answer.headers["www-authenticate"] == "Bearer"
                        assert ("a token is needed" in answer.json["error"]["message"]) == (token is None)
        assert found == expected
        two = at.call("files:read", token=text, more=[("host", "evil.example")])
        assert (await two.whole()).status == 403
        # The socket's address alone counts.
        for address in ("10.0.0.9", ""):
            told = at.call("files:read", x_forwarded_for="127.0.0.1", forwarded="for=127.0.0.1", address=address)
            assert (await told.whole()).status == 401
            refused = [row["key"] for row in lines(paths, "decisions.made")]
            assert refused[-1] == (address or "http")  # on record before it is answered

    web(scene, http={"require_token": True, "allowed_origins": ["https://app.example"]})
    refused = [row for row in lines(paths, "decisions.made") if row["rule"] in ("no_token", "token_not_valid")]
    assert sorted(row["key"] for row in refused) == ["10.0.0.9", "127.0.0.1", "http"]
    of_refused = [row["id"] for row in lines(paths, "sessions.created") if row["client_name"] == "refused requests"]
    assert {row["session_id"] for row in refused} == set(of_refused)
    assert {row["token_id"] for row in calls(paths)} == {id_}


def test_a_token_in_a_header_goes_before_that_of_a_request_and_counts_without_a_policy(
    web: PlayWeb, paths: Paths
) -> None:
    of_ann, of_bob = (token_of(paths, servers=[name])[1] for name in ("files", "notes"))

    async def scene(at: Web) -> None:
        for given, key, is_there in ((of_ann, "files:read", True), (of_ann, "notes:read", False)):
            answer = await at.call(key, token=given, meta={"token": of_bob}).whole()
            assert answer.json["result"].get("isError", False) is not is_there
        claimed = await at.call("files:read", meta={"token": of_ann}).whole()
        assert claimed.json["result"].get("isError", False) is False

    web(scene, servers={"files": files, "notes": files})


def test_hosts_that_are_allowed_are_answered_in_place_of_what_is_listened_on(web: PlayWeb) -> None:
    hosts = {"mcp.example.com": 200, "MCP.example.com": 200, "mcp.example.com:443": 200, "10.0.0.5:8080": 200,
             "10.0.0.5": 403, "10.0.0.5:81": 403, HOST: 403}  # fmt: skip

    async def scene(at: Web) -> None:
        assert {host: (await at.call("files:read", host=host).whole()).status for host in hosts} == hosts
        assert (await at.ask("GET", path="/healthz", host=None).whole()).status == 200

    web(scene, http={"allowed_hosts": ["mcp.example.com", "10.0.0.5:8080"]})


def test_the_token_of_a_file_is_that_of_requests_without_one(web: PlayWeb, paths: Paths) -> None:
    id_, text = token_of(paths)

    async def scene(at: Web) -> None:
        assert (await at.call("files:read").whole()).status == 200
        assert (await at.call("files:read", token="wrong").whole()).status == 401
        with PolicyFile.connect(paths) as file:
            tokens.revoke(file, [id_])
        assert (await at.call("files:read").whole()).status == 401

    web(scene, token=text, http={"require_token": True}, policy={})
    assert [row["token_id"] for row in calls(paths)] == [id_]


def test_tokens_and_hosts_count_from_the_next_request_on(web: PlayWeb, paths: Paths) -> None:
    async def scene(at: Web) -> None:
        assert (await at.call("files:read").whole()).status == 401
        id_, text = token_of(paths)
        assert (await at.call("files:read", token=text).whole()).status == 200
        with PolicyFile.connect(paths) as file:
            tokens.revoke(file, [id_])
        assert (await at.call("files:read", token=text).whole()).status == 401
        at.world.configure(http={"require_token": True, "allowed_hosts": ["mcp.example.com"]})
        assert (await at.call("files:read", token=text).whole()).status == 403

    web(scene, http={"require_token": True})


# ---- newer clients


def test_headers_that_differ_from_the_body_are_refused_and_nothing_is_called(web: PlayWeb, paths: Paths) -> None:
    encoded = "=?base64?dG9vbF9leGVjdXRl?="
    cases: list[tuple[dict[str, Any], int, int | None]] = [
        ({}, 200, None), ({"mcp_name": encoded}, 200, None), ({"mcp_name": f"{encoded[:-2]}=?="}, 400, -32020),
        ({"mcp_name": "tool_discovery"}, 400, -32020), ({"mcp_name": None}, 400, -32020),
        ({"mcp_method": "tools/list"}, 400, -32020), ({"mcp_method": None}, 400, -32020),
        ({"mcp_protocol_version": "2025-11-25"}, 400, -32020), ({"mcp_protocol_version": None}, 400, -32020),
        ({"mcp_protocol_version": "2099-01-01"}, 400, -32020),
        ({"more": [("mcp-name", "tool_execute")]}, 400, -32020), ({"more": [("mcp-method", "ping")]}, 400, -32020),
        ({"content_type": "text/plain"}, 415, -32600), ({"content_type": None}, 415, -32600),
        ({"accept": "text/html"}, 406, -32600),
        ({"accept": None}, 200, None), ({"more": [("x-other", "1"), ("x-other", "2")]}, 200, None),
    ]  # fmt: skip

    async def scene(at: Web) -> None:
        for headers, status, code in cases:
            answer = await at.call("files:read", **headers).whole()
            assert (answer.status, answer.json.get("error", {}).get("code")) == (status, code), headers
        without = at.ask("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL},
                         mcp_protocol_version=MODERN, mcp_method="tools/call", mcp_name="tool_execute")  # fmt: skip
        assert ((await without.whole()).status, without.json["error"]["code"]) == (400, -32602)
        other = at.call("files:read", meta={META + "protocolVersion": "2099-01-01"}, mcp_protocol_version=MODERN)
        assert ((await other.whole()).status, other.json["error"]["code"]) == (400, -32020)
        of_other: dict[str, Any] = {META + "protocolVersion": "2099-01-01"}
        noted = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": of_other}}
        hello = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}
        for body, id_ in ((noted, None), (hello, 7), ([hello], 7), ([hello, hello], None)):
            refused = await at.ask("POST", body, mcp_protocol_version="2099-01-01").whole()
            assert (refused.status, refused.json["id"]) == (400, id_)
            data = {"supported": [MODERN], "requested": "2099-01-01"}
            assert (refused.json["error"]["code"], refused.json["error"]["data"]) == (-32022, data)
        for version in ("2099-01-01", "2025-11-25"):
            same = at.call("files:read", meta={META + "protocolVersion": version}, mcp_protocol_version=version)
            assert ((await same.whole()).status, same.json["error"]["code"]) == (400, -32022)

    web(scene)
    assert len(calls(paths)) == 4


def test_a_newer_client_has_no_session_and_only_posts(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        answer = await at.call("files:read", {"n": 1}).whole()
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert "mcp-session-id" not in answer.headers
        for method in ("GET", "DELETE", "PUT"):
            refused = await at.ask(method, mcp_protocol_version=MODERN).whole()
            assert (refused.status, refused.headers["allow"]) == (405, "POST")
        unknown = await at.newer("nothing/there").whole()
        assert (unknown.status, unknown.json["error"]["code"]) == (404, -32601)
        told = at.ask("POST", {"jsonrpc": "2.0", "id": 1, "result": {}}, mcp_protocol_version=MODERN)
        assert (await told.whole()).status == 400
        batch = at.ask("POST", [{"jsonrpc": "2.0", "id": 1, "method": "ping"}], mcp_protocol_version=MODERN)
        assert (await batch.whole()).status == 400
        for wrong in (5, [5], {"jsonrpc": "2.0", "id": 1, "method": 5}):
            assert (await at.ask("POST", wrong, mcp_protocol_version=MODERN).whole()).status == 400
        noted = at.ask("POST", {"jsonrpc": "2.0", "method": "notifications/x"}, mcp_protocol_version=MODERN)
        assert (await noted.whole()).status == 202

    web(scene)


async def progressing(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
    """Tell the progress, then answer once that may be."""
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        connection.say(method="notifications/progress", params={"progressToken": token, "progress": 1})
    await connection.may_end.wait()
    return await echo(connection, params)


def test_what_comes_before_an_answer_makes_it_a_stream_of_its_request_alone(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        told = at.call("files:read", id="a", meta={"progressToken": "t"})
        plain = at.call("files:read", id="b")
        await told.until(lambda answer: len(answer.messages) == 1 if answer.status else False)
        assert (told.headers["content-type"], told.headers["x-accel-buffering"]) == ("text/event-stream", "no")
        at.world.servers["files"].connections[-1].may_end.set()
        await asyncio.gather(told.whole(), plain.whole())
        assert [each.get("id") for each in told.messages] == [None, "a"]
        assert told.messages[0]["params"]["progressToken"] == "t"
        assert b": \r\n" not in told.body  # nothing was silent for long
        assert plain.json["id"] == "b"

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=progressing)})


def test_a_stream_is_kept_alive_in_silence(web: PlayWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post_answer, "_ALIVE_S", 0.01)

    async def scene(at: Web) -> None:
        answer = at.call("files:read")
        await answer.until(lambda answer: answer.body.count(b": \r\n\r\n") >= 2)
        await at.world.servers["files"].was_called.wait()
        at.world.servers["files"].connections[-1].may_end.set()
        await answer.whole()
        assert len(answer.messages) == 1
        at.world.servers["files"].connections[-1].may_end.clear()
        told = at.call("files:read", meta={"progressToken": "t"})
        await told.until(lambda answer: answer.messages if answer.status else None)
        await told.until(lambda answer: answer.body.count(b": \r\n\r\n") >= 2)
        at.world.servers["files"].connections[-1].may_end.set()
        await told.whole()

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=progressing)})


def test_what_comes_while_a_client_takes_nothing_leaves_once_it_takes_again(
    web: PlayWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_answer, "_ALIVE_S", 3600)  # nothing else wakes it

    async def scene(at: Web) -> None:
        server = at.world.servers["files"]
        answer = at.call("files:read", meta={"progressToken": "t"})
        await answer.until(lambda answer: answer.messages if answer.status else None)
        connection = server.connections[-1]
        answer.may_read.clear()
        token = server.calls[0]["_meta"]["progressToken"]
        for progress in (2, 3):
            connection.say(method="notifications/progress", params={"progressToken": token, "progress": progress})
            for _ in range(20):
                await asyncio.sleep(0)
        connection.may_end.set()
        for _ in range(20):
            await asyncio.sleep(0)
        answer.may_read.set()
        assert len((await answer.whole()).messages) == 4

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=progressing)})


def test_closing_its_stream_takes_a_newer_request_back_and_no_older_one(web: PlayWeb, paths: Paths) -> None:
    async def scene(at: Web) -> None:
        server = at.world.servers["files"]
        older = (await at.open()).call("files:read")
        await server.was_called.wait()
        server.was_called.clear()
        newer = at.call("files:read")
        await server.was_called.wait()
        for answer in (older, newer):
            answer.leave()
        await newer.whole()
        while not server.cancelled:
            await asyncio.sleep(0)
        server.connections[0].may_end.set()
        await older.whole()
        assert len(server.cancelled) == 1

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=progressing)})
    assert sorted(row["status"] for row in calls(paths)) == ["cancelled", "ok"]


def test_requests_of_newer_clients_are_one_session_for_each_token_client_and_version(
    web: PlayWeb, paths: Paths
) -> None:
    _, of_ann = token_of(paths)
    _, of_bob = token_of(paths)

    async def scene(at: Web) -> None:
        for token in (of_ann, of_bob, of_ann):
            for version in ("1", "2", "1"):
                info = {META + "clientInfo": {"name": "c", "version": version}}
                assert (await at.call("files:read", token=token, meta=info).whole()).status == 200
        assert len(at.front.newer) == 4

    web(scene)
    rows = calls(paths)
    assert (len(rows), len({row["session_id"] for row in rows})) == (9, 4)
    assert {row["transport"] for row in rows} == {"http"}


def test_a_listening_client_is_told_on_its_stream_until_it_closes_that(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        answer = at.newer("subscriptions/listen", {"notifications": {"promptsListChanged": True}})
        await answer.until(lambda answer: answer.status and answer.messages)
        assert answer.messages[0]["method"] == "notifications/subscriptions/acknowledged"
        assert (at.front.admission.in_flight, at.front.admission.listening) == (0, 1)
        answer.leave()
        await answer.whole()
        assert at.front.admission.listening == 0

    web(scene)


# ---- older clients


def test_a_session_is_its_token_s_and_unknown_to_all_others(web: PlayWeb, paths: Paths) -> None:
    of_ann, of_bob = (token_of(paths)[1] for _ in "ab")

    async def scene(at: Web) -> None:
        client = await at.open(of_ann)
        assert (await client.call("files:read", {"n": 1}).whole()).json["result"]["content"][0]["text"] == '{"n": 1}'
        for token, id_ in ((of_bob, client.id), (None, client.id), (of_ann, "x" * 22)):
            for method in ("POST", "GET", "DELETE"):
                body = {"jsonrpc": "2.0", "id": 1, "method": "ping"} if method == "POST" else None
                refused = await at.ask(method, body, token=token, mcp_session_id=id_).whole()
                assert refused.status == 404, (token, id_, method)
        without = at.ask("POST", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, token=of_ann)
        assert (await without.whole()).status == 400
        assert (await client.ask("PUT").whole()).status == 405
        assert (await client.ask("GET", accept="application/json").whole()).status == 406
        for method in ("GET", "DELETE"):
            for version, session, code in (("2025-03-26", None, -32600), ("2099-01-01", client.id, -32022)):
                headers: dict[str, Any] = {"mcp_protocol_version": version, "mcp_session_id": session}
                wrong = await at.ask(method, token=of_ann, **headers).whole()
                assert (wrong.status, wrong.json["error"]["code"]) == (400, code), (method, version)
            neither = await at.ask(method, token=of_ann).whole()
            assert (neither.status, neither.headers["allow"]) == (405, "POST")
        assert (await client.ask("DELETE").whole()).status == 204
        assert (await client.send(id=1, method="ping").whole()).status == 404

    web(scene)


def test_a_question_of_a_call_comes_on_its_stream_and_is_answered_in_another_post(web: PlayWeb) -> None:
    async def asking(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        question = {"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}
        answer = await connection.ask_client("elicitation/create", question)
        return {"content": [{"type": "text", "text": json.dumps(answer["result"])}]}

    async def scene(at: Web) -> None:
        one, two = [await at.open(capabilities={"elicitation": {}}) for _ in range(2)]
        asked = [client.call("files:read", id=7) for client in (one, two)]
        for number, client in enumerate((one, two)):
            question = await asked[number].until(lambda answer: answer.messages[0] if answer.body else None)
            assert question["method"] == "elicitation/create"
            said = client.send(id=question["id"], result={"action": "accept", "content": {"n": number}})
            assert (await said.whole()).status == 202
            answer = (await asked[number].whole()).messages[-1]
            assert json.loads(answer["result"]["content"][0]["text"])["content"] == {"n": number}

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=asking)})


def test_a_cancelled_request_of_an_older_client_ends_its_post_without_an_answer(web: PlayWeb, paths: Paths) -> None:
    async def scene(at: Web) -> None:
        client = await at.open()
        answer = client.call("files:read", id="x")
        await at.world.servers["files"].was_called.wait()
        told = client.send(method="notifications/cancelled", params={"requestId": "x"})
        assert (await told.whole()).status == 202
        await answer.whole()
        assert answer.messages == []

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=progressing)})
    assert [row["status"] for row in calls(paths)] == ["cancelled"]


def test_a_batch_of_the_first_revision_is_answered_in_one_stream(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        client = await at.open(revision="2025-03-26")
        batch = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(3)]
        answer = await client.ask("POST", batch).whole()
        assert sorted(each["id"] for each in answer.messages) == [0, 1, 2]
        answer = await client.ask("POST", [*batch[:1], 5]).whole()
        assert [each["id"] for each in answer.messages] == [0, None]
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        for body in ([hello, *batch], {**hello, "id": None}, {"jsonrpc": "2.0", "method": "initialize"}):
            assert (await at.ask("POST", body).whole()).status == 400
        assert len(at.front.older) == 1

    web(scene)


def test_a_server_speaks_outside_of_calls_on_the_stream_that_its_session_opened_last(web: PlayWeb) -> None:
    def log(words: str) -> dict[str, Any]:
        return {"method": "notifications/message", "params": {"level": "error", "data": words}}

    def told(answer: Answer) -> list[str]:
        return [message["params"]["data"].rpartition(" ")[2] for message in answer.messages]

    async def scene(at: Web) -> None:
        client, other = await at.open(), await at.open()
        for one in (client, other):
            await one.call("files:read").whole()
        readers = at.world.gateway.turn.readers
        before = readers._clients
        of_other = other.ask("GET")
        first = client.ask("GET")
        for each in (of_other, first):
            await each.until(lambda answer: answer.status)
        server = at.world.servers["files"].connections[0]
        server.say(**log("one"))
        await first.until(lambda answer: b"one" in answer.body)
        second = client.ask("GET")
        await first.whole()
        server.say(**log("two"))
        await second.until(lambda answer: b"two" in answer.body)
        second.leave()
        await second.whole()
        server.say(**log("nobody is there"))
        assert (await client.call("files:read").whole()).status == 200
        third = client.ask("GET")
        await third.until(lambda answer: answer.status)
        server.say(**log("three"))
        await third.until(lambda answer: b"three" in answer.body)
        assert [told(each) for each in (first, second, third, of_other)] == [["one"], ["two"], ["three"], []]
        for each in (third, of_other):
            each.leave()
            await each.whole()
        assert readers._clients == before  # those who may hold up what all are read for

    web(scene)


def test_a_session_that_nothing_is_heard_of_ends_with_its_servers(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        client = await at.open()
        await client.call("files:read").whole()
        stream = client.ask("GET")
        await stream.until(lambda answer: answer.status)
        at.front.older._sessions[client.id].used -= 7200
        await at.front.older.end_idle()
        assert len(at.front.older) == 1
        stream.leave()
        await stream.whole()
        assert at.front.admission.listening == 0
        at.front.older._sessions[client.id].used -= 7200
        await client.call("files:read").whole()
        await at.front.older.end_idle()
        assert len(at.front.older) == 1
        at.front.older._sessions[client.id].used -= 7200
        await at.front.older.end_idle()
        assert len(at.front.older) == 0
        await at.world.servers["files"].connections[0].gone.wait()

    web(scene)


def test_what_has_to_end_is_looked_for_again_and_again_also_after_a_failure(
    web: PlayWeb, paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(front, "_EVERY_S", 0)
    of_ann, of_bob = (token_of(paths) for _ in "ab")
    failing = iter([True])

    async def scene(at: Web) -> None:
        end_idle = at.front.older.end_idle

        async def ends() -> None:
            if next(failing, False):
                raise OSError("odd")
            await end_idle()

        monkeypatch.setattr(at.front.older, "end_idle", ends)
        streams = [(await at.open(text)).ask("GET") for _, text in (of_ann, of_bob)]
        for each in streams:
            await each.until(lambda answer: answer.status)
        keeping = asyncio.create_task(at.front.keep())
        with PolicyFile.connect(paths) as file:
            tokens.revoke(file, [of_ann[0]])
        await streams[0].whole()
        while len(at.front.older) > 1:
            await asyncio.sleep(0)
        streams[1].leave()
        at.world.configure(http={"idle_session_s": 0.001})
        while len(at.front.older) > 0:
            await asyncio.sleep(0)
        keeping.cancel()

    web(scene, http={"require_token": True})
    assert "internal error: OSError('odd')" in capsys.readouterr().err


# ---- limits


def test_requests_beyond_the_limits_are_told_to_come_again(web: PlayWeb, paths: Paths) -> None:
    of_ann, of_bob = (token_of(paths)[1] for _ in "ab")

    async def scene(at: Web) -> None:
        server = at.world.servers["files"]
        going = [at.call("files:read", token=of_ann, id=n) for n in range(2)]
        going += [at.call("files:read", token=of_bob)]
        while len(server.calls) < 3:
            await asyncio.sleep(0)
        for token, status in ((of_ann, 503), (of_bob, 503)):
            refused = await at.call("files:read", token=token).whole()
            assert (refused.status, refused.headers["retry-after"]) == (status, "1")
        going.pop().leave()
        while at.front.admission.in_flight > 2:
            await asyncio.sleep(0)
        assert (await at.call("files:read", token=of_ann).whole()).status == 429
        for connection in server.connections:
            connection.may_end.set()
        await asyncio.gather(*(each.whole() for each in going))
        assert [each.status for each in going] == [200, 200]
        await at.open(of_ann)
        assert (await at.ask("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}},
                             token=of_ann).whole()).status == 503  # fmt: skip

    limits = {"max_in_flight": 3, "max_in_flight_per_token": 2, "max_sessions": 1}
    web(scene, http=limits, servers={"files": lambda: MemoryServer(tool("read"), answer=progressing)})


def test_a_body_that_is_too_large_or_too_slow_or_cannot_be_read_is_refused(
    web: PlayWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(at: Web) -> None:
        most = 1 << 20
        sizes: list[dict[str, Any]] = [{}, {"content_length": str(most + 1)}]
        for headers in sizes:
            answer = at.ask("POST", parts=[b" " * most, b" "], mcp_protocol_version=MODERN, **headers)
            assert (await answer.whole()).status == 413
        at_once = at.ask("POST", parts=[], content_length=str(most + 1))
        assert (await at_once.whole()).status == 413
        for length in (None, str(most)):
            assert (await at.ask("POST", b" " * most, content_length=length).whole()).status == 400
        for body in (b"", b"{", b"[]", b'"x"', b"\xff"):
            assert (await at.ask("POST", body).whole()).status == 400, body
        both = at.ask("POST", b"{}", content_length="2", transfer_encoding="chunked")
        assert "has one length" in (await both.whole()).json["error"]["message"]
        chunked = at.ask("POST", b"{}", transfer_encoding="chunked")
        assert "has one length" not in (await chunked.whole()).json["error"]["message"]
        monkeypatch.setattr(bounds, "BODY_S", 0.01)
        slow = at.ask("POST", parts=[])
        assert (await slow.whole()).status == 408

    web(scene, http={"max_body_mb": 1})


def test_a_client_that_does_not_read_waits_alone(web: PlayWeb) -> None:
    async def large(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "x" * (bounds.UNREAD + 1)}]}

    async def scene(at: Web) -> None:
        slow, quick = await at.open(), await at.open()
        answer = slow.call("large:read")
        answer.may_read.clear()
        await at.world.servers["large"].was_called.wait()
        assert (await quick.call("files:read", {"n": 1}).whole()).status == 200
        answer.may_read.set()
        assert len((await answer.whole()).body) > bounds.UNREAD

    web(scene, servers={"files": files, "large": lambda: MemoryServer(tool("read"), answer=large)})


def test_newlines_in_a_body_are_spaces_to_a_server(web: PlayWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bytes] = []
    write = MemoryConnection.write

    def written(self: MemoryConnection, *pieces: bytes, **more: Any) -> None:
        given.append(b"".join(pieces))
        write(self, *pieces, **more)

    monkeypatch.setattr(MemoryConnection, "write", written)

    async def scene(at: Web) -> None:
        client = await at.open()
        for gap in ("\n", "\r", "\r\n"):
            body = json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {
                        "name": "tool_execute",
                        "arguments": {"toolKey": "files:read", "arguments": {"n": [1, 2]}},
                    },
                },
                indent=1,
            )
            answer = await client.ask("POST", body.replace("\n", gap).encode()).whole()
            assert json.loads(answer.json["result"]["content"][0]["text"]) == {"n": [1, 2]}

    web(scene)
    assert not [line for line in given if b"\r" in line or b"\n" in line.rstrip(b"\n")]
    assert sum(b'"n"' in line for line in given) == 3


# ---- its state, and its end


def test_its_health_is_told_without_a_token_and_its_counts_with_one_and_neither_says_more(
    web: PlayWeb, paths: Paths
) -> None:
    _, text = token_of(paths)

    async def scene(at: Web) -> None:
        assert (await at.call("files:read", {"secret": text}).whole()).status == 200
        for path in ("/healthz", "/readyz"):
            answer = await at.ask("GET", path=path).whole()
            assert (answer.status, answer.body) == (200, b"")
        assert (await at.ask("GET", path="/metrics").whole()).status == 401
        counts = await at.ask("GET", path="/metrics", token=text).whole()
        lines = counts.body.decode().splitlines()
        assert 'mcpctl_calls_total{status="ok"} 1' in lines
        assert 'mcpctl_call_duration_seconds_bucket{le="+Inf"} 1' in lines
        assert "mcpctl_calls_in_flight 0" in lines
        assert 'mcpctl_servers{state="running"} 1' in lines
        assert text not in counts.body.decode()
        paths.policy.unlink()
        assert (await at.ask("GET", path="/readyz").whole()).status == 503
        assert (await at.ask("GET", path="/healthz").whole()).status == 200
        # Whether a token is valid is not known then: its client is not told that it is not.
        assert (await at.call("files:read", token=text).whole()).status == 503
        assert (await at.ask("GET", path="/metrics").whole()).status == 401
        at.world.configure(http={"require_token": False})
        await at.world.gateway.current()
        assert (await at.ask("GET", path="/metrics").whole()).status == 404

    web(scene, http={"metrics": True})


def test_at_the_end_what_is_in_flight_is_answered_and_nothing_new_is_taken(web: PlayWeb, paths: Paths) -> None:
    async def scene(at: Web) -> None:
        server = at.world.servers["files"]
        client = await at.open()
        stream = client.ask("GET")
        listen = at.newer("subscriptions/listen", {"notifications": {"promptsListChanged": True}})
        for each in (stream, listen):
            await each.until(lambda answer: answer.status)
        for each in (at.newer("tools/list"), client.send(id=0, method="ping")):
            await each.whole()  # whose parts serve the calls
        answered, left = at.call("files:read", id=1), client.call("files:read", id=2)
        while len(server.calls) < 2:
            await asyncio.sleep(0)
        draining = asyncio.ensure_future(at.front.drain(1000))
        await asyncio.gather(stream.whole(), listen.whole())
        refused = await at.call("files:read").whole()
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert (await at.call("files:read", token="no token").whole()).status == 503
        assert (await at.ask("GET", path="/readyz").whole()).status == 503
        server.connections[-1 if server.connections[-1].calls() else 0].may_end.set()
        await asyncio.wait((answered.task, left.task), return_when=asyncio.FIRST_COMPLETED)
        assert not draining.done()
        await at.front.drain(0.02)  # the time of those that are left
        await asyncio.gather(draining, answered.whole(), left.whole())
        texts = [each.json["result"]["content"][0]["text"] for each in (answered, left)]
        assert sum("is ending before" in text for text in texts) == 1

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=progressing)})
    assert sorted(row["status"] for row in calls(paths)) == ["interrupted", "ok"]


def test_its_end_waits_for_what_is_in_flight_until_it_is_told_once_more(home: Path, paths: Paths) -> None:
    async def scene(world: World) -> None:
        world.configure(http={"require_token": False, "drain_s": 1000})
        run, ending, at_once = Run(paths), asyncio.Event(), asyncio.Event()
        world.begin(run=run, most_processes=100)
        at, listened = Web(world), asyncio.Event()

        def listen(served: front.Front) -> "asyncio.Task[Any]":
            at.front = served
            listened.set()
            return asyncio.create_task(asyncio.Event().wait())

        serving = asyncio.create_task(
            process.serve(lambda: world.gateway, world.offer, [HOST], listen, ending, at_once)
        )
        await listened.wait()
        answer = at.call("files:read")
        await world.servers["files"].was_called.wait()
        ending.set()
        while not at.front.is_draining:
            await asyncio.sleep(0)
        assert not answer.task.done()
        at_once.set()
        await serving
        assert "is ending before" in (await answer.whole()).json["result"]["content"][0]["text"]
        run.close()

    play(home, paths, scene, files=lambda: MemoryServer(tool("read"), answer=progressing))
    assert [row["status"] for row in calls(paths)] == ["interrupted"]


@pytest.mark.slow
def test_whoever_takes_no_answer_keeps_nothing_from_its_end(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        answer = at.call("files:read")
        answer.may_read.clear()
        await at.world.servers["files"].was_called.wait()
        await at.front.drain(0)
        answer.may_read.set()

    web(scene)
