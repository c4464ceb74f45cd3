"""`mcpctl policy import`: a client's rules go into config.toml, loosen nothing, and are named if they are left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.models import POLICY_IMPORT_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from mcpctl.config import config
from mcpctl.config.policy_settings import PolicyTable
from tests.configured import configure, listed, stub
from tests.conftest import Mcpctl

SERVERS = {"github": stub(), "notes": stub("notes")}
RULES = {"allow": ["mcp__github__get_*", "Bash(ls)"], "ask": ["mcp__notes"], "deny": ["mcp__github__delete_repo"]}
BY_HAND = """\
# mine
[servers.github]
command = "true"  # a stub

# what may be called
[policy]
default = "deny"
allow = [
  "notes:*",  # all of it
]

# about search
[search]
answer_tokens = 1000
"""


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with the servers of two clients, and a project of theirs, which is the current folder."""
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "user"
    (folder / "project").mkdir(parents=True)
    for file in (".claude.json", ".cursor/mcp.json"):
        put(folder / file, {"mcpServers": SERVERS})
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder / "project")
    return folder


def put(place: Path, content: Any) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return place


def claude(folder: Path, **rules: Any) -> Path:
    return put(folder / ".claude" / "settings.json", {"permissions": rules or RULES})


def by_hand(paths: Paths) -> None:
    put(paths.config, BY_HAND)


def policy(paths: Paths) -> PolicyTable:
    table = config.load(paths.config).policy_table
    assert table
    return table


