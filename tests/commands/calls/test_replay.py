"""`mcpctl calls replay`, on real servers."""

import json
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure, demo_tools, listed
from tests.conftest import Mcpctl, Ran
from tests.recorded import CLAUDE, call, call_id, raw, searched, session
from tests.servers import command

COUNT: dict[str, Any] = {
    "name": "count", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True},
}  # fmt: skip
ECHO: dict[str, Any] = {"name": "echo", "inputSchema": {"type": "object"}}
COUNTED: dict[str, Any] = {"server": "s", "tool": "count", "arguments": raw({})}
ECHOED: dict[str, Any] = {"server": "s", "tool": "echo"}
SECRET = "[redacted:0a1b2c3d]"


@pytest.fixture
def server(paths: Paths) -> None:
    """A server with a tool that only reads and one that says nothing of itself."""
    words = command("counter")
    configure(paths, {"s": {"command": words[0], "args": words[1:]}})
    listed(paths, "s", [COUNT, ECHO])


def plans(ran: Ran) -> list[tuple[str, str]]:
    return [(row["id"][0], row["plan"]) for row in ran.json]


def replayed(mcpctl: Mcpctl) -> Any:
    """The one call that was called again."""
    (row,) = [row for row in mcpctl("calls", "ls", "--json").json if row["via"] == "replay"]
    return row


def echo_of(arguments: str) -> Any:
    return raw({"content": [{"type": "text", "text": arguments}]})


@pytest.mark.process
@pytest.mark.usefixtures("server")
def test_what_only_reads_runs_and_the_rest_is_shown(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[*call(1, 1, **COUNTED), *call(2, 2, **ECHOED)])
    ran = mcpctl("calls", "replay", "--session", CLAUDE, "--json")
    assert (ran.code, plans(ran)) == (0, [("1", "ran"), ("2", "needs_execute")])
    text = json.loads(ran.json[0]["result"]["content"][0]["text"])
    assert text["count"] == 1
    row = replayed(mcpctl)
    assert (row["tool"], row["parent_id"], row["id"]) == ("count", call_id(1), ran.json[0]["replayed_as"])


@pytest.mark.process
@pytest.mark.usefixtures("server")
def test_a_session_runs_in_its_order_and_in_one_process(mcpctl: Mcpctl, paths: Paths) -> None:
    arguments = '{"n": 1.10e2, "big": 123456789012345678901234567890}'
    session(
        paths, rest=[*call(1, 1, **COUNTED), *call(2, 2, **ECHOED, arguments=raw({"x": 1})), *call(3, 3, **COUNTED)]
    )
    (file,) = paths.sessions.iterdir()
    file.write_bytes(file.read_bytes().replace(b'{"x": 1}', arguments.encode()))
    ran = mcpctl("calls", "replay", "--session", "last", "--execute", "--json")
    assert plans(ran) == [("1", "ran"), ("2", "ran"), ("3", "ran")]
    counts = [json.loads(ran.json[number]["result"]["content"][0]["text"])["count"] for number in (0, 2)]
    assert counts == [1, 3]
    again = json.loads(ran.json[1]["result"]["content"][0]["text"])
    assert again == {"n": 110.0, "big": 123456789012345678901234567890}
    assert arguments in mcpctl("calls", "show", ran.json[1]["replayed_as"], "--json").out
    # what was a replay is not replayed with the session that it is in
    day = mcpctl("calls", "show", ran.json[1]["replayed_as"], "--json").json["session_id"]
    assert mcpctl("calls", "replay", "--session", day, "--json").json == []


@pytest.mark.usefixtures("server")
def test_a_diff_names_what_did_not_run(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[*call(1, 1, **ECHOED), *call(2, 2, **ECHOED)])
    ran = mcpctl("calls", "replay", "--session", "last", "--diff")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "not called without --execute, since it may change something: s:echo\n"


