"""Nothing that a command writes lets more be called without a yes, unless a person is there: over all that write."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click import Command

from mcpctl.base.paths import Paths
from mcpctl.catalog import explained, rows
from mcpctl.cli.command_tree import ALONE, NOUNS
from mcpctl.commands.confirmation import AGENTS
from mcpctl.config import config
from mcpctl.config.settings import Project
from mcpctl.policy.decide import decide
from mcpctl.store.records import LocalRecords
from mcpctl.store.state import State
from mcpctl.toolsets.in_force import ToolsetsInForce
from tests import command_tree, configured, shop_api
from tests.conftest import Mcpctl
from tests.registry.own_registry import described, own_registry, package

pytestmark = pytest.mark.usefixtures("programs")
PROGRAM = {"command": "npx", "args": ["-y", "gh-server"]}
OTHER = {"command": "npx", "args": ["-y", "notes-server"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "read", "annotations": {"readOnlyHint": True, "openWorldHint": False}},
    {"name": "write", "annotations": {"readOnlyHint": False, "destructiveHint": False}},
    {"name": "delete", "annotations": {"readOnlyHint": False, "destructiveHint": True}},
    {"name": "odd"},
]
GH = {**PROGRAM, "projects": ["acme"]}
OPEN: dict[str, Any] = {"notes": OTHER}
SITUATIONS: dict[str, dict[str, Any]] = {
    "nothing is restricted": {"servers": {"gh": GH, **OPEN}},
    "a tool is denied": {"servers": {"gh": {**GH, "tools": {"delete": False}}, **OPEN}},
    "some alone are offered": {"servers": {"gh": {**GH, "only": ["read", "odd"]}, **OPEN}},
    "nothing is offered": {"servers": {"gh": {**GH, "only": []}, **OPEN}},
    "a server is off": {"servers": {"gh": {**GH, "enabled": False}, **OPEN}},
    "a policy": {"servers": {"gh": GH, **OPEN}, "policy": {}},
    "a tool is asked about": {"servers": {"gh": {**GH, "tools": {"write": "ask"}}, **OPEN}, "policy": {}},
    "a rule denies": {"servers": {"gh": GH, **OPEN}, "policy": {"deny": ["gh:delete", "gh:w*"]}},
    "a rule asks": {"servers": {"gh": GH, **OPEN}, "policy": {"ask": ["gh:*"]}},
    "a class is asked about": {"servers": {"gh": GH, **OPEN}, "policy": {"ask": ["@destructive", "@changing"]}},
    "hints count for nothing": {"servers": {"gh": {**GH, "trust_hints": "no"}, **OPEN}, "policy": {}},
    "all is asked about": {
        "servers": {"gh": GH, **OPEN}, "policy": {"default": "ask", "auto_approve_read_only": False}
    },
    "a project has a toolset": {"servers": {"gh": GH, **OPEN}, "projects": {"acme": {"toolset": "small"}}},
    "a policy beside a toolset": {
        "servers": {"gh": GH, **OPEN}, "policy": {}, "projects": {"acme": {"toolset": "small"}}
    },
}  # fmt: skip
HOMES = [(each, None) for each in SITUATIONS] + [
    (each, equipped) for each in ("nothing is restricted", "a policy") for equipped in ("small", "marked")
]
"""Situations, and the toolset that is equipped in each."""
Free = set[tuple[str | None, str]]
"""Tools by the project in which they are so."""
CLIENT = {"mcpServers": {"gh": PROGRAM, "gh3": PROGRAM, "new": {"command": "other"}}}
PUBLISHED = "io.github.ada/gh-server"  # in a registry, by whose entry it is the program of another entry
COMMANDS = (
    ("servers", "add", "gh2", "--", "npx", "-y", "gh-server"),
    ("servers", "add", "gh2", "--", "env", "X=1", "/usr/bin/npx", "gh-server"),
    ("servers", "add", "gh2", "--only", "delete", "--env", "A=1", "--inherit-env", "B", "--cwd", "/", "--env-file", "e",
     "--project", "acme", "--deny", "x", "--start-timeout", "1", "--call-timeout", "1", "--no-check", "--", "npx",
     "gh-server"),
    ("servers", "add", "web", "--url", "https://x.example/mcp", "--transport", "http", "--header", "A=b"),
    ("servers", "add", "web", "--url", "https://x.example/mcp", "--oauth", "client_id=x"),
    ("servers", "add", "api", "--openapi", str(shop_api.FOLDER / "shop.json"), "--include", "tag:orders", "--exclude",
     "orders/cancel", "--auth", "bearerAuth=x"),
    ("servers", "set", "gh", "--unset", "command", "--unset", "args", "--openapi", "https://x.example/api.json",
     "--include", "a", "--exclude", "b", "--auth", "key=x"),
    ("servers", "add", PUBLISHED, "--name", "gh2", "--use", "npm", "--input", "place=x", "--yes"),
    ("servers", "add", PUBLISHED, "--use", "pypi", "--yes"),
    ("servers", "rm", "gh"),
    ("servers", "rm", "gh", "notes"),
    ("servers", "enable", "gh"),
    ("servers", "disable", "gh"),
    ("servers", "disable", "notes"),
    ("servers", "set", "gh", "--unset", "tools"),
    ("servers", "set", "gh", "--unset", "tools.delete", "--unset", "tools.write"),
    ("servers", "set", "gh", "--unset", "only"),
    ("servers", "set", "gh", "--unset", "trust_hints"),
    ("servers", "set", "gh", "--unset", "projects"),
    ("servers", "set", "gh", "--unset", "enabled"),
    ("servers", "set", "gh", "--only", "*"),
    ("servers", "set", "gh", "--only", "delete", "--only", "write"),
    ("servers", "set", "gh", "--project", "other"),
    ("servers", "set", "gh", "--deny", "read"),
    ("servers", "set", "gh", "--env", "TOKEN=x", "--env-file", "e", "--inherit-env", "B", "--cwd", "/"),
    ("servers", "set", "gh", "--start-timeout", "1", "--call-timeout", "1"),
    ("servers", "set", "gh", "--arg", "gh-server"),
    ("servers", "set", "gh", "--command", "bunx"),
    ("servers", "set", "gh", "--", "npx", "gh-server", "--all"),
    ("servers", "set", "notes", "--", "npx", "-y", "gh-server"),
    ("servers", "set", "gh", "--unset", "command", "--unset", "args", "--url", "https://x.example/mcp", "--transport",
     "http", "--header", "A=b"),
    ("servers", "set", "gh", "--unset", "command", "--unset", "args", "--url", "https://x.example/mcp", "--oauth",
     "client_id=x"),
    ("servers", "import", "--from", "CLIENT", "--no-check"),
    ("servers", "import", "--from", "CLIENT", "--replace", "--no-check"),
    ("servers", "import", "--from", "CLIENT", "--prefix", "p-", "--no-check"),
    ("servers", "import", "--from", "CLIENT", "--rename", "gh=gh9", "--no-check"),
    ("tools", "allow", "gh:delete"),
    ("tools", "allow", "gh:write"),
    ("tools", "deny", "gh:read"),
    ("toolsets", "build", "mine", "gh:delete", "gh:write", "--description", "d"),
    ("toolsets", "add", "small", "gh:delete"),
    ("toolsets", "add", "marked", "gh:write"),
    ("toolsets", "rm", "small", "gh:read"),
    ("toolsets", "rm", "small", "--all"),
    ("toolsets", "equip", "small"),
    ("toolsets", "equip", "marked"),
    ("toolsets", "unequip"),
    ("annotate", "set", "gh:delete", "--read-only", "--no-destructive", "--toolset", "marked"),
    ("annotate", "set", "gh:read", "--inherit", "read-only", "--toolset", "marked"),
    ("annotate", "set", "gh:write", "--no-open-world", "--idempotent", "--title", "T", "--toolset", "small"),
    ("annotate", "set", "gh:delete", "--read-only", "--toolset", "marked", "--project", "acme"),
    ("install", "claude-code", "--yes", "--no-check"),
    ("install", "claude-code", "--yes", "--no-check", "--rename", "gh=gh9", "--project", "acme", "--toolset", "small",
     "--split-execute", "--direct", "all"),
    ("policy", "import", "claude-code", "--yes"),
    ("policy", "import", "claude-code", "--yes", "--from", "RULES"),
    ("init", "claude-code", "--yes", "--policy", "record"),
    ("init", "claude-code", "--yes", "--policy", "balanced"),
)  # fmt: skip
SHOWN_ALONE = frozenset((
    "--json", "--jsonl", "--format", "--fields", "--config", "--data-dir", "--dry-run", "--help", "-h", "--from-script",
    "--yes", "-y", "--diff",
))  # fmt: skip
"""Options that change nothing of what is written, or say who asks."""


def begin(paths: Paths, situation: str, equipped: str | None) -> None:
    """A home in that situation, with all tools known."""
    user = Path.home()
    for folder, name in ((user, ".claude.json"), (paths.config.parent, "client.json")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(CLIENT), encoding="utf-8")
    rules = json.dumps({"permissions": {"allow": ["mcp__gh__delete", "mcp__gh"], "deny": ["mcp__notes__odd"]}})
    (user / ".claude").mkdir(exist_ok=True)
    (user / ".claude" / "settings.json").write_text(rules, encoding="utf-8")
    (paths.config.parent / "rules.json").write_text(rules, encoding="utf-8")
    configured.configure(paths, **SITUATIONS[situation])
    configured.toolset(paths, "small", "gh:read", "gh:odd", "notes:read")
    configured.toolset(
        paths, "marked", "gh:read", "gh:write", "gh:delete", "gh:odd",
        toolOverrides=[configured.overridden("gh:write", readOnlyHint=True),
                       configured.overridden("gh:read", readOnlyHint=False)],
    )  # fmt: skip
    if equipped:
        with State.connect(paths) as state:
            state.equip(equipped)
    list_all(paths)


class Homes:
    """A home in each situation, made once and then put back as it was."""

    def __init__(self, folder: Path) -> None:
        self._kept = folder / "kept"
        self.folder = folder / "now"
        self._free: dict[tuple[str, str | None], Free] = {}

    def begin(self, paths: Paths, situation: str, equipped: str | None) -> Free:
        """Have that home; the tools that may be called there without a yes."""
        kept = self._kept / f"{situation}, {equipped}"
        shutil.rmtree(self.folder, ignore_errors=True)
        if kept.exists():
            shutil.copytree(kept, self.folder)
        else:
            begin(paths, situation, equipped)
            self._free[situation, equipped] = free(paths)
            shutil.copytree(self.folder, kept)
        return self._free[situation, equipped]


def list_all(paths: Paths) -> None:
    for name in config.load(paths.config).servers:
        configured.listed(paths, name, TOOLS)


def free(paths: Paths) -> Free:
    """The tools of the one program that may be called without a yes, under whatever name, by project."""
    list_all(paths)
    found: Free = set()
    for project in (None, "acme"):
        loaded = config.load(paths.config)
        if project and project not in loaded.known_projects:
            continue
        names_it = loaded.projects.get("acme", Project()).toolset if project else None
        if names_it and not (paths.toolsets / "small.json").exists():
            continue  # no tool can be called where the toolset cannot be read
        with rows.catalog(paths, toolset=None, project=project, quiet=True) as catalog:
            for server, entry in catalog.config.enabled.items():
                if "gh-server" not in {arg.partition("@")[0] for arg in entry.args}:
                    continue
                for tool in TOOLS:
                    subject = explained.subject_of(
                        catalog.view, server, tool["name"], catalog.find(server, tool["name"])
                    )
                    if explained.decision_of(decide(subject)) == "allow":
                        found.add((project, tool["name"]))
    return found


def words(paths: Paths, command: tuple[str, ...]) -> list[str]:
    named = {"CLIENT": "client.json", "RULES": "rules.json"}
    return [str(paths.config.parent / named[word]) if word in named else word for word in command]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    """All of them are in one place: what is kept names it."""
    return Homes(tmp_path_factory.mktemp("homes"))


@pytest.fixture(scope="module")
def published() -> Iterator[str]:
    """The address of a registry that has the program."""
    with own_registry() as registry:
        place = {"type": "named", "name": "--place", "value": "{place}", "variables": {"place": {}}}
        packages = [package(identifier="gh-server", packageArguments=[place]), package("pypi", "gh-server")]
        registry.publish(described(PUBLISHED, packages=packages))
        yield registry.url


@pytest.fixture(autouse=True)
def user(homes: Homes, home: Path, published: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home of a user of Claude Code, at no terminal."""
    shutil.rmtree(homes.folder, ignore_errors=True)
    monkeypatch.setenv("MCPCTL_HOME", str(homes.folder / "home"))
    monkeypatch.setenv("HOME", str(homes.folder / "user"))
    monkeypatch.setenv("MCPCTL_REGISTRY", published)
    monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: False)
    shop_api.compile_here(monkeypatch)
    for step in ("_list", "_examine"):  # they start servers, and write nothing
        monkeypatch.setattr(f"mcpctl.commands.init._Steps.{step}", lambda _: None)
    for name in AGENTS:
        monkeypatch.delenv(name, raising=False)


