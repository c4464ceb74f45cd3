"""While everything is paused, nothing is called or read in any running `serve`, and clients are told why."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import pausing
from tests.configured import toolset
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH, Serve
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, Scene, World, play, text_of, tool

pytestmark = BOTH

Play = Callable[..., None]
ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
POLICIES: dict[str, dict[str, Any]] = {
    "no policy": {}, "enforced": {"policy": {"allow": ["*"]}}, "recorded": {"policy": {"mode": "record"}},
    "off": {"policy": {"mode": "off"}},
}  # fmt: skip


def shop() -> MemoryServer:
    server = MemoryServer(tool("buy", readOnlyHint=False, destructiveHint=False))
    server.capabilities = {"prompts": {}, "resources": {}, "completions": {}}
    server.prompts, server.resources = [{"name": "greet"}], [{"uri": "shop://stock", "name": "stock"}]

    async def read(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [], "contents": [], "completion": {"values": ["one"]}}

    server.features = dict.fromkeys(("prompts/get", "resources/read", "completion/complete"), read)
    return server


async def prompt(client: MemoryClient) -> str:
    """The name of the server's prompt, once it is listed."""
    while not (listed := (await client.request("prompts/list", {}))["result"]["prompts"]):
        await asyncio.sleep(0)
    return str(listed[0]["name"])


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **{"shop": shop, **servers})

    return begin


@ERAS
@pytest.mark.parametrize("name", POLICIES)
def test_a_pause_refuses_calls_searches_and_reads_and_its_end_lets_them_through(
    scene: Play, revision: str, name: str
) -> None:
    async def played(world: World) -> None:
        world.configure(**POLICIES[name])
        world.begin()
        client = await world.client(revision)
        assert await client.call("shop:buy") == "{}"
        greeting = await prompt(client)
        reads: dict[str, Any] = {
            "prompts/get": {"name": greeting}, "resources/read": {"uri": "shop://stock"},
            "completion/complete": {"ref": {"type": "ref/prompt", "name": greeting}, "argument": {}},
        }  # fmt: skip
        for method, params in reads.items():
            assert "result" in await client.request(method, params)
        server = world.servers["shop"]
        asked = [*server.calls, *(method for method, _ in server.asked if method in reads)]

        pausing.pause(world.paths, None, "script")
        said = await client.call("shop:buy")
        assert "paused since" in said
        assert "Do not retry it" in said
        assert "mcpctl policy resume" in str(await client.discover("buy"))
        assert "paused since" in text_of(await client.request("prompts/get", reads["prompts/get"]))
        assert "paused since" in text_of(await client.request("resources/read", reads["resources/read"]))
        completed = await client.request("completion/complete", reads["completion/complete"])
        assert completed["result"]["completion"]["values"] == []
        assert len((await client.request("prompts/list", {}))["result"]["prompts"]) == 1
        assert len((await client.request("resources/list", {}))["result"]["resources"]) == 1
        assert [*server.calls, *(method for method, _ in server.asked if method in reads)] == asked

        pausing.resume(world.paths, "terminal")
        assert await client.call("shop:buy") == "{}"
        assert [hit["toolKey"] for hit in (await client.discover("buy"))["results"]] == ["shop:buy"]
        assert "result" in await client.request("prompts/get", reads["prompts/get"])

    scene(played)


def test_a_pause_that_was_there_before_applies_from_the_first_call_on(scene: Play) -> None:
    async def played(world: World) -> None:
        pausing.pause(world.paths, None, "script")
        world.configure()
        world.begin()
        assert "paused since" in await (await world.client()).call("shop:buy")
        assert world.servers["shop"].calls == []

    scene(played)