@pytest.mark.usefixtures("server")
def test_a_dry_run_runs_nothing_and_says_what_would_be(mcpctl: Mcpctl, paths: Paths) -> None:
    secret = raw({"auth": {"token": SECRET}})
    session(paths, rest=[*call(1, 1, **COUNTED), *call(2, 2, **ECHOED), *call(3, 3, **ECHOED, arguments=secret)])
    ran = mcpctl("calls", "replay", "--session", "last", "--dry-run")
    assert [line.split("\t")[4:6] for line in ran.out.splitlines()] == [
        ["would run", ""], ["needs --execute", ""], ["cannot", "redacted at $.auth.token"],
    ]  # fmt: skip
    assert mcpctl("calls", "ls", "--count").out == "3\n"
    executed = mcpctl("calls", "replay", "--session", "last", "--dry-run", "--execute", "--json")
    assert [plan for _, plan in plans(executed)] == ["would_run", "would_run", "cannot"]


@pytest.mark.usefixtures("server")
def test_what_was_redacted_is_never_sent(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, **ECHOED, arguments=raw({"key": SECRET})))
    ran = mcpctl("calls", "replay", "last", "--execute", "--json")
    assert (ran.code, plans(ran)) == (6, [("1", "cannot")])
    assert ran.error["code"] == "not_replayed"
    assert "redacted at $.key" in ran.error["message"]
    assert ran.error["hint"] == "run it yourself, with the missing arguments: mcpctl tools call"
    assert mcpctl("calls", "ls", "--count").out == "1\n"


@pytest.mark.process
@pytest.mark.usefixtures("server")
def test_a_diff_is_of_the_results_and_says_so_with_its_status(mcpctl: Mcpctl, paths: Paths) -> None:
    same = echo_of('{"x": 1}')
    session(paths, rest=call(1, 1, **ECHOED, arguments=raw({"x": 1}), response=same))
    ran = mcpctl("calls", "replay", "last", "--execute", "--diff")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    session(paths, rest=call(2, 2, **ECHOED, arguments=raw({"x": 1}), response=echo_of('{"x": 2}')))
    ran = mcpctl("calls", "replay", call_id(2), "--execute", "--diff")
    assert ran.code == 7
    assert [line[0] for line in ran.out.splitlines()].count("-") == 2  # the head, and the text
    assert f"--- {call_id(2)} s:echo (ok)" in ran.out


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.usefixtures("server")
def test_a_result_that_was_cut_is_not_compared(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, **COUNTED, response=raw("the beginning"), response_truncated=True))
    ran = mcpctl("calls", "replay", "last", "--json")
    assert (ran.code, ran.json[0]["same"]) == (0, None)
    ran = mcpctl("calls", "replay", call_id(1), "--diff")
    assert (ran.code, ran.err) == (0, "1 of 1 result not compared: on record only in part\n")
    assert ran.out.startswith(f"# {call_id(1)} s:")
    differs = call(2, 2, **ECHOED, arguments=raw({"x": 1}), response=echo_of('{"x": 2}'))
    session(paths, rest=differs)
    ran = mcpctl("calls", "replay", call_id(1), call_id(2), "--execute", "--diff")
    assert (ran.code, ran.err.splitlines()[:2]) == (
        7, ["1 of 2 results not compared: on record only in part", "mcpctl: 1 of 1 results differ"]
    )  # fmt: skip


@pytest.mark.process
def test_the_hints_of_the_server_decide_once_more_when_it_runs(mcpctl: Mcpctl, paths: Paths) -> None:
    words = command("counter")
    configure(paths, {"s": {"command": words[0], "args": words[1:]}})
    listed(paths, "s", [{**ECHO, "annotations": {"readOnlyHint": True}}])  # as it was; it says nothing any more
    session(paths, rest=call(1, 1, **ECHOED))
    ran = mcpctl("calls", "replay", "last", "--json")
    assert (ran.code, plans(ran)) == (0, [("1", "needs_execute")])
    assert replayed(mcpctl)["status"] == "denied"


