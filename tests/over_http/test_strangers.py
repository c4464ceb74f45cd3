"""`serve --http` and those who mean harm: strangers, people who have to leave, clients and servers that lie."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds, posix
from mcpctl.base.paths import Paths
from mcpctl.over_http import newer_clients, post_answer
from mcpctl.over_http.http_exchange import HttpExchange
from mcpctl.over_http.listening import address
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.wire.jsonrpc import Message, messages
from tests.over_http.asgi import Answer, PlayWeb, Web, play_web, token_of
from tests.over_http.test_front import calls, files, progressing
from tests.proxy.client import ENVELOPE, META, MODERN
from tests.proxy.in_memory import MemoryConnection, MemoryServer, echo, tool
from tests.table import for_each


@pytest.fixture
def web(home: Path, paths: Paths) -> PlayWeb:
    """Plays a scene with clients over HTTP on this test's home."""

    def begin(scene: Callable[[Web], Any], **more: Any) -> None:
        play_web(home, paths, scene, **{"servers": {"files": files}, **more})

    return begin


def slow() -> MemoryServer:
    """A server that answers once it may."""
    return MemoryServer(tool("read", readOnlyHint=True), answer=progressing)


async def turns(count: int = 20) -> None:
    """So many turns of the event loop."""
    for _ in range(count):
        await asyncio.sleep(0)


# ---- who may ask


def test_what_other_machines_reach_needs_tokens_whatever_the_configuration_says_later(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        assert not at.front.admission.settings.require_token
        assert (await at.call("files:read").whole()).status == 401

    web(scene, is_open=True)


@for_each(
    "host, is_loopback",
    [("127.example.com", False), ("127.0.0.1.example.com", False), ("localhost.example.com", False),
     ("0.0.0.0", False), ("[::]", False), ("10.0.0.1", False), ("localhost", True), ("127.0.0.2", True),
     ("[::1]", True)],
)  # fmt: skip
def test_only_addresses_of_this_machine_are_loopback(host: str, is_loopback: bool) -> None:
    assert address(f"{host}:8080").is_loopback == is_loopback


@for_each(
    "server, reached",
    [(("127.0.0.1", 80), "127.0.0.1:80"), (("::1", 8080), "[::1]:8080"), (None, ":None")],
)
def test_where_a_request_came_in_is_known_by_its_socket(server: tuple[str, int] | None, reached: str) -> None:
    scope: Any = {"method": "GET", "path": "/", "headers": [], "server": server}
    assert (
        HttpExchange({**scope, "extensions": {"gone": {"tell": None}}}, lambda: None, lambda _: None).reached == reached
    )


def test_clients_leave_the_port_of_http_out() -> None:
    assert "localhost" in address("80").hosts(80)
    assert "localhost" not in address("8080").hosts(8080)


def test_a_token_that_is_revoked_takes_its_open_streams_with_it(web: PlayWeb, paths: Paths) -> None:
    (id_, of_ann), (_, of_bob) = token_of(paths), token_of(paths)

    async def scene(at: Web) -> None:
        streams: dict[str, list[Answer]] = {}
        for token in (of_ann, of_bob):
            stream = (await at.open(token)).ask("GET")
            await stream.until(lambda answer: answer.status)
            listen = at.newer("subscriptions/listen", {"notifications": {"promptsListChanged": True}}, token=token)
            await listen.until(lambda answer: answer.status and answer.messages)
            streams[token] = [stream, listen]
        with PolicyFile.connect(paths) as file:
            tokens.revoke(file, [id_])
        await at.world.gateway.current()
        await at.front.end_unwelcome()
        for each in streams[of_ann]:
            await each.whole()
        await at.front.end_unwelcome()
        assert [each.guest.token for each in at.front.older._sessions.values()] == [of_bob]
        assert not any(each.task.done() for each in streams[of_bob])

    web(scene, http={"require_token": True})


def test_whoever_has_to_leave_gets_the_answers_to_the_calls_that_go_on(web: PlayWeb, paths: Paths) -> None:
    async def scene(at: Web) -> None:
        client = await at.open()
        stream, answer = client.ask("GET"), client.call("files:read", {"n": 1})
        await at.world.servers["files"].was_called.wait()
        at.world.configure(http={"require_token": True})
        await at.world.gateway.current()
        await at.front.end_unwelcome()
        await stream.whole()
        assert len(at.front.older) == 1
        at.world.servers["files"].connections[0].may_end.set()
        assert (await answer.whole()).json["result"]["content"][0]["text"] == '{"n": 1}'
        await at.front.end_unwelcome()
        assert len(at.front.older) == 0

    web(scene, servers={"files": slow})
    assert [row["status"] for row in calls(paths)] == ["ok"]


def test_nobody_opens_so_many_sessions_that_others_find_none(web: PlayWeb, paths: Paths) -> None:
    of_ann, of_bob, of_carl = (token_of(paths)[1] for _ in "abc")
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}

    async def scene(at: Web) -> None:
        sessions = [await at.open(of_carl), *[await at.open(of_ann) for _ in range(2)]]
        for each in sessions[1:]:
            assert (await each.call("files:read").whole()).status == 200
        assert (await at.ask("POST", hello, token=of_ann).whole()).status == 503
        await at.open(of_bob)
        assert (await at.ask("POST", hello, token=of_bob).whole()).status == 503
        there = [(await each.send(id=1, method="ping").whole()).status for each in sessions]
        assert there == [200, 404, 200]
        await at.world.servers["files"].connections[0].gone.wait()

    web(scene, http={"max_sessions": 3})


