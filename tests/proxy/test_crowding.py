"""What servers say in the answer of a search: nothing hidden, not in our name, and not in the place of others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.paths import Paths
from tests.proxy.in_memory import MemoryServer, Scene, World, play, tool

Play = Callable[..., None]


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene on this test's home."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def many() -> MemoryServer:
    return MemoryServer(*({**tool(f"send_{n}"), "description": f"Send number {n}. " + "x " * 100} for n in range(20)))


def test_servers_that_are_down_take_no_room_from_the_results_of_others(scene: Play) -> None:
    async def played(world: World) -> None:
        answers: list[dict[str, Any]] = []
        for dead in (0, 30):
            down = {f"dead-server-{n}": {"command": f"/no/such/{n}"} for n in range(dead)}
            world.configure(down, search={"answer_tokens": 500})
            world.begin() if not answers else None
            client = await world.client()
            answers.append(await client.discover("send"))
        assert answers[0]["results"] == answers[1]["results"]
        assert len(answers[1]["notice"].encode()) <= 600
        assert "Server dead-server-0 " in answers[1]["notice"]
        assert len(json.dumps(answers[1])) <= 4 * 500 + 700

    scene(played, many=many)
