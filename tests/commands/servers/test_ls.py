"""`mcpctl servers ls`: every entry, and no secret."""

import re
import sys

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.config.server_settings import API_ONLY
from mcpctl.servers import FIELDS
from mcpctl.store.state import State
from tests.configured import configure, demo_tools, listed, stub
from tests.conftest import Mcpctl
from tests.proxy.client import until

_OF_APIS = ("openapi", "document", "base", "skipped", "schemes", "destinations", "unset")


def rows(mcpctl: Mcpctl) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in mcpctl("servers", "ls", "--json").json}


def args(mcpctl: Mcpctl, paths: Paths, *given: str) -> list[str]:
    configure(paths, {"s": stub(*given)})
    shown = rows(mcpctl)["s"]["args"]
    assert isinstance(shown, list)
    return shown


def test_an_entry_has_every_field_with_what_holds_where_nothing_is_written(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "run"}})
    row = rows(mcpctl)["s"]
    assert tuple(row) == FIELDS
    assert row == {
        "name": "s",
        "enabled": True,
        "transport": "stdio",
        "runs": "run",
        "command": "run",
        "args": [],
        "url": None,
        "headers": {},
        "oauth": None,
        "env": {},
        "env_file": None,
        "inherit_env": "all",
        "cwd": None,
        "start_timeout_s": 30,
        "call_timeout_s": 0,
        "projects": [],
        "permissions": {},
        "only": None,
        "may_ask": ["elicitation", "sampling", "roots"],
        "expose": ["prompts", "resources"],
        "tools": None,
        "prompts": None,
        "resources": None,
        "listed_at": None,
        "login": None,
        "login_expires_at": None,
        "problem": None,
        "failed_at": None,
        **dict.fromkeys((*_OF_APIS, *API_ONLY)),
    }


def test_servers_are_listed_by_name_the_disabled_too(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"b": stub(), "c": {**stub(), "enabled": False}, "a": stub()})
    assert [(name, row["enabled"]) for name, row in rows(mcpctl).items()] == [("a", True), ("b", True), ("c", False)]


def test_the_tools_that_are_known_are_counted(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert {name: row["tools"] for name, row in rows(mcpctl).items()} == {"notes": 4, "weather": 3}


def test_an_entry_that_cannot_be_used_is_listed_with_its_problem(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"good": stub(), "bad": {"command": 5}, "worse": 7})
    found = rows(mcpctl)
    assert found["good"]["problem"] is None
    assert f"{paths.config}: servers.bad.command: must be text" in str(found["bad"]["problem"])
    assert "servers.worse: must be a table" in str(found["worse"]["problem"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("literal-secret", "***"),
        ("${TOKEN}", "${TOKEN}"),
        ("${TOKEN:-literal-secret}", "${TOKEN:-***}"),
        ("Bearer ${TOKEN}", "***"),
        ("${A}${B}", "***"),
        ("", "***"),
        ("${not valid}", "***"),
    ],
)
def test_a_literal_value_of_env_is_never_printed(mcpctl: Mcpctl, paths: Paths, value: str, shown: str) -> None:
    configure(paths, {"s": {**stub(), "env": {"TOKEN": value}}})
    assert rows(mcpctl)["s"]["env"] == {"TOKEN": shown}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["--token", "s3cret-value"], ["--token", "***"]),
        (["--api-key", "s3cret-value", "x"], ["--api-key", "***", "x"]),
        (["--token=s3cret-value"], ["--token=***"]),
        (["-e", "GITHUB_TOKEN=s3cret-value"], ["-e", "GITHUB_TOKEN=***"]),
        (["--token", "${TOKEN}"], ["--token", "${TOKEN}"]),
        (["--token=${TOKEN}"], ["--token=${TOKEN}"]),
        (["--token", "${TOKEN:-s3cret-value}"], ["--token", "${TOKEN:-***}"]),
        (["--token=${TOKEN:-s3cret-value}"], ["--token=${TOKEN:-***}"]),
        (["ghp_s3cretAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"], ["***"]),
        (["https://user:s3cret-value@host/x"], ["https://***@host/x"]),
        (["--max-tokens", "100"], ["--max-tokens", "100"]),
        (["--max_tokens=100", "--tokenizer", "gpt"], ["--max_tokens=100", "--tokenizer", "gpt"]),
        (["--token", "--verbose"], ["--token", "--verbose"]),
    ],
)
def test_a_secret_among_the_arguments_is_never_printed(
    mcpctl: Mcpctl, paths: Paths, given: list[str], shown: list[str]
) -> None:
    assert args(mcpctl, paths, *given) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/mcp?sig=abc&code=x1&x=${VAR}", "https://host/mcp?sig=***&code=***&x=${VAR}"),
        ("https://host/mcp?page=2&ro=true&pwd=1", "https://host/mcp?page=2&ro=true&pwd=***"),
        ("https://host/mcp?abcdef", "https://host/mcp?***"),
        ("https://host/mcp?a=b=c", "https://host/mcp?a=***"),
        ("https://host/mcp?a=${VAR:-s3cret}#b", "https://host/mcp?a=${VAR:-***}#***"),
        ("https://host/s/ZDk4NjQ1YmMtYjQ0NS00/mcp", "https://host/s/***/mcp"),
        ("https://mcp.example.com/model-context-protocol/v1", "https://mcp.example.com/model-context-protocol/v1"),
        ("https://me:s3cret@host/mcp", "https://***@host/mcp"),
    ],
)
def test_a_secret_in_an_address_is_never_printed(mcpctl: Mcpctl, paths: Paths, url: str, shown: str) -> None:
    configure(paths, {"s": {"url": url}})
    assert (rows(mcpctl)["s"]["url"], rows(mcpctl)["s"]["runs"]) == (shown, shown)
    assert mcpctl("servers", "show", "s", "--json").json["url"] == shown