def in_homes(lines: Sequence[Any], name: Callable[[Any], str]) -> list[Any]:
    """Each in some homes, and slowly in all of them."""
    some = [pytest.param(line, [HOMES[0], *HOMES[1 + n % 8 :: 8]], id=name(line)) for n, line in enumerate(lines)]
    return [*some, *(pytest.param(line, HOMES, id=f"all: {name(line)}", marks=pytest.mark.slow) for line in lines)]


@pytest.mark.parametrize("command, among", in_homes(COMMANDS, " ".join))
@pytest.mark.slow
def test_what_a_command_writes_lets_nothing_more_be_called_without_a_yes(
    command: tuple[str, ...], among: Any, mcpctl: Mcpctl, paths: Paths, homes: Homes
) -> None:
    for situation, equipped in among:
        before = homes.begin(paths, situation, equipped)
        text = paths.config.read_text(encoding="utf-8")
        ran = mcpctl(*words(paths, command))
        now = free(paths)
        assert now <= before, (situation, equipped, now - before, ran)
        if "only a person can" in ran.err:
            assert ran.code == 6
            assert paths.config.read_text(encoding="utf-8") == text or command[0] == "init"  # of which each step counts
        if situation == "nothing is restricted" and equipped is None and command[:2] != ("tools", "allow"):
            assert "only a person can" not in ran.err, ran


