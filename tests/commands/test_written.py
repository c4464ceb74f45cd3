"""What every command that writes has in common: `--json` prints what was written."""

import inspect

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from tests.commands.approvals.waiting import opened
from tests.configured import READ, configure, demo_tools, listed, pinned, stub, toolset
from tests.conftest import Mcpctl
from tests.test_layout import EVERY

WITHOUT_JSON = {
    "serve", "init", "demo", "help", "annotate schema", "config edit", "config schema", "policy hook", "calls export",
    "calls response",
}  # fmt: skip
"""Commands that run, that teach, that talk with a person, or that print a format of its own kind."""


def test_every_command_has_json() -> None:
    takes = {" ".join(path): inspect.signature(found.callback).parameters for path, found in EVERY if found.callback}
    assert {path for path, parameters in takes.items() if "json" not in parameters} == WITHOUT_JSON


@pytest.fixture(autouse=True)
def data(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers, a toolset, and somebody at a terminal."""
    demo_tools(paths)
    toolset(paths, "team", "notes:add_note", "notes:list_notes")
    monkeypatch.setattr(confirmation, "only_for_people", lambda what: None)


@pytest.mark.parametrize(
    ("words", "show"),
    [
        ("servers add new --url https://x.example/mcp", "servers show new"),
        ("servers disable notes", "servers show notes"),
        ("servers enable notes", "servers show notes"),
        ("toolsets build mine notes:add_note", "toolsets show mine"),
        ("toolsets add team weather:get_forecast", "toolsets show team"),
        ("toolsets rm team notes:add_note", "toolsets show team"),
        ("toolsets equip team", "toolsets show team"),
    ],
)
def test_what_was_written_is_printed_as_show_prints_it(mcpctl: Mcpctl, words: str, show: str) -> None:
    written = mcpctl(*words.split(), "--json").json
    assert written == mcpctl(*show.split(), "--json").json
    assert written


@pytest.mark.parametrize(
    ("words", "members"),
    [
        ("servers rm notes", [{"name": "notes", "removed": True}]),
        ("toolsets rm team --all", {"name": "team", "removed": True}),
        ("toolsets unequip", {"equipped": None}),
        ("tools lock lock.json", {"path": "lock.json", "tools": 7, "written": True}),
    ],
)
def test_what_is_gone_or_is_no_thing_of_its_own_is_named(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, words: str, members: object
) -> None:
    monkeypatch.chdir(paths.config.parent)
    assert mcpctl(*words.split(), "--json").json == members


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_a_note_and_an_override_say_what_changed_and_where(mcpctl: Mcpctl, paths: Paths, dry_run: list[str]) -> None:
    key, of = "notes:add_note", ("--toolset", "team", "--json", *dry_run)
    note = mcpctl("annotate", "add", key, "tip", "Be brief.", *of).json
    hint = mcpctl("annotate", "set", key, "--read-only", *of).json
    assert (note["key"], note["changed"], note["path"]) == (key, ["tip"], str(paths.toolsets / "team.json"))
    assert any("Be brief." in line for line in note["diff"])
    assert (hint["changed"], bool(hint["diff"])) == (["readOnlyHint"], True)


@pytest.mark.parametrize(("verb", "state"), [("allow", "allowed"), ("deny", "denied")])
def test_an_answered_approval_is_its_row(mcpctl: Mcpctl, paths: Paths, verb: str, state: str) -> None:
    id_ = opened(paths).id
    row = mcpctl("approvals", verb, id_, "--json").json
    assert row == mcpctl("approvals", "show", id_, "--json").json
    assert row["state"] == state


def test_revoked_tokens_are_their_rows(mcpctl: Mcpctl) -> None:
    ids = [mcpctl("tokens", "create", "--json").json["id"] for _ in range(2)]
    rows = mcpctl("tokens", "revoke", *ids, "--json").json
    assert {(row["id"], row["state"]) for row in rows} == {(id_, "revoked") for id_ in ids}


def test_approved_tools_are_their_keys(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"files": stub()}, policy={"mode": "enforce"})
    listed(paths, "files", [READ])
    pinned(paths, "files")
    assert mcpctl("tools", "approve", "--all", "--yes", "--json").json == ["files:read"]


def test_exported_tools_are_one_array(mcpctl: Mcpctl) -> None:
    assert mcpctl("tools", "export", "--json").json == mcpctl("tools", "export").jsonl


def test_the_path_of_the_index_and_the_version_are_members(mcpctl: Mcpctl) -> None:
    assert mcpctl("db", "path", "--json").json == {"path": mcpctl("db", "path").out.strip()}
    assert f"mcpctl {mcpctl('version', '--json').json['version']}\n" == mcpctl("version").out