def test_policy_holds_as_for_any_call(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    paths.config.write_text(paths.config.read_text() + '\n[policy]\ndeny = ["notes:*"]\n')
    session(paths, rest=call(1, 1, server="notes", tool="list_notes", arguments=raw({})))
    denied = "tool 'notes:list_notes' is denied by the policy (deny notes:*, config.toml:16)"
    shown = mcpctl("calls", "replay", "last", "--dry-run")
    assert (shown.code, shown.out.split("\t")[4:6]) == (0, ["cannot", denied])
    ran = mcpctl("calls", "replay", "last", "--execute", "--json")
    assert (ran.code, plans(ran)) == (6, [("1", "cannot")])
    assert ran.error["hint"] == "see why with: mcpctl policy explain notes:list_notes"
    assert replayed(mcpctl)["status"] == "denied"


def test_a_dry_run_says_that_consent_is_needed(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    paths.config.write_text(paths.config.read_text() + '\n[policy]\nask = ["notes:*"]\n')
    session(paths, rest=call(1, 1, server="notes", tool="list_notes", arguments=raw({})))
    shown = mcpctl("calls", "replay", "last", "--dry-run")
    assert shown.out.split("\t")[4:6] == ["would run", "it needs your consent"]


def test_a_server_that_is_gone_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, server="gone"))
    ran = mcpctl("calls", "replay", "last", "--execute")
    assert (ran.code, ran.out.split("\t")[4:6]) == (6, ["cannot", "no server 'gone' is configured"])
    assert ran.err.endswith("hint: list servers with: mcpctl servers ls\n")


def test_a_server_that_fails_is_a_failure(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "false"}})
    listed(paths, "s", [ECHO])
    session(paths, rest=call(1, 1, **ECHOED))
    ran = mcpctl("calls", "replay", "last", "--execute", "--json")
    assert (ran.code, plans(ran), ran.json[0]["status"]) == (4, [("1", "ran")], "failed")


@pytest.mark.parametrize("words", [[], ["last", "--session", "last"], ["last", "--diff", "--json"], ["10d15c"]])
def test_what_cannot_be_meant_is_wrong_usage(mcpctl: Mcpctl, paths: Paths, words: list[str]) -> None:
    session(paths, rest=[searched(1, 1), *call(1, 1)])
    assert mcpctl("calls", "replay", *words).code == 2


def test_a_call_that_is_not_on_record_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1))
    assert mcpctl("calls", "replay", "ffff").code == 3


READ: dict[str, Any] = {"server": "@mcpctl", "tool": "read"}


@pytest.mark.process
@pytest.mark.usefixtures("server")
def test_of_a_session_what_its_model_read_is_left_out(mcpctl: Mcpctl, paths: Paths) -> None:
    stored, resource = ({"uri": f"mcpctl://calls/{call_id(1)}"}, {"uri": "note://a"})
    reads = [
        *call(2, 2, **READ, arguments=raw(stored), parent_id=call_id(1)),
        *call(3, 3, **READ, arguments=raw(stored)),
        *call(4, 4, **READ, arguments=raw(resource)),
    ]
    session(paths, rest=[*call(1, 1, **COUNTED), *reads])
    ran = mcpctl("calls", "replay", "--session", CLAUDE, "--json")
    assert (ran.code, plans(ran)) == (0, [("1", "ran")])


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "parent, why, hint",
    [
        (call_id(1), "it read a stored answer, which only", f"mcpctl calls response {call_id(1)}"),
        (None, "it read a resource for the model", "mcpctl resources read URI"),
    ],
)
def test_a_read_that_is_named_says_what_to_do_instead(
    parent: str | None, why: str, hint: str, mcpctl: Mcpctl, paths: Paths
) -> None:
    session(paths, rest=[*call(1, 1, **COUNTED), *call(2, 2, **READ, parent_id=parent)])
    ran = mcpctl("calls", "replay", call_id(2), "--json")
    assert (ran.code, ran.json[0]["hints"]) == (6, "R-Io")
    assert ran.json[0]["why"].startswith(why)
    assert hint in ran.err
