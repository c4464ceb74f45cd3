"""`mcpctl policy check`: rules that match nothing, never decide or contradict each other are named where they are."""

import json
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from mcpctl.base.models import FINDING_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.catalog.policy_check import RULES
from tests.configured import configure, demo_tools, listed, stub, toolset
from tests.conftest import ROOT, Mcpctl
from tests.sarif import SARIF

OF_ONE = "of the one tool that it matches"
PLAIN = {"auto_approve_read_only": False, "confirm_destructive": False}


def policy(paths: Paths, **lists: Any) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    rules = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lists.items())
    servers = "".join(f"[servers.{name}]\ncommand = '{name}'\n" for name in ("s", "later", "off"))
    paths.config.write_text(f"[policy]\n{rules}{servers}enabled = false\n", encoding="utf-8")
    listed(paths, "s", [{"name": "read", "annotations": {"readOnlyHint": True}}, {"name": "t"}])


def test_what_the_readme_begins_with_fails_nothing_where_its_servers_are_not(mcpctl: Mcpctl, paths: Paths) -> None:
    rules = re.search(r"```toml\n(\[policy\]\n.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert rules
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(f"{rules[1]}[servers.time]\ncommand = 'true'\n", encoding="utf-8")
    listed(paths, "time", [{"name": "now"}])
    assert [rule for rule, _ in found(mcpctl)] == ["I902"] * 3
    assert mcpctl("policy", "check").code == 0
    assert [row["code"] for row in mcpctl("doctor", "--json").json if row["code"] == "D106"] == []


def found(mcpctl: Mcpctl, *options: str) -> list[tuple[str, str]]:
    return [(row["rule"], row["message"]) for row in mcpctl("policy", "check", "--json", *options).json]


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"deny": ["s:x?"]}, [("W901", "'deny s:x?' matches no tool")]),
        ({"allow": ["s:T"]}, [("W901", "'allow s:T' matches no tool; did you mean s:t?")]),
        ({"deny": ["S:T"]}, []),
        ({"deny": ["@mcpctl:read", "s:x?"]}, [("W901", "'deny s:x?' matches no tool")]),
        ({"deny": ["nobody:*"]}, [("I902", "'deny nobody:*': there is no server 'nobody' here")]),
        ({"deny": ["latr:x"]}, [("W901", "'deny latr:x' matches no tool; did you mean later?")]),
        ({"ask": ["later:x"]}, [("I901", "'ask later:x': it is unknown whether it matches, for later is not listed")]),
        ({"ask": ["*:x"]}, [("I901", "'ask *:x': it is unknown whether it matches, for later is not listed")]),
        ({"ask": ["off:x"]}, []),
        ({"ask": ["*:t"], "deny": ["s:read"]}, []),
        (
            {"deny": ["s:*"], "allow": ["s:t"]},
            [("W902", f"'allow s:t' never decides: {OF_ONE}, deny s:* (config.toml:2) does")],
        ),
        (
            {"ask": ["s:read", "s:t"], "allow": ["s:*"]},
            [
                (
                    "W902",
                    "'allow s:*' never decides: of all 2 tools that it matches, ask s:read (config.toml:2) and 1 more"
                    " do",
                )
            ],
        ),
        ({"ask": ["s:t", "s:t"]}, [("W902", "'ask s:t' is there twice: ask s:t (config.toml:2)")]),
        ({"ask": ["*"], "allow": ["*:*"]}, [("W903", "'allow *:*' never applies: ask * (config.toml:2) goes before")]),
        (
            {"deny": ["later:x"], "allow": ["later:x"]},
            [
                ("I901", "'deny later:x': it is unknown whether it matches, for later is not listed"),
                ("W903", "'allow later:x' never applies: deny later:x (config.toml:2) goes before"),
            ],
        ),
        ({"ask": ["@destructive"], "allow": ["@read-only"]}, []),
        (
            {"deny": ["@changing", "@not-declared"], "ask": ["s:t"]},
            [("W902", f"'ask s:t' never decides: {OF_ONE}, deny @not-declared (config.toml:2) does")],
        ),
    ],
)
def test_what_is_named(mcpctl: Mcpctl, paths: Paths, lists: dict[str, list[str]], expected: list[Any]) -> None:
    policy(paths, **{**lists, **PLAIN})
    assert found(mcpctl) == expected


def test_the_default_rules_are_not_named(mcpctl: Mcpctl, paths: Paths) -> None:
    policy(paths, deny=["s:*"])
    assert found(mcpctl) == []


def test_the_place_is_that_of_the_rule(mcpctl: Mcpctl, paths: Paths) -> None:
    policy(paths, deny=["s:t", "s:x"])
    (row,) = mcpctl("policy", "check", "--json").json
    assert (row["path"], row["line"], row["column"], row["severity"]) == (str(paths.config), 2, 1, "warning")
    assert tuple(row) == FINDING_FIELDS


def test_a_rule_of_a_toolset_has_its_file_line_and_column(mcpctl: Mcpctl, paths: Paths) -> None:
    policy(paths)
    path = toolset(paths, "triage", "s:t", policy={"deny": ["s:x"]})
    (row,) = mcpctl("policy", "check", "--json", "--toolset", "triage").json
    lines = path.read_text(encoding="utf-8").splitlines()
    assert (row["path"], row["toolset"]) == (str(path), "triage")
    assert lines[row["line"] - 1][row["column"] - 1 :] == '"s:x"'


def test_an_entry_of_a_tool_that_is_gone_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {**stub(), "tools": {"gone": "ask"}}}, policy={})
    listed(paths, "s", [{"name": "t"}])
    assert found(mcpctl) == [("W901", "'ask s:gone' matches no tool")]


