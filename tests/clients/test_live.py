"""Real clients read what `install` and `uninstall` write, with an empty environment, a home of their own and no login.

On request, with MCPCTL_LIVE_TESTS=1: the clients are installed from npm, once for all of these tests, and take 1.1 GB.
MCPCTL_LIVE_CLIENTS names a folder in which they are kept for the next time.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import MCPCTL, ROOT

PACKAGES = ("@anthropic-ai/claude-code", "@google/gemini-cli", "opencode-ai", "@openai/codex")
FOLDERS = {  # by which `install` sees that a client is here
    "claude-code": ".claude",
    "codex": ".codex",
    "gemini-cli": ".gemini",
    "opencode": ".config/opencode",
}
LISTS = {
    "claude-code": ("claude", "mcp", "list"),
    "gemini-cli": ("gemini", "mcp", "list"),
    "opencode": ("opencode", "mcp", "list"),
    "codex": ("codex", "mcp", "list"),
}
CONNECTED = {  # what each says of a server that it has started and shaken hands with; Codex starts none for a list
    "claude-code": r"^mcpctl: {command} - ✔ Connected$",
    "gemini-cli": r"^✓ mcpctl: {command} \(stdio\) - Connected$",
    "opencode": r"✓ mcpctl connected\n.*{command}$",
    "codex": r"^mcpctl +{program} +{args} .* enabled ",
}
EMPTY = {
    "claude-code": "No MCP servers configured",
    "gemini-cli": "No MCP servers configured",
    "opencode": "No MCP servers configured",
    "codex": "No MCP servers configured",
}
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
Client = Callable[..., str]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.network,
    pytest.mark.skipif(not os.environ.get("MCPCTL_LIVE_TESTS"), reason="it needs npm: set MCPCTL_LIVE_TESTS=1"),
]


@pytest.fixture(scope="module")
def programs_folder() -> Iterator[Path]:
    """The folder of the clients' programs; those that are in a named one already are not installed again."""
    named = os.environ.get("MCPCTL_LIVE_CLIENTS")
    # On the disk: homes of tests may be in memory.
    folder = Path(named).absolute() if named else Path(tempfile.mkdtemp(prefix="mcpctl-clients-", dir="/var/tmp"))
    bin_ = folder / "node_modules" / ".bin"
    try:
        if not all((bin_ / words[0]).exists() for words in LISTS.values()):
            install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), *PACKAGES]
            subprocess.run(install, check=True, timeout=900)
        yield bin_
    finally:
        if not named:
            shutil.rmtree(folder)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def run(programs_folder: Path, tmp_path: Path, repository: Path) -> Client:
    """Run a program with an empty environment in the repository; returns what it prints, without colours."""
    user, bin_ = tmp_path / "user", tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "mcpctl").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m mcpctl "$@"\n', encoding="utf-8")
    (bin_ / "mcpctl").chmod(0o755)
    for folder in FOLDERS.values():
        (user / folder).mkdir(parents=True)
    node = Path(shutil.which("node") or "/usr/bin/node").parent
    env = {
        "PATH": os.pathsep.join(map(str, (programs_folder, bin_, node, "/usr/bin", "/bin"))),
        "HOME": str(user),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }

    def ran(*words: str, code: int = 0) -> str:
        done = subprocess.run(words, cwd=repository, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return _STYLE.sub("", done.stdout or done.stderr)  # Gemini CLI prints its list on stderr

    return ran


def expect(said: str, client: str, start: list[str]) -> None:
    program, *args = map(re.escape, start)
    parts = {"command": " ".join((program, *args)), "program": program, "args": " ".join(args)}
    assert re.search(CONNECTED[client].format(**parts), said, re.MULTILINE), said


def entry_of(run: Client, client: str) -> list[str]:
    """The command line in the entry that mcpctl says it has written."""
    (row,) = json.loads(run(*MCPCTL, "install", client, "--yes", "--json"))
    entry = row["entry"]
    return [*entry["command"]] if client == "opencode" else [entry["command"], *entry["args"]]


@pytest.mark.parametrize("client", LISTS)
def test_what_install_writes_is_started_and_after_uninstall_nothing_is_there(run: Client, client: str) -> None:
    assert EMPTY[client] in run(*LISTS[client])
    start = entry_of(run, client)
    expect(run(*LISTS[client]), client, start)
    run(*MCPCTL, "install", client, "--direct", "time:*", "--direct", "github:create_issue", "--yes")
    direct = [*start, "--direct", "time:*", "--direct", "github:create_issue"]
    expect(run(*LISTS[client]), client, direct)
    assert entry_of(run, client) == direct  # its options stay
    run(*MCPCTL, "uninstall", client, "--yes")
    assert EMPTY[client] in run(*LISTS[client])


@pytest.mark.parametrize("client", LISTS)
def test_what_install_writes_into_a_repository_is_started_once_its_user_agrees(
    run: Client, client: str, tmp_path: Path, repository: Path
) -> None:
    run("mcpctl", "install", client, "--project", "--direct", "time:*", "--yes")
    start = ["mcpctl", "serve", "--direct", "time:*"]
    if client == "claude-code":
        assert "mcpctl: mcpctl serve --direct time:* - ⏸ Pending approval" in run(*LISTS[client])
        agreed = repository / ".claude" / "settings.local.json"
        agreed.parent.mkdir()
        agreed.write_text('{"enabledMcpjsonServers": ["mcpctl"]}', encoding="utf-8")
    elif client == "codex":
        assert EMPTY[client] in run(*LISTS[client])
        trusted = f"[projects.{json.dumps(str(repository))}]\ntrust_level = 'trusted'\n"
        (tmp_path / "user/.codex/config.toml").write_text(trusted, encoding="utf-8")
    expect(run(*LISTS[client]), client, start)
    run("mcpctl", "uninstall", client, "--project", "--yes")
    assert EMPTY[client] in run(*LISTS[client])


def test_codex_reads_each_part_of_the_entry(run: Client) -> None:
    program, *args = entry_of(run, "codex")
    said = run("codex", "mcp", "get", "mcpctl", "--json")
    transport = json.loads(said)["transport"]
    assert (transport["type"], transport["command"], transport["args"]) == ("stdio", program, args)
    run(*MCPCTL, "uninstall", "codex", "--yes")
    run("codex", "mcp", "get", "mcpctl", code=1)


def test_claude_code_finds_nothing_wrong_with_the_plugin_and_starts_what_is_in_it(run: Client) -> None:
    folder = ROOT / "examples" / "claude-code-plugin"
    # With a marketplace beside it, the folder stands for that alone; the manifest's check has hooks and skills in it.
    for checked in (folder, folder / ".claude-plugin" / "plugin.json"):
        assert "Validation passed" in run("claude", "plugin", "validate", "--strict", str(checked))
    run("claude", "plugin", "marketplace", "add", str(folder))
    run("claude", "plugin", "install", "mcpctl@mcpctl")
    assert "plugin:mcpctl:mcpctl: mcpctl serve - ✔ Connected" in run(*LISTS["claude-code"])
    run("claude", "plugin", "uninstall", "mcpctl@mcpctl")
    assert EMPTY["claude-code"] in run(*LISTS["claude-code"])


def test_claude_code_and_gemini_cli_write_what_their_commands_say_as_install_does(
    run: Client, repository: Path
) -> None:
    """The commands that `--dry-run` prints, run in a repository."""
    for command, file in (
        ("claude mcp add --scope project mcpctl -- mcpctl serve", ".mcp.json"),
        ("gemini mcp add -s project mcpctl mcpctl -- serve", ".gemini/settings.json"),
    ):
        client = {"claude": "claude-code", "gemini": "gemini-cli"}[command.split()[0]]
        (row,) = json.loads(run("mcpctl", "install", client, "--project", "--dry-run", "--json"))
        assert row["command"] == command
        run(*command.split())
        written = json.loads((repository / file).read_text(encoding="utf-8"))["mcpServers"]["mcpctl"]
        assert (written["command"], written["args"]) == (row["entry"]["command"], row["entry"]["args"])
