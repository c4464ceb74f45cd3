"""Completions: of whose prompt or resource it is, soon, or none."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.proxy import feature_requests
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import Scene, World, play, tool
from tests.proxy.library import COMPLETE, COMPLETION, READ, Library, begun, library, see

pytestmark = BOTH

Play = Callable[..., None]
PAIRS = pytest.mark.parametrize(
    ("revision", "modern"), [(LATEST, False), (LATEST, True), (MODERN, False), (MODERN, True)]
)
ARGUMENT = {"name": "q", "value": "o"}
OF_PROMPT = {"ref": {"type": "ref/prompt", "name": "a_ask me", "title": "T"}, "argument": ARGUMENT}
OF_TEMPLATE = {"ref": {"type": "ref/resource", "uri": "file:///{path}"}, "argument": ARGUMENT}
NONE: dict[str, Any] = {"values": []}


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with a server in memory."""

    def begin(played: Scene, a: Callable[[], Library] = Library) -> None:
        play(home, paths, played, a=a)

    return begin


@PAIRS
def test_a_completion_is_asked_of_whose_it_is(scene: Play, home: Path, revision: str, modern: bool) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        for params in (OF_PROMPT, OF_TEMPLATE, {"ref": {"type": "ref/resource", "uri": "note://a"}}):
            result = (await client.request(COMPLETE, params))["result"]
            assert result["completion"] == {"values": ["one"], "hasMore": False, "x": 1.0}
            assert ("resultType" in result) == (revision == MODERN)
        first, second, third = library(world).got
        assert first["ref"] == {"type": "ref/prompt", "name": "ask me", "title": "T"}
        assert (first["argument"], second["ref"]) == (ARGUMENT, OF_TEMPLATE["ref"])
        assert third["ref"]["uri"] == "note://a"
        assert journal_lines(home) == []

    answer = COMPLETION[:-1] + ',"resultType":"complete"}' if modern else COMPLETION
    scene(played, lambda: Library(modern=modern, complete=answer))


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_what_nobody_has_is_not_completed(scene: Play, revision: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        for ref in ({"type": "ref/prompt", "name": "x"}, {"type": "ref/resource", "uri": "nowhere://z"}):
            result = (await client.request(COMPLETE, {"ref": ref, "argument": ARGUMENT}))["result"]
            assert result["completion"] == NONE
            assert result.get("resultType") == ("complete" if revision == MODERN else None)
        assert library(world).connections == []

    scene(played)


@pytest.mark.parametrize("ref", [None, 5, {}, {"type": "ref/tool", "name": "x"}, {"type": "ref/prompt", "name": 5}])
def test_a_reference_that_is_none_breaks_the_protocol(scene: Play, ref: Any) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        assert (await client.request(COMPLETE, {"ref": ref}))["error"]["code"] == -32602

    scene(played)


@pytest.mark.parametrize(
    "answer",
    [
        '{"error":{"code":-32601,"message":"Method not found"}}',
        '{"resultType":"input_required","inputRequests":{}}',
        '{"completion":{"values":["' + "x" * (1 << 20) + '"]}}',
    ],
)
def test_a_server_that_completes_nothing_costs_no_error(scene: Play, answer: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        assert (await client.request(COMPLETE, OF_PROMPT))["result"] == {"completion": NONE}

    scene(played, lambda: Library(complete=answer))


def test_a_slow_completion_is_none_and_is_taken_back(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_requests, "_COMPLETED_S", 0.05)

    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        await client.session.gateway.refresh(["a"], client.session.caller)
        assert (await client.request(COMPLETE, OF_PROMPT))["result"] == {"completion": NONE}
        assert [each["reason"] for each in library(world).cancelled] == ["it took too long"]
        assert not client.session.is_busy

    scene(played)


def test_a_server_that_has_died_is_not_started_for_a_completion(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        await client.request(COMPLETE, OF_PROMPT)
        await library(world).connections[0].stop()
        assert (await client.request(COMPLETE, OF_PROMPT))["result"] == {"completion": NONE}
        assert len(library(world).connections) == 1
        await client.request(READ, {"uri": "note://a"})
        assert (await client.request(COMPLETE, OF_PROMPT))["result"]["completion"]["values"] == ["one"]

    scene(played)


def test_one_that_is_taken_back_is_not_answered(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        answer = client.request(COMPLETE, OF_PROMPT, id=7)
        await library(world).was_asked.wait()
        client.send(method="notifications/cancelled", params={"requestId": 7})
        await client.delivered()
        library(world).may_answer.set()
        await client.request(COMPLETE, OF_TEMPLATE)
        assert not answer.done()
        assert len(library(world).cancelled) == 1

    scene(played)


def test_what_may_be_completed_no_more_once_its_server_has_started_is_not(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_start.clear()
        answer = client.request(COMPLETE, OF_PROMPT)
        await asyncio.sleep(0)
        see(world)
        library(world).may_start.set()
        assert (await answer)["result"] == {"completion": NONE}
        assert library(world).got == []

    scene(played)


def test_a_completion_takes_no_question_from_a_call(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world, capabilities={"elicitation": {}})
        server = library(world)
        server.tools.append(tool("ask"))

        async def asks(connection: Any, params: Any) -> dict[str, Any]:
            server.may_answer.clear()
            completion = client.request(COMPLETE, OF_PROMPT)
            await server.was_asked.wait()
            said = await connection.ask_client("elicitation/create", {"message": "?", "requestedSchema": {}})
            server.may_answer.set()
            await completion
            return {"content": [{"type": "text", "text": said["result"]["action"]}]}

        server.answer = asks
        call = client.start_call("a:ask")
        question = await client.questions.get()
        client.send(id=question["id"], result={"action": "decline"})
        assert (await call)["result"]["content"][0]["text"] == "decline"

    scene(played)
