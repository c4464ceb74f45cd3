"""Ten servers from npm and PyPI, shown directly to clients from npm; run on request, they are downloaded.

The TypeScript SDK's client in both eras and the inspector's command line list and call their tools, and read the pages
of those that are MCP Apps, from the examples of that extension.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.metatools.direct_tools import direct_name
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import LocalRecords
from tests.proxy.client import LATEST, MODERN, ROOT, SERVE, until, write_config
from tests.proxy.conftest import Run, Serve
from tests.proxy.definitions import KEY, OPEN, Servers, compared

pytestmark = [
    pytest.mark.network,
    pytest.mark.process,
    pytest.mark.skipif("MCPCTL_LIVE_TESTS" not in os.environ, reason="needs npm: set MCPCTL_LIVE_TESTS=1"),
]
INSTALLED = "direct"
OF_NPM = {
    "everything": "2026.8.31",
    "filesystem": "2026.8.31",
    "memory": "2026.8.31",
    "sequential-thinking": "2026.8.31",
}
APPS = {"basic-vanillajs": "2.0.3", "map": "2.0.3", "system-monitor": "2.0.3", "transcript": "2.0.3"}
PACKAGES = (
    "@modelcontextprotocol/client@2.3.1",
    "@modelcontextprotocol/inspector@2.12.0",
    *(f"@modelcontextprotocol/server-{name}@{version}" for name, version in (OF_NPM | APPS).items()),
)
PAGES = {
    "basic-vanillajs": ("get-time", "ui://get-time/mcp-app.html"),
    "map": ("show-map", "ui://cesium-map/mcp-app.html"),
    "system-monitor": ("get-system-info", "ui://system-monitor/mcp-app.html"),
    "transcript": ("transcribe", "ui://transcript/mcp-app.html"),
}
TASK = "simulate-research-query"
"""A tool that runs only as a task."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the servers work on: a git repository with a file."""
    place = tmp_path / "folder"
    place.mkdir()
    (place / "a.txt").write_text("a\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    return place


@pytest.fixture
def servers(npm: tuple[Path, Path], folder: Path) -> Servers:
    """Command lines, by name."""
    node, modules = npm
    arguments = {"filesystem": [str(folder)], **{name: ["--stdio"] for name in APPS}}

    def command(name: str) -> list[str]:
        place = modules / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
        return [str(node), str(place), *arguments.get(name, [])]

    of_pypi = {name: [sys.executable, "-m", f"mcp_server_{name}"] for name in ("time", "git")}
    return {**{name: command(name) for name in OF_NPM | APPS}, **of_pypi}


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file of the memory server, which starts empty."""
    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "memory.json"))


def calls(folder: Path) -> Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]]:
    """Calls whose answers are the same each time."""
    place = {"repo_path": str(folder)}
    return {
        "everything": [
            ("echo", {"message": "東京"}), ("get-sum", {"a": 1.5, "b": 2}), ("get-tiny-image", {}),
            ("get-structured-content", {"location": "Chicago"}), ("get-annotated-message", {"messageType": "error"}),
        ],
        "filesystem": [("read_text_file", {"path": str(folder / "a.txt")}), ("read_text_file", {"path": "/b"})],
        "memory": [("read_graph", {}), ("search_nodes", {"query": "nothing"})],
        "sequential-thinking": [
            ("sequentialthinking", {"thought": "a", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1})
        ],
        "basic-vanillajs": [],
        "map": [("show-map", {"west": 1, "south": 1, "east": 2, "north": 2, "label": "here"})],
        "system-monitor": [],
        "transcript": [("transcribe", {})],
        "time": [("convert_time", {"source_timezone": "Asia/Tokyo", "time": "10:00", "target_timezone": "UTC"})],
        "git": [("git_status", place), ("git_branch", {**place, "branch_type": "local"})],
    }  # fmt: skip


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_each_definition_is_its_server_s_member_for_member(
    serve: Serve, servers: Servers, tmp_path: Path, revision: str
) -> None:
    client = serve(servers, options=["--direct", "all"], revision=revision, policy=OPEN)
    assert compared(client, servers, tmp_path) > 55


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_typescript_sdk_s_client_lists_calls_and_reads_what_it_does_directly(
    mode: str, run: Run, npm: tuple[Path, Path], home: Path, paths: Paths, folder: Path, servers: Servers
) -> None:
    write_config(home, servers, policy=OPEN)
    made = calls(folder)
    named = [[direct_name(server, name), given] for server in made for name, given in made[server]]
    changing = [[direct_name(server, name), {}] for server, (name, _) in PAGES.items()]
    of_pages: list[Any] = [[name, {}] for name in ("get-time", "poll-system-stats", "read_graph")]
    does = {"calls": [*named, *changing], "more": of_pages, "reads": [page for _, page in PAGES.values()]}

    def ran(does: Mapping[str, Any], *command: str) -> Any:
        return run(Path(__file__).with_name("direct_client.mjs"), npm[1], mode, json.dumps(does), *command)

    through = ran(does, *SERVE, "--direct", "all")
    assert (through["era"] == MODERN) is (mode == "auto")
    results, contents = iter(through["results"]), dict(zip(PAGES, through["contents"], strict=True))
    shown = {tool["_meta"].pop(KEY): tool for tool in through["tools"]}
    for server, command in servers.items():
        itself = ran({"calls": made[server], "reads": [PAGES[server][1]] if server in PAGES else []}, *command)
        for tool in itself["tools"]:
            mine = shown.pop(f"{server}:{tool['name']}")
            own = {**tool, "name": direct_name(server, tool["name"]), "_meta": tool.get("_meta", {})}
            if mode == "auto":
                own.pop("execution", None)  # the client leaves it out of what is listed in the newer era
            assert mine == own
        assert [plain(next(results)) for _ in made[server]] == [plain(each) for each in itself["results"]]
        for content in itself["contents"]:
            assert plain(contents[server]) == plain(content)
            assert content["contents"][0]["mimeType"] == "text/html;profile=mcp-app"
    assert not shown
    assert all(not result.get("isError") and "failed" not in result for result in results)
    with LocalRecords(paths) as records:
        via = Counter(row["via"] for row in records.calls(CallFilter()).rows(None, 0))
    assert via == {"direct": len(named) + len(changing) + len(of_pages)}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_tool_that_runs_only_as_a_task_is_called_as_any_other(
    mode: str, run: Run, npm: tuple[Path, Path], home: Path, servers: Servers
) -> None:
    """By a client that knows nothing of tasks, to which its server itself answers with an error."""
    write_config(home, {"everything": servers["everything"]}, policy=OPEN)
    script = Path(__file__).with_name("direct_client.mjs")
    name = direct_name("everything", TASK)

    def called(name: str, *command: str) -> Any:
        [result] = run(script, npm[1], mode, json.dumps({"calls": [[name, {"topic": "x"}]]}), *command)["results"]
        return result

    assert called(TASK, *servers["everything"])["isError"]
    assert "Research Report: x" in called(name, *SERVE, "--direct", "all")["content"][0]["text"]


def test_the_inspector_s_command_line_lists_and_calls_them(
    run: Run, home: Path, folder: Path, servers: Servers
) -> None:
    write_config(home, servers, policy=OPEN)
    variables = ("-e", f"MCPCTL_HOME={home}", "-e", f"PYTHONPATH={ROOT}")

    def inspect(command: Sequence[str], method: str, *words: str) -> Any:
        arguments = (*command, *variables, "--method", method, "--format", "json", "-q", *words)
        return run("mcp-inspector", "--cli", *arguments)["result"]

    serve = (*SERVE, "--direct", "all")

    def all_are_listed() -> bool:
        tools = inspect(serve, "tools/list")["tools"]
        return {tool["_meta"][KEY].partition(":")[0] for tool in tools} == {*servers}

    until("every server has listed", all_are_listed, 100)
    for server, made in calls(folder).items():
        for name, given in made[:1]:
            words = ("--tool-args-json", json.dumps(given))
            answers = (
                inspect(serve, "tools/call", "--tool-name", direct_name(server, name), *words),
                inspect(servers[server], "tools/call", "--tool-name", name, *words),
            )
            first, second = map(plain, answers)
            assert first == second


def plain(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """A result without what an answer of the newer era says of itself."""
    return {name: value for name, value in result.items() if name not in ("resultType", "_meta", "ttlMs", "cacheScope")}
