"""`mcpctl policy explain`: every rule that matches a tool, the one that decides, and whose hints count."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.definitions import pin_of
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.approvals import Grant
from mcpctl.policy.policy_file import PolicyFile
from tests.configured import configure, demo_tools, listed, overridden, stub, toolset
from tests.conftest import Mcpctl

SILENT = {"name": "t", "inputSchema": {"type": "object"}}
READING = {"name": "r", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
PLAIN = {"auto_approve_read_only": False, "confirm_destructive": False}


def explained(mcpctl: Mcpctl, key: str, *options: str) -> Any:
    return mcpctl("policy", "explain", key, "--json", *options).json


def two_tools(paths: Paths, server: Any = None, **policy: Any) -> None:
    configure(paths, {"s": {**stub(), **(server or {})}}, policy=policy)
    listed(paths, "s", [SILENT, READING])


@pytest.mark.parametrize(
    ("policy", "decision", "decided_by"),
    [
        ({}, "ask", "confirm_destructive @not-declared"),
        ({"deny": ["s:*"], "allow": ["s:t"]}, "deny", "deny s:*"),
        ({"ask": ["s:?"], **PLAIN}, "ask", "ask s:?"),
        ({"allow": ["s:t"], "default": "deny", **PLAIN}, "allow", "allow s:t"),
        ({"default": "deny", **PLAIN}, "deny", "default deny"),
        (PLAIN, "allow", "default allow"),
        ({"confirm": "never"}, "refused", "confirm_destructive @not-declared"),
    ],
)
def test_the_decision_is_that_of_serve(
    mcpctl: Mcpctl, paths: Paths, policy: dict[str, Any], decision: str, decided_by: str
) -> None:
    two_tools(paths, **policy)
    row = explained(mcpctl, "s:t")
    assert (row["decision"], row["decided_by"], row["enforced"]) == (decision, decided_by, True)
    assert [rule["rule"] for rule in row["rules"] if rule["decides"]] == [decided_by][
        : not decided_by.startswith("def")
    ]


def test_every_rule_that_matches_is_there_in_its_order_with_file_and_line(
    mcpctl: Mcpctl, paths: Paths, tmp_path: Path
) -> None:
    text = (
        "[servers.s]\ncommand = 'x'\n[servers.s.tools]\nt = 'allow'\n"
        "[policy]\nallow = ['other:*',\n  's:*']\nask = ['s:t']\ndeny = ['s:t2']\n"
    )
    paths.config.parent.mkdir(parents=True)
    paths.config.write_text(text, encoding="utf-8")
    listed(paths, "s", [SILENT])
    path = toolset(paths, "triage", "s:t", path=tmp_path / "triage.json", policy={"deny": ["x:*"], "ask": ["*:t"]})
    row = explained(mcpctl, "s:t", "--toolset", str(path))
    assert [(rule["rule"], Path(rule["file"]).name, rule["line"], rule["decides"]) for rule in row["rules"]] == [
        ("ask *:t", "triage.json", 13, True),
        ("allow s:t", "config.toml", 4, False),
        ("ask s:t", "config.toml", 8, False),
        ("confirm_destructive @not-declared", "config.toml", None, False),
        ("allow s:*", "config.toml", 7, False),
    ]


def test_a_tool_set_false_is_refused_by_its_entry(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths, server={"tools": {"t": False}})
    row = explained(mcpctl, "s:t")
    assert (row["decision"], row["code"], row["decided_by"]) == ("refused", "not_permitted", "deny s:t")
    assert row["hint"] == f"see [servers.s.tools] in {paths.config}"


@pytest.mark.parametrize("policy", ["", "[policy]\nallow = ['s:t']\n"])
def test_a_tool_that_only_does_not_have_is_refused_by_its_line(mcpctl: Mcpctl, paths: Paths, policy: str) -> None:
    paths.config.parent.mkdir(parents=True)
    text = "[servers.s]\ncommand = 'x'\nonly = [\n  'r*', 'a',\n 'b', 'c', 'd', 'e']\n"
    paths.config.write_text(f"{text}{policy}", encoding="utf-8")
    listed(paths, "s", [SILENT, READING])
    row = explained(mcpctl, "s:t")
    only = 'only ["r*", "a", "b", "c", "d", …]'
    assert (row["decision"], row["code"], row["decided_by"]) == ("refused", "not_permitted", only)
    assert row["hint"] == f"see only of [servers.s] in {paths.config}, line 3"
    first = row["rules"][0]
    assert (first["rule"], first["file"], first["line"], first["decides"]) == (only, str(paths.config), 3, True)
    assert "line 3" in mcpctl("policy", "explain", "s:t").out
    assert explained(mcpctl, "s:r")["decision"] == "allow"


def test_a_disabled_server_and_one_of_another_project_are_explained(mcpctl: Mcpctl, paths: Paths) -> None:
    servers = {"s": {**stub(), "enabled": False}, "p": {**stub(), "projects": ["work"]}}
    configure(paths, servers, policy={}, projects={"home": {}})
    assert explained(mcpctl, "s:t")["code"] == "server_disabled"
    assert explained(mcpctl, "p:t", "--project", "home")["code"] == "not_in_project"


def test_a_hint_that_may_not_loosen_is_said_not_to_count(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths, server={"trust_hints": "no"})
    row = explained(mcpctl, "s:r")
    assert (row["decision"], row["risk"], row["trust_hints"]) == ("ask", "not-declared", "no")
    assert row["hints"]["readOnlyHint"] == {
        "value": True, "source": "declared", "file": None,
        "counts": False, "counted_value": False, "counted_source": "default",
    }  # fmt: skip
    out = mcpctl("policy", "explain", "s:r").out
    assert 'does not count for rules (trust_hints = "no"): taken for no' in out


def test_an_override_of_the_users_own_toolset_counts_and_one_of_a_repository_does_not(
    mcpctl: Mcpctl, paths: Paths, tmp_path: Path
) -> None:
    two_tools(paths)
    members: dict[str, Any] = {"toolOverrides": [overridden("s:t", readOnlyHint=True)]}
    toolset(paths, "own", "s:t", **members)
    toolset(paths, "repo", "s:t", path=tmp_path / "repo.json", **members)
    own = explained(mcpctl, "s:t", "--toolset", "own")
    repository = explained(mcpctl, "s:t", "--toolset", str(tmp_path / "repo.json"))
    assert (own["decision"], own["hints"]["readOnlyHint"]["counts"]) == ("allow", True)
    assert (repository["decision"], repository["hints"]["readOnlyHint"]["counts"]) == ("ask", False)
    assert repository["hints"]["readOnlyHint"]["file"] == str(tmp_path / "repo.json")


def test_a_tool_that_nobody_has_listed_is_explained_as_one_that_declares_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths)
    row = explained(mcpctl, "s:tt")
    assert (row["listed"], row["decision"], row["risk"]) == (False, "ask", "not-declared")
    assert row["near"] == ["s:t"]
    assert "no server has listed it" in mcpctl("policy", "explain", "s.tt").out


def test_an_unknown_server_is_not_found_and_near_names_are_given(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("policy", "explain", "wether:get_forecast", "--json")
    assert (ran.code, ran.error["code"], ran.error["hint"]) == (3, "server_not_found", "did you mean 'weather'?")


def test_a_key_without_a_tool_is_refused(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("policy", "explain", "weather")
    assert (ran.code, "name one as weather:TOOL" in ran.err) == (2, True)


def test_without_a_policy_one_line_says_so_and_how_to_turn_it_on(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("policy", "explain", "weather:set_alert")
    assert ran.out == (
        "weather:set_alert\n"
        "decision:    allow: it is called\n"
        f"policy:      off: every permitted tool is called; to turn it on, write [policy] in {paths.config}, with"
        ' mode = "enforce" or "record"\n'
    )
    row = explained(mcpctl, "weather:set_alert")
    assert (row["mode"], row["decision"], row["decided_by"]) == ("off", "allow", None)


def test_of_a_policy_that_is_only_recorded_it_says_what_it_would_do(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths, mode="record", deny=["s:t"])
    row = explained(mcpctl, "s:t")
    assert (row["mode"], row["decision"], row["enforced"]) == ("record", "deny", False)
    assert "allow: it is called, since the policy is only recorded" in mcpctl("policy", "explain", "s:t").out


def test_a_yes_that_holds_is_shown_and_counts(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths)
    pin = pin_of(Tool("s", "t", SILENT, json.dumps(SILENT)))
    with PolicyFile.connect(paths) as file:
        approvals.give(file, Grant("s:t", pin, "", "", ""))
        approvals.give(file, Grant("s:t", "another", "", "", ""))
        approvals.give(file, Grant("s:r", pin, "", "", ""))
    row = explained(mcpctl, "s:t")
    assert row["decision"] == "allow"
    assert [(grant["scope"], grant["holds"]) for grant in row["grants"]] == sorted(
        [("always", True), ("always", False)], key=lambda pair: pin if pair[1] else "another"
    )
    assert "you have said yes, always" in mcpctl("policy", "explain", "s:t").out


def test_nothing_is_made_on_disk(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()}, policy={})
    explained(mcpctl, "s:t")
    assert not paths.data.exists()


def test_arguments_have_a_hash_whatever_their_order_and_must_be_an_object(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths)
    one, other = (explained(mcpctl, "s:t", "--args", text) for text in ('{"a": 1, "b": 2}', '{"b":2,"a":1}'))
    assert one["arguments_hash"] == other["arguments_hash"] != explained(mcpctl, "s:t")["arguments_hash"]
    for wrong in ("[]", "{", "x"):
        assert mcpctl("policy", "explain", "s:t", "--args", wrong).code == 2


def test_what_a_person_reads(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths, deny=["s:r"], allow=["s:*"])
    assert mcpctl("policy", "explain", "s:t").out == (
        "s:t\n"
        "decision:    ask: you are asked first\n"
        "rule:        confirm_destructive @not-declared\n"
        "class:       @not-declared, @open-world\n"
        "\n"
        "the rules that match, in the order in which they count:\n"
        "> confirm_destructive @not-declared  (built in)  decides\n"
        "  allow s:*  (config.toml:10)\n"
        'ask goes before allow; to have it called unasked, write t = "allow" in [servers.s.tools]\n'
        "\n"
        "read only:   no (not declared)\n"
        "destructive: yes (not declared)\n"
        "idempotent:  no (not declared)\n"
        "open world:  yes (not declared)\n"
    )


def test_a_key_cannot_command_the_terminal(mcpctl: Mcpctl, paths: Paths) -> None:
    two_tools(paths)
    assert "\x1b" not in mcpctl("policy", "explain", "s:\x1b[2Jx", tty=True).out
