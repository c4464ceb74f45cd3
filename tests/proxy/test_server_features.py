"""What servers have beside tools: asked for, kept, held and seen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.catalog.features import Features
from mcpctl.paths import Paths
from mcpctl.proxy.own_session import CALLER
from tests.proxy.in_memory import MemoryServer, Scene, World, play, tool

Play = Callable[..., None]
ALL = {"prompts": {"listChanged": True}, "resources": {"subscribe": True}, "completions": {}}


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def shop(capabilities: dict[str, Any] = ALL, *, modern: bool = False) -> MemoryServer:
    server = MemoryServer(tool("sell"), modern=modern)
    server.capabilities = capabilities
    server.prompts = [{"name": "greet", "arguments": [{"name": "who"}]}]
    server.resources = [{"uri": "shop://stock", "name": "stock"}, {"uri": "shop://till", "name": "till"}]
    server.templates = [{"uriTemplate": "item://{id}", "name": "item"}]
    return server


def plain() -> MemoryServer:
    return MemoryServer(tool("add"))


def names(features: Features) -> list[list[str]]:
    return [[*features.prompts], [*features.resources], [*features.templates]]


SEEN = [["shop_greet"], ["shop://stock", "shop://till"], ["item://{id}"]]
NONE: list[list[str]] = [[], [], []]


def features(world: World) -> Features:
    return world.gateway.features(world.gateway.view(CALLER))


async def listed(world: World) -> Features:
    """What is seen once the servers have listed all that they have."""
    await world.gateway.current()
    assert await world.gateway.refresh(list(world.servers), CALLER) == {}
    return features(world)


@pytest.mark.parametrize("modern", [False, True])
def test_what_a_server_declares_is_listed_and_seen(modern: bool, scene: Play) -> None:
    async def look(world: World) -> None:
        world.configure()
        world.begin()
        seen = await listed(world)
        assert names(seen) == SEEN
        assert seen.prompts["shop_greet"].name == "greet"
        assert [method for method, _ in world.servers["plain"].asked] == []

    scene(look, shop=lambda: shop(modern=modern), plain=plain)