ADDED = ("servers", "add", "gh2", "--", "npx", "-y", "gh-server")
STEPS = (
    (("servers", "set", "gh", "--", "echo", "hi"), ADDED),
    (("servers", "set", "gh", "--cwd", "/tmp", "--arg", "x"), ADDED),
    (("servers", "set", "gh", "--command", "/bin/true", "--unset", "args"), ADDED),
    (("servers", "set", "gh", "--command", "/bin/true", "--unset", "args"),
     ("servers", "set", "notes", "--", "npx", "-y", "gh-server")),
    (("servers", "rm", "gh"), ADDED),
    (("servers", "add", "decoy", "--", "npx", "-y", "foo"),
     ("servers", "add", "both", "--", "npx", "-p", "gh-server", "foo"), ADDED),
    (("servers", "rm", "gh"), ("servers", "add", "gh", "--", "npx", "-y", "gh-server")),
    (("servers", "set", "gh", "--arg", "more", "--arg", "gh-server"), ADDED),
)  # fmt: skip


@pytest.mark.parametrize("steps, among", in_homes(STEPS, lambda steps: " ".join(steps[0])))
def test_no_two_steps_let_more_be_called_either(
    steps: Any, among: Any, mcpctl: Mcpctl, paths: Paths, homes: Homes
) -> None:
    for situation, equipped in among:
        before = homes.begin(paths, situation, equipped)
        for step in steps:
            ran = mcpctl(*step)
        now = free(paths)
        # In another project than the one that it was of it was not restricted, but not there.
        assert {name for _, name in now} <= {name for _, name in before}, (situation, equipped, now - before, ran)


