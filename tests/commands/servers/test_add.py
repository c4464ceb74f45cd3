"""`mcpctl servers add`"""

import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from tests.conftest import MCPCTL, Mcpctl

HAND_WRITTEN = """\
# my servers
[search]
answer_tokens = 1500   # less is enough

# the first
[servers.zeta]
command = "z"  # keep me
args = [
  "one",  # why one
]

[servers.alpha]
command = "a"
"""
MINIMAL = {"inherit_env": "minimal"}


def written(paths: Paths) -> Any:
    return tomllib.loads(paths.config.read_text(encoding="utf-8"))


def by_hand(paths: Paths, text: str) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(text, encoding="utf-8")


def test_what_follows_the_dashes_is_the_command(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("servers", "add", "time", "--", "sh", "mcp-server-time", "--jsonl", "-v")
    assert (ran.out, ran.err) == ("time\n", "")
    assert written(paths) == {
        "servers": {"time": {"command": "sh", "args": ["mcp-server-time", "--jsonl", "-v"], **MINIMAL}}
    }


def test_every_option_is_a_key_of_the_entry(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    options = ["--env", "A=1", "--env", "B=x=${Y}", "--env-file", "~/x.env", "--cwd", str(tmp_path)]
    options += [
        "--deny",
        "rm",
        "--deny",
        "drop",
        "--only",
        "get_*",
        "--only",
        "rm",
        "--start-timeout",
        "5",
        "--call-timeout",
        "0.5",
    ]
    options += ["--project", "acme", "--project", "zoo", "--project", "acme"]
    assert mcpctl("servers", "add", "s", *options, "--", "run").code == 0
    assert written(paths)["servers"]["s"] == {
        "command": "run",
        "env": {"A": "1", "B": "x=${Y}"},
        "env_file": "~/x.env",
        "inherit_env": "minimal",
        "cwd": str(tmp_path),
        "projects": ["acme", "zoo"],
        "tools": {"rm": False, "drop": False},
        "only": ["get_*", "rm"],
        "start_timeout_s": 5,
        "call_timeout_s": 0.5,
    }


@pytest.mark.parametrize(
    ("options", "inherits"),
    [
        (["all"], "all"),
        (["minimal"], "minimal"),
        (["AWS_PROFILE"], ["AWS_PROFILE"]),
        (["A", "B", "A"], ["A", "B"]),
    ],
)
def test_what_a_server_inherits_can_be_said(
    mcpctl: Mcpctl, paths: Paths, options: list[str], inherits: str | list[str]
) -> None:
    given = [word for option in options for word in ("--inherit-env", option)]
    assert mcpctl("servers", "add", "s", *given, "--", "run").code == 0
    assert written(paths)["servers"]["s"] == {"command": "run", "inherit_env": inherits}


def test_only_a_process_inherits(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("servers", "add", "s", "--url", "https://a.example", "--inherit-env", "all")
    assert (ran.code, "inherit_env: is for servers with a command" in ran.err) == (2, True)
    assert mcpctl("servers", "add", "s", "--url", "https://a.example").code == 0
    assert written(paths)["servers"]["s"] == {"url": "https://a.example"}


def test_what_is_added_reads_back_equal(mcpctl: Mcpctl, paths: Paths) -> None:
    strange = ["é", "a b", '"', "'", "\\", "$HOME", "${X:-y}", "#", "[x]", "\t", "\n"]
    assert mcpctl("servers", "add", "s", "--", "run", *strange).code == 0
    assert config.load(paths.config).servers["s"].args == strange


def test_comments_and_order_of_a_hand_written_file_are_kept(mcpctl: Mcpctl, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    assert mcpctl("servers", "add", "new", "--", "run").code == 0
    text = paths.config.read_text(encoding="utf-8")
    assert text.startswith(HAND_WRITTEN)
    assert text.removeprefix(HAND_WRITTEN).splitlines() == [
        "", "[servers.new]", 'command = "run"', 'inherit_env = "minimal"',
    ]  # fmt: skip


def test_adding_and_removing_leaves_the_file_as_it_was(mcpctl: Mcpctl, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    mcpctl("servers", "add", "new", "--env", "A=1", "--", "run", "x")
    mcpctl("servers", "rm", "new")
    assert paths.config.read_text(encoding="utf-8").rstrip() == HAND_WRITTEN.rstrip()


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
        "",
        '\ufeff[servers.a]\ncommand = "x"\n',
    ],
)
def test_any_way_to_write_the_tables_can_be_added_to(mcpctl: Mcpctl, paths: Paths, text: str) -> None:
    by_hand(paths, text)
    before = tomllib.loads(text.removeprefix("\ufeff"))
    assert mcpctl("servers", "add", "new", "--env", "A=1", "--", "run").code == 0
    after = written(paths)
    assert after["servers"].pop("new") == {"command": "run", "env": {"A": "1"}, **MINIMAL}
    assert after == {"servers": {}, **before}


def test_a_name_that_is_taken_is_refused_and_nothing_changes(mcpctl: Mcpctl, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    ran = mcpctl("servers", "add", "alpha", "--", "other")
    assert ran.code == 1
    assert "mcpctl servers set alpha; or remove it first with: mcpctl servers rm alpha" in ran.err
    assert paths.config.read_text(encoding="utf-8") == HAND_WRITTEN


@pytest.mark.parametrize("name", ["a.b", "a:b", "a b", "", "é", "a\n", "../x"])
def test_a_name_that_cannot_be_part_of_a_key_is_refused(mcpctl: Mcpctl, paths: Paths, name: str) -> None:
    assert mcpctl("servers", "add", name, "--", "run").code == 2
    assert not paths.config.exists()


@pytest.mark.parametrize(
    "options",
    [["--env", "NOVALUE"], ["--env", "=x"], ["--env", "A B=1"], ["--start-timeout", "-1"], ["--call-timeout", "nan"]],
)
def test_an_option_that_could_not_be_used_is_refused(mcpctl: Mcpctl, paths: Paths, options: list[str]) -> None:
    assert mcpctl("servers", "add", "s", *options, "--", "run").code == 2
    assert not paths.config.exists()


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["npx -y bar"], "npx -y bar"),
        (["--", "npx -y 'a b'"], "npx -y 'a b'"),
        (["npx -y", "bar"], "npx -y bar"),
        (["npx 'open"], "npx ''\"'\"'open'"),
    ],
)
def test_a_whole_command_line_is_refused_with_the_right_one(
    mcpctl: Mcpctl, paths: Paths, words: list[str], command: str
) -> None:
    ran = mcpctl("servers", "add", "foo", *words)
    assert (ran.code, ran.err.splitlines()[1]) == (
        2, f"hint: give its words one by one: mcpctl servers add foo -- {command}"
    )  # fmt: skip
    assert not paths.config.exists()
    mcpctl("servers", "add", "foo", "--", "true")
    before = paths.config.read_bytes()
    assert f"mcpctl servers set foo -- {command}\n" in mcpctl("servers", "set", "foo", *words).err
    assert paths.config.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["https://x.example/mcp"], "--url https://x.example/mcp"),
        (["--", "https://x.example/mcp", "x"], "--url https://x.example/mcp"),
        (["FOO=1 npx -y bar"], "--env FOO=1 -- npx -y bar"),
        (["--", "FOO=1 B='2 3' npx", "-y", "a b"], "--env FOO=1 --env 'B=2 3' -- npx -y 'a b'"),
        (["FOO=${X} npx"], "--env 'FOO=${X}' -- npx"),
        (["--", "FOO=1", "npx", "-y", "bar"], "--env FOO=1 -- npx -y bar"),
        (["--", "FOO=1"], "--env FOO=1 -- COMMAND"),
    ],
)
def test_a_url_and_variables_are_not_taken_for_a_program(
    mcpctl: Mcpctl, paths: Paths, words: list[str], meant: str
) -> None:
    ran = mcpctl("servers", "add", "foo", *words)
    assert (ran.code, ran.err.endswith(f": mcpctl servers add foo {meant}\n")) == (2, True), ran.err
    assert not paths.config.exists()
    mcpctl("servers", "add", "foo", "--", "true")
    before = paths.config.read_bytes()
    told = mcpctl("servers", "set", "foo", *words).err.splitlines()[1]
    assert told.endswith(meant)
    assert paths.config.read_bytes() == before
    if "--url" in meant:
        assert mcpctl(*shlex.split(told.partition("mcpctl ")[2])).code == 0


