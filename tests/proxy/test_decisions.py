"""Calls are decided on by the state at the moment of sending: of the file, the connection, the client."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.store.state import ListKey, State
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryConnection, MemoryServer, Scene, World, play, text_of, tool

pytestmark = BOTH

Play = Callable[..., None]
ELICIT = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPTED = {"action": "accept", "content": {}}
ELICITATION: dict[str, Any] = {"elicitation": {}}


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def files() -> MemoryServer:
    return MemoryServer(tool("read", readOnlyHint=True), tool("delete"))


async def asking(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
    """Answer a call with what the client says to a question."""
    answer = await connection.ask_client("elicitation/create", ELICIT)
    return {"content": [{"type": "text", "text": json.dumps(answer.get("result", answer.get("error")))}]}


def asks() -> MemoryServer:
    return MemoryServer(tool("ask"), answer=asking)


# ---- names


@pytest.mark.parametrize(
    "name", ["delete", "DELETE", "Delete ", " delete", "de\u200blete", "\uff44elete", "delete\u2060"]
)
def test_a_refused_name_is_refused_however_it_is_spelled(name: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"files": {"tools": {"delete": False}}})
        world.begin()
        client = await world.client()
        assert "not permitted" in await client.call(f"files:{name}")
        assert world.servers["files"].calls == []

    scene(played, files=files)


def test_a_tool_that_only_looks_like_a_refused_one_is_called_where_the_file_permits_it_by_its_name(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"files": {"tools": {"delete": False, "Delete": True}}})
        world.begin()
        client = await world.client()
        assert await client.call("files:Delete", {"a": 1}) == '{"a": 1}'
        assert "not permitted" in await client.call("files:DELETE")

    scene(played, files=lambda: MemoryServer(tool("delete"), tool("Delete"), tool("DELETE")))


@pytest.mark.parametrize("tools, sent", [({}, True), ({"delete": False}, False)])
def test_a_name_that_cannot_be_looked_up_is_refused_where_tools_of_its_server_are(
    tools: dict[str, bool], sent: bool, scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.proxy.tool_calls._LIST_WAIT_S", 0.01)

    async def played(world: World) -> None:
        world.configure({"files": {"tools": tools}})
        world.begin()
        world.servers["files"].may_list.clear()
        client = await world.client()
        answer = await client.call("files:read", {"a": 1})
        assert (answer == '{"a": 1}') is sent
        assert ("has not listed its tools" in answer) is not sent
        assert len(world.servers["files"].calls) == sent

    scene(played, files=files)


# ---- hints


def test_the_hints_of_the_connection_that_a_call_goes_to_decide(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin(split=True)
        client = await world.client()
        read = partial(client.call, "files:read", {"a": 1}, meta_tool="tool_execute_read")
        assert await read() == '{"a": 1}'
        server = world.servers["files"]
        await server.connections[-1].stop()
        server.tools = [tool("read", destructiveHint=True), tool("delete")]
        answer = await read()
        assert "is not called with tool_execute_read but with tool_execute_destructive" in answer
        assert len(server.calls) == 1

    scene(played, files=files)


def test_without_a_list_of_its_connection_no_hint_permits_a_call(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin(split=True)
        client = await world.client()
        read = partial(client.call, "files:read", meta_tool="tool_execute_read")
        assert await read() == "{}"
        server = world.servers["files"]
        world.configure({"files": {"start_timeout_s": 0.05}})
        await server.connections[-1].stop()
        server.may_list.clear()
        assert "has not listed its tools in time" in await read()
        assert len(server.calls) == 1

    scene(played, files=files)


def test_a_stale_list_refuses_no_real_tool(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        assert await client.call("files:read") == "{}"
        world.servers["files"].tools.append(tool("write"))
        assert await client.call("files:write") == "{}"
        assert "there is no tool 'files:wrote': did you mean files:write?" in await client.call("files:wrote")

    scene(played, files=files)


# ---- calls that were decided on before


def test_a_parked_call_goes_on_only_where_its_tool_is_still_permitted(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(MODERN, ELICITATION)
        parked = (await client.start_call("asks:ask"))["result"]
        assert parked["resultType"] == "input_required"
        world.configure({"asks": {"tools": {"ask": False}}})
        responses = dict.fromkeys(parked["inputRequests"], ACCEPTED)
        answer = await client.call("asks:ask", requestState=parked["requestState"], inputResponses=responses)
        assert "not permitted" in answer
        while not world.servers["asks"].cancelled:
            await asyncio.sleep(0.005)
        again = await client.start_call("asks:ask", requestState=parked["requestState"], inputResponses=responses)
        assert "not open" in again["error"]["message"]

    scene(played, asks=asks)


def test_a_parked_call_goes_on_only_by_the_meta_tool_that_began_it(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin(split=True)
        client = await world.client(MODERN, ELICITATION)
        began = client.start_call("asks:ask", meta_tool="tool_execute_destructive")
        parked = (await began)["result"]
        responses = dict.fromkeys(parked["inputRequests"], ACCEPTED)
        answer = await client.call(
            "asks:ask", meta_tool="tool_execute_read", requestState=parked["requestState"], inputResponses=responses
        )
        assert "is not called with tool_execute_read" in answer

    scene(played, asks=asks)


def test_a_round_is_repeated_only_where_its_tool_is_still_permitted(scene: Play) -> None:
    requests = {"k": {"method": "elicitation/create", "params": ELICIT}}

    async def rounds(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        return {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(LATEST, ELICITATION)
        answer = client.start_call("rounds:go")
        question = await client.questions.get()
        world.configure({"rounds": {"tools": {"go": False}}})
        client.send(id=question["id"], result=ACCEPTED)
        assert "not permitted" in text_of(await answer)
        assert len(world.servers["rounds"].calls) == 1

    scene(played, rounds=lambda: MemoryServer(tool("go"), answer=rounds))


def test_a_call_that_waits_for_its_server_to_start_is_decided_on_as_it_is_sent(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        assert await client.call("files:delete") == "{}"
        server = world.servers["files"]
        server.may_start.clear()
        await server.connections[-1].stop()
        answer = client.start_call("files:delete")
        world.configure({"files": {"tools": {"delete": False}}})
        refused = client.start_call("files:delete")
        assert "not permitted" in text_of(await refused)
        server.may_start.set()
        assert "not permitted" in text_of(await answer)
        assert len(server.calls) == 1

    scene(played, files=files)


def test_a_call_that_timed_out_before_it_was_sent_is_not_said_to_be_sent(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        server = world.servers["files"]
        assert await client.call("files:read") == "{}"
        world.configure({"files": {"call_timeout_s": 0.05}})
        server.may_start.clear()
        await server.connections[-1].stop()
        answer = await client.call("files:read")
        assert "no answer within 0.05 s (call_timeout_s)" in answer
        assert "may have taken effect" not in answer

    scene(played, files=files)


# ---- several clients


def test_a_servers_question_goes_to_the_client_whose_call_it_is_about(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        one, two = await world.client(LATEST, ELICITATION), await world.client(LATEST, ELICITATION)
        first = one.start_call("asks:ask", id=7)
        question = await one.questions.get()
        second = two.start_call("asks:ask", id=7)
        other = await two.questions.get()
        two.send(id=other["id"], result={"action": "two"})
        one.send(id=question["id"], result={"action": "one"})
        assert [text_of(await first), text_of(await second)] == ['{"action": "one"}', '{"action": "two"}']

    scene(played, asks=asks)


def test_clients_with_the_same_ids_take_back_their_own_calls_alone(scene: Play) -> None:
    hold = asyncio.Event()

    async def held(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        await hold.wait()
        return {"content": [{"type": "text", "text": params["arguments"]["who"]}]}

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        one, two = await world.client(), await world.client()
        one.start_call("held:go", {"who": "one"}, id=1)
        second = two.start_call("held:go", {"who": "two"}, id=1)
        server = world.servers["held"]
        while len(server.calls) < 2:
            await asyncio.sleep(0.005)
        one.send(method="notifications/cancelled", params={"requestId": 1})
        await one.delivered()
        hold.set()
        assert text_of(await second) == "two"
        assert len(server.cancelled) == 1

    scene(played, held=lambda: MemoryServer(tool("go"), answer=held))


def test_each_client_has_a_record_of_its_own(home: Path, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        for client in (await world.client(), await world.client(MODERN)):
            assert await client.call("files:read") == "{}"

    scene(played, files=files)
    sessions = [line for line in journal_lines(home) if line["type"] == "sessions.created"]
    assert sorted(line["protocol_version"] for line in sessions) == [LATEST, MODERN]


def test_calls_that_wait_for_what_is_kept_are_sent_before_those_that_come_later(paths: Paths, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await client.call("files:read")  # so that its list is kept
        await world.end()
        world.clients.clear()
        world.begin()
        client = await world.client()
        await world.gateway.current()
        early = [client.start_call("files:read", {"n": number}) for number in range(3)]
        # As a search in its own thread does: then all is known at once, and the early calls wait nevertheless.
        with State.opened(paths) as state:
            of = ListKey("files", world.gateway.config.fingerprints["files"])
            listed = cache.load(state, of)
        assert listed
        world.gateway._lists.put(of, listed)
        late = client.start_call("files:read", {"n": 3})
        await asyncio.gather(*early, late)
        assert [call["arguments"]["n"] for call in world.servers["files"].calls[1:]] == [0, 1, 2, 3]

    scene(played, files=files)
