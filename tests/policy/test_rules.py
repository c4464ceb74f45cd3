"""The rules of [policy]: their order, their classes, how names are compared, and whose hints count."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.models import HINTS, Overrides, Tool
from mcpctl.config import config
from mcpctl.config.policy_settings import PolicyRule
from mcpctl.policy import words
from mcpctl.policy.rules import Rules, Ruling, rules_of
from mcpctl.toolsets.toolset import Toolset
from tests.table import for_each

SERVERS = "[servers.s]\ncommand = 'x'\n[servers.github]\ncommand = 'x'\n"


def tool(name: str = "t", server: str = "s", *, is_approved: bool = False, **declared: bool) -> Tool:
    definition = {"name": name, "annotations": {f"{hint}Hint": value for hint, value in declared.items()}}
    return Tool(server, name, definition, msgspec.json.encode(definition).decode(), is_approved=is_approved)


def rules(policy: str, toolset: Toolset | None = None, servers: str = SERVERS) -> Rules:
    return rules_of(config.parsed(Path("config.toml"), f"[policy]\n{policy}\n{servers}"), toolset)


def decided(policy: str, subject: Tool, toolset: Toolset | None = None, servers: str = SERVERS) -> str:
    in_force = rules(policy, toolset, servers)
    ruling = in_force.ruling(subject.server, subject.name, subject)
    label, place = words.rule_of(ruling, in_force.config)
    return f"{ruling.effect}: {label} {place}".strip()


READ, WRITE = tool(readOnly=True), tool(readOnly=False, destructive=False)
DESTROY, SILENT = tool(readOnly=False, destructive=True), tool()
PLAIN = "auto_approve_read_only = false\nconfirm_destructive = false\n"


@for_each(
    ("subject", "expected"),
    [
        (READ, "allow: auto_approve_read_only @read-only built in"),
        (WRITE, "allow: default allow"),
        (DESTROY, "ask: confirm_destructive @destructive built in"),
        (SILENT, "ask: confirm_destructive @not-declared built in"),
    ],
)
def test_what_an_empty_policy_says(subject: Tool, expected: str) -> None:
    assert decided("", subject) == expected


@for_each(
    ("policy", "expected"),
    [
        ('deny = ["s:t"]\nask = ["s:t"]\nallow = ["s:t"]', "deny: deny s:t config.toml:4"),
        ('ask = ["s:t"]\nallow = ["s:t"]', "ask: ask s:t config.toml:4"),
        ('allow = ["x:y",\n  "s:t"]\ndefault = "deny"', "allow: allow s:t config.toml:5"),
        ('ask = ["*"]\nallow = ["s:t"]', "ask: ask * config.toml:4"),
        ('deny = ["*:*"]\nallow = ["s:t"]', "deny: deny *:* config.toml:4"),
        ('default = "deny"', "deny: default deny config.toml:4"),
        ('default = "ask"', "ask: default ask config.toml:4"),
        ('deny = ["github:*"]', "allow: default allow"),
    ],
)
def test_the_first_list_that_matches_decides_whatever_is_more_specific(policy: str, expected: str) -> None:
    assert decided(PLAIN + policy, tool()) == expected


@for_each(
    ("entry", "expected"),
    [
        ('t = "allow"', "allow: allow s:t config.toml:6"),
        ('t = "ask"', "ask: ask s:t config.toml:6"),
        ('T = "ask"', "ask: ask s:T config.toml:6"),
        ('T = "allow"', "ask: ask * config.toml:4"),
        ('"*" = "allow"', "ask: ask * config.toml:4"),
        ("t = true", "ask: ask * config.toml:4"),
        ("t = false", "deny: deny s:t config.toml:6"),
    ],
)
def test_the_entry_of_a_tool_goes_before_ask_and_allow(entry: str, expected: str) -> None:
    servers = f"[servers.s.tools]\n{entry}\n[servers.s]\ncommand = 'x'\n"
    policy = PLAIN + 'ask = ["*"]'
    assert decided(policy, tool(), servers=servers) == expected


def of_toolset(effect: str, pattern: str, *, own: bool) -> Toolset:
    rule = PolicyRule(effect, pattern, ("policy",), effect, 0, "team.json", of_repository=not own)
    return Toolset("team", Path("team.json"), own=own, rules=(rule,))


def test_a_repository_s_ask_goes_before_the_entry_of_a_tool_and_an_own_one_does_not() -> None:
    servers = '[servers.s]\ncommand = "x"\n[servers.s.tools]\nt = "allow"\n'
    repository = decided(PLAIN, tool(), of_toolset("ask", "s:*", own=False), servers)
    assert repository == "ask: ask s:* team.json: policy.ask[0]"
    assert decided(PLAIN, tool(), of_toolset("ask", "s:*", own=True), servers).startswith("allow: allow s:t")
    assert decided(PLAIN, tool(), of_toolset("deny", "@not-declared", own=False), servers).startswith("deny: deny @not")


@for_each("name", ["delete_repo", "DELETE_REPO", " delete_repo", "delete_repo\u200b", "\uff44elete_repo"])
def test_deny_and_ask_compare_names_as_servers_may_read_them(name: str) -> None:
    assert decided(PLAIN + 'deny = ["s:delete_*"]', tool(name)).startswith("deny")
    assert decided(PLAIN + 'ask = ["s:delete_repo"]', tool(name)).startswith("ask")
    allowed = decided(PLAIN + 'allow = ["s:delete_repo"]\ndefault = "deny"', tool(name))
    assert allowed.startswith("allow" if name == "delete_repo" else "deny")


@for_each(
    ("pattern", "name", "matches"),
    [
        ("s:*", "a:b", True), ("s:a*c", "abc", True), ("s:a*c", "abcd", False), ("s:*c", "cc", True),
        ("s:*b*b*", "abab", True), ("s:a?c", "abc", True), ("s:a?c", "ac", False), ("s:a.c", "abc", False),
    ],
)  # fmt: skip
def test_globs(pattern: str, name: str, matches: bool) -> None:
    assert decided(f'{PLAIN}allow = ["{pattern}"]\ndefault = "deny"', tool(name)).startswith("allow") is matches


def test_a_pattern_of_many_stars_is_no_work() -> None:
    pattern = "s:" + "*a" * 400 + "b"
    assert decided(f'{PLAIN}deny = ["{pattern}"]', tool("a" * 1000)) == "allow: default allow"


@for_each(
    ("trust", "is_approved", "counts"),
    [("yes", False, True), ("yes", True, True), ("pinned", False, False), ("pinned", True, True), ("no", True, False)],
)
def test_declared_hints_loosen_as_trust_hints_says(trust: str, is_approved: bool, counts: bool) -> None:
    servers = f'[servers.s]\ncommand = "x"\ntrust_hints = "{trust}"\n'
    read = tool(readOnly=True, is_approved=is_approved)
    assert decided("", read, servers=servers).startswith("allow" if counts else "ask: confirm_destructive @not-d")
    harmless = tool(readOnly=False, destructive=False, is_approved=is_approved)
    assert decided("", harmless, servers=servers).startswith("allow" if counts else "ask: confirm_destructive @des")
    closed = tool(readOnly=True, openWorld=False, is_approved=is_approved)
    assert decided('deny = ["@open-world"]', closed, servers=servers).startswith("allow" if counts else "deny")
    assert decided("", DESTROY, servers=servers).startswith("ask")


@for_each("own", [True, False])
def test_an_override_loosens_only_from_the_user_s_own_folder(own: bool) -> None:
    overridden = Tool("s", "t", {"name": "t"}, '{"name":"t"}', overrides=Overrides({HINTS[0]: True}, "f", own))
    servers = '[servers.s]\ncommand = "x"\ntrust_hints = "no"\n'
    assert decided("", overridden, servers=servers).startswith("allow" if own else "ask")


def test_of_two_hints_that_contradict_each_other_the_worse_counts() -> None:
    assert decided("", tool(readOnly=True, destructive=True)) == "ask: confirm_destructive @destructive built in"
    overridden = Overrides({HINTS[0]: True}, "f", own=True)
    declared = tool(destructive=True)
    mine = Tool("s", "t", declared.definition, declared.text, overrides=overridden)
    assert decided("", mine).startswith("allow: auto_approve_read_only")


def test_an_unlisted_tool_counts_as_one_that_declares_nothing() -> None:
    assert rules("").ruling("s", "nobody", None).effect == "ask"
    assert rules(PLAIN).ruling("s", "nobody", None) == Ruling("allow", None)


def test_a_project_adds_rules_and_changes_values() -> None:
    text = (
        '[policy]\ndeny = ["s:a"]\n[projects.p.policy]\ndeny = ["s:b"]\ndefault = "ask"\nconfirm_destructive = false\n'
        + SERVERS
    )
    for project, expected in (("p", ["deny", "deny", "ask"]), (None, ["deny", "ask", "ask"])):
        loaded = config.parsed(Path("config.toml"), text, project)
        in_force = rules_of(loaded, None)
        assert [in_force.ruling("s", name, tool(name)).effect for name in "abc"] == expected, project
    assert in_force.ruling("s", "b", tool("b")).rule != in_force.ruling("s", "a", tool("a")).rule
    alone = config.parsed(Path("config.toml"), '[projects.p.policy]\ndeny = ["s:b"]\n' + SERVERS, "p")
    assert alone.policy.is_on
    assert not config.parsed(Path("config.toml"), SERVERS).policy.is_on


@for_each(
    ("policy", "problem"),
    [
        ('deny = ["s"]', "policy.deny[0]: 's' must be server:tool, where * stands for any text"),
        (
            'deny = ["filesystem"]',
            "policy.deny[0]: 'filesystem' must be server:tool, where * stands for any text, or a class such as"
            " @destructive; did you mean 'filesystem:*'?",
        ),
        (
            'ask = ["mcp__filesystem__write_file"]',
            "policy.ask[0]: 'mcp__filesystem__write_file' must be server:tool, where * stands for any text, or a class"
            " such as @destructive; did you mean 'filesystem:write_file'?",
        ),
        (
            'deny = ["fs:{write,edit}_{file,dir}"]',
            "policy.deny[0]: 'fs:{write,edit}_{file,dir}' has braces, which stand for nothing here; write a rule for"
            " each, such as fs:write_file, fs:write_dir, fs:edit_file, fs:edit_dir",
        ),
        ('ask = ["{git,fs}:*"]', "policy.ask[0]: '{git,fs}:*' has braces, which stand for nothing here; write a rule"),
        (
            'deny = ["notes:[ad]*"]',
            "policy.deny[0]: 'notes:[ad]*' has brackets, which stand for nothing here; write a rule for each tool, or ?"
            " for any one character, such as notes:?*",
        ),
        (
            'deny = ["notes:*, weather:*"]',
            "policy.deny[0]: 'notes:*, weather:*' has several rules in one text; write each by itself, such as"
            ' ["notes:*", "weather:*"]',
        ),
        ('ask = ["a:b,@changing"]', "policy.ask[0]: 'a:b,@changing' has several rules in one text; write each by"),
        (
            'allow = ["notes:add_note(*)"]',
            "policy.allow[0]: 'notes:add_note(*)' names arguments, which no rule can; write the tool alone:"
            " notes:add_note",
        ),
        (
            'deny = ["**"]',
            "policy.deny[0]: '**' must be server:tool, where * stands for any text, or a class such as @destructive;"
            " did you mean '*'?",
        ),
        ('ask = ["@destructiv"]', "policy.ask[0]: '@destructiv' is not a class; did you mean '@destructive'?"),
        ('mode = "on"', "policy.mode: must be enforce, record or off"),
        ('default = "no"', "policy.default: must be allow, ask or deny"),
        ('deny = "s:t"', "policy.deny: must be a list"),
        ("denny = []", "policy.denny: unknown key; did you mean 'deny'?"),
        ("confirm_wait_s = 0", "policy.confirm_wait_s: must be a number of seconds, more than 0"),
    ],
)
def test_a_policy_that_cannot_be_read_is_an_error(policy: str, problem: str) -> None:
    with pytest.raises(Unusable) as raised:
        rules(policy)
    assert raised.value.message.startswith(f"config.toml: {problem}")
    assert raised.value.code == "config_key"


def test_an_ask_without_a_policy_makes_the_server_unusable() -> None:
    text = '[servers.s]\ncommand = "x"\ntools = {t = "ask"}\n'
    loaded = config.parsed(Path("config.toml"), text)
    assert loaded.problems == {
        "s": 'config.toml: servers.s.tools.t: "ask" applies only with a policy; write [policy] in the file'
    }
    assert not config.parsed(Path("config.toml"), f"[policy]\nmode = 'off'\n{text}").problems


PLACES: list[tuple[str, tuple[Any, ...], int | None]] = [
    ('[policy]\ndeny = [\n # a "comment"\n "a:b", "c:d",\n "e:f",\n]', (("policy",), "deny", 2), 5),
    ('[policy]\ndeny = ["x"]\n[other]\ndeny = ["y"]', (("other",), "deny", 0), 4),
    ('[ projects . "p" . policy ]\nask = [\'x\']', (("projects", "p", "policy"), "ask", 0), 2),
    ('x = """\n[policy]\ndeny = ["a"]\n"""\n[policy]\ndeny = ["b"]', (("policy",), "deny", 0), 6),
    ('[[list]]\nx = {a = "]"}\n[policy]\nmode = "off"', (("policy",), "mode"), 4),
    ('policy.deny = ["a:b"]', (("policy",), "deny", 0), None),
    ('[policy]\ndeny = []', (("policy",), "deny", 3), None),
    ('[policy]\r\nmode = "off"\r\nask = ["a#b:c", # d\r\n"e:f"]\r\n', (("policy",), "ask", 1), 4),
]  # fmt: skip


@for_each(("text", "asked", "line"), PLACES)
def test_the_line_of_a_rule(text: str, asked: tuple[Any, ...], line: int | None) -> None:
    loaded = config.Config(Path("config.toml"), text=text)
    assert loaded.line_of(*asked) == line
