"""`mcpctl init`: one way through clients, servers, a policy and a check, each step of which can be skipped."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.catalog import policy_presets
from mcpctl.catalog.policy_presets import PRESETS
from mcpctl.commands import confirmation
from mcpctl.config import config, problems
from mcpctl.config.editing import FIRST_LINE
from tests.configured import configure, listed, stub
from tests.conftest import MCPCTL, Mcpctl, Ran
from tests.table import for_each
from tests.terminal import Terminal

DEMO = {"notes": {"command": sys.executable, "args": ["-m", "mcpctl.demo.notes"]}}
TOOLS: list[dict[str, Any]] = [
    {"name": "read", "annotations": {"readOnlyHint": True}},
    {"name": "write", "annotations": {"readOnlyHint": False, "destructiveHint": False}},
    {"name": "delete", "annotations": {"destructiveHint": True}},
    {"name": "odd"},
]
EXPECTED = {  # the decision on each, by preset
    "careful": {"read": "runs", "write": "asks", "delete": "asks", "odd": "asks"},
    "balanced": {"read": "runs", "write": "runs", "delete": "asks", "odd": "asks"},
    "record": dict.fromkeys(("read", "write", "delete", "odd"), "runs"),
}
Init = Callable[..., Ran]


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with Cursor, which has one server."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "user"
    (folder / ".cursor").mkdir(parents=True)
    (folder / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": DEMO}), encoding="utf-8")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    monkeypatch.setattr("mcpctl.clients.client_kinds.sys", SimpleNamespace(platform="linux"))
    return folder


@pytest.fixture
def init(mcpctl: Mcpctl, person: None, monkeypatch: pytest.MonkeyPatch) -> Init:
    """Run it at a terminal and give these answers; then the terminal ends."""
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)

    def run(*options: str, answers: Sequence[str] = ()) -> Ran:
        return mcpctl("init", *options, stdin="".join(f"{answer}\n" for answer in answers))

    return run


def contents(*folders: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()}


def installed(user: Path) -> bool:
    return "mcpctl" in json.loads((user / ".cursor/mcp.json").read_text(encoding="utf-8"))["mcpServers"]


@pytest.mark.process
@pytest.mark.slow
def test_the_whole_way_and_then_there_is_nothing_left(init: Init, user: Path, home: Path, paths: Paths) -> None:
    ran = init(answers=["", "y", "", "careful", "y", "n"])
    assert ran.code == 0
    steps = [ran.err.index(f"{number}. ") for number in range(1, 5)]
    assert steps == sorted(steps)
    assert installed(user)
    loaded = config.load(paths.config)
    assert list(loaded.servers) == ["notes"]
    assert loaded.policy_table and loaded.policy_table.default == "ask"
    assert "notes\tok" in ran.out
    assert "notes:add_note" in ran.out  # of the table of decisions
    assert ran.err.endswith("for it to work:\n  Cursor: restart it\n")
    before = contents(user, home)
    again = init()
    assert (again.code, again.out) == (0, "")
    assert "everything is set up (cursor)" in again.err
    assert contents(user, home) == before


def test_every_step_can_be_skipped_and_nothing_is_written_then(init: Init, user: Path, home: Path) -> None:
    before = contents(user, home)
    ran = init(answers=["none", "none", "n"])
    assert (ran.code, contents(user, home)) == (0, before)
    ran = init(answers=["cursor", "n", "none", "n"])
    assert (ran.code, contents(user, home)) == (0, before)
    assert "skipped: nothing was written" in ran.err


@pytest.mark.process
@pytest.mark.slow
def test_wherever_it_is_interrupted_each_file_is_whole_and_it_goes_on_from_there(
    init: Init, user: Path, home: Path, paths: Paths
) -> None:
    answers = ["", "y", "", "balanced", "y", "n"]
    for count in range(len(answers)):
        ran = init(answers=answers[:count])
        assert ran.code == 130, count
        assert "go on with: mcpctl init" in ran.err
        assert installed(user) == (count > 1)
        assert not config.load(paths.config).problems
        assert (config.load(paths.config).policy_table is not None) == (count > 4)
        for path in (user / ".cursor/mcp.json", paths.config):
            path.unlink(missing_ok=True)
        (user / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": DEMO}), encoding="utf-8")


@pytest.mark.parametrize("agent", [True, False])
def test_where_nobody_can_be_asked_the_commands_are_named(
    mcpctl: Mcpctl, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch, agent: bool, person: None
) -> None:
    if agent:
        monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
        monkeypatch.setenv("CLAUDECODE", "1")
    before = contents(user, home)
    ran = mcpctl("init")
    assert (ran.code, contents(user, home)) == (2, before)
    for command in ("init --yes --policy balanced", "install CLIENT", "servers check", "config edit", "doctor"):
        assert f"mcpctl {command}" in ran.err


@pytest.mark.process
@pytest.mark.slow
def test_a_script_does_all_steps_and_is_told_by_the_status_which_failed(
    mcpctl: Mcpctl, user: Path, paths: Paths
) -> None:
    servers = {**DEMO, "dead": {"command": "false"}}
    (user / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    ran = mcpctl("init", "--yes", "--policy", "balanced")
    assert ran.code == 4
    assert "1 of 2 servers failed: dead" in ran.err
    assert installed(user)
    assert config.load(paths.config).policy_table
    assert mcpctl("servers", "rm", "dead").code == 0
    before = contents(user, paths.config.parent)[str(paths.config)]
    assert mcpctl("init", "--yes").code == 0
    assert paths.config.read_bytes() == before


def test_names_that_are_mistyped_are_asked_for_again(init: Init, user: Path, home: Path) -> None:
    ran = init(answers=["curser", "NONE", "loose", "none", "n"])
    assert ran.code == 0
    assert "'curser' is not one of them" in ran.err
    assert "'loose' is not one of them" in ran.err
    assert ran.err.count("Which? careful, balanced, record or none [none]:") == 2
    assert init("curser").code == 2
    assert init("--policy", "loose").code == 2


@pytest.mark.process
@pytest.mark.slow
def test_a_wrong_yes_is_asked_for_again_and_what_step_three_does_is_not_advised(init: Init, paths: Paths) -> None:
    configure(paths, DEMO)
    ran = init("zed", answers=["none", "what", "y", "none", "n"])
    assert "Start notes? [Y/n]: answer y or n\n" in ran.err
    assert "write [policy] in" not in ran.err


def test_what_a_client_keeps_is_named_by_a_second_run(mcpctl: Mcpctl, init: Init, user: Path, paths: Paths) -> None:
    listing(paths, '[policy]\ndefault = "ask"\n')
    kept = {"a": {"command": "true"}, "gone": {"command": "/nowhere/server"}}
    (user / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": kept}), encoding="utf-8")
    assert init(answers=["cursor", "y", "n", "none", "n"]).code == 0
    said = "Cursor still has servers of its own: gone; see why each stays, or move it, with: mcpctl install cursor\n"
    listed(paths, "a", TOOLS)
    again = init()
    assert "everything is set up" in again.err
    assert said in again.err
    again = mcpctl("init", tty=True, stdin="n\nnone\nn\n")
    assert "still has servers of its own: gone;" in again.err
    assert "nothing is left to do here" not in again.err


def test_a_client_that_cannot_be_read_is_told_and_the_rest_goes_on(init: Init, user: Path) -> None:
    (user / ".cursor/mcp.json").write_text('{"mcpServers": {', encoding="utf-8")
    ran = init(answers=["", "none", "n"])
    assert ran.code == 5
    assert "3. Policy" in ran.err
    assert init("zed", answers=["", "none", "n"]).code == 3


def listing(paths: Paths, text: str = "") -> None:
    configure(paths, {"s": stub()})
    paths.config.write_text(f"{paths.config.read_text(encoding='utf-8')}{text}", encoding="utf-8")
    listed(paths, "s", TOOLS)


@pytest.mark.slow
def test_the_decisions_that_are_shown_are_those_that_are_made(mcpctl: Mcpctl, init: Init, paths: Paths) -> None:
    listing(paths)
    before = paths.config.read_text(encoding="utf-8")
    texts = {name: policy_presets.written(paths, before, preset) for name, preset in PRESETS.items()}
    preview = policy_presets.preview(paths, texts)
    assert {name: {row["tool"].removeprefix("s:"): row[name] for row in preview.rows} for name in texts} == EXPECTED
    assert preview.told("balanced") == "of 4 tools, 2 run, 2 ask"
    for name in texts:
        assert init("--policy", name, answers=["none", "n", "y", "n"]).code == 0
        for tool, word in EXPECTED[name].items():
            row = mcpctl("policy", "explain", f"s:{tool}", "--json").json
            runs = row["decision"] == "allow" or not row["enforced"]
            assert ("runs" if runs else "asks") == word, (name, tool)


def test_a_limit_on_calls_of_an_hour_refuses_nothing_in_the_preview(paths: Paths) -> None:
    listing(paths, '\n[policy]\nlimit = {"s:*" = "1/h"}\n')
    text = paths.config.read_text(encoding="utf-8")
    texts = {name: policy_presets.written(paths, text, preset) for name, preset in PRESETS.items()}
    preview = policy_presets.preview(paths, texts)
    assert {name: {row["tool"].removeprefix("s:"): row[name] for row in preview.rows} for name in texts} == EXPECTED


def test_ten_tools_show_every_kind_and_every_server(paths: Paths) -> None:
    configure(paths, {f"s{number}": stub(str(number)) for number in range(4)})
    for number in range(4):
        many = [{"name": f"r{n}", "annotations": {"readOnlyHint": True}} for n in range(20)]
        listed(paths, f"s{number}", [*many, *TOOLS])
    rows = policy_presets.preview(paths, {"now": paths.config.read_text(encoding="utf-8")}).rows
    assert len(rows) == 10
    assert len({row["risk"] for row in rows}) == 4
    assert len({row["tool"].partition(":")[0] for row in rows}) == 4


def test_a_person_is_told_what_another_policy_loosens(init: Init, paths: Paths) -> None:
    listing(paths, '\n# mine\n[policy] # here\nmode = "enforce" # always\ndefault = "ask"\ndeny = ["s:odd"]\n')
    before = paths.config.read_text(encoding="utf-8")
    ran = init("--policy", "record", answers=["none", "n", "n", "n"])
    assert "these could be called without a question: s:write, s:delete" in ran.err
    assert "now: as it is in config.toml" in ran.err
    assert paths.config.read_text(encoding="utf-8") == before
    assert init("--policy", "record", answers=["none", "n", "y", "n"]).code == 0
    text = paths.config.read_text(encoding="utf-8")
    assert '# mine\n[policy] # here\nmode = "record" # always\ndefault = "allow"\ndeny = ["s:odd"]\n' in text


@pytest.mark.process
def test_an_agent_can_choose_no_looser_policy(
    mcpctl: Mcpctl, person: None, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setattr("mcpctl.commands.init._Steps._examine", lambda _: None)
    listing(paths, '\n[policy]\ndefault = "deny"\n')
    before = config.load(paths.config).policy_table
    ran = mcpctl("init", "zed", "--yes", "--policy", "record")
    assert "only a person can have this called" in ran.err
    assert config.load(paths.config).policy_table == before


@for_each("before", ["", "\n", "\ufeff", "\ufeff[servers.a]\r\ncommand = 'x'\r\n"])
def test_any_file_gets_the_policy_and_keeps_its_mark(init: Init, paths: Paths, before: str) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_bytes(before.encode())
    starts = ["n"] if "servers" in before else []
    assert init("--policy", "careful", answers=["none", *starts, "y", "n"]).code == 0
    after = paths.config.read_bytes().decode()
    assert after.startswith("\ufeff") is before.startswith("\ufeff")
    assert "[policy]" in after


def test_rules_of_clients_go_into_the_policy_that_was_chosen(init: Init, user: Path, paths: Paths) -> None:
    (user / ".claude").mkdir()
    rules = {"permissions": {"deny": ["mcp__a__drop_*"], "allow": ["mcp__a__write"]}}
    (user / ".claude/settings.json").write_text(json.dumps(rules), encoding="utf-8")
    (user / ".claude.json").write_text(json.dumps({"mcpServers": {"a": {"command": "true"}}}), encoding="utf-8")
    ran = init("claude-code", answers=["", "y", "n", "careful", "y", "n", "n"])
    assert "need a [policy] here: mcp__a__drop_*, mcp__a__write" in ran.err
    assert ran.err.index("written to") < ran.err.index("permission rules of claude-code:")
    table = config.load(paths.config).policy_table
    assert table and (table.default, table.deny, table.allow) == ("ask", [], [])
    policy = paths.config.read_text(encoding="utf-8")
    paths.config.write_text(policy[: policy.index("# Which calls")], encoding="utf-8")
    assert init("claude-code", answers=["n", "careful", "y", "y", "n"]).code == 0
    table = config.load(paths.config).policy_table
    assert table and (table.default, table.deny, table.allow) == ("ask", ["a:drop_*"], ["a:write"])
    assert "permission rules of" not in init("claude-code", "--policy", "careful", answers=["n", "n"]).err


def test_a_rule_about_a_server_that_stays_in_its_client_loosens_no_other(init: Init, user: Path, paths: Paths) -> None:
    (user / ".claude").mkdir()
    rules = {"permissions": {"allow": ["mcp__notes__*", "mcp__other__*"]}}
    (user / ".claude/settings.json").write_text(json.dumps(rules), encoding="utf-8")
    place = user / ".config/Claude/claude_desktop_config.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"mcpServers": DEMO}), encoding="utf-8")
    other = {"notes": {"command": "true", "args": ["x"]}, "other": {"command": "true"}}
    (user / ".claude.json").write_text(json.dumps({"mcpServers": other}), encoding="utf-8")
    ran = init("--policy", "careful", answers=["all", "y", "n", "y", "y", "n"])
    assert "'notes' stays there" in ran.err
    table = config.load(paths.config).policy_table
    assert table and table.allow == ["other:*"]
    assert "left out: mcp__notes__*: 'notes' in config.toml is not the client's server of that name" in ran.err


@for_each(
    "before",
    ["", "[servers.a]\ncommand = 'x'\n", "[servers.a]\r\ncommand = 'x'\r\n# end", "# only this",
     "policy = {deny = ['a:b']}\n[servers.a]\ncommand = 'x'\n",
     "[policy]\n# rules\nallow = ['a:*'] # ok\n\n# about a\n[servers.a]\ncommand = 'x'\n",
     "[policy.x]\n" * 0 + "[projects.p.policy]\ndeny = ['a:b']\n"],
)  # fmt: skip
def test_a_preset_leaves_all_else_as_it_is(paths: Paths, before: str) -> None:
    for preset in PRESETS.values():
        after = policy_presets.written(paths, before, preset)
        assert not list(problems.problems(paths.config, after))
        loaded, old = config.parsed(paths.config, after), config.parsed(paths.config, before)
        table = loaded.policy_table
        assert table and (loaded.servers, loaded.projects) == (old.servers, old.projects)
        assert {key: getattr(table, key) for key in preset.settings} == preset.settings
        lists = old.policy_table.deny if old.policy_table else [], old.policy_table.allow if old.policy_table else []
        assert (table.deny, table.allow) == lists
        assert all(line in after.splitlines() for line in before.splitlines() if line.lstrip().startswith("#"))
        assert before or after.startswith(FIRST_LINE)
        assert "\r\n" not in before or after.count("\n") == after.count("\r\n")


@pytest.mark.process
@pytest.mark.slow
def test_it_is_one_conversation_at_a_terminal(user: Path, paths: Paths) -> None:
    env = {name: value for name, value in os.environ.items() if name not in confirmation.AGENTS}
    with Terminal([*MCPCTL, "init"], env) as terminal:
        terminal.wait_for(r"Put it into which\? .*\[all: cursor\]: ")
        terminal.type("\n")
        terminal.wait_for(r"moves into config.toml:\s+Cursor: notes")
        terminal.wait_for(r"Write this\? \[y/N\]: ")
        terminal.type("y\n")
        terminal.wait_for(r"Start notes\? \[Y/n\]: ")
        terminal.type("\n")
        terminal.wait_for(r"TOOL +RISK +CAREFUL +BALANCED +RECORD")
        terminal.wait_for(r"Which\? .*: ")
        terminal.type("balanced\n")
        terminal.wait_for(r"Write this to .*\? \[y/N\]: ")
        terminal.type("\x03")
        terminal.wait_for("go on with: mcpctl init")
    assert installed(user)
    assert config.load(paths.config).policy_table is None


def test_names_of_strangers_leave_room_for_the_decisions_and_command_no_terminal(
    mcpctl: Mcpctl, person: None, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    configure(paths, {"s": stub()}, policy={})
    listed(paths, "s", [{"name": "n" * 100}, {"name": "\x1b[2J\u202e", "annotations": {"readOnlyHint": True}}])
    ran = mcpctl("init", tty=True, stdin="none\nn\nnone\nn\n")
    assert ran.code == 0
    assert "TOOL" in ran.out
    assert "RECORD" in ran.out
    assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)
