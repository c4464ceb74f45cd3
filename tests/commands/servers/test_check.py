"""`mcpctl servers check`"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import DEMO, configure
from tests.conftest import MCPCTL, Mcpctl, without_privileges
from tests.servers import command

pytestmark = pytest.mark.process


def table(argv: list[str], **more: Any) -> dict[str, Any]:
    return {"command": argv[0], "args": argv[1:], **more}


def python(code: str) -> dict[str, Any]:
    return table([sys.executable, "-c", code])


@pytest.mark.slow
def test_a_server_that_works_is_told_with_what_came_back_and_how_fast(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths)
    rows = mcpctl("servers", "check", "--json").json
    assert [(row["server"], row["status"], row["tools"], row["problems"]) for row in rows] == [
        ("notes", "ok", 4, []),
        ("weather", "ok", 3, []),
    ]
    assert (rows[0]["implementation"], rows[0]["revision"], rows[0]["transport"]) == (
        "notes 1.0.0", "2025-11-25", "stdio",
    )  # fmt: skip
    assert all(isinstance(rows[0][field], int) for field in ("connect_ms", "list_ms"))
    assert mcpctl("tools", "ls", "--count").out == "7\n"


def test_what_each_server_gets_of_the_environment_is_told(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "secret")
    usual = {**DEMO["notes"], "inherit_env": ["PYTHONPATH", "A_TOKEN"], "env": {"B": "${A_TOKEN}"}}
    configure(paths, {"all": DEMO["notes"], "remote": {"url": "http://127.0.0.1:9/mcp"}, "some": usual})
    ran = mcpctl("servers", "check", "--jsonl", "--fields", "environment")
    every, remote, some = (json.loads(line)["environment"] for line in ran.out.splitlines())
    assert re.fullmatch(r"all of this machine's \d+ variables", every)
    assert remote is None
    assert re.fullmatch(r"minimal \(\d+\) \+ (PYTHONPATH, A_TOKEN|A_TOKEN, PYTHONPATH), B", some)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_server_cannot_read_the_environment_of_the_command_that_starts_it(paths: Paths, tmp_path: Path) -> None:
    seen, notes = tmp_path / "seen", [DEMO["notes"]["command"], *DEMO["notes"]["args"]]
    script = 'cat /proc/$PPID/environ > "$0" 2>&1; exec "$@"'
    configure(paths, {"spy": {"command": "sh", "args": ["-c", script, str(seen), *notes]}})
    done = subprocess.run(
        [*MCPCTL, "servers", "check", "--fields", "status"],
        capture_output=True, text=True, check=False, timeout=60, preexec_fn=without_privileges,
    )  # fmt: skip
    assert done.stdout == "ok\n"
    assert seen.read_text(encoding="utf-8").strip().endswith("Permission denied")


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ({"command": "npxx"}, "server 's' did not start: no such command on the PATH: 'npxx'; install it, or write"),
        ({"command": "npx -y a"}, "no such command: 'npx -y a'; write its first word as command and the rest as args"),
        ({"command": "/no/such/file"}, "there is no file '/no/such/file'"),
        ({"command": "/tmp"}, "its command is a folder: '/tmp'"),
        ({"command": "/etc/passwd"}, "its command may not be executed: '/etc/passwd'; if it is a program: chmod +x"),
        ({"command": "x", "env": {"A": "${NOT_SET}"}}, "variable NOT_SET is not set"),
        (python("raise SystemExit('no such module: fish')"), "its last words: no such module: fish"),
        (python("print('Error: no key'); raise SystemExit(1)"), "its last words: Error: no key"),
        (table(command("hangs"), start_timeout_s=0.2), "server 's' did not start: no answer within 0.2 s"),
        ({"comand": "x"}, "servers.s.comand: unknown key; did you mean 'command'?"),
        ({"url": "http://127.0.0.1:9/mcp"}, "server 's' cannot be used: nothing listens there (connection refused)"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_is_wrong_is_told_in_words_and_the_others_are_checked(
    mcpctl: Mcpctl, paths: Paths, server: dict[str, Any], told: str
) -> None:
    configure(paths, {"notes": DEMO["notes"], "s": server})
    ran = mcpctl("servers", "check", "--json")
    good, bad = ran.json
    assert (ran.code, good["status"], bad["status"]) == (4, "ok", "failed")
    assert told in bad["problems"][0]
    assert (ran.error["code"], ran.error["message"]) == ("check_failed", "1 of 2 servers failed: s")


@pytest.mark.parametrize(
    "options", [[], ["--json"], ["--format", "table"], ["--fields", "server,status"], ["--fields", "problems"]]
)
@pytest.mark.slow
def test_a_problem_is_told_once(mcpctl: Mcpctl, paths: Paths, options: list[str]) -> None:
    configure(paths, {"notes": DEMO["notes"], "s": python("raise SystemExit('no such module: fish')")})
    ran = mcpctl("servers", "check", *options)
    assert ran.code == 4
    assert "1 of 2 servers failed: s" in ran.err
    assert (ran.out + ran.err).count("no such module: fish") == 1


def test_a_table_has_its_problems_below_it(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"odd": table(command("rubbish")), "s": {"command": "/no/such/file"}})
    ran = mcpctl("servers", "check", tty=True)
    assert "PROBLEMS" not in ran.out
    assert "odd: it writes to stdout what is not a message" in ran.err
    assert ran.err.count("there is no file '/no/such/file'") == 1


def test_tools_that_run_only_as_tasks_are_told_where_their_server_runs_none(mcpctl: Mcpctl, paths: Paths) -> None:
    definition = {"name": "research", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
    code = f"from mcpctl.demo.stdio_server import ToolServer; lab = ToolServer('lab', ''); lab.tool({definition})(None)"
    configure(paths, {"lab": python(f"{code}; lab.run()")})
    row = mcpctl("servers", "check", "--json").json[0]
    assert (row["status"], row["tools"]) == ("odd", 0)
    assert "only as tasks, and does not say that it runs any" in row["problems"][0]


@pytest.mark.slow
def test_what_is_odd_is_told_by_tool_name_and_fails_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"rubbish": table(command("rubbish")), "raw": table(command("raw"))})
    ran = mcpctl("servers", "check", "rubbish", "--json")
    assert (ran.code, ran.json[0]["status"]) == (0, "odd")
    assert "it writes to stdout what is not a message: 'Server is running...'" in ran.json[0]["problems"][0]
    told = mcpctl("servers", "check", "rubbish", tty=True).err
    assert "rubbish: it writes to stdout what is not a message" in told


def test_a_server_that_is_named_is_checked_while_it_is_disabled(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"notes": {**DEMO["notes"], "enabled": False}})
    assert mcpctl("servers", "check").out == ""
    assert mcpctl("servers", "check", "notes", "--fields", "server,status").out == "notes\tok\n"
    assert mcpctl("servers", "show", "notes", "--json").json["enabled"] is False


def test_a_server_that_nobody_knows_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths)
    ran = mcpctl("servers", "check", "nots", "--json")
    assert (ran.code, ran.error["hint"]) == (3, "did you mean 'notes'?")


def test_the_time_that_each_may_take_can_be_given(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"hangs": table(command("hangs"))})
    ran = mcpctl("servers", "check", "--timeout", "0.2", "--jsonl")
    assert ran.code == 4
    assert json.loads(ran.out)["problems"] == ["server 'hangs' did not start: no answer within 0.2 s"]


def test_a_script_whose_interpreter_is_missing_is_told_so(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    script.chmod(0o755)
    configure(paths, {"s": {"command": str(script)}})
    told = f"the interpreter in the #! line of '{script}' does not exist"
    assert told in mcpctl("servers", "check").out


def test_a_revision_that_nobody_knows_and_tools_that_are_left_out_are_told(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": table(command("malformed"))})
    row = mcpctl("servers", "check", "--json").json[0]
    assert (row["status"], row["tools"]) == ("odd", 12)
    assert row["problems"][0] == "it speaks an unknown revision of the protocol: '2024-10-07'"
    assert "tool no. 13 has no usable name: it is left out" in row["problems"]
