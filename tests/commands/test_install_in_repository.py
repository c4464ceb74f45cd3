"""`mcpctl install --project` and `uninstall --project`: the file of a repository, for all who have it."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.clients import importing, owned_servers
from mcpctl.clients.client_kinds import CLIENTS
from tests.commands.test_install import cursor, said, tree, user, write  # noqa: F401
from tests.conftest import Mcpctl

FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "zed": ".zed/settings.json",
    "opencode": "opencode.json",
}
ARGS = ["serve", "--split-execute", "--direct", "time:*", "--direct", "@triage"]
ENTRIES: dict[str, Any] = {
    "claude-code": {"mcpServers": {"mcpctl": {"type": "stdio", "command": "mcpctl", "args": ARGS}}},
    "cursor": {"mcpServers": {"mcpctl": {"command": "mcpctl", "args": ARGS}}},
    "vscode": {"servers": {"mcpctl": {"type": "stdio", "command": "mcpctl", "args": ARGS}}},
    "codex": {"mcp_servers": {"mcpctl": {"command": "mcpctl", "args": ARGS}}},
    "gemini-cli": {"mcpServers": {"mcpctl": {"command": "mcpctl", "args": ARGS}}},
    "zed": {"context_servers": {"mcpctl": {"source": "custom", "command": "mcpctl", "args": ARGS}}},
    "opencode": {"mcp": {"mcpctl": {"type": "local", "command": ["mcpctl", *ARGS], "enabled": True}}},
}
pytestmark = pytest.mark.usefixtures("programs")


@pytest.fixture(autouse=True)
def repository(user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    """A repository; the current folder is somewhere in it."""
    folder = user / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / "deep" / "inside").mkdir(parents=True)
    monkeypatch.chdir(folder / "deep" / "inside")
    return folder


def test_every_client_that_reads_a_file_of_a_repository_is_here() -> None:
    assert FILES.keys() == {name for name, kind in CLIENTS.items() if "{project}" in "".join(kind.places)}


@pytest.mark.parametrize("client", FILES)
def test_the_file_has_one_entry_without_anything_of_this_machine_and_goes_again(
    mcpctl: Mcpctl, repository: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    for name in ("MCPCTL_TOOLSET", "MCPCTL_TOKEN", "MCPCTL_PROJECT"):
        monkeypatch.setenv(name, "mine")
    path = repository / FILES[client]
    options = ("--project", "--split-execute", "--direct", "time:*", "--direct", "@triage")
    (row,) = mcpctl("install", client, *options, "--json").json
    assert (row["action"], row["path"], row["servers"]) == ("installed", str(path), [])
    assert said(path) == ENTRIES[client]
    assert path.stat().st_mode & 0o044 == 0o044  # others of the machine read it, as they do the rest of the repository
    (row,) = mcpctl("install", client, "--project", "--json").json
    assert row["action"] == "unchanged"
    assert said(path) == ENTRIES[client]
    (row,) = mcpctl("uninstall", client, "--project", "--json").json
    assert row["action"] == "deleted"
    assert not path.exists()
    assert "is gone" not in mcpctl("uninstall", client, "--project").err


def test_nothing_else_is_written(mcpctl: Mcpctl, user: Path, repository: Path, paths: Paths) -> None:  # noqa: F811
    own = cursor(user, {"a": {"command": "a"}})
    before = tree(user)
    mcpctl("install", "cursor", "--project")
    assert tree(user).keys() - before.keys() == {"repository/.cursor/mcp.json"}
    assert {name: state for name, state in tree(user).items() if name in before} == before
    assert not paths.config.exists()
    assert mcpctl("uninstall", "cursor").code == 0
    assert (repository / ".cursor/mcp.json").exists()
    mcpctl("install", "cursor")
    mcpctl("uninstall", "cursor", "--project")
    assert "mcpctl" in said(own)["mcpServers"]
    assert not (repository / ".cursor/mcp.json").exists()


SHARED = """// for all of us
{
  "inputs": [{"id": "token", "type": "promptString"}], // asked for
  "servers": {
    "a": {"command": "npx", "args": ["-y", "a"]}, /* stays */
    "ours": {"command": "mcpctl", "args": ["serve", "--toolset", "ours"]},
  },
}
"""


def test_comments_and_servers_stay_as_they_are_and_so_does_another_entry_for_mcpctl(
    mcpctl: Mcpctl, repository: Path, paths: Paths
) -> None:
    path = write(repository / ".vscode/mcp.json", SHARED)
    ran = mcpctl("install", "vscode", "--project", "--json")
    text = path.read_text(encoding="utf-8")
    assert [line for line in SHARED.splitlines() if line not in text.splitlines()] == []
    assert list(said(path)["servers"]) == ["a", "ours", "mcpctl"]
    assert not paths.config.exists()
    assert Path(ran.json[0]["backup"]).read_text(encoding="utf-8") == SHARED
    mcpctl("uninstall", "vscode", "--project")
    assert path.read_text(encoding="utf-8") == SHARED


def test_where_another_machine_wrote_it_only_the_entry_goes(mcpctl: Mcpctl, repository: Path) -> None:
    path = write(repository / ".mcp.json", json.dumps({**ENTRIES["claude-code"], "more": 1}))
    (row,) = mcpctl("uninstall", "claude-code", "--project", "--json").json
    assert row["action"] == "removed"
    assert said(path) == {"mcpServers": {}, "more": 1}


def test_the_options_of_an_entry_stay_and_its_command_is_the_one_on_the_path(mcpctl: Mcpctl, repository: Path) -> None:
    old = {"command": "/home/ada/bin/mcpctl", "args": ["serve", "--config", "/home/ada/c.toml", "--direct", "time:*"]}
    path = write(repository / ".cursor/mcp.json", json.dumps({"mcpServers": {"mcpctl": old}}))
    mcpctl("install", "cursor", "--project", "--toolset", "triage")
    entry = {"command": "mcpctl", "args": ["serve", "--direct", "time:*", "--toolset", "triage"]}
    assert said(path)["mcpServers"]["mcpctl"] == entry
    mcpctl("install", "cursor", "--project", "--direct", "all")
    entry = {"command": "mcpctl", "args": ["serve", "--toolset", "triage", "--direct", "all"]}
    assert said(path)["mcpServers"]["mcpctl"] == entry


def test_a_word_behind_it_that_is_a_client_is_no_project(mcpctl: Mcpctl, repository: Path) -> None:
    ran = mcpctl("install", "--project", "cursor", "vscode", "--json")
    assert [row["client"] for row in ran.json] == ["cursor", "vscode"]
    assert mcpctl("install", "cursor", "--project", "acme").code == 3
    assert mcpctl("install", "cursor", "--project=acme").code == 3
    assert mcpctl("install", "acme", "--project").code == 2


def test_a_dry_run_shows_the_change_and_the_clients_own_command_for_it(mcpctl: Mcpctl, repository: Path) -> None:
    ran = mcpctl("install", "gemini-cli", "codex", "--project", "--dry-run")
    assert '+    "mcpctl": {' in ran.out.splitlines()
    assert "+[mcp_servers.mcpctl]" in ran.out.splitlines()
    assert "gemini mcp add -s project mcpctl mcpctl -- serve" in ran.err
    assert "codex mcp add" not in ran.err  # which knows only its user's own file
    assert "goes into the repository:" in ran.err
    assert sorted(path.name for path in repository.iterdir()) == [".git", "deep"]


def test_outside_of_a_repository_it_is_the_current_folder(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    folder = user / "repository"
    (folder / ".git").rmdir()
    (row,) = mcpctl("install", "claude-code", "--project", "--json").json
    assert row["path"] == str(folder / "deep/inside/.mcp.json")


REFUSED = [
    (["windsurf"], "Windsurf reads no file of a repository", "claude-code, cursor, vscode, codex, gemini-cli, zed"),
    (["claude-desktop"], "Claude Desktop reads no file of a repository", "mcpctl install claude-desktop"),
    (["cursor", "--config", "c.toml"], "--config and --project without a NAME are both given", "leave one of them out"),
    (["cursor", "--data-dir", "d"], "--data-dir and --project without a NAME are both given", "leave one of them out"),
    (["cursor", "--rename", "a=b"], "--rename and --project without a NAME are both given", "leave one of them out"),
    (["cursor", "--toolset", "./t.json"], "'./t.json' is a path of this machine", "name a toolset"),
    ([], "no client was named", "list those that are here"),
]


@pytest.mark.parametrize(("words", "problem", "hint"), REFUSED)
def test_refusals_name_the_fix_and_write_nothing(
    mcpctl: Mcpctl, repository: Path, words: list[str], problem: str, hint: str
) -> None:
    ran = mcpctl("install", *words, "--project")
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert hint in ran.err
    assert sorted(path.name for path in repository.iterdir()) == [".git", "deep"]


def test_the_home_folder_is_no_repository(mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(user)
    for command in ("install", "uninstall"):
        ran = mcpctl(command, "cursor", "--project")
        assert ran.code == 2
        assert f"{user}/.cursor/mcp.json is your own file" in ran.err


def test_a_link_that_leads_out_of_the_repository_is_not_followed(mcpctl: Mcpctl, user: Path, repository: Path) -> None:  # noqa: F811
    own = cursor(user, {"a": {"command": "a"}})
    before = own.read_bytes()
    (repository / ".cursor").symlink_to(own.parent)
    ran = mcpctl("install", "cursor", "--project")
    assert ran.code == 6
    assert "outside of" in ran.err
    assert own.read_bytes() == before


def test_an_entry_that_does_not_start_mcpctl_is_not_replaced(mcpctl: Mcpctl, repository: Path) -> None:
    path = write(repository / ".mcp.json", '{"mcpServers": {"mcpctl": {"command": "other"}}}')
    before = path.read_bytes()
    ran = mcpctl("install", "claude-code", "--project")
    assert ran.code == 5
    assert "does not start mcpctl" in ran.err
    assert path.read_bytes() == before


def test_the_entry_is_known_as_mcpctls_to_an_import(mcpctl: Mcpctl, repository: Path) -> None:
    mcpctl("install", "claude-code", "--project", "--direct", "time:*")
    (row,) = mcpctl("servers", "import", "--from", str(repository / ".mcp.json"), "--json").json
    assert (row["action"], row["why"]) == ("skipped", importing.ITSELF)


def test_servers_of_a_repository_do_not_count_as_those_of_the_user(
    mcpctl: Mcpctl,
    user: Path,  # noqa: F811
    repository: Path,
    paths: Paths,
) -> None:
    """The record of a repository's file is not one of the user's own, whose servers `policy import` looks for."""
    cursor(user, {})
    write(repository / ".cursor/mcp.json", json.dumps({"mcpServers": {"theirs": {"command": "x"}}}))
    mcpctl("install", "cursor", "--project")
    assert [entry.name for entry in owned_servers.entries(CLIENTS["cursor"], None, paths)] == []
