"""Real servers and the tests' own, shown directly: each definition is the server's byte for byte, as is each answer."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpctl.metatools.direct_tools import direct_name
from tests.proxy.client import LATEST, MODERN, SERVE, Answer, write_config
from tests.proxy.conftest import Serve
from tests.proxy.definitions import ENV, OPEN, Servers, beginning, compared
from tests.servers import command

pytestmark = [pytest.mark.process, pytest.mark.slow]
Calls = Sequence[tuple[str, Mapping[str, Any]]]

COMMIT = {f"GIT_{who}_{what}": "a@b" if what == "EMAIL" else "2026-01-01T00:00:00Z" if what == "DATE" else "a"
          for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")}  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one commit and one new file."""
    place = tmp_path / "repository"
    place.mkdir()
    (place / "a.txt").write_text("a\n", encoding="utf-8")
    for words in (["init", "-q", "-b", "main"], ["add", "a.txt"], ["commit", "-q", "-m", "The first"]):
        subprocess.run(["git", *words], cwd=place, env={**os.environ, **COMMIT}, check=True)
    (place / "b.txt").write_text("b\n", encoding="utf-8")
    return place


@pytest.fixture
def servers() -> Servers:
    """Command lines, by name."""
    suite = [sys.executable, "-m", "tests.conformance.server"]
    own = ("counter", "malformed", "messy", "progress", "raw", "strict", "wicked")
    return {
        "time": [sys.executable, "-m", "mcp_server_time"],
        "git": [sys.executable, "-m", "mcp_server_git"],
        "weather": [sys.executable, "-m", "mcpctl.demo.weather"],
        "notes": [sys.executable, "-m", "mcpctl.demo.notes"],
        "suite": suite,
        "old_suite": [*suite, "legacy"],
        "new-suite": [*suite, "modern"],
        "asks": command("asks", LATEST),
        "new_asks": command("asks", MODERN),
        "pages": command("pages", 35),
        **{name: command(name) for name in own},
    }


def calls(repository: Path) -> Mapping[str, Calls]:
    """Calls whose answers are the same each time."""
    place = {"repo_path": str(repository)}
    return {
        "time": [("convert_time", {"source_timezone": "Nowhere/City", "time": "10:00", "target_timezone": "UTC"})],
        "git": [
            ("git_status", place), ("git_log", {**place, "max_count": 3}), ("git_diff_unstaged", place),
            ("git_branch", {**place, "branch_type": "local"}), ("git_show", {**place, "revision": "nothing"}),
        ],
        "weather": [
            ("get_forecast", {"city": "Oslo", "days": 2}), ("get_forecast", {"city": "Nowhere"}),
            ("convert_temperature", {"value": 21.5, "from": "celsius", "to": "kelvin"}),
        ],
        "notes": [("list_notes", {}), ("search_notes", {"query": "a"})],
        "suite": [
            ("test_simple_text", {}), ("test_image_content", {}), ("test_multiple_content_types", {}),
            ("test_error_handling", {}),
        ],
        "pages": [("tool_34", {"a": 1})],
        "counter": [("echo", {"n": 123456789012345678901234567890, "f": 1.5, "t": "東京"})],
    }  # fmt: skip


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_each_definition_is_its_server_s_member_for_member(
    serve: Serve, servers: Servers, tmp_path: Path, revision: str
) -> None:
    client = serve(servers, options=["--direct", "all"], revision=revision, policy=OPEN)
    assert compared(client, servers, tmp_path) > 150


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_answers_are_those_that_the_servers_give_themselves(
    serve: Serve, servers: Servers, repository: Path, tmp_path: Path, revision: str
) -> None:
    """The same bytes; for newer clients the same JSON, since the server may be spoken to in the older era."""
    made = calls(repository)
    called = {server: servers[server] for server in made}
    client = serve(called, options=["--direct", "all"], revision=revision, policy=OPEN)
    with beginning(called, tmp_path) as begin:
        for server in called:
            direct = begin(server, revision) or begin(server, LATEST)
            assert direct
            for name, arguments in made[server]:
                through = client.tool(direct_name(server, name), arguments)
                itself = direct.tool(name, arguments)
                if revision == LATEST:
                    assert through.result == itself.result
                else:
                    assert essence(through) == essence(itself)


def essence(answer: Answer) -> Any:
    """A result without what an answer of the newer era says of itself."""
    return {name: value for name, value in answer.json["result"].items() if name not in ("resultType", "_meta")}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_s_client_lists_and_calls_what_it_lists_and_calls_directly(
    home: Path, servers: Servers, repository: Path, mode: str
) -> None:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    made = calls(repository)
    write_config(home, {server: servers[server] for server in made}, policy=OPEN)

    def connected(command: Sequence[str]) -> Client:
        env = {"MCPCTL_HOME": str(home), **ENV}
        parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=env)
        return Client(stdio_client(parameters), mode=mode)

    async def listed(client: Client) -> dict[str, Any]:
        tools, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            tools += page.tools
            if not (cursor := page.next_cursor):
                return {tool.name: plain(tool, "name", "_meta") for tool in tools}

    async def drive() -> None:
        with anyio.fail_after(120):
            async with connected([*SERVE, "--direct", "all"]) as through:
                for server in made:
                    async with connected(servers[server]) as itself:
                        known = await listed(itself)
                        expected = {direct_name(server, name): each for name, each in known.items()}
                        while not (found := await listed(through)).items() >= expected.items():
                            assert not found.keys() >= expected.keys(), server  # else it has not listed in time
                        for name, arguments in made[server]:
                            results = (
                                await itself.call_tool(name, dict(arguments)),
                                await through.call_tool(direct_name(server, name), dict(arguments)),
                            )
                            first, second = (plain(result, "_meta") for result in results)
                            assert first == second

    anyio.run(drive)


def plain(model: Any, *without: str) -> Any:
    """A model of the SDK as JSON, without these members."""
    members = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {name: value for name, value in members.items() if name not in without}
