"""`mcpctl servers import`"""

import json
import re
import shutil
import tomllib
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config import config
from tests.commands.servers.test_add import HAND_WRITTEN, by_hand
from tests.conftest import ROOT, Mcpctl, Ran

pytestmark = pytest.mark.usefixtures("programs")
SAMPLES = ROOT / "tests" / "clients"


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home without any client, and a project of theirs, which is the current folder."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "user"
    (folder / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder / "project")
    monkeypatch.setattr("mcpctl.clients.client_kinds.sys", SimpleNamespace(platform="linux"))
    return folder


def put(sample: str, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLES / sample, place)
    return place


def write(place: Path, servers: Any) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return place


def imported(paths: Paths) -> dict[str, Any]:
    loaded = config.load(paths.config)
    assert not loaded.problems
    servers: dict[str, Any] = tomllib.loads(paths.config.read_text(encoding="utf-8"))["servers"]
    for entry in servers.values():  # what is said once, below
        if entry.get("inherit_env") == "minimal":
            del entry["inherit_env"]
    return servers


def took(ran: Ran) -> dict[str, str]:
    return {row["name"] or row["source_name"]: row["action"] for row in ran.json}


def test_claude_desktops_servers_are_taken_over(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    put("claude_desktop_config.json", user / ".config/Claude/claude_desktop_config.json")
    ran = mcpctl("servers", "import", "--from", "claude-desktop", "--json")
    assert took(ran) == {
        "filesystem": "added",
        "brave-search": "added",
        "mcpctl": "skipped",
        "GitHub-work": "added",
    }
    assert imported(paths)["GitHub-work"]["env"] == {
        "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    }
    assert "'GitHub (work)': named GitHub-work" in ran.err
    assert "'mcpctl' is left out: it starts mcpctl itself" in ran.err
    assert (
        "Claude Desktop passes ${BRAVE_API_KEY} on unchanged; mcpctl replaces it with the variable's value" in ran.err
    )


def test_claude_codes_servers_are_those_of_the_user_of_each_project_and_of_this_one(
    mcpctl: Mcpctl, user: Path, paths: Paths
) -> None:
    put("claude.json", user / ".claude.json")
    put("project.mcp.json", user / "project/.mcp.json")
    assert mcpctl("servers", "import", "--from", "claude-code").code == 0
    assert imported(paths) == {
        "context7": {
            "url": "https://mcp.context7.com/mcp",
            "headers": {"CONTEXT7_API_KEY": "${CONTEXT7_API_KEY:-none}"},
        },
        "playwright": {"command": "npx", "args": ["@playwright/mcp@latest"]},
        "shop-db": {"command": "./bin/db-mcp", "args": ["--url", "${DATABASE_URL}"], "cwd": "/home/ada/shop"},
        "sentry": {"url": "https://mcp.sentry.dev/sse", "transport": "sse"},
        "api": {
            "url": "${API_BASE_URL:-https://api.example.com}/mcp",
            "headers": {"Authorization": "Bearer ${API_KEY}"},
        },
    }


def test_cursors_variables_are_written_as_ours(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    put("cursor.mcp.json", user / "project/.cursor/mcp.json")
    ran = mcpctl("servers", "import", "--from", "cursor")
    project = user / "project"
    assert imported(paths) == {
        "notion": {"url": "https://mcp.notion.com/sse", "transport": "sse"},
        "postgres": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-postgres", "postgresql://localhost/app"],
        },
        "linear": {"url": "https://mcp.linear.app/mcp", "headers": {"Authorization": "Bearer ${LINEAR_TOKEN}"}},
        "scripts": {
            "command": "${HOME}/bin/scripts-mcp",
            "args": ["--root", str(project)],
            "env_file": f"{project}/.env",
        },
    }
    assert "split into words" in ran.err
    assert f"${{workspaceFolder}} is replaced by this project's folder, {project}" in ran.err


def test_what_vscode_asks_for_becomes_a_variable_and_is_said(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    put("vscode.mcp.json", user / "project/.vscode/mcp.json")
    ran = mcpctl("servers", "import", "--from", "vscode")
    project = str(user / "project")
    assert imported(paths) == {
        "github": {
            "url": "https://api.githubcopilot.com/mcp/",
            "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"},
        },
        "local": {
            "command": "node",
            "args": [f"{project}/out/server.js", "--region=${REGION:-eu}", "http://not//a comment"],
            "env": {"TOKEN": "${TOKEN}", "PORT": "8080", "DEBUG": "true"},
            "env_file": f"{project}/.env",
            "cwd": project,
        },
    }
    assert "the client asks for 'github-token'; set GITHUB_TOKEN for mcpctl instead" in ran.err
    assert "the client asks for 'github-token'; set TOKEN for mcpctl instead" in ran.err
    assert "left out, since mcpctl has no equivalent: gallery, version" in ran.err
    assert "left out, since mcpctl has no equivalent: dev" in ran.err
    assert "env.NODE_OPTIONS is null" in ran.err


def test_vscodes_settings_may_have_servers_too_or_none(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    put("vscode.settings.json", user / ".config/Code - Insiders/User/settings.json")
    plain = user / ".config/Code/User/settings.json"
    plain.parent.mkdir(parents=True)
    plain.write_text('{"mcp": {"inputs": []}, "editor.fontSize": 14}', encoding="utf-8")
    assert mcpctl("servers", "import", "--from", "vscode").out == "time\tadded\tvscode\ttime\t\n"
    assert imported(paths) == {"time": {"command": "uvx", "args": ["mcp-server-time"]}}


def test_windsurfs_servers_keep_what_is_switched_off(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    put("mcp_config.json", user / ".codeium/windsurf/mcp_config.json")
    ran = mcpctl("servers", "import", "--from", "windsurf")
    assert ran.code == 5
    assert "'slack' could not be imported: only the client knows ${file:~/.slack-token}" in ran.err
    assert f"1 of 3 could not be imported; figma, off went into {paths.config}" in ran.err
    assert imported(paths) == {
        "figma": {
            "url": "https://mcp.figma.com/mcp",
            "headers": {"API_KEY": "Bearer ${FIGMA_TOKEN}"},
            "tools": {"delete_file": False},
        },
        "off": {"command": "uvx", "args": ["mcp-server-fetch"], "enabled": False},
    }


def test_codexs_keys_are_written_as_ours(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    put("codex.toml", user / ".codex/config.toml")
    ran = mcpctl("servers", "import", "--from", "codex")
    assert imported(paths) == {
        "docs": {
            "command": "npx",
            "args": ["-y", "docs-mcp"],
            "inherit_env": ["DOCS_TOKEN"],
            "only": ["search", "rebuild"],
            "env": {"LANG": "en"},
            "cwd": "/home/ada/docs",
            "start_timeout_s": 20,
            "call_timeout_s": 90.5,
            "enabled": False,
            "tools": {"rebuild": False},
        },
        "figma-remote": {
            "url": "https://mcp.figma.com/mcp",
            "start_timeout_s": 20,
            "headers": {
                "X-Figma-Region": "us-east-1",
                "X-Team": "${FIGMA_TEAM}",
                "Authorization": "Bearer ${FIGMA_OAUTH_TOKEN}",
            },
        },
    }
    assert "env_vars" not in ran.err
    assert "'docs': its permission rules are left out; take them over with: mcpctl policy import\n" in ran.err


@pytest.mark.parametrize(
    ("client", "sample", "place", "servers"),
    [
        (
            "gemini-cli",
            ".gemini/settings.json",
            ".gemini/settings.json",
            {
                "python-tools": {
                    "command": "python",
                    "args": ["-m", "my_mcp_server"],
                    "env": {"DATABASE_URL": "${DB_CONNECTION_STRING}", "API_KEY": "${EXTERNAL_API_KEY}"},
                    "call_timeout_s": 15,
                    "tools": {"drop": False},
                },
                "http": {"url": "https://api.example.com/mcp"},
            },
        ),
        (
            "zed",
            "zed/settings.json",
            ".config/zed/settings.json",
            {
                "custom": {"command": "uvx", "args": ["mcp-server-git"]},
                "older": {"command": "node", "args": ["server.js"], "env": {"A": "1"}},
                "remote": {"url": "https://mcp.example.com/mcp"},
            },
        ),
        (
            "cline",
            "cline_mcp_settings.json",
            ".cline/data/settings/cline_mcp_settings.json",
            {
                "weather": {"url": "https://weather.example.com/mcp", "call_timeout_s": 60},
                "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
            },
        ),
        (
            "opencode",
            "opencode.json",
            ".config/opencode/opencode.json",
            {
                "everything": {
                    "command": "npx",
                    "args": ["-y", "@modelcontextprotocol/server-everything"],
                    "env": {"KEY": "${MY_KEY}"},
                },
                "jira": {"url": "https://jira.example.com/mcp", "enabled": False},
            },
        ),
    ],
)
def test_other_clients_are_read_from_where_they_keep_theirs(
    mcpctl: Mcpctl, user: Path, paths: Paths, client: str, sample: str, place: str, servers: Any
) -> None:
    put(sample, user / place)
    assert mcpctl("servers", "import", "--from", client).code == 0
    assert imported(paths) == servers


def test_without_a_name_every_client_that_is_here_is_read_and_said(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    claude = put("claude_desktop_config.json", user / ".config/Claude/claude_desktop_config.json")
    cursor = put("cursor.mcp.json", user / ".cursor/mcp.json")
    ran = mcpctl("servers", "import", tty=True)
    assert f"read {claude}, {cursor}" in " ".join(ran.err.split())
    assert {"filesystem", "brave-search", "GitHub-work", "notion", "postgres"} <= set(imported(paths))


def test_a_projects_file_is_taken_only_when_it_is_named(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    file = put("project.mcp.json", user / "project/.mcp.json")
    ran = mcpctl("servers", "import")
    assert f"{file} belongs to a project and is left out; import it with: --from {file}" in ran.err
    assert not paths.config.exists()
    assert mcpctl("servers", "import", "--from", str(file)).code == 0
    assert "api" in imported(paths)


def test_a_large_file_costs_little_more_than_its_size(mcpctl: Mcpctl, tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    file.write_text(json.dumps({"mcpServers": {"ok": {"command": "x"}}, "pad": "z" * 5_000_000}) + "// end")
    tracemalloc.start()
    assert mcpctl("servers", "import", "--from", str(file), "--dry-run").code == 0
    assert tracemalloc.get_traced_memory()[1] < 60_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("options", [["--json"], ["--dry-run"], []])
def test_with_no_client_there_is_nothing_to_do_and_it_says_where_it_looked(
    mcpctl: Mcpctl, paths: Paths, options: list[str]
) -> None:
    ran = mcpctl("servers", "import", *options)
    assert (ran.code, ran.out) == (0, "[]\n" if options == ["--json"] else "")
    assert ran.err.startswith("mcpctl: found no servers of other clients; looked at ")
    assert all(place in ran.err for place in (".cursor/mcp.json", ".claude.json", "claude_desktop_config.json"))
    assert "/.vscode/mcp.json" not in ran.err
    assert not paths.config.exists()


def test_the_variables_that_move_a_clients_folder_are_honoured(
    mcpctl: Mcpctl, user: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(variable, str(user / variable))
    write(user / "XDG_CONFIG_HOME/Claude/claude_desktop_config.json", {"desktop": {"command": "a"}})
    write(user / "CLAUDE_CONFIG_DIR/.claude.json", {"code": {"command": "b"}})
    (user / "CODEX_HOME").mkdir()
    (user / "CODEX_HOME/config.toml").write_text('[mcp_servers.codex]\ncommand = "c"\n', encoding="utf-8")
    assert mcpctl("servers", "import").code == 0
    assert set(imported(paths)) == {"desktop", "code", "codex"}


def test_on_macos_desktop_programs_keep_theirs_in_the_library(
    mcpctl: Mcpctl, user: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.clients.client_kinds.sys", SimpleNamespace(platform="darwin"))
    put("claude_desktop_config.json", user / "Library/Application Support/Claude/claude_desktop_config.json")
    assert mcpctl("servers", "import", "--from", "claude-desktop").code == 0


@pytest.mark.slow
def test_importing_again_changes_nothing(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    for sample in ("claude_desktop_config.json", "cursor.mcp.json", "vscode.mcp.json", "codex.toml"):
        put(sample, user / "project/.cursor" / sample)
        mcpctl("servers", "import", "--from", str(user / "project/.cursor" / sample))
        before = paths.config.stat()
        ran = mcpctl("servers", "import", "--from", str(user / "project/.cursor" / sample), "--json")
        assert set(took(ran).values()) <= {"unchanged", "skipped"}
        assert paths.config.stat().st_mtime_ns == before.st_mtime_ns


def test_comments_and_order_of_a_hand_written_file_are_kept(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    put("cursor.mcp.json", user / "project/.cursor/mcp.json")
    mcpctl("servers", "import", "--from", "cursor")
    assert paths.config.read_text(encoding="utf-8").startswith(HAND_WRITTEN)
    assert list(imported(paths)) == ["zeta", "alpha", "notion", "postgres", "linear", "scripts"]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    "text",
    [
        'servers.a.command = "x"\n',
        'servers = {a = {command = "x"}}\n',
        '[servers]\na = {command = "x"}\n',
        '[servers.a]\ncommand = "x"\n[search]\nanswer_tokens = 9\n[servers.b]\ncommand = "y"\n',
        '[servers.a]\ncommand = "x"\n[servers.b]\ncommand = "y"\n[servers.a.tools]\nt = false\n',
        "[servers]\n",
        "# nothing but a comment\n",
        '\ufeff[servers.a]\ncommand = "x"\n',
    ],
)
def test_any_way_to_write_the_tables_can_be_imported_into(mcpctl: Mcpctl, user: Path, paths: Paths, text: str) -> None:
    by_hand(paths, text)
    before = tomllib.loads(text.removeprefix("\ufeff")).get("servers", {})
    file = write(user / "f.json", {name: {"command": name, "env": {"A": "1"}} for name in ("a", "n", "m")})
    assert mcpctl("servers", "import", "--from", str(file), "--dry-run").code == 0
    assert mcpctl("servers", "import", "--from", str(file), "--replace").code == 0
    new = {name: {"command": name, "env": {"A": "1"}} for name in ("a", "n", "m")}
    assert imported(paths) == {**before, **new}


def test_what_a_new_entry_inherits_is_written_and_what_is_there_stays(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths, '[servers.all]\ncommand = "x"\n[servers.some]\ncommand = "y"\ninherit_env = ["A"]\n')
    entries = {
        "all": {"command": "x"},
        "some": {"command": "y"},
        "new": {"command": "z"},
        "remote": {"url": "http://a"},
    }
    ran = mcpctl("servers", "import", "--from", str(write(user / "f.json", entries)), "--replace", "--json")
    assert took(ran) == {"all": "unchanged", "some": "unchanged", "new": "added", "remote": "added"}
    servers = tomllib.loads(paths.config.read_text(encoding="utf-8"))["servers"]
    assert [servers[name].get("inherit_env") for name in entries] == [None, ["A"], "minimal", None]


def test_another_server_of_the_same_name_is_not_overwritten(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    file = str(write(user / "f.json", {"alpha": {"command": "other"}}))
    ran = mcpctl("servers", "import", "--from", file, "--json")
    assert (ran.code, took(ran)) == (0, {"alpha": "skipped"})
    assert "there is another 'alpha' in config.toml; give --replace or --prefix P, or --rename alpha=NEW" in ran.err
    assert paths.config.read_text(encoding="utf-8") == HAND_WRITTEN
    assert took(mcpctl("servers", "import", "--from", file, "--prefix", "my-", "--json")) == {"my-alpha": "added"}
    assert imported(paths)["my-alpha"] == {"command": "other"}


def test_replacing_a_server_leaves_everything_around_it(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN.replace("[servers.alpha]", "# about alpha\n[servers.alpha]"))
    file = str(write(user / "f.json", {"zeta": {"command": "other"}}))
    assert took(mcpctl("servers", "import", "--from", file, "--replace", "--json")) == {"zeta": "replaced"}
    text = paths.config.read_text(encoding="utf-8")
    zeta = '# the first\n[servers.zeta]\ncommand = "other"\ninherit_env = "minimal"\n'
    assert f'{zeta}\n# about alpha\n[servers.alpha]\ncommand = "a"' in text


def test_a_broken_server_of_the_same_name_is_another(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths, '[servers.a]\ncommand = ""\n')
    file = str(write(user / "f.json", {"a": {"command": "x"}}))
    assert took(mcpctl("servers", "import", "--from", file, "--json")) == {"a": "skipped"}
    assert took(mcpctl("servers", "import", "--from", file, "--replace", "--json")) == {"a": "replaced"}


def test_two_names_that_become_one_are_two_servers(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    servers = {"my server": {"command": "a"}, "my-server": {"command": "b"}, "my.server": {"command": "c"}}
    servers |= {"Ünï": {"command": "d"}, "会议": {"command": "e"}, "a/b": {"command": "f"}}
    file = str(write(user / "f.json", servers))
    ran = mcpctl("servers", "import", "--from", file, "--json")
    assert {row["source_name"]: row["name"] for row in ran.json} == {
        "my-server": "my-server",
        "my server": "my-server-2",
        "my.server": "my-server-3",
        "Ünï": "Uni",
        "会议": "server",
        "a/b": "a-b",
    }
    assert imported(paths)["my-server-2"] == {"command": "a"}
    again = mcpctl("servers", "import", "--from", file, "--json")
    assert set(took(again).values()) == {"unchanged"}


def test_two_clients_with_the_same_server_give_one_and_with_different_ones_the_first(
    mcpctl: Mcpctl, user: Path, paths: Paths
) -> None:
    write(user / ".cursor/mcp.json", {"same": {"command": "a"}, "differs": {"command": "b"}})
    write(user / ".codeium/windsurf/mcp_config.json", {"same": {"command": "a"}, "differs": {"command": "c"}})
    ran = mcpctl("servers", "import", "--replace", "--json")
    assert [row["action"] for row in ran.json] == ["added", "added", "unchanged", "skipped"]
    assert "another 'differs' comes from cursor" in ran.err
    assert imported(paths) == {"same": {"command": "a"}, "differs": {"command": "b"}}


def test_one_bad_entry_does_not_stop_the_rest(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("servers", "import", "--from", str(SAMPLES / "odd.json"))
    assert ran.code == 5
    assert len([line for line in ran.err.splitlines() if "could not be imported: " in line]) == 16
    assert imported(paths) == {"fine": {"command": "uvx", "args": ["mcp-server-time", "3", "true"]}}
    assert mcpctl("servers", "import", "--from", str(SAMPLES / "odd.json"), "--json").error["code"] == (
        "import_incomplete"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"command": "mcpctl", "args": ["serve"]},
        {"command": "/opt/my apps/bin/mcpctl", "args": ["serve", "--config", "x.toml"]},
        {"command": "python3", "args": ["-m", "mcpctl", "serve"]},
        {"command": "uvx", "args": ["mcpctl@latest", "serve"]},
        {"command": "mcpctl", "args": ["--no-color", "serve"]},
        {"command": "sh", "args": ["-c", "exec ~/.local/bin/mcpctl serve"]},
        {"command": "mcpctl serve"},
        {"type": "local", "command": ["mcpctl", "serve"]},
        {"command": {"path": "mcpctl", "args": ["serve"]}},
    ],
)
def test_mcpctl_itself_is_left_out(mcpctl: Mcpctl, user: Path, paths: Paths, value: Any) -> None:
    ran = mcpctl("servers", "import", "--from", str(write(user / "f.json", {"proxy": value})), "--json")
    assert took(ran) == {"proxy": "skipped"}
    assert not paths.config.exists()


def test_a_server_that_only_has_such_a_name_is_not_left_out(mcpctl: Mcpctl, user: Path) -> None:
    servers = {"a": {"command": "npx", "args": ["mcpctl-docs", "serve"]}, "b": {"command": "mcpctl-like"}}
    ran = mcpctl("servers", "import", "--from", str(write(user / "f.json", servers)), "--json")
    assert took(ran) == {"a": "added", "b": "added"}


@pytest.mark.parametrize("before", ["", "# by hand\n"])
def test_what_is_imported_reads_back_equal(mcpctl: Mcpctl, user: Path, paths: Paths, before: str) -> None:
    strange = [
        "é",
        "a b",
        '"',
        "'",
        "\\",
        "$HOME",
        "#",
        "[x]",
        "\t",
        "\n",
        "\x1b",
        "\x7f",
        "\u202e",
        "$(x)",
        "${1}",
        "",
    ]
    if before:
        by_hand(paths, before)
    entry = {"command": "run", "args": strange, "env": {"A": "\n\x00", "B-C": "'"}}
    assert mcpctl("servers", "import", "--from", str(write(user / "f.json", {"a": entry}))).code == 0
    assert imported(paths) == {"a": entry}
    assert mcpctl("servers", "import", "--from", str(user / "f.json"), "--json").json[0]["action"] == "unchanged"


@pytest.mark.parametrize(
    "entry",
    ['{"command": "\\ud800"}', '{"command": "a", "timeout": 1e999}', '{"command": "a", "timeout": 1' + "0" * 400 + "}"],
)
def test_an_entry_that_no_file_could_hold_is_said(mcpctl: Mcpctl, user: Path, entry: str) -> None:
    file = user / "cline_mcp_settings.json"
    file.write_text('{"mcpServers": {"a\\ud800": ' + entry + "}}", encoding="utf-8")
    ran = mcpctl("servers", "import", "--from", str(file))
    assert ran.code == 5
    assert "cline: 'a?' could not be imported" in ran.err


def test_a_file_may_hold_nothing_but_servers(mcpctl: Mcpctl, user: Path) -> None:
    file = user / "f.json"
    file.write_text('{"time": {"command": "uvx", "args": ["mcp-server-time"]}}', encoding="utf-8")
    assert mcpctl("servers", "import", "--from", str(file)).code == 0


def test_a_dry_run_prints_what_would_change_and_writes_nothing(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    servers = {"alpha": {"command": "b"}, "new": {"command": "run", "args": ["x"]}}
    file = str(write(user / "f.json", servers))
    ran = mcpctl("servers", "import", "--from", file, "--replace", "--dry-run")
    assert ran.out.splitlines() == [
        f"--- {paths.config}",
        f"+++ {paths.config}",
        "@@ -10,4 +10,10 @@",
        " ]",
        " ",
        " [servers.alpha]",
        '-command = "a"',
        '+command = "b"',
        '+inherit_env = "minimal"',
        "+",
        "+[servers.new]",
        '+command = "run"',
        '+args = ["x"]',
        '+inherit_env = "minimal"',
    ]
    assert paths.config.read_text(encoding="utf-8") == HAND_WRITTEN
    rows = mcpctl("servers", "import", "--from", file, "--replace", "--dry-run", "--json")
    assert took(rows) == {"alpha": "replaced", "new": "added"}
    assert paths.config.read_text(encoding="utf-8") == HAND_WRITTEN


def test_a_dry_run_shows_no_secret_of_either_side(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(
        paths,
        "# old token=oldsecret1\n[servers.old]\n"
        'command = "x" # password: oldsecret2\nargs = [\n  "--token", "oldsecret3",\n]\n'
        'env = {A = "oldsecret4", B = "${B}"}\n[servers.remote]\nurl = "https://a.example/?api_key=oldsecret5"\n'
        'headers.X-Key = "oldsecret6"\n',
    )
    servers = {
        "new": {
            "command": "run",
            "args": ["--api-key=newsecret1", "plain"],
            "env": {"T": "newsecret2", "V": "${T:-newsecret3}"},
        },
        "web": {"url": "https://me:newsecret4@b.example/", "headers": {"Authorization": "Bearer newsecret5"}},
    }
    file = str(write(user / "f.json", servers))
    ran = mcpctl("servers", "import", "--from", file, "--dry-run")
    assert not re.search("(?:old|new)secret", ran.out + ran.err)
    for shown in ('"--api-key=***"', '"plain"', 'T = "***"', '"${T:-***}"', '"Bearer ***"'):
        assert shown in ran.out
    assert mcpctl("servers", "import", "--from", file).code == 0
    assert imported(paths)["new"]["env"] == {"T": "newsecret2", "V": "${T:-newsecret3}"}
    assert not re.search("(?:old|new)secret", mcpctl("servers", "ls", "--json").out)


def test_a_name_cannot_command_the_terminal(mcpctl: Mcpctl, user: Path) -> None:
    file = str(write(user / "f.json", {"a\x1b[31m\u202e": {"command": "\x1b[2J"}, "\x1b]0;b": None}))
    for options in ([], ["--dry-run"], ["--json"]):
        for tty in (True, False):
            ran = mcpctl("servers", "import", "--from", file, *options, tty=tty)
            assert "\u202e" not in ran.out.replace(r"\u202e", "") or not tty
            assert "\u202e" not in ran.err


def test_a_file_that_is_not_there_exits_3(mcpctl: Mcpctl, user: Path) -> None:
    ran = mcpctl("servers", "import", "--from", "cursr")
    assert ran.code == 3
    assert "did you mean 'cursor'?" in ran.err
    ran = mcpctl("servers", "import", "--from", "cursor")
    assert ran.code == 3
    assert str(user / ".cursor" / "mcp.json") in ran.err
    assert mcpctl("servers", "import", "--from", str(user / "none.json")).code == 3


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("f.json", '{\n  "mcpServers": {\n    // c\n    "a": {"command" "x"}\n  }\n}', "line 4, column 21"),
        ("f.toml", "[mcp_servers.a]\ncommand =\n", "line 2, column 10"),
        ("f.toml", ' {"mcpServers": {}}', "this is JSON"),
        ("f.json", "[]", "must be an object"),
        ("f.json", '{"mcpServers": []}', "its servers must be an object"),
        ("f.json", '{"theme": "dark"}', "has no MCP servers"),
        ("f.json", "", "has no MCP servers"),
        ("f.toml", "\xff", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_exits_5_and_says_where(
    mcpctl: Mcpctl, user: Path, paths: Paths, name: str, text: str, where: str
) -> None:
    file = user / name
    file.write_text(text, encoding="latin-1")
    ran = mcpctl("servers", "import", "--from", str(file))
    assert ran.code == 5
    assert str(file) in ran.err
    assert where in ran.err
    assert not paths.config.exists()


def test_a_broken_file_among_many_does_not_stop_the_rest(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    write(user / ".cursor/mcp.json", {"a": {"command": "x"}})
    (user / ".codex").mkdir()
    (user / ".codex/config.toml").write_text("[", encoding="utf-8")
    ran = mcpctl("servers", "import")
    assert ran.code == 5
    assert str(user / ".codex" / "config.toml") in ran.err
    assert imported(paths) == {"a": {"command": "x"}}


def test_a_prefix_that_no_name_can_begin_with_is_refused(mcpctl: Mcpctl) -> None:
    assert mcpctl("servers", "import", "--prefix", "a:").code == 2


def test_the_fields_are_a_contract(mcpctl: Mcpctl, user: Path) -> None:
    file = write(user / "f.json", {"a": {"command": "x", "trust": True}})
    (row,) = mcpctl("servers", "import", "--from", str(file), "--json").json
    assert row == {
        "name": "a",
        "action": "added",
        "source": str(file),
        "source_name": "a",
        "path": str(file),
        "why": None,
        "notes": ["left out, since mcpctl has no equivalent: trust"],
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_what_print_config_prints_is_read_and_known_as_mcpctl_itself(
    mcpctl: Mcpctl, user: Path, paths: Paths, client: str
) -> None:
    file = user / ("block.toml" if client == "codex" else "block.json")
    file.write_text(mcpctl("serve", "--print-config", client).out, encoding="utf-8")
    assert took(mcpctl("servers", "import", "--from", str(file), "--json")) == {"mcpctl": "skipped"}
    assert not paths.config.exists()


@pytest.mark.parametrize("comment", ["\n" * 5_000, "#" * 60_000 + '"', "# " + "x" * 60_000])
def test_a_preview_of_a_long_file_costs_no_more_than_its_length(
    mcpctl: Mcpctl, paths: Paths, tmp_path: Path, comment: str
) -> None:
    """Hours, were each blank line or mark looked at to the end."""
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(f"[servers.a]\ncommand = 'a'  # token=abc{comment}\n", encoding="utf-8")
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"new": {"command": "x"}}}', encoding="utf-8")
    ran = mcpctl("servers", "import", "--from", str(tmp_path / "mcp.json"), "--dry-run")
    assert ran.code == 0
    assert "+[servers.new]" in ran.out
    assert "abc" not in ran.out


@pytest.mark.parametrize("names", [["tool_1", "tool_2"], []])
def test_what_gemini_included_alone_is_all_that_is_offered(
    mcpctl: Mcpctl, paths: Paths, user: Path, names: list[str]
) -> None:
    write(user / ".gemini/settings.json", {"a": {"command": "a", "includeTools": names}})
    assert mcpctl("servers", "import").code == 0
    assert config.load(paths.config).servers["a"].only == names


@pytest.mark.parametrize(
    "place", [".claude.json", "project/.claude/settings.local.json", "project/.claude/settings.json"]
)
def test_what_claude_code_was_told_of_a_projects_servers_is_heeded(
    mcpctl: Mcpctl, user: Path, paths: Paths, place: str
) -> None:
    file = write(user / "project/.mcp.json", {name: {"command": name} for name in ("yes", "nope", "unasked")})
    said: dict[str, Any] = {"enabledMcpjsonServers": ["yes"], "disabledMcpjsonServers": ["nope"]}
    settings = {"projects": {str(user / "project"): said}} if place == ".claude.json" else said
    (user / place).parent.mkdir(parents=True, exist_ok=True)
    (user / place).write_text(json.dumps(settings), encoding="utf-8")
    ran = mcpctl("servers", "import", "--from", str(file))
    assert ran.code == 0
    disabled = {name for name, table in imported(paths).items() if table.get("enabled") is False}
    assert disabled == {"nope"}
    assert "'nope': Claude Code has it switched off for its project, so it is disabled here" in ran.err
    assert "'unasked': nobody has approved it in Claude Code" in ran.err
    # What a repository brings along approves nothing.
    assert ("'yes': nobody has approved it" in ran.err) is (place == "project/.claude/settings.json")


def test_all_servers_of_a_project_may_be_approved(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    file = write(user / "project/.mcp.json", {"a": {"command": "a"}})
    settings = user / "project/.claude/settings.local.json"
    settings.parent.mkdir()
    settings.write_text('{"enableAllProjectMcpServers": true}', encoding="utf-8")
    assert mcpctl("servers", "import", "--from", str(file)).err == ""
    assert imported(paths) == {"a": {"command": "a"}}


def test_two_of_one_name_in_one_file_get_a_hint_that_works(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    one, other = {"command": "uvx", "args": ["one"]}, {"command": "uvx", "args": ["other"]}
    file = user / ".claude.json"
    content = {"mcpServers": {"time": one}, "projects": {str(user / "project"): {"mcpServers": {"time": other}}}}
    file.write_text(json.dumps(content), encoding="utf-8")
    ran = mcpctl("servers", "import", "--json")
    (row,) = [row for row in ran.json if row["action"] == "skipped"]
    assert row["why"] == (f"another 'time' is in the same file, {file}; to take both, give --rename time=NEW")
    assert "--prefix" not in ran.err
    assert took(mcpctl("servers", "import", "--rename", "time=time-2", "--json")) == {
        "time": "unchanged",
        "time-2": "added",
    }
    assert [entry["args"] for entry in imported(paths).values()] == [["one"], ["other"]]
    assert set(took(mcpctl("servers", "import", "--rename", "time=time-2", "--json")).values()) == {"unchanged"}


def test_a_file_without_its_option_is_told_where_it_goes(mcpctl: Mcpctl) -> None:
    for words in (["c.json"], ["c.json", "d.json"]):
        ran = mcpctl("servers", "import", *words)
        assert (ran.code, ran.err.splitlines()[-1]) == (
            2, "hint: did you mean: mcpctl servers import --from c.json?"
        )  # fmt: skip


def test_a_server_is_called_as_one_says(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    write(user / ".cursor/mcp.json", {"My Server": {"command": "a"}, "b": {"command": "b"}})
    ran = mcpctl("servers", "import", "--rename", "My Server=mine", "--json")
    assert took(ran) == {"mine": "added", "b": "added"}
    assert set(imported(paths)) == {"mine", "b"}
    assert ran.err == ""


@pytest.mark.parametrize("option", ["a", "=b", "a=", "a=b c", "a=b="])
def test_a_new_name_must_be_one(mcpctl: Mcpctl, user: Path, option: str) -> None:
    assert mcpctl("servers", "import", "--rename", option).code == 2


def test_a_server_of_one_project_says_who_sees_it_now(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    content = {"projects": {"/projects/acme": {"mcpServers": {"tracker": {"command": "t"}}}}}
    (user / ".claude.json").write_text(json.dumps(content), encoding="utf-8")
    err = mcpctl("servers", "import").err
    assert (
        "it was for the project /projects/acme only; here every project sees it, unless its entry has projects" in err
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "args": ["${cmd:touch ran}"]},
        {"command": "x", "env": {"A": "a ${cmd:echo '{'}"}},
        {"command": "x", "env": {"A": "${B:-${cmd:touch ran}}"}},
        {"command": "${cmd:touch ran}"},
        {"url": "https://x.example/", "headers": {"A": "Bearer ${cmd:touch ran}"}},
    ],
)
def test_an_entry_that_would_have_a_command_run_is_not_taken(
    entry: dict[str, Any], mcpctl: Mcpctl, paths: Paths, user: Path
) -> None:
    place = write(user / "servers.json", {"evil": entry, "good": {"command": "x"}})
    ran = mcpctl("servers", "import", "--from", str(place))
    assert ran.code == 5
    assert "'evil' could not be imported: it would have mcpctl run a command" in ran.err
    assert list(imported(paths)) == ["good"]
