"""Calls of HTTP APIs on record: the method and path of the request, and the status of the answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.proxy.client import journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryConnection, MemoryServer, Scene, World, play, tool

pytestmark = BOTH

Play = Callable[..., None]
META = {"mcpctl/http": {"method": "GET", "path": "/orders/{id}"}}


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


async def missing(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
    link = "<https://api.example.com/orders?page=2&key=abc>"
    about = {"status": 404, "contentType": "text/plain", "link": link}
    return {
        "content": [{"type": "text", "text": "HTTP 404 Not Found"}],
        "isError": True,
        "_meta": {"mcpctl/http": about},
    }


def shop(answer: Any = missing, **meta: Any) -> Callable[[], MemoryServer]:
    return lambda: MemoryServer({**tool("orders/get"), "_meta": {**META, **meta}}, answer=answer)


def lines(home: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    started, finished = (
        [line for line in journal_lines(home) if line["type"] == kind] for kind in ("calls.started", "calls.finished")
    )
    return started[0], finished[0]


def called(world: World, **entry: Any) -> Any:
    async def call() -> None:
        world.configure({"shop": entry})
        world.begin()
        client = await world.client()
        await client.call("shop:orders/get", {"id": "7"})

    return call()


def test_a_call_of_an_api_has_method_path_with_holes_and_status_on_record(scene: Play, home: Path) -> None:
    scene(lambda world: called(world, openapi="shop"), shop=shop())
    started, finished = lines(home)
    assert started["http"] == {"method": "GET", "path": "/orders/{id}"}
    assert (finished["status"], finished["http_status"]) == ("tool_error", 404)
    assert "HTTP 404 Not Found" in str(finished["response"])
    assert "api.example.com" not in str((started, finished)), "no address, which may have keys in its query"


def test_a_server_of_another_kind_gets_neither_on_record_whatever_it_says(scene: Play, home: Path) -> None:
    scene(lambda world: called(world), shop=shop())
    started, finished = lines(home)
    assert "http" not in started
    assert "http_status" not in finished


def test_odd_words_about_a_request_are_not_put_on_record(scene: Play, home: Path) -> None:
    async def odd(_: MemoryConnection, __: dict[str, Any]) -> dict[str, Any]:
        return {"content": [], "_meta": {"mcpctl/http": {"status": "404"}}}

    scene(lambda world: called(world, openapi="shop"), shop=shop(odd))
    assert "http_status" not in lines(home)[1]