def test_the_rules_of_a_project_are_checked_with_it_in_force(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()}, policy={"deny": ["s:t"]}, projects={"p": {"policy": {"deny": ["s:gone", "s:t"]}}})
    listed(paths, "s", [{"name": "t"}])
    assert found(mcpctl) == []
    assert [rule for rule, _ in found(mcpctl, "--project", "p")] == ["W901", "W902"]


def test_an_allow_rule_that_still_asks_is_named_with_the_reason(mcpctl: Mcpctl, paths: Paths) -> None:
    tools: list[dict[str, Any]] = [{"name": "r", "annotations": {"readOnlyHint": True}}, {"name": "w"}, {"name": "d"}]
    for policy_, expected in (
        ({"default": "deny", "allow": ["s:*"]}, ["I903"]),
        ({"default": "deny", "allow": ["s:w"]}, ["W902"]),
        ({"default": "deny", "allow": ["s:*"], "confirm_destructive": True}, []),
        ({"default": "deny", "allow": ["s:*"], "confirm_destructive": False}, []),
        ({"default": "deny", "allow": ["s:r"]}, []),
        ({"allow": ["s:*"], "ask": ["s:w"]}, ["I903"]),
    ):
        configure(paths, {"s": stub()}, policy=policy_)
        listed(paths, "s", tools)
        rows = mcpctl("policy", "check", "--json", "--fail-on", "never").json
        assert [row["rule"] for row in rows if row["message"].startswith("'allow")] == expected, policy_
    configure(paths, {"s": stub()}, policy={"default": "deny", "allow": ["s:*"]})
    still = "'allow s:*' still asks for 2 of its 3 tools: confirm_destructive is on, and asks for @not-declared first"
    assert found(mcpctl) == [("I903", still)]
    configure(paths, {"s": stub()}, policy={"default": "deny", "allow": ["s:w"]})
    ((_, never),) = found(mcpctl)
    assert never.endswith("which is on unless it is written otherwise")


def test_a_limit_that_matches_no_tool_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    limits = {"s:t": "1/h", "s:gone": "1/h", "@destructive": "1/h", "later:*": "1/h", "sx:*": "1/h"}
    configure(paths, {"s": stub(), "later": stub("x")}, policy={"limit": limits})
    listed(paths, "s", [{"name": "t"}])
    assert found(mcpctl) == [
        ("W901", "'limit s:gone 1/h' matches no tool"),
        ("I901", "'limit later:* 1/h': it is unknown whether it matches, for later is not listed"),
        ("W901", "'limit sx:* 1/h' matches no tool; did you mean s?"),
    ]
    rows = mcpctl("policy", "check", "--json").json
    lines = paths.config.read_text(encoding="utf-8").splitlines()
    assert lines[rows[0]["line"] - 1].startswith('"s:gone"')


def test_it_says_for_how_many_tools_you_would_be_asked(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, policy={"deny": ["notes:delete_note"]})
    ran = mcpctl("policy", "check")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "would ask for 2 of 7 tools, allow 4, deny 1\n"


def test_servers_that_are_not_listed_are_named(mcpctl: Mcpctl, paths: Paths) -> None:
    policy(paths)
    assert "not listed yet: later; list their tools with: mcpctl tools refresh" in mcpctl("policy", "check").err


def test_without_a_policy_it_says_so(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("policy", "check")
    assert ran.code == 0
    assert ran.err.startswith(
        f"the policy is off (to turn it on, write [policy] in {paths.config}); would ask for 0 of 7"
    )


def test_of_a_policy_that_is_only_recorded_it_counts_what_it_would_do(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, policy={"mode": "record"})
    assert (
        mcpctl("policy", "check").err
        == "the policy is only recorded; enforced, it would ask for 3 of 7 tools, allow 4\n"
    )


@pytest.mark.parametrize(
    ("fail_on", "code", "code_if_unknown"), [("error", 0, 0), ("warning", 7, 0), ("info", 7, 7), ("never", 0, 0)]
)
def test_what_fails_the_check(mcpctl: Mcpctl, paths: Paths, fail_on: str, code: int, code_if_unknown: int) -> None:
    policy(paths, deny=["s:x"])
    assert mcpctl("policy", "check", "--fail-on", fail_on).code == code
    policy(paths, deny=["later:x"])
    assert mcpctl("policy", "check", "--fail-on", fail_on).code == code_if_unknown


def test_a_value_that_an_option_does_not_have_is_refused(mcpctl: Mcpctl, paths: Paths) -> None:
    policy(paths)
    assert mcpctl("policy", "check", "--fail-on", "x").code == 2
    assert mcpctl("policy", "check", "--format", "x").code == 2


def test_every_format(mcpctl: Mcpctl, paths: Paths) -> None:
    policy(paths, deny=["s:x"])
    ran = mcpctl("policy", "check")
    assert ran.out == f"{paths.config}:2:1: W901 'deny s:x' matches no tool\n"
    assert "; a rule to look at" in ran.err
    assert mcpctl("policy", "check", "--jsonl").jsonl == mcpctl("policy", "check", "--json").json
    assert mcpctl("policy", "check", "--format", "github").out.startswith(f"::warning file={paths.config},line=2,col=1")
    jsonschema.validate(json.loads(mcpctl("policy", "check", "--format", "sarif").out), SARIF)
    suites = ElementTree.fromstring(mcpctl("policy", "check", "--format", "junit").out)
    assert (suites.get("name"), [suite.get("failures") for suite in suites]) == ("mcpctl policy check", ["1"])


def test_the_rules_are_listed_with_their_reasons(mcpctl: Mcpctl) -> None:
    rows = mcpctl("policy", "check", "--rules", "--json").json
    assert [row["id"] for row in rows] == list(RULES)
    assert all(row["why"] and row["fix"] for row in rows)
