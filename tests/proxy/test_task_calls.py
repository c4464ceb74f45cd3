"""Tools that run only as tasks are called as others are where their server runs tasks; else models do not see them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.proxy.client import INFO, LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryConnection, MemoryServer, Scene, World, play, text_of, tool

pytestmark = BOTH

Play = Callable[..., None]
RESEARCH = {**tool("research"), "execution": {"taskSupport": "required"}}
RUNS: dict[str, Any] = {"tasks": {"requests": {"tools": {"call": {}}}}}
QUESTION = {"message": "Which one?", "requestedSchema": {"type": "object", "properties": {}}}
FORM: dict[str, Any] = {"elicitation": {}}


class TaskServer(MemoryServer):
    """A server of 2025-11-25 with a tool that runs as a task, and asks something in the middle where it is to."""

    def __init__(self, capabilities: dict[str, Any] | None = None, *, asks: bool = False) -> None:
        super().__init__(RESEARCH, tool("look"))
        self.capabilities = RUNS if capabilities is None else capabilities
        self.asks = asks
        self.is_awaited = asyncio.Event()
        self.may_end = asyncio.Event()
        self.was_cancelled = asyncio.Event()
        self.ended: list[Any] = []
        self.outcome: dict[str, Any] = {"result": {"content": [{"type": "text", "text": "found"}]}}

    async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
        """Answer one message."""
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            about = {"protocolVersion": params["protocolVersion"], "capabilities": self.capabilities}
            connection.say(id=message["id"], result={**about, "serverInfo": INFO})
        elif method == "tools/call" and params["name"] == "research":
            assert params["task"] == {}
            self.calls.append(params)
            connection.say(id=message["id"], result={"task": {"taskId": 'a "task"', "status": "working"}})
        elif method == "tasks/result":
            assert params["taskId"] == 'a "task"'
            self.is_awaited.set()
            if self.asks:
                self.ended.append(await connection.ask_client("elicitation/create", QUESTION))
            await self.may_end.wait()
            connection.say(id=message["id"], **self.outcome)
        elif method == "tasks/cancel":
            assert params["taskId"] == 'a "task"'
            self.was_cancelled.set()
            connection.say(id=message["id"], result={"taskId": 'a "task"', "status": "cancelled"})
        else:
            await super().take(connection, message)


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def finished(home: Path) -> dict[str, Any]:
    (line,) = (line for line in journal_lines(home) if line["type"] == "calls.finished")
    return line


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_the_result_of_the_task_is_that_of_the_call(revision: str, scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(revision)
        await client.call("lab:look")  # which is listed with it
        await world.upstream("lab").refresh(client.session.caller)
        assert {found["toolKey"] for found in (await client.discover("lab"))["results"]} == {"lab:research", "lab:look"}
        for line in home.glob("data/sessions/*"):
            line.write_text("")
        call = client.start_call("lab:research", {"topic": "tea"})
        await world.servers["lab"].is_awaited.wait()  # type: ignore[attr-defined]
        assert not call.done()
        world.servers["lab"].may_end.set()  # type: ignore[attr-defined]
        assert text_of(await call) == "found"
        assert world.servers["lab"].calls[-1]["arguments"] == {"topic": "tea"}

    scene(played, lab=TaskServer)
    assert (finished(home)["status"], finished(home)["response"]["content"][0]["text"]) == ("ok", "found")


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ({"result": {"content": [{"type": "text", "text": "no tea"}], "isError": True}}, "tool_error"),
        ({"error": {"code": -32603, "message": "no tea"}}, "failed"),
    ],
)
def test_a_task_that_fails_is_a_call_that_fails(outcome: dict[str, Any], status: str, scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client, server = await world.client(), world.servers["lab"]
        assert isinstance(server, TaskServer)
        await world.gateway.refresh(["lab"], client.session.caller)
        server.outcome = outcome
        server.may_end.set()
        assert "no tea" in await client.call("lab:research")

    scene(played, lab=TaskServer)
    assert finished(home)["status"] == status


def test_what_the_task_asks_is_asked_of_the_client(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client, server = await world.client(capabilities=FORM), world.servers["lab"]
        assert isinstance(server, TaskServer)
        await world.gateway.refresh(["lab"], client.session.caller)
        call = client.start_call("lab:research")
        question = await client.questions.get()
        assert question["method"] == "elicitation/create"
        server.may_end.set()
        client.send(id=question["id"], result={"action": "decline"})
        assert text_of(await call) == "found"
        assert server.ended[0]["result"] == {"action": "decline"}

    scene(played, lab=lambda: TaskServer(asks=True))


def test_a_call_that_is_taken_back_cancels_its_task(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client, server = await world.client(), world.servers["lab"]
        assert isinstance(server, TaskServer)
        await world.gateway.refresh(["lab"], client.session.caller)
        client.start_call("lab:research", id=77)
        await server.is_awaited.wait()
        client.send(method="notifications/cancelled", params={"requestId": 77})
        await server.was_cancelled.wait()

    scene(played, lab=TaskServer)


def test_a_task_has_the_time_of_a_call(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"lab": {"call_timeout_s": 0.2}})
        world.begin()
        client, server = await world.client(), world.servers["lab"]
        assert isinstance(server, TaskServer)
        await world.gateway.refresh(["lab"], client.session.caller)
        assert "call_timeout_s" in await client.call("lab:research")
        await server.was_cancelled.wait()
        assert len(server.calls) == 1

    scene(played, lab=TaskServer)


@pytest.mark.parametrize("capabilities", [{}, {"tasks": {}}, {"tasks": True}, {"tasks": {"requests": {"tools": []}}}])
def test_where_a_server_runs_no_tasks_its_task_only_tools_are_not_there(
    capabilities: dict[str, Any], scene: Play
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await world.gateway.refresh(["lab"], client.session.caller)
        assert [found["toolKey"] for found in (await client.discover("lab"))["results"]] == ["lab:look"]
        assert "research" in await client.call("lab:research")
        assert not world.servers["lab"].calls

    scene(played, lab=lambda: TaskServer(capabilities))
