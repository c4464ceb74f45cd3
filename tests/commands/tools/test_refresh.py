"""`mcpctl tools refresh`, on real servers."""

import json
import sys
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from tests.configured import DEMO, configure, listed
from tests.conftest import Mcpctl
from tests.servers import command

pytestmark = pytest.mark.process


def server(name: str, *args: object) -> dict[str, object]:
    words = command(name, *args)
    return {"command": words[0], "args": words[1:]}


def test_the_tools_of_every_server_are_listed_and_then_known(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths)
    rows = mcpctl("tools", "refresh", "--json").json
    assert [(row["server"], row["tools"], row["revision"]) for row in rows] == [
        ("notes", 4, "2025-11-25"),
        ("weather", 3, "2025-11-25"),
    ]
    assert all(isinstance(row["duration_ms"], int) for row in rows)
    assert mcpctl("tools", "ls", "--count").out == "7\n"


def test_pages_are_read_to_the_end(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"pages": server("pages", 25)})
    assert mcpctl("tools", "refresh", "--fields", "tools").out == "27\n"
    assert mcpctl("tools", "ls", "--count").out == "27\n"


def test_only_the_named_servers_are_asked(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths)
    assert mcpctl("tools", "refresh", "notes", "--fields", "server").out == "notes\n"
    assert "not listed yet: weather" in mcpctl("tools", "ls").err


def test_of_a_server_that_failed_the_way_to_its_reason_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"gone": {"command": "/no/such/program"}})
    assert "list their tools with: mcpctl tools refresh" in mcpctl("tools", "ls").err
    assert mcpctl("tools", "refresh").code == 4
    assert "not listed yet: gone; see why gone failed with: mcpctl servers check gone" in mcpctl("tools", "ls").err


def test_one_that_does_not_start_fails_but_the_others_are_listed(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {**DEMO, "gone": server("exits")})
    ran = mcpctl("tools", "refresh", "--json")
    assert ran.code == 4
    assert [(row["server"], row["tools"]) for row in json.loads(ran.out)] == [("notes", 4), ("weather", 3)]
    assert (ran.error["code"], ran.error["hint"]) == (
        "refresh_failed",
        "look closer with: mcpctl servers check gone; see what it wrote with: mcpctl servers logs gone",
    )
    assert "server 'gone' did not start" in ran.error["message"]
    assert "cannot find my configuration" in ran.error["message"]
    assert mcpctl("tools", "ls", "--count").out == "7\n"


def test_the_rows_of_those_that_were_listed_are_printed_beside_a_failure(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {**DEMO, "gone": server("exits")})
    ran = mcpctl("tools", "refresh", "--fields", "server,tools")
    assert (ran.code, ran.out) == (4, "notes\t4\nweather\t3\n")
    assert "server 'gone' did not start" in ran.err


def test_where_no_entry_can_be_used_nothing_is_listed_and_that_is_a_failure(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": {"comand": "x"}})
    ran = mcpctl("tools", "refresh")
    assert (ran.code, ran.out) == (5, "")
    assert "none of the entries can be used" in ran.err
    configure(paths, {})
    assert mcpctl("tools", "refresh").code == 0


def test_a_missing_command_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "no-such-command-anywhere"}})
    ran = mcpctl("tools", "refresh")
    assert ran.code == 4
    assert "'no-such-command-anywhere'" in ran.err


def test_a_variable_that_is_not_set_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {**DEMO["notes"], "env": {"TOKEN": "${NO_SUCH_VARIABLE}"}}})
    ran = mcpctl("tools", "refresh")
    assert ran.code == 4
    assert "NO_SUCH_VARIABLE" in ran.err


def test_one_that_hangs_is_given_up_after_its_timeout(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {**server("hangs"), "start_timeout_s": 0.2}})
    ran = mcpctl("tools", "refresh")
    assert ran.code == 4
    assert "no answer within 0.2 s" in ran.err


def test_a_disabled_server_is_refused_and_the_way_to_enable_it_named(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"notes": {**DEMO["notes"], "enabled": False}})
    ran = mcpctl("tools", "refresh", "notes")
    assert ran.code == 6
    assert "mcpctl servers enable notes" in ran.err


def test_that_all_servers_are_disabled_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {name: {**DEMO["notes"], "enabled": False} for name in ("b", "a")})
    ran = mcpctl("tools", "refresh")
    assert ran.code == 5
    assert "these are disabled: a, b\nhint: enable one with: mcpctl servers enable a\n" in ran.err


def test_an_unknown_server_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths)
    ran = mcpctl("tools", "refresh", "nots")
    assert ran.code == 3
    assert "did you mean 'notes'?" in ran.err


def test_an_entry_that_cannot_be_used_says_why(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "x", "colour": "red"}})
    ran = mcpctl("tools", "refresh", "s", "--json")
    assert (ran.code, ran.error["code"]) == (5, "server_unusable")
    assert "servers.s.colour" in ran.error["message"]


def test_without_servers_there_is_nothing_to_do(mcpctl: Mcpctl) -> None:
    assert mcpctl("tools", "refresh", "--json").json == []


def test_an_empty_list_that_a_person_asked_for_is_believed(mcpctl: Mcpctl, paths: Paths) -> None:
    program = "from mcpctl.demo.stdio_server import ToolServer; ToolServer('empty', '').run()"
    configure(paths, {"empty": {"command": sys.executable, "args": ["-c", program]}})
    listed(paths, "empty", [{"name": "old", "inputSchema": {}}])
    assert mcpctl("tools", "refresh", "--fields", "tools").out == "0\n"
    assert mcpctl("tools", "ls", "--count").out == "0\n"


def test_a_server_is_asked_for_its_list_once(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    received = tmp_path / "received"
    tap = f"tee -a '{received}' | {' '.join(command('pages', 3, 0.1))}"
    configure(paths, {"pages": {"command": "sh", "args": ["-c", tap]}})
    assert mcpctl("tools", "refresh", "--fields", "tools").out == "5\n"
    assert received.read_text(encoding="utf-8").count('"tools/list"') == 1