@pytest.mark.parametrize("first", [(), ("--arg", "gh-server", "--arg", "y"), ("--env", "X=1"), ("--cwd", "/tmp")])
@pytest.mark.parametrize("name", ["gh2", "notes"])
def test_what_is_held_is_held_under_another_name_too(
    name: str, first: tuple[str, ...], mcpctl: Mcpctl, paths: Paths
) -> None:
    begin(paths, "a policy", None)
    configured.pinned(paths, "gh")
    configured.listed(paths, "gh", [{**TOOLS[0], "description": "Reads, and mails."}, *TOOLS[1:]])
    assert mcpctl("tools", "ls", "--server", "gh", "--json").json[0]["held"] == "changed"
    if first:
        mcpctl("servers", "set", "gh", *first)
    verb = ("add",) if name == "gh2" else ("set",)
    ran = mcpctl("servers", *verb, name, "--", "npx", "-y", "gh-server")
    assert (ran.code, f"{name}:read" in ran.err) == (6, True), ran


def test_a_toolset_that_a_client_names_is_one_in_force(mcpctl: Mcpctl, paths: Paths) -> None:
    begin(paths, "nothing is restricted", None)
    assert mcpctl("toolsets", "add", "small", "gh:write").code == 0
    with State.connect(paths) as state:
        ToolsetsInForce(paths, "small", state)
    ran = mcpctl("toolsets", "add", "small", "gh:delete")
    assert (ran.code, "gh:delete" in ran.err) == (6, True)
    assert mcpctl("toolsets", "rm", "small", "--all").code == 0
    assert mcpctl("toolsets", "build", "small", "gh:delete").code == 6
    assert mcpctl("toolsets", "build", "other", "gh:delete").code == 0


