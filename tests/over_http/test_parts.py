"""One POST after the other is served by the same part of a session, and nothing of one comes to another."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.over_http import parts
from mcpctl.over_http.parts import SessionParts
from tests.over_http.asgi import Web, play_web
from tests.proxy.client import META
from tests.proxy.in_memory import MemoryConnection, MemoryServer, echo, tool

CAN_BE_ASKED: dict[str, Any] = {META + "clientCapabilities": {"elicitation": {}}}


def test_a_part_serves_the_next_post_unless_its_own_has_asked_or_streamed_or_was_left(home: Path, paths: Paths) -> None:
    going, before = asyncio.Event(), SessionParts.kept

    async def answer(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        if token := params.get("_meta", {}).get("progressToken"):
            connection.say(method="notifications/progress", params={"progressToken": token, "progress": 1})
        if params["arguments"].get("waits"):
            await going.wait()
        return await echo(connection, params)

    async def scene(at: Web) -> None:
        for number in range(3):
            assert (await at.call("files:read", id=number).whole()).json["id"] == number
            assert SessionParts.kept == before + 1
        both = [at.call("files:read", {"n": number}, id="same") for number in range(2)]
        assert [(await each.whole()).json["id"] for each in both] == ["same", "same"]
        assert SessionParts.kept == before + 2

        asked = await at.call("files:delete", meta=CAN_BE_ASKED).whole()
        assert asked.json["result"]["resultType"] == "input_required"
        told = await at.call("files:read", meta={"progressToken": "t"}).whole()
        assert len(told.messages) == 2
        assert SessionParts.kept == before

        left = at.call("files:read", {"waits": True}, id="left")
        await at.world.servers["files"].was_called.wait()
        left.leave()
        await left.whole()
        going.set()
        assert [(await at.call("files:read", id=number).whole()).json["id"] for number in range(2)] == [0, 1]

        client = await at.open()
        assert len((await client.call("files:read", _meta={"progressToken": "t"}).whole()).messages) == 2
        assert [len(each.parts) for each in (*at.front.newer.sessions, *at.front.older.sessions)] == [0, 0]

    tools = tool("read", readOnlyHint=True), tool("delete", destructiveHint=True)
    play_web(
        home, paths, scene, servers={"files": lambda: MemoryServer(*tools, answer=answer)}, policy={"confirm": "always"}
    )
    assert SessionParts.kept == before


def test_so_many_parts_are_kept_and_no_more(home: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_MOST_KEPT", SessionParts.kept + 1)

    async def scene(at: Web) -> None:
        both = [at.call("files:read", {"n": number}) for number in range(2)]
        for each in both:
            assert (await each.whole()).status == 200
        assert SessionParts.kept == parts._MOST_KEPT

    play_web(home, paths, scene, servers={"files": lambda: MemoryServer(tool("read", readOnlyHint=True))})