def test_without_a_policy_one_is_made_that_asks_about_the_rest(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    claude(user)
    ran = mcpctl("policy", "import", "claude-code", "--yes")
    assert ran.code == 0
    table = policy(paths)
    assert (table.deny, table.ask, table.allow) == (["github:delete_repo"], ["notes:*"], ["github:get_*"])
    assert (table.default, table.auto_approve_read_only, table.confirm_destructive) == ("ask", False, False)
    assert "left out: Bash(ls): it is not about a tool of an MCP server" in ran.err


@pytest.mark.usefixtures("person")
def test_an_existing_policy_gets_the_rules_and_keeps_its_values_comments_and_order(
    mcpctl: Mcpctl, user: Path, paths: Paths
) -> None:
    by_hand(paths)
    claude(user)
    assert mcpctl("policy", "import", "claude-code", "--yes").code == 0
    assert paths.config.read_text(encoding="utf-8") == BY_HAND.replace(
        '  "notes:*",  # all of it\n]\n',
        '  "notes:*",  # all of it\n  "github:get_*",\n]\ndeny = ["github:delete_repo"]\nask = ["notes:*"]\n',
    )


@pytest.mark.usefixtures("person")
def test_running_it_twice_changes_nothing(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths)
    claude(user)
    mcpctl("policy", "import", "claude-code", "--yes")
    once = paths.config.read_bytes()
    ran = mcpctl("policy", "import", "claude-code", "--yes", "--json")
    assert paths.config.read_bytes() == once
    assert {row["action"] for row in ran.json} == {"unchanged", "left-out"}
    assert "written" not in ran.err
    assert mcpctl("policy", "import", "claude-code", "--dry-run").out == ""


def test_a_dry_run_is_a_diff_and_writes_nothing(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths)
    claude(user)
    ran = mcpctl("policy", "import", "claude-code", "--dry-run")
    added = [line for line in ran.out.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == ['+  "github:get_*",', '+deny = ["github:delete_repo"]', '+ask = ["notes:*"]']
    assert paths.config.read_text(encoding="utf-8") == BY_HAND


def test_a_dry_run_as_json_says_what_would_become_of_each_rule(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    path = claude(user)
    rows = mcpctl("policy", "import", "claude-code", "--dry-run", "--json").json
    assert all(tuple(row) == POLICY_IMPORT_FIELDS for row in rows)
    assert rows[0] == {
        "rule": "mcp__github__delete_repo", "action": "added", "effect": "deny", "patterns": ["github:delete_repo"],
        "into": "policy.deny", "client": "claude-code", "path": str(path), "why": None,
    }  # fmt: skip
    assert [(row["rule"], row["action"]) for row in rows[1:]] == [
        ("mcp__notes", "added"), ("mcp__github__get_*", "added"), ("Bash(ls)", "left-out"),
    ]  # fmt: skip


def test_without_a_terminal_it_needs_a_yes(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths)
    claude(user)
    ran = mcpctl("policy", "import", "claude-code")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    assert paths.config.read_text(encoding="utf-8") == BY_HAND


def test_an_unknown_field_is_refused_before_anything_is_written(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    by_hand(paths)
    claude(user)
    assert mcpctl("policy", "import", "claude-code", "--yes", "--fields", "bogus").code == 2
    assert paths.config.read_text(encoding="utf-8") == BY_HAND


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("answer", [True, False])
def test_at_a_terminal_it_shows_the_change_and_asks(
    mcpctl: Mcpctl, user: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    by_hand(paths)
    claude(user)
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    ran = mcpctl("policy", "import", "claude-code", stdin="y\n" if answer else "n\n")
    assert '+deny = ["github:delete_repo"]' in ran.err
    assert ran.code == (0 if answer else 6)
    assert (paths.config.read_text(encoding="utf-8") == BY_HAND) is not answer


def test_the_stricter_of_two_rules_for_one_thing_counts(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS, policy={"deny": ["github:t"], "allow": ["notes:*"]})
    claude(user, allow=["mcp__github__t", "mcp__github__u"], ask=["mcp__github__u"], deny=["mcp__notes"])
    rows = mcpctl("policy", "import", "claude-code", "--yes", "--json").json
    assert [(row["rule"], row["action"], row["why"]) for row in rows] == [
        ("mcp__notes", "added", None),
        ("mcp__github__u", "added", None),
        ("mcp__github__t", "left-out", "deny has it too, which goes before"),
        ("mcp__github__u", "left-out", "ask has it too, which goes before"),
    ]
    table = policy(paths)
    assert (table.deny, table.ask, table.allow) == (["github:t", "notes:*"], ["github:u"], ["notes:*"])


def test_a_policy_that_calls_what_no_rule_names_is_told(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS, policy={"mode": "record"})
    claude(user)
    said = "tools that no rule names are called without a question; Claude Code would ask"
    assert said in mcpctl("policy", "import", "claude-code", "--yes").err
    assert policy(paths).mode == "record"


def test_a_projects_rules_are_only_read_if_they_are_named(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    claude(user, deny=["mcp__notes"])
    shared = claude(user / "project", allow=["mcp__github"])
    local = put(user / "project/.claude/settings.local.json", {"permissions": {"allow": ["mcp__notes__x"]}})
    ran = mcpctl("policy", "import", "claude-code", "--yes")
    for path in (shared, local):
        assert f"{path} belongs to a project and is left out; take over its rules with: --from {path}" in ran.err
    assert policy(paths).allow == []
    mcpctl("policy", "import", "claude-code", "--from", str(local), "--yes")
    assert policy(paths).allow == ["notes:x"]


def test_rules_of_an_administrator_are_named(
    mcpctl: Mcpctl, user: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(paths, SERVERS)
    claude(user)
    managed = put(user / "managed-settings.json", {"permissions": {"deny": ["mcp__github"]}})
    monkeypatch.setattr("mcpctl.clients.policy_import._ADMINISTRATORS", {"claude-code": (managed, user / "gone")})
    ran = mcpctl("policy", "import", "claude-code", "--dry-run")
    assert f"{managed} has rules of an administrator" in ran.err
    assert "gone" not in ran.err


def test_names_are_those_of_the_tools_that_are_listed(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    listed(paths, "github", [{"name": "issue.read"}])
    claude(user, deny=["mcp__github__issue_read"])
    mcpctl("policy", "import", "claude-code", "--yes")
    assert policy(paths).deny == ["github:issue.read"]


def test_cursors_comments_and_trailing_commas_are_read(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    put(user / ".cursor/permissions.json", '{ // mine\n "mcpAllowlist": ["github:get_*", "*:list_*",],\n}')
    mcpctl("policy", "import", "cursor", "--yes")
    assert policy(paths).allow == ["github:get_*", "github:list_*", "notes:list_*"]


CODEX = """\
[mcp_servers.github]
command = "true"
default_tools_approval_mode = "prompt"
[mcp_servers.github.tools.get_me]
approval_mode = "approve"
"""


def test_a_tool_that_codex_approves_goes_before_its_server(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    listed(paths, "github", [{"name": "get_me"}, {"name": "create_issue"}])
    put(user / ".codex/config.toml", CODEX)
    mcpctl("policy", "import", "codex", "--yes")
    decisions = [
        mcpctl("policy", "explain", f"github:{name}", "--json").json["decision"] for name in ("get_me", "create_issue")
    ]
    assert decisions == ["allow", "ask"]
    assert policy(paths).auto_approve_read_only is True
    once = paths.config.read_bytes()
    assert {row["action"] for row in mcpctl("policy", "import", "codex", "--yes", "--json").json} == {"unchanged"}
    assert paths.config.read_bytes() == once


def test_it_does_not_go_before_what_a_policy_asked_about_already(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS, policy={"ask": ["github:get_*"]})
    put(user / ".codex/config.toml", CODEX)
    mcpctl("policy", "import", "codex", "--yes")
    assert mcpctl("policy", "explain", "github:get_me", "--json").json["decision"] == "ask"


def test_the_settings_and_policies_of_gemini_are_read_together(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    put(user / ".gemini/settings.json", {"mcpServers": {"github": {"excludeTools": ["delete_repo"]}}})
    rule = '[[rule]]\nmcpName = "{}"\ndecision = "{}"\npriority = {}\n'
    put(user / ".gemini/policies/a.toml", rule.format("notes", "allow", 50))
    put(user / ".gemini/policies/b.toml", rule.format("*", "ask_user", 500))
    mcpctl("policy", "import", "gemini", "--yes")
    table = policy(paths)
    assert (table.default, table.deny, table.ask, table.allow) == ("ask", ["github:delete_repo"], [], [])


def test_a_default_that_is_stricter_than_the_policys_is_named(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS, policy={})
    put(user / ".gemini/policies/a.toml", '[[rule]]\nmcpName = "*"\ndecision = "deny"\npriority = 1\n')
    ran = mcpctl("policy", "import", "gemini", "--yes")
    assert 'it is for all tools that no other rule names; for that here, write default = "deny"' in ran.err
    assert policy(paths).default == "allow"


@pytest.mark.parametrize("client", ["claude-code", "cursor", "codex", "gemini"])
def test_a_client_without_a_file_is_not_found(mcpctl: Mcpctl, paths: Paths, client: str) -> None:
    ran = mcpctl("policy", "import", client, "--dry-run", "--json")
    assert (ran.code, ran.error["code"]) == (3, "client_not_found")
    assert not paths.config.exists()


@pytest.mark.parametrize("content", ["{", "[]", '"x"'])
def test_a_file_that_cannot_be_read_is_unusable_and_changes_nothing(
    mcpctl: Mcpctl, user: Path, paths: Paths, content: str
) -> None:
    by_hand(paths)
    put(user / ".claude/settings.json", content)
    assert mcpctl("policy", "import", "claude-code", "--yes").code == 5
    assert paths.config.read_text(encoding="utf-8") == BY_HAND


def test_a_file_that_is_not_there_and_another_client_are_refused(mcpctl: Mcpctl, user: Path) -> None:
    assert mcpctl("policy", "import", "cursor", "--from", "gone.json").code == 3
    assert mcpctl("policy", "import", "zed").code == 2


def test_a_new_file_is_made_where_there_is_none(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    claude(user, deny=["mcp__github__x"])
    mcpctl("policy", "import", "claude-code", "--yes")
    assert policy(paths).deny == ["github:x"]


def test_nothing_to_take_over_writes_nothing(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    before = paths.config.read_bytes()
    claude(user, allow=["Bash(ls)", "mcp__mcpctl__tool_execute"])
    assert mcpctl("policy", "import", "claude-code").code == 0
    assert paths.config.read_bytes() == before


def test_what_a_file_says_cannot_command_the_terminal(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, SERVERS)
    claude(user, deny=["mcp__github__\x1b[2J", "\x1b]0;x\x07"])
    for options in (["--dry-run"], ["--yes"]):
        assert mcpctl("policy", "import", "claude-code", *options, tty=True).code == 0


# ---- servers of another client


OTHERS = "'db' in config.toml is not the client's server of that name; it would loosen another's"


@pytest.mark.parametrize(
    "entries", [{"db": stub("mine")}, {"db": {**stub("another"), "env": {"DATABASE": "mine"}}}, {}]
)
def test_a_rule_that_loosens_is_not_taken_over_for_another_clients_server_of_the_name(
    mcpctl: Mcpctl, user: Path, paths: Paths, entries: Any
) -> None:
    configure(paths, {"db": stub("another")})
    put(user / ".claude.json", {"mcpServers": entries})
    claude(user, allow=["mcp__db__*", "mcp__db__read"], deny=["mcp__db__drop"])
    ran = mcpctl("policy", "import", "claude-code", "--yes")
    assert (policy(paths).allow, policy(paths).deny) == ([], ["db:drop"])
    why = OTHERS if entries else "the client has no server 'db', so that 'db' in config.toml is another's"
    assert f"left out: mcp__db__*, mcp__db__read: {why}\n" in ran.err
    assert "taken over: mcp__db__drop: db is not a server of Claude Code, but this only tightens\n" in ran.err


def test_rules_follow_a_server_to_its_name_here_even_once_the_client_has_lost_it(
    mcpctl: Mcpctl, user: Path, paths: Paths
) -> None:
    configure(paths, {"db": stub("another")})
    put(user / ".claude.json", {"mcpServers": {"db": stub("mine")}})
    claude(user, allow=["mcp__db__*"], ask=["mcp__db__drop"])
    assert mcpctl("install", "claude-code", "--yes", "--rename", "db=mine").code == 0
    assert "db" not in json.loads((user / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]
    assert mcpctl("policy", "import", "claude-code", "--yes").code == 0
    assert (policy(paths).allow, policy(paths).ask) == (["mine:*"], ["mine:drop"])


@pytest.mark.parametrize("rule", ["*:*", "d*:*"])
def test_a_star_for_servers_loosens_only_those_of_the_client(
    mcpctl: Mcpctl, user: Path, paths: Paths, rule: str
) -> None:
    configure(paths, {"db": stub("mine"), "db2": stub("another")})
    put(user / ".cursor/mcp.json", {"mcpServers": {"db": stub("mine"), "db2": stub("stays")}})
    put(user / ".cursor/permissions.json", {"mcpAllowlist": [rule]})
    mcpctl("policy", "import", "cursor", "--yes")
    assert policy(paths).allow == ["db:*"]


@pytest.mark.parametrize("others", [{}, {"theirs": stub("another")}])
def test_a_class_is_only_let_run_where_all_servers_are_the_clients(
    mcpctl: Mcpctl, user: Path, paths: Paths, others: Any
) -> None:
    configure(paths, {"db": stub(), **others}, policy={})
    put(user / ".gemini/settings.json", {"mcpServers": {"db": stub()}})
    rule = '[[rule]]\ntoolAnnotations = {readOnlyHint = true}\ndecision = "allow"\npriority = 1\n'
    put(user / ".gemini/policies/a.toml", rule)
    ran = mcpctl("policy", "import", "gemini", "--yes")
    assert policy(paths).allow == ([] if others else ["@read-only"])
    assert ("here it would be about other servers than the client's too: theirs" in ran.err) == bool(others)


def test_a_projects_rule_is_about_its_own_server_of_the_name(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:
    configure(paths, {"db": stub("mine")})
    put(user / ".claude.json", {"mcpServers": {"db": stub("mine")}})
    rules = claude(user / "project", allow=["mcp__db__*"])
    put(user / "project/.mcp.json", {"mcpServers": {"db": stub("the project's")}})
    put(user / "project/.claude/settings.local.json", {"enableAllProjectMcpServers": True})
    ran = mcpctl("policy", "import", "claude-code", "--from", str(rules), "--yes")
    assert OTHERS in ran.err
    assert not config.load(paths.config).policy_table
