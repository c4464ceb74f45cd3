"""The programs that clients and their mcpctl find: in a shell, and in a window."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.clients.client_config import missing_program
from mcpctl.config.server_settings import Server
from tests.configured import DEMO, configure
from tests.conftest import Mcpctl
from tests.table import for_each


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A program in a folder of its own."""
    path = tmp_path / "bin" / "tool"
    path.parent.mkdir()
    path.touch(0o755)
    return path


def test_a_program_is_looked_for_as_it_would_be_started(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    theirs = {"PATH": str(tool.parent), "B": "tool"}
    assert missing_program(Server(command="tool"), {"PATH": "/bin"}) == "tool"
    assert missing_program(Server(command="${B}-b"), theirs) == "${B}-b"
    assert missing_program(Server(command="tool", env={"PATH": "/bin"}), theirs) == "tool"
    assert missing_program(Server(command=f"{tool}-b"), {}) == f"{tool}-b"
    assert missing_program(Server(command="./tool", cwd=str(tmp_path)), {}) == "./tool"
    (tmp_path / "data").touch(0o644)
    assert missing_program(Server(command="~/data"), {}) == "~/data"
    there = [
        Server(command="tool"), Server(command="${B}"), Server(command=str(tool)), Server(command="~/bin/tool"),
        Server(command="./tool", cwd=str(tool.parent)), Server(command="sh"), Server(url="https://a.example/mcp"),
        Server(command="tool", env={"PATH": f"/bin{os.pathsep}${{PATH}}"}),
    ]  # fmt: skip
    assert [missing_program(server, theirs) for server in there] == [""] * len(there)


@for_each("command", ["./gone", "${cmd:echo gone}", "${NOT_SET}"])
def test_what_only_a_start_can_tell_is_not_said_to_be_missing(command: str) -> None:
    assert missing_program(Server(command=command), {}) == ""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a shell's PATH, as nvm and uv make them, with a server's runner in it."""
    folder = tmp_path / "tools"
    program(folder / "runner", "#!/usr/bin/env interpreter")
    program(tmp_path / "runtimes" / "interpreter")
    (tmp_path / "empty").mkdir()
    here = [tmp_path / "empty", folder, tmp_path / "no-such-folder", tmp_path / "runtimes", "relative"]
    monkeypatch.setenv("PATH", ":".join(map(str, [*here, "/usr/bin/", "/bin"])))
    return folder


def program(file: Path, first: str = "#!/bin/sh") -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{first}\n", encoding="utf-8")
    file.chmod(0o755)


def env(mcpctl: Mcpctl, client: str = "claude-desktop") -> Any:
    (section,) = mcpctl("serve", "--print-config", client).json.values()
    return section["mcpctl"].get("env", {})


def test_a_block_has_the_folders_of_commands_and_of_what_runs_them(mcpctl: Mcpctl, paths: Paths, tools: Path) -> None:
    configure(paths, {"s": {"command": "runner"}})
    found = env(mcpctl)["PATH"].split(":")
    assert found[:2] == [str(tools), str(tools.parent / "runtimes")]
    assert {"/usr/bin", "/bin"}.issubset(found)
    assert all(Path(place).is_absolute() and Path(place).is_dir() for place in found)
    assert str(tools.parent / "empty") not in found


@pytest.mark.parametrize("name", ["npx", "uvx", "node"])
def test_a_block_finds_what_servers_are_usually_started_with(
    mcpctl: Mcpctl, tools: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    program(tools / name)
    assert str(tools) in env(mcpctl)["PATH"].split(":")


@pytest.mark.parametrize("client", ["claude-code", "gemini-cli"])
def test_a_client_of_a_terminal_keeps_the_path_of_its_shell(
    mcpctl: Mcpctl, paths: Paths, tools: Path, client: str
) -> None:
    configure(paths, {"s": {"command": "runner"}})
    assert "PATH" not in env(mcpctl, client)


@pytest.mark.parametrize(
    "server",
    [{"command": "/bin/true"}, {"command": "sh"}, {"command": "no-such-command"}, {"url": "https://a.example/mcp"},
     {"command": "runner", "env": {"PATH": "/opt/x"}}],
)  # fmt: skip
def test_a_block_has_no_path_where_none_is_needed(
    mcpctl: Mcpctl, paths: Paths, tools: Path, monkeypatch: pytest.MonkeyPatch, server: dict[str, Any]
) -> None:
    if server.get("command") != "runner":
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
    configure(paths, {"s": server})
    assert "PATH" not in env(mcpctl)


@pytest.mark.slow
@pytest.mark.process
def test_a_check_warns_of_what_only_the_shell_finds(
    mcpctl: Mcpctl, paths: Paths, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tools / "snake").symlink_to(sys.executable)
    configure(paths, {"notes": {**DEMO["notes"], "command": "snake"}, "weather": DEMO["weather"]})
    ran = mcpctl("servers", "check", "--fields", "server")
    assert "mcpctl: programs with a window do not find snake (notes); the entry that mcpctl install" in ran.err
    assert mcpctl("servers", "check", "weather").err == ""
    program(tools / "runner", "#!/usr/bin/env interpreter")
    configure(paths, {"s": {"command": str(tools / "runner")}})
    assert "do not find interpreter (s)" in mcpctl("servers", "check").err


@pytest.mark.process
@pytest.mark.slow
def test_a_check_is_silent_once_the_entries_of_windows_have_a_path_that_finds_it(
    mcpctl: Mcpctl, paths: Paths, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tools / "snake").symlink_to(sys.executable)
    configure(paths, {"notes": {**DEMO["notes"], "command": "snake"}})
    (tmp_path / ".cursor").mkdir()
    assert mcpctl("install", "cursor").code == 0
    assert mcpctl("servers", "check", "--fields", "server").err == ""
    (tmp_path / ".codeium/windsurf").mkdir(parents=True)
    entry = '{"mcpServers": {"mcpctl": {"command": "/opt/mcpctl", "args": ["serve"]}}}'
    (tmp_path / ".codeium/windsurf/mcp_config.json").write_text(entry, encoding="utf-8")
    assert "do not find snake (notes)" in mcpctl("servers", "check").err