def test_a_client_with_ever_new_names_takes_no_session_of_another(web: PlayWeb, paths: Paths) -> None:
    of_ann, of_bob = (token_of(paths)[1] for _ in "ab")

    async def scene(at: Web) -> None:
        assert (await at.call("files:read", token=of_bob).whole()).status == 200
        for number in range(5):
            info = {META + "clientInfo": {"name": f"client {number}", "version": "1"}}
            assert (await at.call("files:read", token=of_ann, meta=info).whole()).status == 200
        assert (await at.call("files:read", token=of_bob).whole()).status == 200
        assert len(at.front.newer) == 3

    web(scene, http={"max_sessions": 3})
    assert Counter(Counter(row["session_id"] for row in calls(paths)).values()) == {1: 5, 2: 1}


def test_each_token_that_is_only_claimed_has_a_session_of_its_own_unless_another_came_in_a_header(
    web: PlayWeb, paths: Paths
) -> None:
    of_ann, of_bob = (token_of(paths)[1] for _ in "ab")

    async def scene(at: Web) -> None:
        for claimed in (of_ann, of_bob, of_ann):
            assert (await at.call("files:read", meta={"token": claimed}).whole()).status == 200
        assert len(at.front.newer) == 2
        for claimed in (of_ann, of_bob):
            assert (await at.call("files:read", token=of_ann, meta={"token": claimed}).whole()).status == 200
        assert len(at.front.newer) == 3

    web(scene)
    assert len({row["session_id"] for row in calls(paths)}) == 3
    web(scene, token=of_bob)
    assert len({row["session_id"] for row in calls(paths)}) == 6


# ---- what clients say


