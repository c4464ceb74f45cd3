"""Calls of one server that wait for no list reach it in the order in which they came."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.proxy.client import LATEST, MODERN
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryServer, Scene, World, play, tool

pytestmark = BOTH

Answers = list["asyncio.Future[dict[str, Any]]"]


@pytest.fixture
def scene(home: Path, paths: Paths) -> Callable[[Scene], None]:
    """Plays a scene with one server, `files`."""
    return lambda played: play(home, paths, played, files=lambda: MemoryServer(tool("read")))


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_calls_keep_their_order_while_the_file_changes_and_the_server_starts(
    scene: Callable[[Scene], None], revision: str
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(revision=revision)
        await client.call("files:read")
        server = world.servers["files"]
        server.calls.clear()
        answers: Answers = []

        def call(times: int) -> None:
            for _ in range(times):
                answers.append(client.start_call("files:read", {"n": len(answers)}))

        for keep in (5, 6, 7):
            call(3)
            world.configure(records={"keep_sessions": keep})  # those that follow wait for what it says
            call(3)
            await asyncio.sleep(0)
        await server.connections[-1].stop()
        call(20)
        await asyncio.gather(*answers)
        assert [params["arguments"]["n"] for params in server.calls] == list(range(len(answers)))

    scene(played)
