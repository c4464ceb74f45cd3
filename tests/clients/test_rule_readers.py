"""The permission rules of four clients, rule by rule: what each becomes here, and which are left out."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcpctl.clients.permission_rules import Names, NotCarried
from mcpctl.clients.rule_readers import READERS, gemini_files
from mcpctl.config import config
from tests.table import for_each

SERVERS = ("github", "my-server", "a", "a__b", "x-y", "x_y")
TOOLS = {"github": frozenset(("create_issue", "read.file", "get-me", "get.me", "a.b"))}
NO_SERVER = "config.toml has no server 'slack'; take it over first: mcpctl servers import"
NOT_MCP = "it is not about a tool of an MCP server"
UNCERTAIN = "it is not certain which server it is about"
OWN = "it is about mcpctl's own entry: here rules are about the tools behind it"
ONE_CLASS = "it combines a server with the hints of its tools, which no rule here can"
PATTERN = "it has a pattern for arguments, and rules here look at none"


def of_all(tool: str) -> str:
    """A rule that loosens names the client's own servers one by one: others come later."""
    return " ".join(f"{name}:{tool}" for name in sorted(SERVERS))


def names() -> Names:
    text = "".join(f"[servers.{name}]\ncommand = 'x'\n" for name in SERVERS)
    return Names(config.parsed(Path("config.toml"), text), TOOLS, {name: [name] for name in SERVERS})


def carried(client: str, document: Mapping[str, Any]) -> list[Any]:
    """For each rule, its effect with the patterns, or why it is left out."""
    known = names()
    found = []
    for rule in READERS[client](document, known):
        try:
            patterns = " ".join(known.patterns(rule))
            found.append(f"default {rule.effect}" if rule.is_default else f"{rule.effect} {patterns}")
        except NotCarried as error:
            found.append(str(error))
    return found


@for_each(
    ("effect", "rule", "expected"),
    [
        ("allow", "mcp__github", "allow github:*"),
        ("allow", "mcp__github__*", "allow github:*"),
        ("allow", "mcp__github__create_issue", "allow github:create_issue"),
        ("allow", "mcp__github__get_*", "allow github:get_*"),
        ("deny", "mcp__github", "deny github:*"),
        ("ask", "mcp__github__create_issue", "ask github:create_issue"),
        # names as Claude Code spells them
        ("allow", "mcp__my_server__t", "allow my-server:t"),
        ("allow", "mcp__my-server__t", "allow my-server:t"),
        ("allow", "mcp__x-y__t", "allow x-y:t"),
        ("allow", "mcp__x_y__t", "allow x_y:t"),
        ("allow", "mcp__github__read_file", "allow github:read.file"),
        ("allow", "mcp__github__get-me", "allow github:get-me"),
        ("allow", "mcp__github__get_me", "allow github:get.me"),
        ("allow", "mcp__github__gone", "allow github:gone"),
        # whose server cannot be told
        ("allow", "mcp__a", "allow a:*"),
        ("allow", "mcp__a__t", "allow a:t"),
        ("allow", "mcp__a__b__t", UNCERTAIN),
        ("deny", "mcp__a__b__t", "deny a:b__t a__b:t"),
        ("allow", "mcp__slack__t", NO_SERVER),
        ("deny", "mcp__slack__t", "deny slack:t"),
        ("ask", "mcp__slack", "ask slack:*"),
        ("deny", "mcp__not a server__t", "'not a server:t' must be server:tool, where * stands for any text, or a class"
         " such as @destructive"),
        # stars in the name of the server
        ("allow", "mcp__*", "Claude Code ignores an allow rule without the whole name of a server"),
        ("allow", "mcp__git*__x", "Claude Code ignores an allow rule without the whole name of a server"),
        ("deny", "mcp__*", "deny *:*"),
        ("ask", "*", "ask *:*"),
        ("allow", "*", NOT_MCP),
        ("deny", "mcp__*__drop_*", "deny *:drop_*"),
        ("deny", "mcp__git*", "deny git*:*"),
        ("deny", "mcp__my_s*__x", "deny my?s*:x"),
        ("deny", "mcp__*delete*", "deny *:*delete* *delete*:*"),
        # what is not carried over
        ("allow", "Bash(ls:*)", NOT_MCP),
        ("deny", "WebFetch", NOT_MCP),
        ("allow", "mcp__github__create_issue(title:x)", PATTERN),
        ("allow", "mcp__mcpctl__tool_execute", OWN),
        ("deny", "mcp__mcpctl", OWN),
        ("ask", "mcp__gateway__tool_execute_read", OWN),
    ],
)  # fmt: skip
def test_claude_code(effect: str, rule: str, expected: str) -> None:
    assert carried("claude-code", {"permissions": {effect: [rule]}}) == [expected]


@for_each(
    "document",
    [{}, {"permissions": 1}, {"permissions": {"allow": "mcp__github"}}, {"permissions": {"allow": [1, None, {}]}}],
)
def test_claude_code_ignores_what_is_not_a_rule(document: Any) -> None:
    assert carried("claude-code", document) == []


