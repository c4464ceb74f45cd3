"""Calls of one server reach it in the order in which they came, whatever they have waited for."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.paths import Paths
from tests.proxy.in_memory import MemoryServer, Scene, World, play, tool

Answers = list["asyncio.Future[dict[str, Any]]"]


@pytest.fixture
def scene(home: Path, paths: Paths) -> Callable[[Scene], None]:
    """Plays a scene with one server, `files`."""
    return lambda played: play(home, paths, played, files=lambda: MemoryServer(tool("read")))


async def numbers(server: MemoryServer, answers: Answers) -> list[int | None]:
    """What the calls had in them, as they came, once all have their answers."""
    await asyncio.gather(*answers)
    return [call["arguments"].get("n") for call in server.calls]


async def begun(world: World) -> MemoryServer:
    world.configure()
    world.begin()
    await world.client()
    return world.servers["files"]


def call(world: World, answers: Answers, key: str = "files:read") -> None:
    answers.append(world.clients[0].start_call(key, {"n": len(answers)}))


def test_where_no_list_is_had_calls_that_come_in_every_turn_are_sent_in_their_order(
    scene: Callable[[Scene], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.proxy.execute._LIST_WAIT_S", 0)

    async def played(world: World) -> None:
        server = await begun(world)
        answers: Answers = []
        server.may_list.clear()
        while not server.was_called.is_set():
            call(world, answers)
            await asyncio.sleep(0)
        assert await numbers(server, answers) == list(range(len(answers)))

    scene(played)


def test_where_the_file_changes_as_a_list_comes_calls_are_sent_in_their_order(
    scene: Callable[[Scene], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played(world: World) -> None:
        server = await begun(world)
        answers: Answers = []
        put = world.gateway.held.put

        async def edited(*given: Any) -> None:
            await put(*given)
            server.may_list.clear()  # the next list does not come
            world.configure(records={"keep_sessions": 7})

        await world.clients[0].call("files:read")
        lists = world.gateway.upstreams["files"]._lists.tools
        assert lists._task
        await lists._task
        begun_before = lists.begun
        server.tools.append(tool("write"))
        monkeypatch.setattr(world.gateway.held, "put", edited)
        server.may_list.clear()
        call(world, answers, "files:write")
        while lists.begun == begun_before:
            await asyncio.sleep(0)
        call(world, answers, "files:write")  # this one waits for the list after that
        server.was_called.clear()
        server.may_list.set()
        await server.was_called.wait()
        call(world, answers, "files:write")
        assert (await numbers(server, answers))[1:] == [0, 1, 2]

    scene(played)
