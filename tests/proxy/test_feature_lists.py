"""Lists of prompts, resources and templates: what is known, as servers define it, page by page, and at once."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.proxy import feature_requests
from tests.proxy.client import LATEST, META, MODERN
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, Scene, World, play
from tests.proxy.library import FILES, Library, begun, feature, library, raw_lines, see

pytestmark = BOTH

Play = Callable[..., None]
ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
NOTE = '{ "uri":"note://\\u00e9", "name":"A", "icons":[{"src":"x"}], "size":1.0, "x-vendor":{"uri":1e2} }'
PROMPT = '{"description":"d","name":"ask me","arguments":[{"name":"q","x":1.50}],"_meta":{"name":1e2},"title":null}'
METHODS = {
    "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}  # fmt: skip


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with a server in memory."""

    def begin(played: Scene) -> None:
        play(home, paths, played, a=Library)

    return begin


def many(number: int) -> list[Any]:
    return [feature("resources", f'{{"uri":"note://{each}","name":"{"n" * 20}"}}') for each in range(number)]


async def uris(client: MemoryClient, cursor: str | None = None) -> tuple[list[str], str | None]:
    """The URIs of a page, and the cursor of the next."""
    result = (await client.request("resources/list", {"cursor": cursor} if cursor else {}))["result"]
    return [each["uri"] for each in result["resources"]], result.get("nextCursor")


@ERAS
def test_definitions_are_listed_as_their_servers_sent_them(scene: Play, revision: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        library(world).may_start.clear()
        see(world, feature("resources", NOTE), feature("prompts", PROMPT), FILES)
        lines = raw_lines(client)
        for method in METHODS:
            await client.request(method, {})
        prompts, resources, templates = lines
        assert f'"resources":[{NOTE}]'.encode() in resources
        assert b'"prompts":[%b]' % PROMPT.replace('"ask me"', '"a_ask me"').encode() in prompts
        assert f'"resourceTemplates":[{FILES.tool.text}]'.encode() in templates

    scene(played)


@pytest.mark.stdio("each list has an answer of its own, and requests in flight are bounded")
def test_a_client_that_takes_nothing_is_sent_no_more_pages(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        see(world, *many(3))
        await client.request("resources/list", {})
        write = client.write

        def full(*pieces: bytes | memoryview) -> None:
            write(*pieces)
            client.readers.hold()

        monkeypatch.setattr(client, "write", full)
        answers = [client.request("resources/list", {}) for _ in range(3)]
        await answers[0]
        await client.request("ping", {})
        assert [answer.done() for answer in answers] == [True, False, False]
        monkeypatch.setattr(client, "write", write)
        client.readers.release()
        await asyncio.gather(*answers)

    scene(played)


def test_a_uri_that_several_servers_list_is_listed_with_its_server(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        see(world, feature("resources", NOTE), feature("resources", '{"uri":"note://é"}', "b"))
        listed = (await client.request("resources/list", {}))["result"]["resources"]
        assert listed == [{**json.loads(NOTE), "uri": "mcpctl+a:note://é"}, {"uri": "mcpctl+b:note://é"}]

    scene(played)


def test_the_newer_revision_is_told_for_how_long_a_list_holds(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world, MODERN)
        result = (await client.request("prompts/list", {}))["result"]
        assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 10_000, "private")
        assert result["_meta"][META + "serverInfo"]["name"] == "mcpctl"

    scene(played)


@ERAS
def test_nothing_is_listed_while_nothing_is_known(scene: Play, revision: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        see(world)
        for method, member in METHODS.items():
            assert (await client.request(method, {}))["result"][member] == []

    scene(played)


@ERAS
def test_a_long_list_comes_in_pages(scene: Play, revision: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        see(world, *many(2001))
        listed, cursor = await uris(client)
        sizes = [len(listed)]
        while cursor:
            page, cursor = await uris(client, cursor)
            sizes.append(len(page))
            listed += page
        assert sizes == [1000, 1000, 1]
        assert listed == [f"note://{each}" for each in range(2001)]
        see(world, *many(1000))
        assert (await uris(client))[1] is None

    scene(played)


def test_a_cursor_of_another_list_is_refused(scene: Play) -> None:
    odd = ["", "x", "1.0", "1.2000", "1.+1000", "1. 1000", "1.01000", "1.1000000000", "2.1000", 5, [], True]

    async def played(world: World) -> None:
        client = await begun(world)
        see(world, *many(2000))
        _, following = await uris(client)
        assert following
        for cursor in odd:
            assert (await client.request("resources/list", {"cursor": cursor}))["error"]["code"] == -32602, cursor
        assert (await client.request("prompts/list", {"cursor": following}))["error"]["code"] == -32602
        see(world, *many(2000), generation="3")
        assert (await client.request("resources/list", {"cursor": following}))["error"]["code"] == -32602

    scene(played)


def test_a_list_that_cannot_be_made_is_answered(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("secret")

    monkeypatch.setattr(feature_requests, "_page", broken)

    async def played(world: World) -> None:
        client = await begun(world)
        error = (await client.request("prompts/list", {}))["error"]
        assert error == {"code": -32603, "message": "mcpctl: internal error: ValueError"}

    scene(played)


def test_a_page_is_made_once_and_beside_the_event_loop(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []
    page = feature_requests._page

    def counted(*given: Any) -> Any:
        made.append(threading.current_thread() is not threading.main_thread())
        return page(*given)

    monkeypatch.setattr(feature_requests, "_page", counted)

    async def played(world: World) -> None:
        client = await begun(world)
        see(world, *many(5000))
        for _ in range(3):
            assert len((await uris(client))[0]) == 1000
        assert made == [True]
        see(world, *many(3))
        assert len((await uris(client))[0]) == 3
        assert made == [True, True]

    scene(played)