def test_a_client_is_given_no_looser_toolset(mcpctl: Mcpctl, paths: Paths) -> None:
    begin(paths, "nothing is restricted", "small")
    ran = mcpctl("install", "claude-code", "--yes", "--no-check", "--toolset", "none")
    assert (ran.code, "gh:delete" in ran.err) == (6, True)


@pytest.mark.parametrize("command", [("tools", "call", "gh:write"), ("calls", "replay", "last")], ids=" ".join)
def test_an_agent_names_no_looser_toolset_for_a_call(
    command: tuple[str, ...], mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(paths, "a policy beside a toolset", "small")
    nothing_there = (3, False)
    for project in ((), ("--project", "acme")):
        monkeypatch.setenv("CLAUDECODE", "1")
        for toolset in ("none", "marked"):
            ran = mcpctl(*command, "--toolset", toolset, *project)
            assert (ran.code, "called without a question" in ran.err) == (6, True), ran
        monkeypatch.setenv("MCPCTL_TOOLSET", "none")
        assert mcpctl(*command, *project).code == 6
        monkeypatch.delenv("MCPCTL_TOOLSET")
        ran = mcpctl(*command[:2], "nobody:x", "--toolset", "small", *project)
        assert (ran.code, "called without a question" in ran.err) == nothing_there, ran
        monkeypatch.delenv("CLAUDECODE")
        ran = mcpctl(*command[:2], "nobody:x", "--toolset", "none", *project)
        assert (ran.code, "called without a question" in ran.err) == nothing_there, ran


@pytest.mark.process
def test_an_agent_names_no_looser_project_for_a_call(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose, tight = {"policy": {"mode": "record"}}, {"policy": {"ask": ["gh:read"]}}
    gh = {**PROGRAM, "projects": ["loose", "tight"]}
    configured.configure(paths, {"gh": gh, **OPEN}, policy={}, projects={"loose": loose, "tight": tight})
    list_all(paths)

    def refused(key: str, project: str) -> bool:
        ran = mcpctl("tools", "call", key, "--project", project)
        return ran.code == 6 and "only a person can" in ran.err

    monkeypatch.setenv("PATH", "")  # what is called could not be started
    monkeypatch.setenv("CLAUDECODE", "1")
    assert refused("gh:delete", "loose")
    assert refused("gh.delete", "loose")
    assert refused("gh:unlisted", "loose")
    assert not refused("gh:read", "loose")
    assert not refused("gh:read", "tight")
    assert not refused("gh:delete", "tight")
    monkeypatch.setenv("MCPCTL_PROJECT", "loose")
    assert "by which more is called" in mcpctl("tools", "call", "-").err
    monkeypatch.delenv("CLAUDECODE")
    assert not refused("gh:delete", "loose")


def test_what_is_loosened_again_later_is_on_record_again(paths: Paths) -> None:
    with State.connect(paths) as state:
        assert [state.claim_loosening(each) for each in ("a", "a", "b", "a")] == [True, False, True, True]


DRY = (
    ("install", "claude-code"),
    ("servers", "import", "--from", "CLIENT", "--replace", "--no-check"),
    ("servers", "set", "gh", "--unset", "only"),
)


@pytest.mark.parametrize("command, among", in_homes(DRY, " ".join))
@pytest.mark.slow
def test_a_dry_run_says_what_would_be_refused(
    command: tuple[str, ...], among: Any, mcpctl: Mcpctl, paths: Paths, homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = set()
    for situation, equipped in among:
        monkeypatch.setattr("mcpctl.base.errors._warned", {})  # as in another process
        homes.begin(paths, situation, equipped)
        line = words(paths, command)
        text = paths.config.read_text(encoding="utf-8")
        dry, scripted = mcpctl(*line, "--dry-run"), mcpctl(*line, "--dry-run", "--from-script")
        assert (dry.code, scripted.code, paths.config.read_text(encoding="utf-8")) == (0, 0, text)
        assert "would be refused" not in scripted.err
        is_refused = mcpctl(*line).code == 6
        assert ("this would be refused here: only a person can" in dry.err) == is_refused, (situation, dry)
        refused.add(is_refused)
    assert True in refused


def test_every_command_and_option_that_writes_is_tried() -> None:
    tried: dict[tuple[str, ...], set[str]] = {}
    for line in COMMANDS:
        name: tuple[str, ...] = line[:1] if line[0] in ALONE else line[:2]
        options = (word.partition("=")[0] for word in line[: line.index("--") if "--" in line else None])
        tried.setdefault(name, set()).update(word for word in options if word.startswith("--"))
    for name, leaf in leaves():
        written = {option for each in leaf.params for option in (*each.opts, *each.secondary_opts) if option[0] == "-"}
        assert ("--from-script" in written) == ((name in tried and name not in WITHOUT) or name in BY_DOCUMENT), name
        if name in tried:
            assert {*longest(leaf)} - SHOWN_ALONE - tried[name] == set(), name


WITHOUT = {("servers", "disable"), ("tools", "allow"), ("tools", "deny")}
"""What only takes away, and what is a person's alone."""
BY_DOCUMENT = {("tools", "refresh")}  # which writes no configuration: its tests are in test_http_apis.py


def leaves() -> Iterator[tuple[tuple[str, ...], Command]]:
    for noun in (*NOUNS, *ALONE):
        made = command_tree.of(noun)
        node = made.commands[noun]
        if hasattr(node, "commands"):
            yield from (((noun, verb), leaf) for verb, leaf in node.commands.items())
        else:
            yield (noun,), node


def longest(leaf: Command) -> Iterator[str]:
    """Each option by one of its names, as the command lines above have it."""
    for each in leaf.params:
        options = [option for option in (*each.opts, *each.secondary_opts) if option.startswith("--")]
        chosen = [option for option in options if any(option in line for line in COMMANDS)]
        yield from chosen[:1] or options[:1]


def test_a_script_may_loosen_where_it_says_so_and_no_agent_runs_it(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(paths, "a server is off", None)
    refused = mcpctl("servers", "enable", "gh")
    assert (refused.code, "gh:read" in refused.err, "--from-script" in refused.err) == (6, True, True)
    monkeypatch.setenv("CLAUDECODE", "1")
    by_agent = mcpctl("servers", "enable", "gh", "--from-script")
    assert (by_agent.code, "CLAUDECODE" in by_agent.err, "--from-script" in by_agent.err) == (6, True, False)
    monkeypatch.delenv("CLAUDECODE")
    assert mcpctl("servers", "enable", "gh", "--from-script").code == 0
    assert "D151" in mcpctl("doctor", "--json").out
    with LocalRecords(paths) as records:
        (made,) = records.loosened(None)
    assert (made["decision"], made["rule"], made["channel"]) == ("loosened", "configuration loosened", "script")
    assert (made["rule_place"], len(made["arguments_hash"])) == ("config.toml", 64)
    assert "gh:read" in made["key"]


@pytest.mark.usefixtures("person")
def test_a_person_may_loosen_and_it_is_on_record(mcpctl: Mcpctl, paths: Paths) -> None:
    begin(paths, "nothing is restricted", "small")
    assert mcpctl("toolsets", "unequip").code == 0
    with LocalRecords(paths) as records:
        (made,) = records.loosened(None)
    assert (made["channel"], made["rule_place"]) == ("terminal", "the equipped toolset")
    found = json.loads(mcpctl("doctor", "--json").out)
    assert [row["subject"] for row in found if row["code"] == "D151"] == ["the equipped toolset"]


@pytest.mark.usefixtures("person")
def test_a_record_of_what_was_loosened_has_every_name(mcpctl: Mcpctl, paths: Paths) -> None:
    configured.configure(paths, {"gh": {**GH, "only": []}})
    many = [{"name": f"tool_{n}_{'x' * 40}", "inputSchema": {"type": "object"}} for n in range(40)]
    configured.listed(paths, "gh", many)
    assert mcpctl("servers", "set", "gh", "--unset", "only").code == 0
    (made,) = mcpctl("policy", "decisions", "--decision", "loosened", "--json").json
    assert set(made["key"].split(", ")) >= {f"gh:{tool['name']}" for tool in many}
    (session,) = mcpctl("sessions", "ls", "--json").json
    assert re.search(r"gh:tool_4_x+ and \d+ more  loosened", mcpctl("sessions", "show", session["id"]).out)


@pytest.mark.usefixtures("person")
def test_only_what_is_called_without_a_question_now_is_to_be_looked_at(mcpctl: Mcpctl, paths: Paths) -> None:
    def told() -> list[str]:
        return [row["message"] for row in json.loads(mcpctl("doctor", "--json").out) if row["code"] == "D151"]

    configured.configure(paths, policy={})
    assert mcpctl("servers", "add", "shop", "--no-check", "--", "shop-server").code == 0
    assert "shop:*" in told()[0], "its tools are not known yet"
    configured.listed(paths, "shop", TOOLS)
    assert told()[0].endswith("terminal: shop:read, shop:write")
    assert mcpctl("tools", "deny", "shop:read").code == mcpctl("tools", "deny", "shop:write").code == 0
    assert told() == []


def test_what_the_environment_names_is_not_what_is_in_force_for_clients(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(paths, "nothing is restricted", "small")
    monkeypatch.setenv("MCPCTL_TOOLSET", "none")
    assert mcpctl("toolsets", "unequip").code == 6
