"""What clients and the mcpctl that they start have."""

import os
from pathlib import Path

import pytest

from mcpctl.clients.client_environment import missing_program
from mcpctl.config.server_settings import Server


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


@pytest.mark.parametrize("command", ["./gone", "${cmd:echo gone}", "${NOT_SET}"])
def test_what_only_a_start_can_tell_is_not_said_to_be_missing(command: str) -> None:
    assert missing_program(Server(command=command), {}) == ""
