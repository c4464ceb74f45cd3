"""`mcpctl install`"""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpctl import jsonc
from mcpctl.base import files
from mcpctl.base.paths import Paths
from mcpctl.clients import client_config
from mcpctl.commands import confirmation
from mcpctl.config import config
from mcpctl.main import main
from tests.conftest import MCPCTL, ROOT, Mcpctl, without_privileges
from tests.table import for_each

SAMPLES = ROOT / "tests" / "clients"
PLACES = {
    "cursor": ("cursor.mcp.json", ".cursor/mcp.json"),
    "claude-desktop": ("claude_desktop_config.json", ".config/Claude/claude_desktop_config.json"),
    "claude-code": ("claude.json", ".claude.json"),
    "vscode": ("vscode.mcp.json", ".config/Code/User/mcp.json"),
    "windsurf": ("mcp_config.json", ".codeium/windsurf/mcp_config.json"),
    "codex": ("codex.toml", ".codex/config.toml"),
    "gemini-cli": ("claude_desktop_config.json", ".gemini/settings.json"),
    "zed": ("zed/settings.json", ".config/zed/settings.json"),
    "cline": ("cline_mcp_settings.json", ".cline/data/settings/cline_mcp_settings.json"),
    "opencode": ("opencode.json", ".config/opencode/opencode.json"),
}
SECTIONS = {"vscode": "servers", "codex": "mcp_servers", "zed": "context_servers", "opencode": "mcp"}
pytestmark = pytest.mark.usefixtures("programs")
Put = Callable[[str], Path]


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home without any client."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "user"
    (folder / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(folder / "project")
    monkeypatch.setattr("mcpctl.clients.client_kinds.sys", SimpleNamespace(platform="linux"))
    return folder


@pytest.fixture
def put(user: Path) -> Put:
    """Put the file of a client, as it is found in practice, into its place."""

    def place(client: str) -> Path:
        sample, path = PLACES[client]
        (user / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SAMPLES / sample, user / path)
        return user / path

    return place


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def cursor(user: Path, servers: Any) -> Path:
    return write(user / ".cursor/mcp.json", json.dumps({"mcpServers": servers}, indent=2))


def said(path: Path) -> Any:
    data = path.read_bytes()
    return tomllib.loads(data.decode()) if path.suffix == ".toml" else jsonc.decoded(data)


def servers_of(client: str, path: Path) -> Any:
    return said(path)[SECTIONS.get(client, "mcpServers")]


def tree(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def comments(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines() if line.strip().startswith(("//", "/*", "#"))}


@pytest.mark.parametrize("client", PLACES)
def test_every_client_is_installed_used_and_uninstalled_byte_for_byte(
    mcpctl: Mcpctl, put: Put, paths: Paths, client: str
) -> None:
    path = put(client)
    before, old = path.read_bytes(), servers_of(client, path)
    ran = mcpctl("install", client, "--json")
    (row,) = ran.json
    assert (row["client"], row["path"]) == (client, str(path))
    entry = servers_of(client, path)["mcpctl"]
    assert entry == row["entry"]
    words = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    assert Path(words[0]).is_absolute()
    assert words[-1] == "serve"
    kept = servers_of(client, path).keys() - {"mcpctl"}
    assert len(row["servers"]) == len(old.keys() - kept - {"mcpctl"})
    assert bool(row["servers"]) is (client != "vscode")  # VS Code asks for something that both of its servers need
    assert set(row["servers"]) == set(config.load(paths.config).servers)
    rest = {key: value for key, value in said(path).items() if key != SECTIONS.get(client, "mcpServers")}
    assert {key: said(path)[key] for key in rest} == rest
    assert Path(row["backup"]).read_bytes() == before
    assert Path(row["backup"]).stat().st_mode & 0o777 == 0o600
    (row,) = mcpctl("uninstall", client, "--json").json
    assert row["action"] == "restored"
    assert path.read_bytes() == before


@pytest.mark.parametrize("client", PLACES)
def test_running_it_twice_changes_nothing(mcpctl: Mcpctl, put: Put, user: Path, home: Path, client: str) -> None:
    put(client)
    assert mcpctl("install", client).code == 0
    before = tree(user), tree(home)
    ran = mcpctl("install", client)
    assert "mcpctl is installed already in" in ran.err
    assert (tree(user), tree(home)) == before
    assert mcpctl("install", client, "--dry-run").out == ""


@pytest.mark.parametrize("client", PLACES)
def test_a_client_without_a_file_gets_one_which_goes_again(mcpctl: Mcpctl, user: Path, client: str) -> None:
    path = user / PLACES[client][1]
    folder = {"claude-code": user / ".claude", "cline": path.parent.parent}.get(client, path.parent)
    folder.mkdir(parents=True)
    assert mcpctl("install", client).code == 0
    assert list(servers_of(client, path)) == ["mcpctl"]
    assert path.read_bytes().count(b"\n") > 2
    (row,) = mcpctl("uninstall", client, "--json").json
    assert row["action"] == "deleted"
    assert not path.exists()


def test_a_client_that_is_not_here_is_not_found(mcpctl: Mcpctl, user: Path) -> None:
    ran = mcpctl("install", "cursor", "--json")
    assert (ran.code, ran.error["code"]) == (3, "client_not_found")
    assert str(user / ".cursor/mcp.json") in ran.error["hint"]
    assert list(user.iterdir()) == [user / "project"]


def test_an_unknown_client_is_wrong_usage(mcpctl: Mcpctl) -> None:
    for command in ("install", "uninstall"):
        ran = mcpctl(command, "curser")
        assert ran.code == 2
        assert "clients: claude-desktop" in ran.err


def test_nothing_is_written_if_one_of_several_is_not_here(mcpctl: Mcpctl, put: Put, home: Path) -> None:
    path = put("cursor")
    before = path.read_bytes()
    assert mcpctl("install", "cursor", "zed").code == 3
    assert path.read_bytes() == before
    assert not home.exists()


def test_a_dry_run_shows_both_files_and_the_clients_own_command(mcpctl: Mcpctl, put: Put, home: Path) -> None:
    path = put("codex")
    before = path.read_bytes()
    ran = mcpctl("install", "codex", "--dry-run")
    assert f"+++ {home / 'config.toml'}" in ran.out
    assert f"--- {path}" in ran.out
    assert f"its own command for the entry alone is: codex mcp add mcpctl --env MCPCTL_HOME={home} -- /" in ran.err
    assert path.read_bytes() == before
    assert not home.exists()


@for_each(
    ("client", "command"),
    [
        ("claude-code", "claude mcp add -e 'A=b c' --scope user mcpctl -- /bin/mcpctl serve --project x"),
        ("codex", "codex mcp add mcpctl --env 'A=b c' -- /bin/mcpctl serve --project x"),
        ("gemini-cli", "gemini mcp add -s user -e 'A=b c' mcpctl /bin/mcpctl -- serve --project x"),
        ("cursor", None),
    ],
)
def test_a_clients_own_command_is_quoted_for_a_shell(client: str, command: str | None) -> None:
    entry = {"command": "/bin/mcpctl", "args": ["serve", "--project", "x"], "env": {"A": "b c"}}
    assert client_config.add_command(client, entry) == command


def test_secrets_are_masked_in_the_diff_of_a_client(mcpctl: Mcpctl, user: Path) -> None:
    secrets = ["zzsecretenv", "zzsecrethead", "zzsecretarg", "zzsecretquery", "zzsecretkey", "ghp_" + "a1B2" * 9]
    servers = {
        "a": {"command": "a", "args": ["--api-key", secrets[2]], "env": {"X": secrets[0]}},
        "b": {"url": f"https://x/?k={secrets[3]}", "headers": {"Authorization": f"Bearer {secrets[1]}"}},
        "c": {"command": "c", "apiKey": secrets[4], "env": {"Y": secrets[5]}},
    }
    cursor(user, servers)
    opencode = {"mcp": {"o": {"type": "local", "command": ["o", "--token", "zztok"], "environment": {"T": "zzenv"}}}}
    write(user / ".config/opencode/opencode.json", json.dumps(opencode))
    codex = '[mcp_servers.d]\ncommand = "d"\nenv = { K = "zzcodex" }\n[mcp_servers.d.http_headers]\nX = "zzhead"\n'
    write(user / ".codex/config.toml", codex)
    zed = {"context_servers": {"z": {"command": {"path": "z", "args": ["--token=zzarg"], "env": {"Z": "zzzed"}}}}}
    write(user / ".config/zed/settings.json", json.dumps(zed, indent=1))
    ran = mcpctl("install", "cursor", "opencode", "codex", "zed", "--dry-run")
    others = ["zztok", "zzenv", "zzcodex", "zzhead", "zzarg", "zzzed"]
    assert "***" in ran.out
    assert [secret for secret in (*secrets, *others) if secret in ran.out + ran.err] == []
    mcpctl("install", "cursor", "opencode", "codex", "zed")
    ran = mcpctl("uninstall", "cursor", "opencode", "codex", "zed", "--dry-run")
    assert [secret for secret in (*secrets, *others) if secret in ran.out + ran.err] == []


def test_a_person_at_a_terminal_is_asked(mcpctl: Mcpctl, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("cursor")
    before = path.read_bytes()
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    for answer in ("n\n", "\n", "what?\nNO\n", ""):
        ran = mcpctl("install", "cursor", tty=True, stdin=answer)
        assert (ran.code, path.read_bytes()) == (6, before)
        assert "nothing was written" in ran.err
    assert mcpctl("install", "cursor", tty=True, stdin="y\n").code == 0
    assert "mcpctl" in servers_of("cursor", path)


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_the_summary_comes_last_and_the_diff_where_it_is_wanted(
    mcpctl: Mcpctl, put: Put, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    path, entry = put("cursor"), '"mcpctl": {'
    if command == "uninstall":
        mcpctl("install", "cursor")
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    before = path.read_bytes()
    ran = mcpctl(command, "cursor", stdin="n\n")
    told = "Cursor: notion, postgres (" if command == "install" else "Cursor: mcpctl goes; notion, postgres come back ("
    assert told in ran.err
    assert ran.err.splitlines()[-2] == "Write this? [y/N]: mcpctl: nothing was written: you said no"
    assert entry not in ran.err
    assert in_order(mcpctl(command, "cursor", "--diff", stdin="n\n").err, entry, told, "Write this?", "hint")
    ran = mcpctl(command, "cursor", "--dry-run", "--diff")
    assert (entry in ran.out, entry in ran.err, told in ran.err) == (True, False, True)
    assert path.read_bytes() == before
    _, restart, after = mcpctl(command, "cursor", "--yes").err.partition("Cursor: restart it\n")
    assert restart
    assert told in after


def test_in_a_pipe_it_is_done_and_the_summary_comes_last(mcpctl: Mcpctl, put: Put) -> None:
    path = put("cursor")
    ran = mcpctl("install", "cursor")
    assert ran.out == f"cursor\tinstalled\t{path}\tnotion,postgres\n"
    moves = (
        f"moves into config.toml:\n  Cursor: notion, postgres ({path})\nstays where it is:\n  cursor: 'linear' stays"
    )
    assert ran.err.index("Cursor: restart it") < ran.err.index(moves)
    assert f"  Cursor: nothing: it is in already ({path})\n" in mcpctl("install", "cursor").err


def test_without_a_name_the_clients_that_are_here_are_listed(
    mcpctl: Mcpctl, put: Put, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = mcpctl("install", tty=True)
    assert (ran.code, ran.out, ran.err) == (0, "", "no client was found here\n")
    assert mcpctl("install", "--json").json == []
    path, code = put("cursor"), put("claude-code")
    zed = write(user / ".config/zed/settings.json", '{"context_servers": {}')
    (user / ".codeium/windsurf").mkdir(parents=True)
    before = tree(user)
    rows = {row["client"]: row for row in mcpctl("install", "--json").json}
    assert list(rows) == ["claude-code", "cursor", "windsurf", "zed"]
    assert rows["cursor"] == {
        "client": "cursor", "installed": False, "servers": 4, "path": str(path), "problem": None,
        "names": ["notion", "postgres", "linear", "scripts"], "command": "mcpctl install cursor",
    }  # fmt: skip
    assert (rows["windsurf"]["servers"], rows["windsurf"]["command"]) == (0, "mcpctl install windsurf")
    assert (rows["zed"]["command"], str(zed) in rows["zed"]["problem"]) == (None, True)
    assert "shop-db" not in rows["claude-code"]["names"]  # a project's own
    mcpctl("install", "cursor", "windsurf")
    rows = {row["client"]: row for row in mcpctl("install", "--json").json}
    assert (rows["cursor"]["installed"], rows["cursor"]["names"]) == (True, ["linear", "scripts"])
    assert (rows["windsurf"]["installed"], rows["windsurf"]["command"]) == (True, None)
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr("mcpctl.base.errors._warned", {})  # as in another process
    ran = mcpctl("install", tty=True)
    assert "~/.cursor/mcp.json" in ran.out
    assert f"{zed}:" in ran.err
    assert ran.err.endswith("put it in front of their servers with: mcpctl install claude-code\n")
    kept = "Cursor still has servers of its own: linear, scripts; see why each stays, or move it, with: mcpctl install"
    assert f"{kept} cursor " in f"{' '.join(ran.err.split())} "
    assert "Windsurf still has" not in ran.err
    assert str(code) in mcpctl("install").out
    assert tree(user).keys() - before.keys() == {".codeium/windsurf/mcp_config.json"}


@pytest.mark.parametrize("option", ["--yes", "--dry-run", "--diff", "--split-execute"])
def test_options_without_a_name_change_nothing(mcpctl: Mcpctl, put: Put, option: str) -> None:
    before = put("cursor").read_bytes()
    ran = mcpctl("install", option)
    assert (ran.code, "here are: cursor" in ran.err) == (2, True)
    assert put("cursor").read_bytes() == before


def test_ctrl_c_while_files_are_written_waits_until_all_are(
    put: Put, monkeypatch: pytest.MonkeyPatch, sigint_counts: None
) -> None:
    path, edit = put("cursor"), files.edit

    def interrupted(*args: Any, **options: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        edit(*args, **options)

    monkeypatch.setattr(files, "edit", interrupted)
    assert main(["install", "cursor", "--yes"]) == 130
    assert "mcpctl" in servers_of("cursor", path)


def test_the_options_go_into_the_entry_and_may_change(mcpctl: Mcpctl, user: Path) -> None:
    mcpctl("servers", "add", "b", "--project", "acme", "--", "b")
    path = cursor(user, {"a": {"command": "a"}})
    before = path.read_bytes()
    mcpctl("install", "cursor", "--project", "acme", "--split-execute")
    assert servers_of("cursor", path)["mcpctl"]["args"][-3:] == ["--project", "acme", "--split-execute"]
    (row,) = mcpctl("install", "cursor", "--toolset", "triage", "--json").json
    assert (row["action"], row["servers"]) == ("updated", [])
    assert servers_of("cursor", path)["mcpctl"]["args"][-2:] == ["--toolset", "triage"]
    mcpctl("uninstall", "cursor")
    assert path.read_bytes() == before


@pytest.mark.parametrize("client", PLACES)
def test_direct_tools_are_in_an_entry_that_is_known_as_mcpctls(mcpctl: Mcpctl, put: Put, client: str) -> None:
    path = put(client)
    before = path.read_bytes()
    mcpctl("install", client, "--direct", "time:*", "--direct", "github:create_issue")
    entry = servers_of(client, path)["mcpctl"]
    words = entry["command" if client == "opencode" else "args"]
    assert words[words.index("serve") + 1 :] == ["--direct", "time:*", "--direct", "github:create_issue"]
    assert [row["installed"] for row in mcpctl("install", "--json").json if row["client"] == client] == [True]
    mcpctl("install", client, "--direct", "@triage")
    words = servers_of(client, path)["mcpctl"]["command" if client == "opencode" else "args"]
    assert words[words.index("serve") + 1 :] == ["--direct", "@triage"]
    mcpctl("uninstall", client)
    assert path.read_bytes() == before


def test_a_project_that_nothing_names_is_not_found(mcpctl: Mcpctl, user: Path) -> None:
    path = cursor(user, {})
    before = path.read_bytes()
    assert mcpctl("install", "cursor", "--project", "acme").code == 3
    assert path.read_bytes() == before


def test_an_entry_follows_mcpctl_to_another_place(mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cursor(user, {})
    mcpctl("install", "cursor")
    monkeypatch.setattr(client_config, "command", lambda: ["/new/mcpctl"])
    (row,) = mcpctl("install", "cursor", "--json").json
    assert row["action"] == "updated"
    assert servers_of("cursor", path)["mcpctl"]["command"] == "/new/mcpctl"


@pytest.mark.parametrize("name", ["mcpctl", "renamed"])
def test_the_options_of_an_entry_stay_unless_they_are_given_anew(
    mcpctl: Mcpctl, user: Path, paths: Paths, name: str
) -> None:
    old = ["serve", "--project", "acme", "--config", "/gone/config.toml", "--locked=/tools.lock", "--split-execute"]
    path = cursor(user, {name: {"command": "/gone/mcpctl", "args": old}})
    mcpctl("install", "cursor", "--toolset", "triage")
    args = servers_of("cursor", path)["mcpctl"]["args"]
    kept = ["--project", "acme", "--locked=/tools.lock", "--split-execute", "--toolset", "triage"]
    assert args[args.index("serve") + 1 :] == kept
    before = path.read_bytes()
    mcpctl("install", "cursor")
    assert path.read_bytes() == before
    mcpctl("install", "cursor", "--toolset", "none")
    assert servers_of("cursor", path)["mcpctl"]["args"][-2:] == ["--toolset", "none"]


def test_an_entry_uses_the_config_toml_into_which_its_servers_went(
    mcpctl: Mcpctl, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPCTL_CONFIG", str(user / "other.toml"))
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    assert "MCPCTL_CONFIG" in servers_of("cursor", path)["mcpctl"]["env"]
    monkeypatch.delenv("MCPCTL_CONFIG")
    ran = mcpctl("install", "cursor")
    assert f"cursor: its entry used {user}/other.toml so far; the servers there stay there" in ran.err
    assert "so far" not in mcpctl("install", "cursor").err
    assert servers_of("cursor", path)["mcpctl"]["env"] == {"MCPCTL_HOME": str(home)}


def test_an_entry_with_odd_variables_is_written_anew(mcpctl: Mcpctl, user: Path) -> None:
    for env in ([7], {"MCPCTL_CONFIG": 7}, {"MCPCTL_HOME": "x" * 9000}, {"MCPCTL_HOME": "\0"}):
        path = cursor(user, {"mcpctl": {"command": "mcpctl", "args": ["serve", 7, None], "env": env}})
        assert mcpctl("install", "cursor").code == 0
        assert servers_of("cursor", path)["mcpctl"]["command"] == sys.executable


def test_what_could_command_a_terminal_does_not_reach_it(mcpctl: Mcpctl, user: Path) -> None:
    write(
        user / ".cursor/mcp.json", '{\n  "mcpServers": {\n    // \x1b[2J\u202e\n    "a": {"command": "\x9b"}\n  }\n}\n'
    )
    for words in (["install", "cursor", "--dry-run"], ["install", "cursor"], ["uninstall", "cursor", "--dry-run"]):
        ran = mcpctl(*words)
        assert not {"\x1b", "\x9b", "\u202e"} & set(ran.out + ran.err)


def test_what_a_client_has_added_to_the_entry_stays(mcpctl: Mcpctl, user: Path) -> None:
    path = cursor(user, {"mcpctl": {"command": "mcpctl", "args": ["serve"], "autoApprove": ["x"], "env": {"A": "b"}}})
    mcpctl("install", "cursor")
    entry = servers_of("cursor", path)["mcpctl"]
    assert (entry["autoApprove"], entry["env"]["A"], entry["command"]) == (["x"], "b", sys.executable)


def test_a_path_that_finds_the_runners_is_in_the_entry_of_a_window(
    mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("npx", "a"):
        (tmp_path / f"bin-{name}").mkdir()
        program = write(tmp_path / f"bin-{name}" / name, "#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin-npx:{tmp_path}/bin-a:/usr/bin:/bin")
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    found = servers_of("cursor", path)["mcpctl"]["env"]["PATH"].split(":")
    assert found[:2] == [f"{tmp_path}/bin-npx", f"{tmp_path}/bin-a"]


@pytest.mark.parametrize("old", ["command", "PATH"])
def test_it_does_what_doctor_advises(
    mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: str
) -> None:
    write(tmp_path / "bin" / "a", "#!/bin/sh\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    mcpctl("servers", "add", "a", "--", "a")
    command = "/gone/mcpctl" if old == "command" else "mcpctl"
    path = cursor(user, {"mcpctl": {"command": command, "args": ["serve"], "env": {"PATH": "/usr/bin"}}})
    code = "D171" if old == "command" else "D132"
    (fix,) = [row["fix"] for row in mcpctl("doctor", "--json").json if row["code"] == code]
    assert mcpctl(*fix.partition("mcpctl ")[2].split()).code == 0
    entry = servers_of("cursor", path)["mcpctl"]
    assert (entry["command"], entry["env"]["PATH"].split(":")[0]) == (sys.executable, f"{tmp_path}/bin")


def test_one_entry_takes_the_place_of_others_that_start_mcpctl(mcpctl: Mcpctl, user: Path) -> None:
    path = cursor(user, {"tools": {"command": "uvx", "args": ["mcpctl", "serve"]}, "b": {"command": "b"}})
    before = path.read_bytes()
    mcpctl("install", "cursor")
    assert list(servers_of("cursor", path)) == ["mcpctl"]
    mcpctl("uninstall", "cursor")
    assert path.read_bytes() == before


def test_another_entry_that_starts_mcpctl_goes_later_too(mcpctl: Mcpctl, user: Path) -> None:
    path = cursor(user, {})
    mcpctl("install", "cursor")
    document = said(path)
    document["mcpServers"]["tools"] = {"command": "uvx", "args": ["mcpctl", "serve"]}
    path.write_text(json.dumps(document), encoding="utf-8")
    (row,) = mcpctl("install", "cursor", "--json").json
    assert row["action"] == "updated"
    assert list(servers_of("cursor", path)) == ["mcpctl"]


def test_an_entry_in_the_older_place_of_vs_code_goes(mcpctl: Mcpctl, user: Path) -> None:
    entry = {"mcp": {"servers": {"mcpctl": {"command": "mcpctl", "args": ["serve"]}}}}
    old = write(user / ".config/Code/User/settings.json", json.dumps(entry))
    mcpctl("install", "vscode")
    assert said(old) == {"mcp": {"servers": {}}}
    mcpctl("uninstall", "vscode")
    assert said(old) == entry


def test_what_config_toml_got_meanwhile_under_the_name_leaves_the_server_in_its_file(
    mcpctl: Mcpctl, user: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cursor(user, {"a": {"command": "a"}, "b": {"command": "b"}})
    monkeypatch.setattr(confirmation, "agree", lambda *_, **__: mcpctl("servers", "add", "a", "--", "other"))
    mcpctl("install", "cursor")
    assert list(servers_of("cursor", path)) == ["a", "mcpctl"]
    assert {name: each.command for name, each in config.load(paths.config).servers.items()} == {
        "a": "other", "b": "b",
    }  # fmt: skip


def test_a_foreign_entry_of_that_name_is_not_overwritten(mcpctl: Mcpctl, user: Path) -> None:
    path = cursor(user, {"mcpctl": {"command": "x", "args": ["${workspaceFolder}"]}})
    before = path.read_bytes()
    ran = mcpctl("install", "cursor", "--json")
    assert (ran.code, ran.error["code"]) == (5, "name_taken")
    assert path.read_bytes() == before


def test_what_has_another_content_here_stays_and_can_be_renamed(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    mcpctl("servers", "add", "a", "--", "other")
    mcpctl("servers", "add", "same", "--inherit-env", "minimal", "--", "same")
    path = cursor(user, {"a": {"command": "a"}, "same": {"command": "same"}, "off": {"command": "o", "disabled": True}})
    ran = mcpctl("install", "cursor")
    assert list(servers_of("cursor", path)) == ["a", "mcpctl"]
    assert "'a' stays there: there is another 'a' in config.toml; run: mcpctl install cursor --rename a=NEW" in ran.err
    assert not config.load(paths.config).servers["off"].enabled
    mcpctl("install", "cursor", "--rename", "a=a2")
    assert list(servers_of("cursor", path)) == ["mcpctl"]
    assert config.load(paths.config).servers["a2"].command == "a"


def test_what_has_been_limited_here_is_taken_over_again(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    path = cursor(user, {name: {"command": name, "disabledTools": ["rm"]} for name in ("a", "b")})
    text = (
        '[servers.a]\ncommand = "a"\nenabled = false\ntools = { rm = false, drop = false }\n'
        '[servers.b]\ncommand = "b"\ntools = { rm = true }\n'
    )
    write(paths.config, text).chmod(0o600)
    before = paths.config.read_bytes()
    ran = mcpctl("install", "cursor")
    assert paths.config.read_bytes() == before
    assert list(servers_of("cursor", path)) == ["b", "mcpctl"]
    assert "there is another 'b' in config.toml" in ran.err


def test_a_narrow_terminal_shows_the_servers_before_the_path(
    mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor(user, {name * 9: {"command": name} for name in "abcd"})
    monkeypatch.setenv("COLUMNS", "60")
    ran = mcpctl("install", "cursor", "--yes", tty=True)
    assert ran.out.splitlines() == [
        "CLIENT  ACTION     SERVERS",
        "cursor  installed  aaaaaaaaa,bbbbbbbbb,ccccccccc,ddddddddd",
    ]
    assert "no room for path; see --json\n" in ran.err


def test_two_clients_with_one_name_can_both_come(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    cursor(user, {"a": {"command": "one"}})
    write(user / ".config/zed/settings.json", '{"context_servers": {"a": {"command": "two"}}}')
    ran = mcpctl("install", "cursor", "zed", "--rename", "a=zed-a", "--json")
    assert [row["servers"] for row in ran.json] == [["a"], ["zed-a"]]
    assert {name: each.command for name, each in config.load(paths.config).servers.items()} == {
        "a": "one", "zed-a": "two",
    }  # fmt: skip


def test_servers_of_one_project_stay_and_are_named(mcpctl: Mcpctl, put: Put, paths: Paths) -> None:
    path = put("claude-code")
    projects = said(path)["projects"]
    ran = mcpctl("install", "claude-code")
    assert said(path)["projects"] == projects
    assert "'shop-db' is only for /home/ada/shop and stays there" in ran.err
    assert "shop-db" not in config.load(paths.config).servers


def test_the_older_place_of_vs_code_is_emptied_too(mcpctl: Mcpctl, user: Path, put: Put, paths: Paths) -> None:
    old = user / ".config/Code/User/settings.json"
    write(old, (SAMPLES / "vscode.settings.json").read_text(encoding="utf-8"))
    before = old.read_bytes()
    mcpctl("install", "vscode")
    assert said(old)["mcp"]["servers"] == {}
    assert list(said(old.with_name("mcp.json"))["servers"]) == ["mcpctl"]
    assert list(config.load(paths.config).servers) == ["time"]
    mcpctl("uninstall", "vscode")
    assert old.read_bytes() == before
    assert not old.with_name("mcp.json").exists()


def test_a_newer_opencode_gets_its_entry_where_its_servers_are(mcpctl: Mcpctl, user: Path) -> None:
    path = write(user / ".config/opencode/opencode.jsonc", '{\n  "mcp": { "servers": {} }, // none yet\n}\n')
    before = path.read_bytes()
    mcpctl("install", "opencode")
    assert list(said(path)["mcp"]["servers"]) == ["mcpctl"]
    mcpctl("uninstall", "opencode")
    assert path.read_bytes() == before


def test_files_of_the_current_folder_are_left_alone(
    mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = write(user / ".config/opencode/opencode.json", "{}")
    theirs = write(user / "project/opencode.json", '{"mcp": {"x": {"type": "local", "command": ["x"]}}}')
    before = theirs.read_bytes()
    mcpctl("install", "opencode")
    assert theirs.read_bytes() == before
    assert list(servers_of("opencode", own)) == ["mcpctl"]


# ---- the file itself

ODD = {
    "tabs": '{\n\t"mcpServers": {\n\t\t"a": {"command": "a"}\n\t}\n}',
    "one line": '{"mcpServers":{"a":{"command":"a"}},"x":1}',
    "CRLF": '{\r\n  "mcpServers": {\r\n    "a": {"command": "a"}, // one\r\n  },\r\n}\r\n',
    "a mark": '\ufeff{"mcpServers": {"a": {"command": "a"}}}',
    "empty": "",
    "white space": " \n",
    "an empty object": "{}",
    "an empty object over two lines": "{\n}\n",
    "no section": '{\n  "theme": "dark" // mine\n}\n',
    "an empty section": '{\n  "mcpServers": {}\n}\n',
    "only comments": '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
    "escapes": '{"mcpServers": {"\\u0061": {"command": "\\u0061"}}, "half": "\\ud800"}',
}


@pytest.mark.parametrize("form", ODD)
def test_any_form_is_edited_and_comes_back(mcpctl: Mcpctl, user: Path, form: str) -> None:
    path = write(user / ".cursor/mcp.json", ODD[form])
    assert mcpctl("install", "cursor").code == 0
    after = path.read_bytes().decode()
    assert list(servers_of("cursor", path)) == ["mcpctl"]
    assert comments(ODD[form]) <= comments(after)
    assert after.startswith("\ufeff") == ODD[form].startswith("\ufeff")
    assert ("\n" in after.replace("\r\n", "")) == (form != "CRLF" and form not in ("one line", "a mark", "escapes"))
    assert mcpctl("uninstall", "cursor").code == 0
    assert path.read_bytes() == ODD[form].encode()


BROKEN = {
    "a name twice": b'{"mcpServers": {"a": {"command": "a"}, "a": {"command": "b"}}}',
    "UTF-16": '{"mcpServers": {}}'.encode("utf-16"),
    "a list": b'{"mcpServers": []}',
    "null": b'{"mcpServers": null}',
    "not JSON": b'{"mcpServers": {',
    "not an object": b"[]",
    "too deep": b'{"mcpServers": {}, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("form", BROKEN)
def test_what_cannot_be_edited_safely_is_left_as_it_is(mcpctl: Mcpctl, user: Path, home: Path, form: str) -> None:
    path = write(user / ".cursor/mcp.json", "")
    path.write_bytes(BROKEN[form])
    ran = mcpctl("install", "cursor")
    assert ran.code == 5
    assert path.read_bytes() == BROKEN[form]
    assert not (home / "config.toml").exists()


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\na = { command = "a" }\n',
        'mcp_servers.a.command = "a"\n',
        '[[mcp_servers.a]]\ncommand = "a"\n',
        'mcp_servers = { a = { command = "a" } }\n',
    ],
)
def test_toml_in_another_form_is_left_as_it_is(mcpctl: Mcpctl, user: Path, text: str) -> None:
    path = write(user / ".codex/config.toml", text)
    ran = mcpctl("install", "codex")
    assert path.read_text(encoding="utf-8") == text or ran.code == 0
    if ran.code:
        assert "form that cannot be edited safely" in ran.err


@pytest.mark.parametrize("text", ['mcp_servers = "x"\n', '[[mcp_servers]]\ncommand = "a"\n'])
def test_toml_without_a_table_of_servers_is_left_as_it_is(mcpctl: Mcpctl, user: Path, text: str) -> None:
    path = write(user / ".codex/config.toml", text)
    assert mcpctl("install", "codex").code == 5
    assert mcpctl("uninstall", "codex").code == 0
    assert path.read_text(encoding="utf-8") == text


CODEX = '''# mine
model = "gpt-5"  # the best

# docs
[mcp_servers.docs]
command = "npx"  # of node
args = [
  "[mcp_servers.no]", # not a table
]

# its environment
[mcp_servers.docs.env]
A = """
[mcp_servers.docs]
"""

[projects."/home/ada"]
trust_level = "trusted"

[mcp_servers.last]
url = "https://x"
# the end
'''


@pytest.mark.parametrize("text", [CODEX, CODEX.replace("\n", "\r\n")])
def test_tables_of_toml_go_and_come_by_whole_lines(mcpctl: Mcpctl, user: Path, text: str) -> None:
    path = write(user / ".codex/config.toml", text)
    mcpctl("install", "codex")
    after = path.read_bytes().decode()
    assert list(said(path)["mcp_servers"]) == ["mcpctl"]
    assert comments(text) - {"# the end"} <= comments(after)
    assert after.endswith(text[-11:])
    assert ("\n" in after.replace("\r\n", "")) == ("\r\n" not in text)
    assert said(path)["projects"] == {"/home/ada": {"trust_level": "trusted"}}
    path.write_bytes(after.replace("gpt-5", "gpt-6").encode())
    mcpctl("uninstall", "codex")
    assert path.read_bytes().decode() == text.replace("gpt-5", "gpt-6")


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_a_linked_file_stays_a_link_and_keeps_its_mode(mcpctl: Mcpctl, put: Put, user: Path, mode: int) -> None:
    path = put("zed")
    target = user / "dotfiles" / "zed.json"
    target.parent.mkdir()
    path.rename(target)
    target.chmod(mode)
    path.symlink_to("../../dotfiles/zed.json")
    before = target.read_bytes()
    for command in ("install", "uninstall"):
        assert mcpctl(command, "zed").code == 0
        assert path.readlink() == Path("../../dotfiles/zed.json")
        assert target.stat().st_mode & 0o777 == mode
        assert (target.read_bytes() == before) == (command == "uninstall")


def test_what_a_client_writes_meanwhile_is_not_lost(
    mcpctl: Mcpctl, put: Put, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put("claude-code")
    fill, times = files._fill, iter(range(3))

    def fill_late(fd: int, content: bytes) -> None:
        fill(fd, content)
        if b'"mcpctl"' in content and (time := next(times, None)) is not None:
            write(path, path.read_text(encoding="utf-8").replace("{", f'{{ "n{time}": 1,', 1))

    monkeypatch.setattr(files, "_fill", fill_late)
    assert mcpctl("install", "claude-code").code == 0
    document = said(path)
    assert [document[f"n{time}"] for time in range(3)][-1] == 1
    assert "mcpctl" in document["mcpServers"]
    monkeypatch.setattr(files, "_fill", fill)
    mcpctl("uninstall", "claude-code")
    expected = (SAMPLES / "claude.json").read_text(encoding="utf-8")
    for time in range(3):
        expected = expected.replace("{", f'{{ "n{time}": 1,', 1)
    assert path.read_text(encoding="utf-8") == expected


def test_a_full_disk_leaves_the_old_file(
    mcpctl: Mcpctl, put: Put, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put("cursor")
    before = path.read_bytes()
    fill = files._fill

    def full(fd: int, content: bytes) -> None:
        if b'"mcpctl": {' in content and Path(f"/proc/self/fd/{fd}").readlink().parent == path.parent:
            os.write(fd, content[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fill(fd, content)

    monkeypatch.setattr(files, "_fill", full)
    ran = mcpctl("install", "cursor")
    assert (ran.code, path.read_bytes()) == (5, before)
    assert "No space left on device\nhint: make room there\n" in ran.err
    assert list(path.parent.iterdir()) == [path]
    monkeypatch.setattr(files, "_fill", fill)
    assert mcpctl("install", "cursor").code == 0
    assert mcpctl("uninstall", "cursor").code == 0
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_leaves_the_old_file(put: Put, home: Path) -> None:
    path = put("cursor")
    before = path.read_bytes()
    path.parent.chmod(0o555)
    ran = subprocess.run(
        [*MCPCTL, "install", "cursor"], preexec_fn=without_privileges, capture_output=True, text=True, check=False
    )
    path.parent.chmod(0o755)
    assert (ran.returncode, path.read_bytes()) == (5, before)
    assert "nothing in it has changed" in ran.stderr


# ---- permission rules

RULES = {
    "permissions": {
        "deny": ["mcp__a__rm", "mcp__a__drop_*", "Bash(rm:*)"],
        "ask": ["mcp__a__write"],
        "allow": ["mcp__a__read", "mcp__mcpctl__tool_discovery", "Read"],
    }
}


@pytest.fixture
def claude(user: Path) -> Path:
    write(user / ".claude/settings.json", json.dumps(RULES))
    return write(user / ".claude.json", '{"mcpServers": {"a": {"command": "a"}}}')


def test_without_a_policy_denials_go_to_the_server_and_the_rest_is_named(
    mcpctl: Mcpctl, claude: Path, paths: Paths
) -> None:
    ran = mcpctl("install", "claude-code", "--diff")
    assert "+rm = false" in ran.err
    assert config.load(paths.config).servers["a"].tools == {"rm": False}
    assert (
        "claude-code: these permission rules need a [policy] here: mcp__a__drop_*, mcp__a__write, mcp__a__read; "
        "take them over with: mcpctl policy import claude-code\n" in ran.err
    )
    assert "Bash" not in ran.err
    before = paths.config.read_bytes()
    mcpctl("install", "claude-code")
    assert paths.config.read_bytes() == before


def test_without_a_policy_a_server_that_is_denied_comes_disabled(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    servers = {"a": {"command": "a"}, "b": {"command": "b"}}
    document = {"mcpServers": servers, "mcp": {"excluded": ["a"]}}
    write(user / ".gemini/settings.json", json.dumps(document))
    ran = mcpctl("install", "gemini-cli")
    assert {name: server.enabled for name, server in config.load(paths.config).servers.items()} == {
        "a": False,
        "b": True,
    }
    assert "[policy]" not in ran.err
    before = paths.config.read_bytes()
    mcpctl("install", "gemini-cli")
    assert paths.config.read_bytes() == before


@pytest.mark.usefixtures("person")
def test_with_a_policy_a_rule_that_comes_is_not_said_to_be_left_out(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    write(paths.config, '[policy]\ndefault = "ask"\n')
    write(user / ".gemini/settings.json", '{"mcpServers": {"a": {"command": "a", "trust": true}}}')
    ran = mcpctl("servers", "import", "--from", "gemini-cli", "--dry-run")
    assert "'a': its permission rules are left out; take them over with: mcpctl policy import\n" in ran.err
    ran = mcpctl("install", "gemini-cli")
    table = config.load(paths.config).policy_table
    assert table is not None
    assert table.allow == ["a:*"]
    assert "left out" not in ran.err


@pytest.mark.usefixtures("person")
def test_with_a_policy_rules_come_with_their_servers(mcpctl: Mcpctl, claude: Path, paths: Paths) -> None:
    write(paths.config, '# mine\n[policy]\ndefault = "ask"\n')
    ran = mcpctl("install", "claude-code")
    table = config.load(paths.config).policy_table
    assert table is not None
    assert (table.deny, table.ask, table.allow) == (["a:rm", "a:drop_*"], ["a:write"], ["a:read"])
    assert "policy import" not in ran.err
    assert paths.config.read_text(encoding="utf-8").startswith("# mine\n")
    before = paths.config.read_bytes()
    mcpctl("install", "claude-code")
    assert paths.config.read_bytes() == before


def test_rules_within_an_entry_that_goes_are_taken_over_from_the_copy(mcpctl: Mcpctl, put: Put, paths: Paths) -> None:
    put("codex")
    ran = mcpctl("install", "codex")
    server = config.load(paths.config).servers["docs"]
    assert (server.tools, server.only) == ({"rebuild": False}, ["search", "rebuild"])
    assert "list of the only tools" not in ran.err
    assert "'docs': its permission rules" not in ran.err
    hint = next(line for line in ran.err.splitlines() if "need a [policy] here" in line)
    words = hint.partition("take them over with: mcpctl ")[2].split()
    assert words[:4] == ["policy", "import", "codex", "--from"]
    assert mcpctl(*words, "--yes").code == 0
    table = config.load(paths.config).policy_table
    assert table is not None
    assert "docs:search" in table.allow


def test_the_only_tools_of_a_server_come_with_its_entry(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    write(user / ".codex/config.toml", '[mcp_servers.git]\ncommand = "git-mcp"\nenabled_tools = ["status"]\n')
    ran = mcpctl("install", "codex")
    assert "left out" not in ran.err
    assert config.load(paths.config).servers["git"].only == ["status"]


def test_what_opencode_switches_off_is_off_here(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    servers = {name: {"type": "local", "command": ["x"]} for name in ("gh", "off", "some")}
    switches = {"gh_delete": False, "gh_read": True, "off_*": False, "some_drop_*": False, "bash": False, "some_x": 1}
    text = json.dumps({"mcp": servers, "tools": switches})
    write(user / ".config/opencode/opencode.json", text)
    ran = mcpctl("install", "opencode")
    loaded = config.load(paths.config).servers
    assert (loaded["gh"].tools, loaded["gh"].enabled) == ({"delete": False}, True)
    assert (loaded["off"].tools, loaded["off"].enabled) == ({}, False)
    assert (loaded["some"].tools, loaded["some"].enabled) == ({}, True)
    assert "its tools drop_* are switched off in opencode, not here" in ran.err


# ---- what nobody may miss


def in_order(text: str, *parts: str) -> bool:
    """Whether these parts are in the text one after another, and nothing but the line of the last follows it."""
    place = -1
    for part in parts:
        place = text.find(part, place + 1)
        if place < 0:
            return False
    return text.find("\n", place) == len(text) - 1


OFF = "'thinking' is switched off in config.toml, for all clients: claude-code denies it (mcp__thinking)"


@pytest.fixture
def thinking(user: Path) -> Path:
    write(user / ".claude/settings.json", json.dumps({"permissions": {"deny": ["mcp__thinking"]}}))
    return write(user / ".claude.json", '{"mcpServers": {"a": {"command": "a"}, "thinking": {"command": "b"}}}')


@pytest.mark.usefixtures("person")
def test_a_server_that_a_rule_switches_off_is_told_before_the_question_and_last(
    mcpctl: Mcpctl, thinking: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = thinking.read_bytes()
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    ran = mcpctl("install", "claude-code", tty=True, stdin="n\n")
    assert (ran.code, thinking.read_bytes()) == (6, before)
    assert in_order(ran.err, f"{OFF}; to use it: mcpctl servers enable thinking\nWrite this? [y/N]: mcpctl: no", "hint")
    monkeypatch.setattr("mcpctl.base.errors._warned", {})  # as in another process
    ran = mcpctl("install", "claude-code", tty=True, stdin="y\n")
    assert in_order(ran.err, OFF, "Claude Code: start", OFF)
    assert not config.load(paths.config).servers["thinking"].enabled
    assert OFF not in mcpctl("install", "claude-code").err
    mcpctl("servers", "enable", "thinking")
    assert in_order(mcpctl("install", "claude-code", "--json", "--yes").err, OFF)


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("has_policy", [False, True])
def test_tools_that_a_client_denies_are_named_before_the_question(
    mcpctl: Mcpctl, claude: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch, has_policy: bool
) -> None:
    if has_policy:
        write(paths.config, '[policy]\ndefault = "ask"\n')
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    denied = f"denied here for all clients: {'a:rm, a:drop_*' if has_policy else 'a:rm'} (by Claude Code)"
    ran = mcpctl("install", "claude-code", stdin="n\n")
    assert ran.err.index(denied) < ran.err.index("Write this?")
    ran = mcpctl("install", "claude-code", stdin="y\n")
    assert ran.err.rindex(denied) > ran.err.index("Write this?")
    assert "denied here" not in mcpctl("install", "claude-code").err


def test_tools_that_are_off_in_an_entry_are_named_before_the_question(
    mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor(user, {"a": {"command": "a", "disabledTools": ["rm", "drop"]}})
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    ran = mcpctl("install", "cursor", stdin="n\n")
    assert ran.err.index("denied here for all clients: a:rm, a:drop (by Cursor)") < ran.err.index("Write this?")


@pytest.mark.usefixtures("person")
def test_a_server_that_the_policy_denies_wholly_is_told(mcpctl: Mcpctl, thinking: Path, paths: Paths) -> None:
    write(paths.config, '[policy]\ndefault = "ask"\n')
    denied = (
        "'thinking': all its tools are denied in config.toml, for all clients: claude-code denies it (mcp__thinking)"
    )
    assert in_order(mcpctl("install", "claude-code").err, "Claude Code: start", denied)


def test_a_server_that_is_off_in_its_client_comes_disabled_and_is_told(mcpctl: Mcpctl, user: Path) -> None:
    cursor(user, {"a": {"command": "a", "disabled": True}})
    off = "'a' is switched off in config.toml, for all clients: it is off in cursor"
    assert in_order(mcpctl("servers", "import", "--dry-run").err, off)
    assert in_order(mcpctl("servers", "import").err, off)
    assert off not in mcpctl("install", "cursor").err


def test_a_server_that_would_not_start_stays_and_is_told(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    asked = {"command": "shop", "env": {"SHOP_KEY": "${input:shop-key}"}}
    path = write(user / ".config/Code/User/mcp.json", json.dumps({"servers": {"shop": asked, "ok": {"command": "ok"}}}))
    ran = mcpctl("install", "vscode", "--yes")
    stays = "vscode: 'shop' stays there: it would not start, since SHOP_KEY would not be set for an mcpctl that VS Code"
    assert in_order(ran.err, "VS Code: restart", stays)
    assert (set(servers_of("vscode", path)), set(config.load(paths.config).servers)) == ({"shop", "mcpctl"}, {"ok"})
    ran = mcpctl("servers", "import", "--from", "vscode")
    assert in_order(ran.err, "'shop' does not start before SHOP_KEY is set")
    mcpctl("install", "vscode")
    assert set(servers_of("vscode", path)) == {"shop", "mcpctl"}


def test_a_server_whose_program_is_not_there_stays_and_is_told(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    path = cursor(user, {"gone": {"command": "no-such-program"}, "ok": {"command": "ok"}})
    ran = mcpctl("install", "cursor", "--yes")
    stays = "cursor: 'gone' stays there: it would not start, since its program 'no-such-program' is not found; install"
    assert in_order(ran.err, "Cursor: ", stays)
    assert ran.err.endswith("write its absolute path into the entry there, then run again: mcpctl install cursor\n")
    assert (set(servers_of("cursor", path)), set(config.load(paths.config).servers)) == ({"gone", "mcpctl"}, {"ok"})
    ran = mcpctl("servers", "import", "--from", "cursor")
    assert in_order(ran.err, "'gone' does not start before its program 'no-such-program' is there; to see whether")
    cursor(user, {"gone": {"command": "/nowhere/no-such-program"}})
    assert "install it, or correct its path in the entry there, then" in mcpctl("install", "cursor", "--yes").err


@pytest.mark.parametrize(("client", "stays"), [("cursor", True), ("claude-code", False), ("codex", True)])
def test_a_variable_of_the_shell_is_only_there_for_clients_that_have_it(
    mcpctl: Mcpctl, user: Path, monkeypatch: pytest.MonkeyPatch, client: str, stays: bool
) -> None:
    monkeypatch.setenv("SHOP_KEY", "x")
    if client == "codex":
        text = '[mcp_servers.shop]\ncommand = "shop"\nargs = ["${SHOP_KEY}"]\n'
    else:
        text = json.dumps({"mcpServers": {"shop": {"command": "shop", "args": ["${SHOP_KEY}"]}}})
    path = write(user / PLACES[client][1], text)
    mcpctl("install", client)
    assert ("shop" in servers_of(client, path)) is stays


def test_a_variable_that_the_entry_of_mcpctl_sets_is_there(mcpctl: Mcpctl, user: Path) -> None:
    path = cursor(user, {})
    mcpctl("install", "cursor")
    entry = servers_of("cursor", path)["mcpctl"]
    entry["env"] = {"SHOP_KEY": "x"}
    cursor(user, {"mcpctl": entry, "shop": {"command": "shop", "args": ["${SHOP_KEY}", "${HOME}", "${B:-c}"]}})
    mcpctl("install", "cursor")
    assert set(servers_of("cursor", path)) == {"mcpctl"}