def test_an_id_that_no_answer_can_have_is_refused_and_nothing_waits_for_it(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        client = await at.open()
        ids: tuple[Any, ...] = ({}, [], True, {"a": 1})
        for id_ in ids:
            newer = await at.newer("tools/list", id=id_).whole()
            assert (newer.status, newer.json["error"]["code"], newer.json["id"]) == (400, -32600, None)
            older = await client.send(id=id_, method="ping").whole()
            assert (older.status, older.json["error"]["code"], older.json["id"]) == (200, -32600, None)
        nothing = await at.ask(
            "POST", {"jsonrpc": "2.0", "id": None, "method": "ping"}, mcp_protocol_version=MODERN
        ).whole()
        assert nothing.status == 400
        assert at.front.admission.in_flight == 0

    web(scene)


def test_of_two_requests_of_a_session_with_one_id_both_are_answered(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        client = await at.open()
        asked = {"id": 6, "method": "resources/subscribe", "params": {"uri": "r://none"}}
        answers = [client.send(**asked) for _ in range(2)]
        for each in answers:
            assert (await each.whole()).json["id"] == 6
        assert answers[1].json["error"]["message"] == "this id is in use by another request"

    web(scene)


def test_a_compressed_body_is_refused_with_words(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        answer = await at.ask("POST", b"\x1f\x8b\x08", content_encoding="gzip").whole()
        assert (answer.status, "Content-Encoding" in answer.json["error"]["message"]) == (415, True)

    web(scene)


def test_a_question_to_a_client_that_has_left_is_refused_and_its_call_goes_on(
    web: PlayWeb, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_answer, "_ALIVE_S", 3600)  # nothing else wakes it
    may_ask = asyncio.Event()

    async def asking(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        await may_ask.wait()
        answer = await connection.ask_client("elicitation/create", {"message": "?", "requestedSchema": {}})
        return {"content": [{"type": "text", "text": json.dumps("error" in answer)}]}

    async def scene(at: Web) -> None:
        client = await at.open(capabilities={"elicitation": {}})
        answer = client.call("files:read")
        await at.world.servers["files"].was_called.wait()
        answer.leave()
        await turns()
        may_ask.set()
        await answer.whole()
        assert at.front.admission.in_flight == 0

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=asking)})
    assert [row["status"] for row in calls(paths)] == ["ok"]


def test_a_session_whose_client_has_left_its_calls_ends_in_time_and_one_with_a_client_stays(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        left, there = await at.open(), await at.open()
        answers = [client.call("files:read") for client in (left, there)]
        while len(at.world.servers["files"].calls) < 2:
            await asyncio.sleep(0)
        answers[0].leave()
        await turns()
        for session in at.front.older._sessions.values():
            session.used -= 7200
        await at.front.older.end_idle()
        assert list(at.front.older._sessions) == [there.id]
        for connection in at.world.servers["files"].connections:
            connection.may_end.set()
        await answers[1].whole()
        await at.front.older.end_idle()
        assert list(at.front.older._sessions) == [there.id]

    web(scene, servers={"files": slow})


def test_a_call_that_waits_for_its_person_at_midnight_goes_on_after_it(
    web: PlayWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asking(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        answer = await connection.ask_client("elicitation/create", {"message": "?", "requestedSchema": {}})
        return {"content": [{"type": "text", "text": json.dumps(answer["result"])}]}

    now = [86_400 * 20_000 - 1.0]

    class Clock:
        time = staticmethod(lambda: now[0])

    monkeypatch.setattr(newer_clients, "time", Clock)
    can_be_asked: dict[str, Any] = {META + "clientCapabilities": {"elicitation": {}}}

    async def scene(at: Web) -> None:
        asked = (await at.call("files:read", meta=can_be_asked).whole()).json["result"]
        now[0] += 2
        assert (await at.call("notes:read", meta=can_be_asked).whole()).status == 200
        assert len(at.front.newer) == 2
        responses = {name: {"action": "accept", "content": {"n": 1}} for name in asked["inputRequests"]}
        passed = {"toolKey": "files:read", "arguments": {}}
        params = {"name": "tool_execute", "arguments": passed, "requestState": asked["requestState"]}
        again = await at.newer("tools/call", {**params, "inputResponses": responses}, meta=can_be_asked).whole()
        assert json.loads(again.json["result"]["content"][0]["text"])["content"] == {"n": 1}
        assert (await at.call("notes:read", meta=can_be_asked).whole()).status == 200

    servers = {"files": lambda: MemoryServer(tool("read"), answer=asking), "notes": files}
    web(scene, servers=servers)


# ---- what servers say


def test_a_server_cannot_put_another_message_into_a_stream(web: PlayWeb) -> None:
    async def saying(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        token = json.dumps(params["_meta"]["progressToken"])
        for gap in ("\r\r", "\r\n\r\n", "\n\n"):
            about = f'{gap}"params":{{"message":"{gap}data: {{}}{gap}","progress":1,"progressToken":{token}}}'
            message = messages(f'{{"jsonrpc":"2.0","method":"notifications/progress",{about}}}'.encode())[0]
            assert isinstance(message, Message)
            connection._received(message)
        return await echo(connection, params)

    async def scene(at: Web) -> None:
        client, meta = await at.open(), {"progressToken": "t"}
        for answer in (client.call("files:read", _meta=meta), at.call("files:read", meta=meta)):
            await answer.whole()
            events = answer.body.removesuffix(b"\r\n\r\n").split(b"\r\n\r\n")
            assert all(len(event.splitlines()) == 2 for event in events), events
            assert len(events) == 4

    web(scene, servers={"files": lambda: MemoryServer(tool("read"), answer=saying)})


# ---- what takes long


def test_a_message_that_others_would_wait_for_is_refused_and_a_long_call_is_not(web: PlayWeb) -> None:
    deep, wide = b"[" * 40_000 + b"]" * 40_000, b"[" + b'{"a":1},' * 110_000 + b"1]"
    shallow = b"[" * 3000 + b"]" * 3000
    plain = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "tool_execute", "arguments": {"toolKey": "files:read"}, "_meta": ENVELOPE},
    }
    loose = b"[" + b"[[]]," * 6000 + b"NaN]"

    async def scene(at: Web) -> None:
        client = await at.open()
        for text in (deep, wide, loose):
            body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":%b}}' % text
            refused = await client.ask("POST", body).whole()
            assert (refused.status, "nested too deeply" in refused.json["error"]["message"]) == (400, True)
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":%b}}' % shallow
        assert (await client.ask("POST", body).whole()).status == 200
        called = b'"arguments":{"toolKey":"files:read","arguments":{"a":%b}}' % wide
        body = json.dumps(plain).encode().replace(b'"arguments": {"toolKey": "files:read"}', called)
        headers: dict[str, Any] = {
            "mcp_protocol_version": MODERN,
            "mcp_method": "tools/call",
            "mcp_name": "tool_execute",
        }
        assert (await at.ask("POST", body, **headers).whole()).status == 200

    web(scene)


# ---- how much at once


def test_the_calls_of_a_batch_are_counted_each(web: PlayWeb) -> None:
    async def scene(at: Web) -> None:
        client = await at.open(revision="2025-03-26")
        passed = {"name": "tool_execute", "arguments": {"toolKey": "files:read"}}
        batch = [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": passed} for n in range(4)]
        assert (await client.ask("POST", batch).whole()).status == 429
        assert len((await client.ask("POST", batch[:3]).whole()).messages) == 3
        pings = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(4)]
        assert len((await client.ask("POST", pings).whole()).messages) == 4
        assert at.front.admission.requests.total == 0
        at.world.configure(http={"require_token": False, "max_in_flight_per_token": 1})
        await at.world.gateway.current()
        assert [(await client.ask("POST", batch[:n]).whole()).status for n in (1, 2)] == [200, 429]

    web(scene, http={"max_in_flight_per_token": 3})


def test_nobody_sends_so_much_that_others_cannot(web: PlayWeb, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "BODIES_OF_ONE", 100)
    of_ann, of_bob = (token_of(paths)[1] for _ in "ab")
    part, end = b" " * 60, b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'

    async def scene(at: Web) -> None:
        refused = await at.ask("POST", parts=[part, part, end], token=of_ann).whole()
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        held = at.ask("POST", parts=[part, b""], is_cut=True, token=of_ann)
        await turns()
        assert (await at.ask("POST", parts=[part, end], token=of_ann).whole()).status == 429
        assert (await at.ask("POST", parts=[end[:30], end[30:]], token=of_bob).whole()).status == 200
        monkeypatch.setattr(bounds, "BODIES", 100)
        refused = await at.ask("POST", parts=[end[:30], end[30:]], token=of_bob).whole()
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        held.leave()
        await held.whole()
        assert not HttpExchange.reading

    web(scene)


def test_at_most_of_its_descriptors_no_new_session_begins_and_those_there_go_on(
    web: PlayWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(at: Web) -> None:
        client = await at.open()
        assert (await at.call("files:read").whole()).status == 200
        monkeypatch.setattr(posix, "has_descriptors", lambda: False)
        other = {META + "clientInfo": {"name": "another", "version": "1"}}
        for answer in (
            at.ask("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}),
            at.call("files:read", meta=other),
        ):
            assert ((await answer.whole()).status, answer.headers["retry-after"]) == (503, "1")
        for answer in (client.call("files:read"), at.call("files:read")):
            assert (await answer.whole()).status == 200

    web(scene)
