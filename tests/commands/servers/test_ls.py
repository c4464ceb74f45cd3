"""`mcpctl servers ls`: every entry, and no secret."""

import pytest

from mcpctl.paths import Paths
from mcpctl.servers import FIELDS
from tests.configured import configure, demo_tools, stub
from tests.conftest import Mcpctl


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
        "command": "run",
        "args": [],
        "url": None,
        "headers": {},
        "env": {},
        "env_file": None,
        "cwd": None,
        "start_timeout_s": 30,
        "call_timeout_s": 0,
        "projects": [],
        "permissions": {},
        "tools": None,
        "listed_at": None,
        "problem": None,
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