def test_a_mode_of_claude_code_that_asks_nothing_is_named() -> None:
    (why,) = carried("claude-code", {"permissions": {"defaultMode": "bypassPermissions"}})
    assert why == "it is for all tools, not only for those of MCP servers"
    assert carried("claude-code", {"permissions": {"defaultMode": "acceptEdits"}}) == []


@for_each(
    ("entry", "expected"),
    [
        ("github:create_issue", "allow github:create_issue"),
        ("github:*", "allow github:*"),
        ("*:search_*", f"allow {of_all('search_*')}"),
        ("*:*", f"allow {of_all('*')}"),
        ("my_server:t", "allow my-server:t"),
        ("github:read_file", "allow github:read_file"),
        ("slack:t", NO_SERVER),
        ("github", "it is not server:tool"),
        (":t", "it is not server:tool"),
        ("github:t?", "a ? in a name would stand for any character here"),
        ("mcpctl:tool_execute", OWN),
    ],
)
def test_cursor(entry: str, expected: str) -> None:
    assert carried("cursor", {"mcpAllowlist": [entry, 7]}) == [expected]


def test_what_else_cursor_allows_is_left_out() -> None:
    document = {"terminalAllowlist": ["git"], "autoRun": {"allow_instructions": ["reads"]}}
    assert carried("cursor", document) == [NOT_MCP, "it is advice for a model in plain words"]


@for_each(
    ("table", "expected"),
    [
        ('default_tools_approval_mode = "approve"', ["allow github:*"]),
        ('default_tools_approval_mode = "prompt"', ["ask github:*"]),
        ('default_tools_approval_mode = "writes"', [ONE_CLASS]),
        ('default_tools_approval_mode = "auto"', [ONE_CLASS]),
        ('default_tools_approval_mode = "whatever"', ["it is not a mode of Codex"]),
        ("default_tools_approval_mode = 7", ["it is not a mode of Codex"]),
        ('disabled_tools = ["t", "u"]', ["deny github:t", "deny github:u"]),
        ('disabled_tools = ["t*"]', ["a * or ? in a name would stand for any text here"]),
        ('enabled_tools = ["t"]', ["a list of the only tools is only in [servers.NAME] here: mcpctl servers import"]),
        (
            'enabled_tools = ["t"]\ndefault_tools_approval_mode = "approve"',
            ["a list of the only tools is only in [servers.NAME] here: mcpctl servers import", "allow github:t"],
        ),
        ('tools.t.approval_mode = "approve"', ["allow github:t"]),
        ('tools.t.approval_mode = "prompt"', ["ask github:t"]),
        ('tools.t.approval_mode = "writes"', [ONE_CLASS]),
        ('tools."get-me2".approval_mode = "approve"', ["allow github:get-me2"]),
        ('command = "x"', []),
    ],
)
def test_codex(table: str, expected: list[str]) -> None:
    assert carried("codex", tomllib.loads(f"[mcp_servers.github]\n{table}\n")) == expected


def test_codex_needs_a_server_of_that_name() -> None:
    assert carried("codex", {"mcp_servers": {"slack": {"default_tools_approval_mode": "approve"}, "x": 1}}) == [
        NO_SERVER
    ]


@for_each(
    ("settings", "expected"),
    [
        ({"mcpServers": {"github": {"trust": True}}}, ["allow github:*"]),
        ({"mcpServers": {"github": {"trust": "yes"}}}, []),
        ({"mcpServers": {"github": {"excludeTools": ["t"]}}}, ["deny github:t"]),
        (
            {"mcpServers": {"github": {"trust": True, "includeTools": ["t"], "excludeTools": ["u"]}}},
            [
                "deny github:u",
                "a list of the only tools is only in [servers.NAME] here: mcpctl servers import",
                "allow github:t",
            ],
        ),
        ({"mcp": {"excluded": ["github"]}}, ["deny github:*"]),
        ({"mcp": {"allowed": ["github"]}}, ["a list of the only servers is a project here: man 5 mcpctl-config"]),
        ({"tools": {"allowed": ["x"]}}, ["write it as a rule with mcpName in Gemini CLI's policies"]),
        ({"mcp": 1, "tools": [], "mcpServers": {"github": 1}}, []),
    ],
)
def test_the_settings_of_gemini(settings: Any, expected: list[str]) -> None:
    assert carried("gemini", settings) == expected


