"""`mcpctl policy check --history`: how often the policy of now would have asked, refused and run, and by which rule."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mcpctl.base.definitions import pin_of
from mcpctl.base.models import HISTORY_FIELDS, Tool
from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.approvals import Grant
from mcpctl.policy.policy_file import PolicyFile
from tests import recorded
from tests.configured import configure, listed, stub
from tests.conftest import Mcpctl
from tests.proxy.in_memory import tool

READ, WRITE, DROP = tool("read", readOnlyHint=True), tool("write", destructiveHint=False), tool("drop")
READS = {"readOnlyHint": {"value": True, "source": "declared"}}


def home(paths: Paths, servers: Mapping[str, Any] | None = None, **sections: Any) -> None:
    configure(paths, {"s": stub(), **(servers or {})}, **sections)
    listed(paths, "s", [READ, WRITE, DROP])


def called(paths: Paths, *names: str, session: str = recorded.CLAUDE, **changes: Any) -> None:
    """A session with these calls, one a minute."""
    lines = []
    for number, name in enumerate(names):
        server, _, bare = name.rpartition(":")
        id_ = f"{number:x}{session}"[:36]
        lines += recorded.call(id_, number, session, server=server or "s", tool=bare, **changes)
    recorded.session(paths, session, rest=lines)


def replayed(mcpctl: Mcpctl, *options: str) -> list[tuple[Any, ...]]:
    rows = mcpctl("policy", "check", "--history", "30d", "--json", *options).json
    assert all(tuple(row) == HISTORY_FIELDS for row in rows)
    return [(row["key"], row["decision"], row["times"], row["rule"]) for row in rows]


def test_each_tool_has_how_often_it_would_have_asked_refused_and_run_and_by_which_rule(
    mcpctl: Mcpctl, paths: Paths
) -> None:
    home(paths, policy={"deny": ["s:write"]})
    called(paths, *["read"] * 4, *["write"] * 2, *["drop"] * 3)
    called(paths, "drop", session=recorded.CURSOR)
    ran = mcpctl("policy", "check", "--history", "30d")
    assert ran.code == 0
    assert ran.err.startswith(
        "would have asked 4 times, 4 of them s:drop (2 with a yes for the session each time); refused 2, and run 4:"
        " 10 calls since "
    )
    assert ran.out == (
        "ask\t4\ts:drop\tconfirm_destructive @not-declared\tbuilt in\n"
        f"refuse\t2\ts:write\tdeny s:write\tconfig.toml:{place(paths, 's:write')}\n"
        "run\t4\ts:read\tauto_approve_read_only @read-only\tbuilt in\n"
    )
    assert mcpctl("policy", "check", "--history", "30d", "--json").json[0]["sessions"] == 2


def place(paths: Paths, text: str) -> int:
    lines = paths.config.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_another_file_is_tried_with_config(mcpctl: Mcpctl, paths: Paths) -> None:
    home(paths)
    called(paths, "read", "drop")
    assert [row[1] for row in replayed(mcpctl)] == ["run", "run"]
    assert "the policy is off" in mcpctl("policy", "check", "--history", "30d").err
    other = paths.config.with_name("other.toml")
    other.write_text(f"{paths.config.read_text(encoding='utf-8')}\n[policy]\ndefault = 'deny'\n", encoding="utf-8")
    assert replayed(mcpctl, "--config", str(other)) == [
        ("s:drop", "ask", 1, "confirm_destructive @not-declared"),
        ("s:read", "run", 1, "auto_approve_read_only @read-only"),
    ]


@pytest.mark.parametrize(
    ("policy", "decision", "rule"),
    [
        ({"mode": "record"}, "ask", "confirm_destructive @not-declared"),
        ({"mode": "off"}, "run", "the policy is off"),
        ({"confirm": "never"}, "refuse", "confirm_destructive @not-declared"),
        ({"require_token": True, "confirm_destructive": False}, "run", "default allow"),
    ],
)
def test_what_is_only_recorded_off_never_asked_or_for_tokens(
    mcpctl: Mcpctl, paths: Paths, policy: dict[str, Any], decision: str, rule: str
) -> None:
    home(paths, policy=policy)
    called(paths, "drop")
    assert replayed(mcpctl) == [("s:drop", decision, 1, rule)]


def test_a_yes_for_always_that_holds_now_counts_as_run(mcpctl: Mcpctl, paths: Paths) -> None:
    home(paths, policy={})
    called(paths, "drop", "drop")
    with PolicyFile.connect(paths) as file:
        pin = pin_of(Tool("s", "drop", DROP, json.dumps(DROP)))
        approvals.give(file, Grant("s:drop", pin, "", "", "a session of then"))
        assert replayed(mcpctl)[0][1] == "ask"
        approvals.give(file, Grant("s:drop", pin, "", "", ""))
    assert replayed(mcpctl) == [("s:drop", "run", 2, "confirm_destructive @not-declared: you have said yes, always")]


def test_tools_that_are_not_listed_any_more_are_decided_by_the_hints_that_they_had(
    mcpctl: Mcpctl, paths: Paths
) -> None:
    home(paths, policy={})
    called(paths, "gone", "gone", annotations=recorded.raw(READS))
    error = recorded.raw({"code": "unknown_tool", "message": "no tool"})
    called(paths, "typo", session=recorded.CURSOR, status="failed", error=error)
    assert replayed(mcpctl) == [
        ("s:gone", "run", 2, "auto_approve_read_only @read-only"),
    ]
    ran = mcpctl("policy", "check", "--history", "30d")
    assert "refused 0, and run 2: 2 calls since" in ran.err
    assert "not listed now: s:gone (2)\n" in ran.err
    assert "left out, since nothing of that name was known: s:typo (1)\n" in ran.err
    rows = mcpctl("policy", "check", "--history", "30d", "--json").json
    assert [row["listed"] for row in rows] == [False]


def test_servers_that_are_gone_or_disabled_refuse(mcpctl: Mcpctl, paths: Paths) -> None:
    home(paths, {"off": {**stub(), "enabled": False}}, policy={})
    called(paths, "off:t", "never:t")
    assert [row[1:] for row in replayed(mcpctl)] == [("refuse", 1, "unknown_tool"), ("refuse", 1, "server_disabled")]


def test_each_call_is_decided_in_its_project(mcpctl: Mcpctl, paths: Paths) -> None:
    projects = {"strict": {"policy": {"deny": ["s:drop"]}}, "easy": {"policy": {"confirm_destructive": False}}}
    home(paths, {"own": {**stub("x"), "projects": ["easy"]}}, policy={}, projects=projects)
    for number, project in enumerate(("strict", "easy", "gone", None)):
        called(paths, "drop", session=f"{number}c1a0de0-0000-4000-8000-000000000001", project=project)
    assert sorted(replayed(mcpctl)) == [
        ("s:drop", "ask", 2, "confirm_destructive @not-declared"),
        ("s:drop", "refuse", 1, "deny s:drop"),
        ("s:drop", "run", 1, "default allow"),
    ]
    assert (
        "decided as without a project, since these are gone: gone" in mcpctl("policy", "check", "--history", "1d").err
    )
    assert replayed(mcpctl, "--project", "easy") == [("s:drop", "run", 1, "default allow")]


def test_a_limit_refuses_what_was_over_it_in_any_such_time(mcpctl: Mcpctl, paths: Paths) -> None:
    home(paths, policy={"limit": {"s:*": "2/3m"}, "confirm_destructive": False})
    called(paths, "drop", "write", "drop", "write", "drop")  # minutes 0 to 4: the third is over it
    assert sorted(replayed(mcpctl)) == [
        ("s:drop", "refuse", 1, "limit s:* 2/3m"),
        ("s:drop", "run", 2, "default allow"),
        ("s:write", "run", 2, "default allow"),
    ]


def test_prompts_and_resources_that_were_read_are_decided_too(mcpctl: Mcpctl, paths: Paths) -> None:
    home(paths, policy={}, serve={"expose": ["resources"]})
    rest = [
        recorded.was_read(1, 1, server="s", name="db://a"), recorded.was_read(2, 1, server="s", name="db://a"),
        recorded.was_read(3, 1, server="s", kind="prompt", name="greet"),
        recorded.was_read(4, 1, server=None, name="db://b"),
    ]  # fmt: skip
    recorded.session(paths, rest=rest)
    assert replayed(mcpctl) == [
        ("s:@prompts/greet", "refuse", 1, "not_exposed"),
        ("s:@resources/db://a", "run", 2, ""),
    ]
    said = mcpctl("policy", "check", "--history", "30d").err
    assert "0 calls and 3 reads since" in said
    assert "left out, since nothing of that name was known: @resources/db://b (1)\n" in said


def test_nothing_on_record_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    home(paths, policy={})
    ran = mcpctl("policy", "check", "--history", "30d")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("would have asked 0 times; refused 0, and run 0: 0 calls since")
    assert mcpctl("policy", "check", "--history", "30d", "--json").json == []


def test_names_of_strangers_stay_texts(mcpctl: Mcpctl, paths: Paths) -> None:
    home(paths, policy={})
    called(paths, "\x1b[2J\u202eevil\n1\t2", "a:b:c")
    ran = mcpctl("policy", "check", "--history", "30d", tty=True)
    assert "\x1b[2J" not in ran.out + ran.err
    assert "\u202e" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [(["soon"], "'soon' is not a time"), (["30d", "--format", "sarif"], "--history has no findings to print as sarif")],
)
def test_wrong_options_are_named(mcpctl: Mcpctl, paths: Paths, words: Sequence[str], said: str) -> None:
    home(paths, policy={})
    ran = mcpctl("policy", "check", "--history", *words)
    assert (ran.code, said in ran.err) == (2, True)