def test_a_list_says_what_runs_or_where_it_is(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"far": {"url": "https://host/mcp"}, "near": {"command": "uvx", "args": ["a b", "--token", "x"]}})
    table = mcpctl("servers", "ls", tty=True).out
    assert "https://host/mcp" in table
    assert "uvx 'a b' --token '***'" in table


@pytest.mark.parametrize(
    "given",
    [
        "Authorization: Bearer s3cret-value",
        "X-Api-Key: s3cret-value",
        "https://host/mcp?a=1&token=s3cret-value&b=2",
        '{"api_key": "s3cret-value", "x": 1}',
        "--header=Authorization: Bearer s3cret-value",
    ],
)
def test_a_secret_within_an_argument_is_never_printed(mcpctl: Mcpctl, paths: Paths, given: str) -> None:
    (shown,) = args(mcpctl, paths, given)
    assert "s3cret" not in shown
    assert shown.startswith(given[:10])
    assert "***" in shown


@pytest.mark.parametrize("options", [[], ["--json"], ["--jsonl"], ["--format", "table"], ["--fields", "env,args"]])
def test_no_format_prints_a_secret(mcpctl: Mcpctl, paths: Paths, options: list[str]) -> None:
    configure(paths, {"s": {**stub("--token", "s3cret-value"), "env": {"A": "s3cret-value"}}})
    for words in (["servers", "ls", *options], ["servers", "show", "s", "--json"], ["servers", "show", "s"]):
        assert "s3cret" not in mcpctl(*words).out


def test_a_file_that_is_no_toml_exits_5_with_line_and_column(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.parent.mkdir()
    paths.config.write_text('[servers.a]\ncommand = "x\n', encoding="utf-8")
    ran = mcpctl("servers", "ls", "--json")
    assert (ran.code, ran.error["code"]) == (5, "config_syntax")
    assert str(paths.config) in ran.error["message"]
    assert "line 2, column" in ran.error["message"]


def test_a_terminal_of_80_columns_has_where_it_is_and_the_last_failure_with_its_age(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    url = "https://a.example/mcp/of/some/length/that/goes/on"
    configure(paths, {"acme-production": {"url": url}, "bad": {"comand": "x"}, "time": stub()})
    with State.connect(paths) as state:
        for server, entry in config.load(paths.config).servers.items():
            state.remember_failure(server, entry.fingerprint, f"server '{server}' did not start: it ended (exit 3)")
            state.remember_failure(server, entry.fingerprint, None if server == "time" else "did not start: it ended")
    heading, acme, bad, time = mcpctl("servers", "ls", tty=True).out.splitlines()
    assert heading.split() == ["NAME", "ON", "HOW", "RUNS", "FAILED", "PROBLEM"]
    assert re.fullmatch(r"acme-production +true +http +https://a\.example/m\S*… +\ds ago +did not start: it .*…", acme)
    assert re.fullmatch(r"bad +/.*…", bad)
    assert re.fullmatch(r"time +true +stdio +true", time)
    assert all(len(line) <= 80 for line in (heading, acme, bad, time))


@pytest.mark.process
@pytest.mark.parametrize("words", [("tools", "refresh"), ("servers", "check"), ("tools", "call", "s:list_notes")])
def test_the_last_failure_is_kept_until_the_server_works(mcpctl: Mcpctl, paths: Paths, words: tuple[str, ...]) -> None:
    flag = paths.config.parent / "works"
    program = (
        f"import os, sys; os.path.exists({str(flag)!r}) or sys.exit('token=s3cret \x1b[2J' + 'x' * 440);"
        "from mcpctl.demo.notes import server; server.run()"
    )
    configure(paths, {"s": {"command": sys.executable, "args": ["-c", program]}})
    assert mcpctl(*words).code == 4
    row = until("what a thread keeps", lambda: (row := rows(mcpctl)["s"])["problem"] and row)
    assert str(row["problem"]).startswith("did not start: it ended")
    assert "token=***" in str(row["problem"])
    assert len(str(row["problem"])) <= 500
    assert str(row["failed_at"]).endswith("Z")
    shown = mcpctl("servers", "show", "s", tty=True).out
    assert f"failed_at: {row['failed_at'][:19].replace('T', ' ')}" in " ".join(shown.split())
    assert "did not start" in mcpctl("servers", "ls", tty=True).out
    flag.touch()
    mcpctl(*words)
    until("that it works", lambda: rows(mcpctl)["s"]["problem"] is None)
    assert rows(mcpctl)["s"]["failed_at"] is None


def test_the_number_of_tools_is_that_which_only_leaves(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "run", "only": ["read_*"]}})
    listed(paths, "s", [{"name": "read_a"}, {"name": "write_a"}])
    assert rows(mcpctl)["s"]["tools"] == 1