@pytest.mark.parametrize("words", [["c.json"], ["foo", "./c.json"]])
def test_a_file_of_servers_is_for_the_import(mcpctl: Mcpctl, paths: Paths, words: list[str]) -> None:
    ran = mcpctl("servers", "add", *words)
    told = f"hint: take over the servers in it with: mcpctl servers import --from {words[-1]}"
    told += f"; if it is the OpenAPI document of an HTTP API: --openapi {words[-1]}\n"
    assert (ran.code, ran.err.endswith(told)) == (2, True)
    assert not paths.config.exists()


def test_a_secret_before_a_program_is_not_printed(mcpctl: Mcpctl) -> None:
    token = f"ghp_{'a1B2' * 9}"
    assert token not in mcpctl("servers", "add", "s", f"GITHUB_TOKEN={token} npx").err
    assert token not in mcpctl("servers", "add", "s", f"https://a.example/mcp?token={token}").err


def test_a_program_with_a_space_in_its_name_is_one(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    program = tmp_path / "my server"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    assert mcpctl("servers", "add", "a", "--", str(program)).code == 0
    assert mcpctl("servers", "add", "b", "--", "${HOME}/my server").code == 0


def test_a_command_is_required(mcpctl: Mcpctl) -> None:
    assert mcpctl("servers", "add", "s").code == 2
    assert mcpctl("servers", "add", "s", "--", "").code == 2


def test_a_secret_in_a_wrong_option_is_not_printed(mcpctl: Mcpctl) -> None:
    assert "hunter2" not in mcpctl("servers", "add", "s", "--env", "hunter2", "--", "run").err


def test_a_file_that_is_no_toml_is_left_alone(mcpctl: Mcpctl, paths: Paths) -> None:
    by_hand(paths, "[servers\n")
    assert mcpctl("servers", "add", "s", "--", "run").code == 5
    assert paths.config.read_text(encoding="utf-8") == "[servers\n"


def test_a_new_file_is_its_owners_alone_and_so_is_its_folder(mcpctl: Mcpctl, paths: Paths) -> None:
    mcpctl("servers", "add", "s", "--", "run")
    assert paths.config.stat().st_mode & 0o777 == 0o600
    assert paths.config.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_keeps_its_permissions_and_stays_a_link(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(HAND_WRITTEN, encoding="utf-8")
    real.chmod(0o640)
    paths.config.parent.mkdir()
    paths.config.symlink_to(real)
    mcpctl("servers", "add", "s", "--", "run")
    assert paths.config.is_symlink()
    assert "[servers.s]" in real.read_text(encoding="utf-8")
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_terminal_is_told_where_it_went_and_what_comes_next(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("servers", "add", "s", "--", "run", tty=True)
    assert str(paths.config) in ran.err
    assert "mcpctl tools refresh s" in ran.err


def test_a_place_that_cannot_be_written_exits_5(mcpctl: Mcpctl, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = mcpctl("servers", "add", "s", "--config", str(tmp_path / "file" / "config.toml"), "--", "run")
    assert ran.code == 5


@pytest.mark.slow
@pytest.mark.process
def test_servers_added_at_once_are_all_there(paths: Paths) -> None:
    processes = [subprocess.Popen([*MCPCTL, "servers", "add", f"s{n}", "--", "run"], stdout=-1) for n in range(5)]
    for process in processes:
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert sorted(written(paths)["servers"]) == [f"s{n}" for n in range(5)]
    assert [file.name for file in paths.config.parent.iterdir() if file.name.endswith(".new")] == []


def test_a_remote_server_is_written_as_given_and_shown_without_its_secrets(mcpctl: Mcpctl, paths: Paths) -> None:
    url = "https://me:secret@a.example/mcp?api_key=abc&page=2"
    header = ("--header", "Authorization=Bearer ${TOKEN}", "--header", "X-Key=plain", "--header", "Cookie=Bearer abc")
    assert mcpctl("servers", "add", "s", "--url", url, "--transport", "sse", *header).out == "s\n"
    written = config.load(paths.config).servers["s"]
    assert (written.url, written.transport) == (url, "sse")
    assert written.headers == {"Authorization": "Bearer ${TOKEN}", "X-Key": "plain", "Cookie": "Bearer abc"}
    row = mcpctl("servers", "show", "s", "--json").json
    assert (row["transport"], row["command"], row["args"]) == ("sse", None, [])
    assert row["url"] == "https://***@a.example/mcp?api_key=***&page=2"
    assert row["headers"] == {"Authorization": "Bearer ${TOKEN}", "X-Key": "***", "Cookie": "Bearer ***"}


def test_how_one_logs_in_is_written_as_given_and_shown_without_its_secret(mcpctl: Mcpctl, paths: Paths) -> None:
    login = ["client_id=mcpctl", "client_secret=abc", "scopes=read write", "redirect_port=8123"]
    given = [word for each in login for word in ("--oauth", each)]
    assert mcpctl("servers", "add", "s", "--url", "https://a.example", *given).out == "s\n"
    said = {"client_id": "mcpctl", "client_secret": "abc", "scopes": ["read", "write"], "redirect_port": 8123}
    assert written(paths)["servers"]["s"]["oauth"] == said
    assert mcpctl("servers", "show", "s", "--json").json["oauth"] == {**said, "client_secret": "***"}
    dry = mcpctl("servers", "set", "s", "--oauth", "client_secret=new", "--oauth", "issuer=https://b", "--dry-run")
    assert "issuer" in dry.out and "new" not in dry.out and "abc" not in dry.out
    changed = ["--unset", "oauth.redirect_port", "--oauth", "client_secret=${S}"]
    assert mcpctl("servers", "set", "s", *changed, "--json").json["oauth"] == {
        "client_id": "mcpctl", "client_secret": "${S}", "scopes": ["read", "write"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--oauth", "client_id=a", "--", "run"), "oauth: is for servers with a url"),
        (("--url", "https://a", "--oauth", "redirect_port=x"), "oauth.redirect_port: must be a whole number"),
        (("--url", "https://a", "--oauth", "port=1"), "oauth.port: unknown key"),
        (("--url", "https://a", "--oauth", "client_id"), "--oauth needs NAME=VALUE"),
        (("--url", "https://a", "--", "run"), "a server has a command or a url, not both"),
        (("--url", "a.example"), "url: must be an http:// or https:// address"),
        (("--url", "https://a", "--transport", "ws"), "transport: must be http or sse"),
        (("--header", "A=b", "--", "run"), "headers: is for servers with a url"),
        (("--url", "https://a", "--header", "A"), "--header needs NAME=VALUE"),
        (("--url", "https://a", "--header", "A: b=c"), "--header needs NAME=VALUE"),
        ((), "command: is missing, and so is a url"),
    ],
)
def test_a_server_of_both_kinds_or_of_none_is_refused(mcpctl: Mcpctl, args: tuple[str, ...], what: str) -> None:
    ran = mcpctl("servers", "add", "s", *args)
    assert ran.code == 2
    assert what in ran.err


@pytest.mark.parametrize(
    ("url", "transport"), [("https://a/sse", "sse"), ("https://a/sse/?x=1", "sse"), ("https://a/mcp", "http")]
)
def test_an_address_that_ends_in_sse_is_taken_for_the_older_transport(
    mcpctl: Mcpctl, paths: Paths, url: str, transport: str
) -> None:
    mcpctl("servers", "add", "s", "--url", url)
    assert config.load(paths.config).servers["s"].transport == transport


@pytest.mark.parametrize("option", ["env", "header"])
def test_a_name_that_is_given_twice_is_refused(mcpctl: Mcpctl, paths: Paths, option: str) -> None:
    ran = mcpctl("servers", "add", "s", f"--{option}", "A=1", f"--{option}", "A=2", "--", "run")
    assert (ran.code, paths.config.exists()) == (2, False)
    assert f"--{option} A is given twice" in ran.err


def test_an_option_of_the_program_without_dashes_is_told_of_them(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("servers", "add", "time", "mcp-server-time", "--local-timezone", "Europe/Oslo")
    assert (ran.code, paths.config.exists()) == (2, False)
    assert "go after --: -- COMMAND --local-timezone" in ran.err
    assert mcpctl("servers", "add", "time", "--evn", "A=1", "--", "mcp-server-time").err.count("--env") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["no-such-program", "x"], "mcpctl: s: there is no command 'no-such-program' on the PATH; install it, or"),
        (["sh"], ""),
        (["/no/such/program"], ""),
        (["${PROGRAM}"], ""),
    ],
)
def test_a_command_that_is_not_there_is_said(mcpctl: Mcpctl, words: list[str], expected: str) -> None:
    ran = mcpctl("servers", "add", "s", "--", *words)
    assert (ran.code, ran.out) == (0, "s\n")
    assert ran.err.startswith(expected) if expected else ran.err == ""


@pytest.mark.usefixtures("person")
def test_a_person_is_told_which_file_was_changed(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"new": {"command": "run"}}}', encoding="utf-8")
    add = ["add", "s", "--", "sh"]
    for words in (
        add,
        ["disable", "s"],
        ["enable", "s"],
        ["rm", "s"],
        ["import", "--from", str(tmp_path / "mcp.json")],
    ):
        ran = mcpctl("servers", *words, tty=True)
        assert f" {paths.config}" in " ".join(ran.err.split())
    assert mcpctl("servers", *add).err == ""


def test_comments_before_the_next_table_stay_there(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.parent.mkdir(parents=True)
    paths.config.write_text(
        '[servers.a]\ncommand = "a"\n\n# about the policy\n[policy]\n# deny = []\n', encoding="utf-8"
    )
    assert mcpctl("servers", "add", "b", "--from-script", "--", "b").code == 0
    assert paths.config.read_text(encoding="utf-8") == (
        '[servers.a]\ncommand = "a"\n\n[servers.b]\ncommand = "b"\ninherit_env = "minimal"\n\n'
        "# about the policy\n[policy]\n# deny = []\n"
    )
