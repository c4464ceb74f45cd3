"""`mcpctl serve --print-config`"""

import base64
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from mcpctl.clients.client_kinds import CLIENTS
from tests.commands.test_serve import HEAVY
from tests.conftest import MCPCTL, Mcpctl


@pytest.fixture(autouse=True)
def no_home(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing in the environment that a block would carry on, and a client's folders in this test's own."""
    for name in ("MCPCTL_HOME", "XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def entry(mcpctl: Mcpctl, client: str, *options: str) -> Any:
    out = mcpctl("serve", "--print-config", client, *options).out
    (section,) = (tomllib.loads(out) if client == "codex" else json.loads(out)).values()
    assert list(section) == ["mcpctl"]
    return section["mcpctl"]


def program(tmp_path: Path) -> Path:
    file = tmp_path / "bin" / "mcpctl"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n", encoding="utf-8")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_told_to_start_this_program_by_its_whole_path(mcpctl: Mcpctl, client: str) -> None:
    found = entry(mcpctl, client)
    words = found["command"] if client == "opencode" else [found["command"], *found["args"]]
    assert words == [sys.executable, "-P", "-m", "mcpctl", "serve"]
    assert "env" not in found


@pytest.mark.parametrize(
    ("client", "section", "more"),
    [
        ("claude-desktop", "mcpServers", {}),
        ("claude-code", "mcpServers", {"type": "stdio"}),
        ("cursor", "mcpServers", {}),
        ("vscode", "servers", {"type": "stdio"}),
        ("windsurf", "mcpServers", {}),
        ("gemini-cli", "mcpServers", {}),
        ("cline", "mcpServers", {}),
        ("zed", "context_servers", {"source": "custom"}),
    ],
)
def test_the_block_has_the_shape_that_the_client_reads(
    mcpctl: Mcpctl, client: str, section: str, more: dict[str, str]
) -> None:
    args = ["-P", "-m", "mcpctl", "serve"]
    assert mcpctl("serve", "--print-config", client).json == {
        section: {"mcpctl": {**more, "command": sys.executable, "args": args}}
    }


def test_an_installed_program_is_named_by_where_it_is(
    mcpctl: Mcpctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = program(tmp_path)
    expected = {"command": str(file), "args": ["serve"]}
    for started in (str(file), "bin/mcpctl"):
        monkeypatch.setattr(sys, "argv", [started])
        assert entry(mcpctl, "cursor") == expected
    monkeypatch.setenv("PATH", str(file.parent))
    monkeypatch.setattr(sys, "argv", ["mcpctl"])
    assert entry(mcpctl, "cursor") == expected


def test_options_and_variables_are_carried_on_as_whole_paths(
    mcpctl: Mcpctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").touch()
    monkeypatch.setenv("MCPCTL_HOME", "~/mc")
    monkeypatch.setenv("MCPCTL_DATA_DIR", "d")
    options = ["--config", "a.toml", "--data-dir", "~/data", "--verbose"]
    places = ["--config", f"{tmp_path}/a.toml", "--data-dir", f"{tmp_path}/data"]
    words = ["-P", "-m", "mcpctl", "serve", *places, "--verbose"]
    env = {"MCPCTL_HOME": f"{tmp_path}/mc", "MCPCTL_DATA_DIR": f"{tmp_path}/d"}
    assert entry(mcpctl, "cursor", *options) == {"command": sys.executable, "args": words, "env": env}
    assert entry(mcpctl, "codex", *options) == {"command": sys.executable, "args": words, "env": env}
    opencode = {"type": "local", "command": [sys.executable, *words], "environment": env, "enabled": True}
    assert entry(mcpctl, "opencode", *options) == opencode


def test_a_terminal_is_told_which_file_it_goes_into_and_a_pipe_nothing(mcpctl: Mcpctl, tmp_path: Path) -> None:
    ran = mcpctl("serve", "--print-config", "cursor", tty=True)
    assert str(tmp_path / ".cursor" / "mcp.json") in ran.err
    assert json.loads(ran.out)
    assert mcpctl("serve", "--print-config", "cursor").err == ""


@pytest.mark.parametrize("client", ["bogus", "", "Cursor"])
def test_a_client_that_is_not_known_is_refused_with_those_that_are(mcpctl: Mcpctl, client: str) -> None:
    ran = mcpctl("serve", "--print-config", client)
    assert ran.code == 2
    assert ", ".join(CLIENTS) in ran.err


def test_help_names_every_client(mcpctl: Mcpctl) -> None:
    for words in (["install"], ["servers", "import"]):
        shown = "".join(mcpctl(*words, "--help").out.split())
        assert ",".join(CLIENTS) in shown
    assert "the clients are those of mcpctl install" in " ".join(mcpctl("serve", "--help").out.split())


@pytest.mark.process
def test_nothing_is_imported_that_serving_needs() -> None:
    line = f"import sys; sys.modules.update(dict.fromkeys({[*HEAVY[1:], 'asyncio', 'sqlite3']!r})); "
    line += "from mcpctl.main import main; sys.exit(main(['serve', '--print-config', 'cursor']))"
    ran = subprocess.run([MCPCTL[0], "-c", line], capture_output=True, text=True, timeout=30, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)


def test_the_toolset_and_what_else_is_offered_are_in_the_block(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--toolset", "./t.json", "--split-execute", "--allow-annotate"]
    block = mcpctl("serve", "--print-config", "cursor", *options).json["mcpServers"]["mcpctl"]["args"]
    assert block[block.index("serve") + 1 :] == ["--toolset", str(Path("t.json").absolute()), *options[2:]]
    monkeypatch.setenv("MCPCTL_TOOLSET", "triage")
    block = mcpctl("serve", "--print-config", "cursor").json["mcpServers"]["mcpctl"]["args"]
    assert block[-2:] == ["--toolset", "triage"]


def test_the_file_of_a_token_is_in_the_block_and_a_token_is_not(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPCTL_TOKEN", "mcpctl_secret")
    made = entry(mcpctl, "cursor", "--token-file", "team/token")
    assert made["args"][-2:] == ["--token-file", str(Path.cwd() / "team" / "token")]
    assert "mcpctl_secret" not in str(made)


def test_the_project_is_in_the_block(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    assert entry(mcpctl, "cursor", "--project", "acme")["args"][-2:] == ["--project", "acme"]
    monkeypatch.setenv("MCPCTL_PROJECT", "zoo")
    assert entry(mcpctl, "codex")["args"][-2:] == ["--project", "zoo"]
    assert entry(mcpctl, "cursor", "--project", "acme")["args"][-2:] == ["--project", "acme"]


def test_a_person_is_told_that_one_permission_covers_all_tools_unless_they_are_split(mcpctl: Mcpctl) -> None:
    assert "--split-execute separates reads" in mcpctl("serve", "--print-config", "cursor", tty=True).err
    assert "--split-execute" not in mcpctl("serve", "--print-config", "cursor", "--split-execute", tty=True).err
    assert mcpctl("serve", "--print-config", "cursor").err == ""


@pytest.mark.parametrize("client", CLIENTS)
def test_each_pattern_of_direct_tools_is_in_the_block(mcpctl: Mcpctl, client: str) -> None:
    found = entry(mcpctl, client, "--direct", "time:*", "--direct=@triage")
    words = found["command"] if client == "opencode" else found["args"]
    assert words[words.index("serve") + 1 :] == ["--direct", "time:*", "--direct", "@triage"]


def test_cursors_link_has_the_entry_in_base64(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MCPCTL_HOME", str(tmp_path / "ü ?&#+"))  # bytes that base64 has `+` and `/` for
    options = ("--direct", "notes:añadir~?>", "--split-execute")
    (line,) = mcpctl("serve", "--print-config", "cursor", *options, "--link").out.splitlines()
    address = urlsplit(line)
    assert (address.scheme, address.netloc, address.path, address.fragment) == (
        "cursor", "anysphere.cursor-deeplink", "/mcp/install", "",
    )  # fmt: skip
    query = parse_qs(address.query, strict_parsing=True)
    assert query.keys() == {"name", "config"}
    assert query["name"] == ["mcpctl"]
    assert json.loads(base64.b64decode(query["config"][0], validate=True)) == entry(mcpctl, "cursor", *options)


def test_vs_codes_link_has_the_entry_and_its_name_as_json(mcpctl: Mcpctl) -> None:
    options = ("--direct", "notes:añadir 100%&#")
    (line,) = mcpctl("serve", "--print-config", "vscode", *options, "--link").out.splitlines()
    address, _, query = line.partition("?")
    assert address == "vscode:mcp/install"
    assert query.isascii() and not set('{}" &#') & set(query)
    assert json.loads(unquote(query)) == {"name": "mcpctl", **entry(mcpctl, "vscode", *options)}


@pytest.mark.parametrize("client", [name for name, kind in CLIENTS.items() if not kind.link])
def test_a_client_without_a_link_is_refused_with_those_that_have_one(mcpctl: Mcpctl, client: str) -> None:
    ran = mcpctl("serve", "--print-config", client, "--link")
    assert (ran.code, ran.out) == (2, "")
    assert f"{CLIENTS[client].title} has no link that adds a server" in ran.err
    assert "clients that have one: cursor, vscode;" in ran.err


def test_a_link_is_of_a_client_that_is_named(mcpctl: Mcpctl) -> None:
    ran = mcpctl("serve", "--link")
    assert ran.code == 2
    assert "--link needs --print-config" in ran.err


def test_a_terminal_is_told_what_a_link_does(mcpctl: Mcpctl) -> None:
    assert "VS Code asks whether to add it" in mcpctl("serve", "--print-config", "vscode", "--link", tty=True).err
