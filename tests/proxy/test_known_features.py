"""Features that clients may list and read: at first none, then those that servers have listed, as is decided."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.calling.own_session import CALLER
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, Scene, World, play
from tests.proxy.library import GET, READ, Library, library

pytestmark = BOTH

Play = Callable[..., None]
ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
OF_A = {"uri": "note://a"}


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], Library]) -> None:
        play(home, paths, played, **(servers or {"a": stocked}))

    return begin


def stocked() -> Library:
    server = Library()
    server.prompts = [{"name": "ask me"}]
    server.resources = [{"uri": "note://a", "name": "A"}]
    server.templates = [{"uriTemplate": "file:///{path}", "name": "F"}]
    return server


async def listed(client: MemoryClient, method: str = "resources/list") -> list[Any]:
    result = (await client.request(method, {}))["result"]
    (found,) = (value for value in result.values() if isinstance(value, list))
    return [each.get("uri", each.get("name")) for each in found]


@ERAS
def test_what_nothing_is_known_of_is_not_listed_but_its_server_is_asked_before_it_is_said_not_to_be(
    scene: Play, revision: str
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        library(world).may_start.clear()
        client = await world.client(revision)
        assert await listed(client) == []
        answer = client.request(READ, OF_A)
        library(world).may_start.set()
        assert "contents" in (await answer)["result"]
        assert "messages" in (await client.request(GET, {"name": "a_ask me"}))["result"]
        assert await listed(client) == ["note://a"]

    scene(played)


def test_what_was_listed_once_is_listed_before_any_server_is_started(scene: Play) -> None:
    async def first(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await client.request(READ, OF_A)

    async def second(world: World) -> None:
        world.begin()
        library(world).may_start.clear()
        client = await world.client()
        lists = ("resources/list", "prompts/list", "resources/templates/list")
        assert [await listed(client, method) for method in lists] == [["note://a"], ["a_ask me"], ["F"]]

    scene(first)
    scene(second)


def test_a_client_that_lists_only_has_what_is_unknown_listed(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await client.request("prompts/list", {})
        while (await client.questions.get())["method"] != "notifications/prompts/list_changed":
            pass
        assert await listed(client, "prompts/list") == ["a_ask me"]

    scene(played)


@ERAS
def test_what_is_not_exposed_is_not_there(scene: Play, home: Path, revision: str) -> None:
    async def played(world: World) -> None:
        world.configure({"a": {"expose": ["prompts"]}})
        world.begin()
        client = await world.client(revision)
        assert "messages" in (await client.request(GET, {"name": "a_ask me"}))["result"]
        assert "error" in await client.request(READ, OF_A)
        assert "error" in await client.request(READ, {"uri": "mcpctl+a:note://a"})
        assert await listed(client) == []
        assert [params for params in library(world).got if "uri" in params] == []
        reads = [line for line in journal_lines(home) if line["type"] == "reads.finished"]
        assert [(line["kind"], line["status"]) for line in reads] == [
            ("prompt", "ok"), ("resource", "failed"), ("resource", "failed"),
        ]  # fmt: skip

    scene(played)


def test_what_is_exposed_no_more_while_its_server_starts_is_not_read(scene: Play) -> None:
    async def first(world: World) -> None:
        world.configure()
        world.begin()
        await (await world.client()).request(READ, OF_A)

    async def second(world: World) -> None:
        world.begin()
        library(world).may_start.clear()
        client = await world.client()
        answer = client.request(READ, OF_A)
        await listed(client)
        world.configure({"a": {"expose": []}})
        library(world).may_start.set()
        assert (await answer)["error"]["code"] == -32002
        assert library(world).got == []

    scene(first)
    scene(second)


def test_a_prompt_whose_name_another_servers_ends_in_is_asked_of_its_own(scene: Play) -> None:
    def prompts(*names: str) -> Callable[[], Library]:
        def made() -> Library:
            server = Library()
            server.prompts = [{"name": name} for name in names]
            return server

        return made

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await client.request(GET, {"name": "none"})
        assert await listed(client, "prompts/list") == ["a__b_c", "a_b__c"]
        await client.request(GET, {"name": "a_b__c"})
        await client.request(GET, {"name": "a__b_c"})
        assert library(world, "a_b").got[0]["name"] == "c"
        assert library(world, "a").got[0]["name"] == "b_c"

    scene(played, a=prompts("b_c"), a_b=prompts("c"))


def test_a_server_that_is_named_is_asked_alone(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        library(world, "b").may_start.clear()
        client = await world.client()
        assert "contents" in (await client.request(READ, {"uri": "mcpctl+a:note://a"}))["result"]
        assert "contents" in await read(client)

    async def read(client: MemoryClient) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await client.session.features.read("note://a", CALLER, "a"))
        return found

    scene(played, a=stocked, b=stocked)


def test_one_dead_server_does_not_keep_others_from_being_read(scene: Play) -> None:
    class Broken(Library):
        async def take(self, connection: Any, message: dict[str, Any]) -> None:
            await connection.stop()

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        answers = await asyncio.gather(
            client.request(READ, OF_A), client.request(READ, {"uri": "nowhere://a"}), client.request(READ, OF_A)
        )
        assert [("result" in answer) for answer in answers] == [True, False, True]
        assert "Broken" not in json.dumps(answers)

    scene(played, a=stocked, b=Broken)