def test_a_pause_ends_by_itself_at_its_time_and_both_are_told_on_stderr(
    scene: Play, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        pausing.pause(world.paths, time.time() + 3600, "script")
        assert "until the user" not in await client.call("shop:buy")
        later = time.time() + 3601
        monkeypatch.setattr("mcpctl.proxy.memory.time.time", lambda: later)
        assert await client.call("shop:buy") == "{}"
        told = capsys.readouterr().err
        assert told.count("nothing is called any more: paused since") == 1
        assert told.count("calls go on: the pause has ended") == 1

    scene(played)


def test_a_running_call_comes_to_its_end_and_one_that_waits_for_its_server_is_refused(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        slow, other = world.servers["shop"], world.servers["other"]
        other.may_start.clear()
        world.begin()
        client = await world.client()
        ended = asyncio.Event()

        async def answer(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
            await ended.wait()
            return {"content": [{"type": "text", "text": "bought"}]}

        slow.answer = answer
        running = client.start_call("shop:buy")
        await slow.was_called.wait()
        waiting = client.start_call("other:buy")
        while not other.connections:
            await asyncio.sleep(0)
        pausing.pause(world.paths, None, "script")
        ended.set()
        other.may_start.set()
        assert text_of(await running) == "bought"
        assert "paused since" in text_of(await waiting)
        assert other.calls == []

    scene(played, other=shop)


def test_a_serve_with_a_named_toolset_and_no_policy_is_paused_too(scene: Play) -> None:
    async def played(world: World) -> None:
        toolset(world.paths, "mine", "shop:buy")
        world.configure()
        world.begin(toolset="mine")
        client = await world.client()
        assert await client.call("shop:buy") == "{}"
        pausing.pause(world.paths, None, "script")
        assert "paused since" in await client.call("shop:buy")

    scene(played)


def overwrite(path: Path) -> None:
    with path.open("r+b") as opened:  # never shorter than it was: a thread may have it mapped
        opened.write(b"x" * 4096)


LOSSES: dict[str, Callable[[Path], object]] = {"removed": Path.unlink, "overwritten": overwrite}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", LOSSES)
def test_without_a_policy_nothing_is_called_where_a_pause_may_have_been_lost(
    scene: Play, paths: Paths, loss: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def played(world: World) -> None:
        world.configure()
        pausing.pause(world.paths, None, "script")
        LOSSES[loss](paths.policy)
        world.begin()
        client = await world.client()
        assert "cannot be told, since policy.db cannot be read" in await client.call("shop:buy")
        assert world.servers["shop"].calls == []

    scene(played)
    assert f"rm -f {paths.policy} {paths.state}" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", LOSSES)
def test_a_pause_outlasts_the_loss_of_policy_db_under_a_running_serve(scene: Play, paths: Paths, loss: str) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        pausing.pause(world.paths, None, "script")
        assert "paused since" in await client.call("shop:buy")
        LOSSES[loss](paths.policy)
        assert "paused since" in await client.call("shop:buy")

    scene(played)


def test_refused_calls_searches_and_reads_are_on_record(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await client.call("shop:buy")
        name = await prompt(client)
        pausing.pause(world.paths, None, "script")
        await client.call("shop:buy")
        await client.discover("buy")
        await client.request("prompts/get", {"name": name})

    scene(played)
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    refused = [(line["key"], line["decision"], line["rule"]) for line in made if line["decision"] == "denied"]
    assert sorted(refused) == [
        ("@prompts/shop_greet", "denied", "paused"),
        ("shop:buy", "denied", "paused"),
        ("tool_discovery", "denied", "paused"),
    ]
    (begun,) = [line for line in made if line["decision"] == "paused"]
    assert (begun["key"], begun["channel"]) == ("*", "script")


@pytest.mark.process
@pytest.mark.slow
def test_every_serve_of_the_data_directory_is_paused_by_one_command(serve: Serve, mcpctl: Mcpctl) -> None:
    clients = [serve({"weather": [sys.executable, "-m", "mcpctl.demo.weather"]}), serve(), serve(revision=MODERN)]
    for client in clients:
        assert "paused" not in client.call("weather:get_forecast", {"city": "Oslo"}).text
    assert mcpctl("policy", "pause").code == 0
    for client in clients:
        assert "paused since" in client.call("weather:get_forecast", {"city": "Oslo"}).text
