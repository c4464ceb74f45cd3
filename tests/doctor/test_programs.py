"""The programs that start servers."""

import sys
from pathlib import Path
from typing import Any

import pytest

from mcpctl import __version__
from mcpctl.base.paths import Paths
from mcpctl.doctor import programs
from tests.clients.test_client_config import program
from tests.configured import configure
from tests.doctor.conftest import Found, told
from tests.table import for_each

CURSOR = '{"mcpServers": {"mcpctl": {"command": "/opt/mcpctl", "args": ["serve"]%s}}}'


@pytest.fixture(autouse=True)
def bin_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder of the PATH beside those of the system's own programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def says(file: Path, text: str) -> None:
    program(file, f"#!/bin/sh\n{text}")


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({"command": "no-such-program"}, "'no-such-program' is not found on the PATH"),
        ({"command": "/no/such/program"}, "'/no/such/program' is not found"),
        ({"command": "./here", "cwd": "/"}, "'./here' is not found"),
        ({"command": "sh", "env": {"PATH": "/no/such"}}, "'sh' is not found on the PATH that its env sets"),
        ({"command": "/bin/sh"}, None),
        ({"command": "sh", "env": {"PATH": "/bin"}}, None),
    ],
)
def test_a_command_is_looked_for_as_the_system_does(
    paths: Paths, found: Found, server: dict[str, Any], message: str | None
) -> None:
    configure(paths, {"s": server})
    assert told(found("programs")) == ([("D131", "s", message)] if message else [])
    if message == "'/no/such/program' is not found":
        assert found("programs")[0].fix == "install it, or correct its path in the entry"


@pytest.mark.process
@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (None, "it needs node, which is not found on the PATH"),
        ("echo v16.20.2", "{} is version 16.20.2; servers need 18 or newer"),
        ("echo Segmentation fault >&2", "{} does not say its version within 5 s"),
        ("echo v18.0.0", None), ("echo v22.11.0", None),
    ],
)  # fmt: skip
def test_what_npx_needs_is_asked_for_its_version(
    paths: Paths, found: Found, bin_: Path, node: str | None, expected: str | None
) -> None:
    program(bin_ / "npx")
    if node:
        says(bin_ / "node", node)
    configure(paths, {"s": {"command": "npx", "args": ["-y", "a@1.0"]}, "t": {"command": "npx", "args": ["b@1.0"]}})
    message = expected.format(bin_ / "node") if expected else None
    assert told(found("programs")) == ([("D133", "s", message)] if message else [])


@pytest.mark.process
def test_a_program_that_hangs_or_floods_is_not_waited_for(
    paths: Paths, found: Found, bin_: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_ANSWERS_S", 0.2)
    program(bin_ / "uvx")
    for text in ("exec /bin/sleep 1000", "while :; do echo -n aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"):
        says(bin_ / "uv", text)
        configure(paths, {"s": {"command": "uvx", "args": ["a==1"]}})
        assert told(found("programs")) == [("D133", "s", f"{bin_ / 'uv'} does not say its version within 0.2 s")]


@for_each(
    ("command", "is_newest"),
    [
        ("npx -y @scope/pkg", True), ("npx pkg", True), ("npx -y pkg@latest", True), ("npx --package=pkg run", True),
        ("npx -p @scope/pkg@1.2 run", False), ("npx -y pkg@1.2.3", False), ("npx ./here", False), ("npx", False),
        ("uvx mcp-server-time", True), ("uvx mcp-server-time==1.0", False), ("uvx mcp-server-time@1.0", False),
        ("uvx --from mcp-server-time run", True), ("uvx --from git+https://a.example/b run", False),
        ("python -m pkg", False),
    ],
)  # fmt: skip
def test_a_package_without_a_version_is_named(command: str, is_newest: bool) -> None:
    name, *args = command.split()
    assert programs._takes_the_newest(name, args) is is_newest


def test_servers_of_newest_versions_are_told_once(paths: Paths, found: Found, bin_: Path) -> None:
    program(bin_ / "npx")
    says(bin_ / "node", "echo v20.0.0")
    configure(paths, {name: {"command": "npx", "args": [name]} for name in ("a", "b")})
    assert told(found("programs")) == [("D135", None, "no version is named in the entries of: a, b")]


def test_a_client_with_a_window_needs_a_path_that_finds_what_starts_servers(
    paths: Paths, found: Found, bin_: Path, user: Path
) -> None:
    program(bin_ / "runner")
    configure(paths, {"s": {"command": "runner"}})
    (user / ".cursor").mkdir()
    file = user / ".cursor/mcp.json"
    file.write_text(CURSOR % "", encoding="utf-8")
    (finding,) = found("programs")
    assert told([finding]) == [("D132", "Cursor", "it does not find runner of s")]
    assert finding.fix == "put the entry in again: mcpctl install cursor"
    file.write_text(CURSOR % ', "env": {"PATH": "/usr/bin"}', encoding="utf-8")
    assert [each.code for each in found("programs")] == ["D132"]
    file.write_text(CURSOR % f', "env": {{"PATH": "{bin_}"}}', encoding="utf-8")
    assert found("programs") == []
    file.write_text(CURSOR % ', "disabled": true', encoding="utf-8")
    assert found("programs") == []


def test_a_client_of_a_terminal_has_the_path_of_its_shell(paths: Paths, found: Found, bin_: Path, user: Path) -> None:
    program(bin_ / "runner")
    configure(paths, {"s": {"command": "runner"}})
    (user / ".claude.json").write_text(CURSOR % "", encoding="utf-8")
    assert found("programs") == []
    (user / ".claude.json").write_text(CURSOR % ', "env": {"PATH": "/usr/bin"}', encoding="utf-8")
    assert [each.fix for each in found("programs")] == ["remove PATH from the entry"]


def test_another_mcpctl_on_the_path_is_named(
    paths: Paths, found: Found, bin_: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(paths, {})
    program(bin_ / "mcpctl")
    program(tmp_path / "mcpctl")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "mcpctl")])
    assert told(found("programs")) == [("D134", str(bin_ / "mcpctl"), f"this is {tmp_path / 'mcpctl'}")]
    monkeypatch.setattr(sys, "argv", ["mcpctl"])
    assert found("programs") == []
    assert __version__