@for_each(
    ("rule", "expected"),
    [
        ('mcpName = "github"\ndecision = "allow"', ["allow github:*"]),
        ('mcpName = "github"\ntoolName = "t"\ndecision = "deny"', ["deny github:t"]),
        ('mcpName = "github"\ntoolName = ["t", "u"]\ndecision = "ask_user"', ["ask github:t", "ask github:u"]),
        ('mcpName = "*"\ntoolName = "drop_*"\ndecision = "deny"', ["deny *:drop_*"]),
        ('toolName = "mcp_github_create_issue"\ndecision = "allow"', ["allow github:create_issue"]),
        ('toolName = "mcp_github_*"\ndecision = "deny"', ["deny github:*"]),
        ('toolName = "mcp_*"\ndecision = "deny"', ["deny *:*"]),
        ('toolName = "mcp_*_t"\ndecision = "deny"', ["deny *:t"]),
        ('toolName = "mcp_x_y_t"\ndecision = "allow"', ["allow x_y:t"]),
        ('toolName = "run_shell_command"\ndecision = "allow"', [NOT_MCP]),
        ('toolName = "run_shell_command"\ncommandPrefix = "git"\ndecision = "allow"', [NOT_MCP]),
        ('commandRegex = "git"\ndecision = "deny"', [NOT_MCP]),
        ('mcpName = "slack"\ndecision = "allow"', [NO_SERVER]),
        ('mcpName = "github"\ndecision = "maybe"', ["it decides nothing that is known here"]),
        # what a rule says of arguments or modes: an allow is left out, the others become ask
        ('mcpName = "github"\nargsPattern = "x"\ndecision = "allow"', [PATTERN]),
        ('mcpName = "github"\ntoolName = "t"\nargsPattern = "x"\ndecision = "deny"', ["ask github:t"]),
        ('mcpName = "github"\nmodes = ["plan"]\ndecision = "ask_user"', ["ask github:*"]),
        ('mcpName = "github"\nmodes = ["yolo"]\ndecision = "allow"', ["it is only for some approval modes"]),
        ('mcpName = "github"\nsubagent = "x"\ndecision = "allow"', ["it is only for a subagent"]),
        ('mcpName = "github"\ninteractive = false\ndecision = "allow"',
         ["it is only for sessions with or without a person"]),
        # hints
        ('mcpName = "*"\ntoolAnnotations = {readOnlyHint = true}\ndecision = "allow"', ["allow @read-only"]),
        ('toolAnnotations = {destructiveHint = true}\ndecision = "ask_user"', ["ask @destructive"]),
        ('toolAnnotations = {readOnlyHint = false}\ndecision = "deny"', ["deny @changing @destructive"]),
        ('toolAnnotations = {openWorldHint = true}\ndecision = "ask_user"', ["ask @open-world"]),
        ('toolAnnotations = {openWorldHint = true}\ndecision = "allow"', [ONE_CLASS]),
        ('toolAnnotations = {readOnlyHint = true, openWorldHint = false}\ndecision = "allow"', [ONE_CLASS]),
        ('mcpName = "github"\ntoolAnnotations = {readOnlyHint = true}\ndecision = "allow"', [ONE_CLASS]),
        ('mcpName = "github"\ntoolAnnotations = {destructiveHint = true}\ndecision = "deny"', ["ask github:*"]),
        # for whatever no other rule names
        ('mcpName = "*"\ntoolName = "*"\ndecision = "ask_user"', ["default ask"]),
        ('mcpName = "*"\ndecision = "deny"', ["default deny"]),
        ('toolName = "*"\ndecision = "allow"', [f"allow {of_all('*')}"]),
    ],
)  # fmt: skip
def test_a_policy_of_gemini(rule: str, expected: list[str]) -> None:
    assert carried("gemini", tomllib.loads(f"[[rule]]\n{rule}\npriority = 100\n")) == expected


def policies(*rules: tuple[str, str, int]) -> list[dict[str, Any]]:
    return [{"mcpName": name, "decision": decision, "priority": priority} for name, decision, priority in rules]


@for_each(
    ("rules", "expected"),
    [
        ([("*", "ask_user", 10), ("github", "allow", 200)], ["default ask", "allow github:*"]),
        ([("*", "ask_user", 500), ("github", "allow", 200)], ["default ask", "a rule for all tools goes before it"]),
        ([("*", "deny", 10), ("*", "ask_user", 10)], ["default deny", "default ask"]),
        ([("*", "allow", 10), ("github", "deny", 200)], [f"allow {of_all('*')}", "deny github:*"]),
    ],
)
def test_priorities_of_gemini_order_the_rules_of_all_its_files(rules: Any, expected: list[str]) -> None:
    assert carried("gemini", {"rule": policies(*rules)}) == expected
    files = [(f"{number}.toml", {"rule": [rule]}) for number, rule in enumerate(policies(*rules))]
    assert carried("gemini", gemini_files(files)) == expected


def test_a_rule_for_all_tools_asks_about_a_trusted_server_too() -> None:
    document = {"mcpServers": {"github": {"trust": True}}, "rule": policies(("*", "ask_user", 10))}
    assert carried("gemini", document) == ["ask *:*", "allow github:*"]


def test_what_cannot_be_written_is_left_out() -> None:
    for tool in ("\ud800", "x" * 2000):
        (why,) = carried("cursor", {"mcpAllowlist": [f"github:{tool}"]})
        assert why in ("it is not Unicode", "it is too long")
