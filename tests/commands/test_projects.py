"""A project in force, for every command that takes one: its servers, its toolset, and who says which it is."""

import json
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import DEMO, configure, demo_tools, noted, toolset
from tests.conftest import Mcpctl

SEES = {
    "tools ls": "key",
    "tools search note weather": "key",
    "servers ls": "name",
    "tools refresh": "server",
    "servers check": "server",
}
"""Commands that list what the project sees, and the field that names the server."""
TAKERS = [
    "tools ls", "tools search x", "tools show notes:add_note", "tools call notes:list_notes", "tools export",
    "tools refresh", "servers ls", "servers check", "toolsets show", "annotate ls", "annotate add notes:add_note ci x",
    "annotate set notes:add_note --destructive",
]  # fmt: skip
process = pytest.mark.process


@pytest.fixture(autouse=True)
def data(paths: Paths) -> None:
    """Notes for acme, weather for zoo, and the toolsets that acme and everyone have."""
    servers = {"notes": {**DEMO["notes"], "projects": ["acme"]}, "weather": {**DEMO["weather"], "projects": ["zoo"]}}
    demo_tools(paths, servers)
    configure(paths, servers, projects={"acme": {}, "team": {"toolset": "team"}})
    toolset(paths, "team", "notes:add_note", "weather:get_forecast", toolNotes=[noted("notes:add_note", rule="Ask.")])


def with_toolset(paths: Paths, name: str) -> None:
    """Have the project acme name this toolset."""
    servers = {"notes": {**DEMO["notes"], "projects": ["acme"]}, "weather": DEMO["weather"]}
    configure(paths, servers, projects={"acme": {"toolset": name}})


def servers_of(ran: Any, field: str) -> set[str]:
    assert ran.code == 0, ran
    return {row[field].partition(":")[0] for row in ran.json}


@process
@pytest.mark.parametrize("words", SEES)
def test_only_the_servers_of_the_project_are_seen(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    field = SEES[words]
    assert servers_of(mcpctl(*words.split(), "--json"), field) == {"notes", "weather"}
    assert servers_of(mcpctl(*words.split(), "--json", "--project", "zoo"), field) == {"weather"}
    monkeypatch.setenv("MCPCTL_PROJECT", "acme")
    assert servers_of(mcpctl(*words.split(), "--json"), field) == {"notes"}
    assert servers_of(mcpctl(*words.split(), "--json", "--project", "zoo"), field) == {"weather"}


def test_an_export_has_the_tools_of_the_project(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {row["server"] for row in mcpctl("tools", "export").jsonl} == {"notes", "weather"}
    assert {row["server"] for row in mcpctl("tools", "export", "--project", "acme").jsonl} == {"notes"}
    monkeypatch.setenv("MCPCTL_PROJECT", "zoo")
    assert {row["server"] for row in mcpctl("tools", "export").jsonl} == {"weather"}


def test_the_toolset_of_a_project_does_not_count_for_an_export(mcpctl: Mcpctl, paths: Paths) -> None:
    with_toolset(paths, "team")
    assert len(mcpctl("tools", "export", "--project", "acme").jsonl) == 7
    named = mcpctl("tools", "export", "--project", "acme", "--toolset", "team").jsonl
    assert [row["tool"]["name"] for row in named] == ["add_note", "get_forecast"]


@pytest.mark.parametrize("words", TAKERS)
def test_a_project_that_nothing_names_is_refused_with_the_near_one(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    expected = (3, "mcpctl: no project 'acne'\nhint: did you mean 'acme'?\n")
    ran = mcpctl(*words.split(), "--project", "acne")
    assert (ran.code, ran.err) == expected
    monkeypatch.setenv("MCPCTL_PROJECT", "acne")
    ran = mcpctl(*words.split())
    assert (ran.code, ran.err) == expected


@pytest.mark.parametrize(
    "words", ["servers show notes", "servers disable notes", "servers add x --project new -- run", "sessions ls",
              "calls ls", "db rebuild", "toolsets ls", "toolsets build more weather:get_forecast"],
)  # fmt: skip
def test_commands_that_are_of_no_project_do_not_mind_the_variable(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("MCPCTL_PROJECT", "acne")
    assert mcpctl(*words.split()).code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("tools ls --server weather", 6),
        ("tools search x --server weather", 6),
        ("tools export --server weather", 6),
        ("tools refresh weather", 6),
        ("servers check weather", 6),
        ("tools call weather:get_forecast city=Oslo", 6),
        ("tools show weather:get_forecast", 3),
    ],
)
def test_a_server_of_another_project_is_refused_with_what_lets_it_in(
    mcpctl: Mcpctl, paths: Paths, words: str, code: int
) -> None:
    ran = mcpctl(*words.split(), "--project", "acme")
    assert ran.code == code
    assert "server 'weather' is not in the project in force, 'acme'\n" in ran.err
    assert f"add 'acme' to projects of [servers.weather] in {paths.config}\n" in ran.err


def test_a_call_outside_the_project_is_on_record_as_denied(mcpctl: Mcpctl) -> None:
    assert mcpctl("tools", "call", "weather:get_forecast", "city=Oslo", "--project", "acme").code == 6
    (call,) = mcpctl("calls", "ls", "--json").json
    assert (call["server"], call["status"], call["error"]["code"]) == ("weather", "denied", "not_in_project")
    assert call["project"] == "acme"


@process
def test_a_call_within_the_project_is_made(mcpctl: Mcpctl, paths: Paths) -> None:
    assert mcpctl("tools", "call", "weather:get_forecast", "city=Oslo", "--project", "zoo").code == 0
    with_toolset(paths, "team")
    ran = mcpctl("tools", "call", "notes:list_notes", "--project", "acme")
    assert ran.code == 6
    assert "mcpctl toolsets show --project acme; or call it with --toolset none" in ran.err
    assert mcpctl("tools", "call", "notes:list_notes", "--project", "acme", "--toolset", "none").code == 0


@pytest.mark.parametrize(
    ("options", "variable", "expected"),
    [
        ([], None, ["notes:add_note", "weather:get_forecast"]),
        (["--toolset", "one"], "two", ["notes:list_notes"]),
        ([], "two", ["weather:get_forecast"]),
        ([], "none", None),
        (["--toolset", "none"], None, None),
    ],
)
def test_the_toolset_of_the_project_goes_before_the_equipped_one_and_after_what_is_named(
    mcpctl: Mcpctl,
    paths: Paths,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    variable: str | None,
    expected: list[str] | None,
) -> None:
    toolset(paths, "one", "notes:list_notes")
    toolset(paths, "two", "weather:get_forecast")
    with_toolset(paths, "team")
    mcpctl("toolsets", "equip", "two")
    if variable:
        monkeypatch.setenv("MCPCTL_TOOLSET", variable)
    listed = mcpctl("tools", "ls", "--project", "acme", "--fields", "key", *options).out.splitlines()
    assert listed == expected or (expected is None and len(listed) == 7)
    found = mcpctl("tools", "search", "note", "weather", "--project", "acme", "--fields", "key", *options).out.split()
    assert set(found) == set(expected or found)
    row = mcpctl("tools", "show", "notes:add_note", "--project", "acme", "--json", *options).json
    assert row["in_toolset"] == (None if expected is None else "notes:add_note" in expected)


def test_no_project_leaves_what_is_equipped(mcpctl: Mcpctl, paths: Paths) -> None:
    with_toolset(paths, "team")
    toolset(paths, "two", "weather:get_forecast")
    mcpctl("toolsets", "equip", "two")
    assert mcpctl("tools", "ls", "--fields", "key").out == "weather:get_forecast\n"
    with_toolset(paths, "none")
    assert mcpctl("tools", "ls", "--project", "acme", "--count").out == "7\n"


def test_notes_and_overrides_are_of_the_project_s_toolset(mcpctl: Mcpctl, paths: Paths) -> None:
    path = toolset(paths, "shared", "notes:add_note", path=paths.config.parent / "team" / "shared.json")
    with_toolset(paths, "team/shared.json")
    project = ("--project", "acme")
    assert mcpctl("annotate", "add", "notes:add_note", "rule", "Ask.", *project).out == "rule\n"
    assert mcpctl("annotate", "set", "notes:add_note", "--destructive", *project).code == 0
    listed = mcpctl("annotate", "ls", "--json", *project).json
    assert [(row["name"], row["path"]) for row in listed] == [("rule", str(path)), ("destructiveHint", str(path))]
    written = json.loads(path.read_text(encoding="utf-8"))
    assert [note["name"] for note in written["toolNotes"][0]["notes"]] == ["rule"]
    assert written["toolOverrides"][0]["annotations"] == {"destructiveHint": True}
    assert mcpctl("annotate", "ls").code == 3


def test_the_toolset_in_force_is_shown_with_the_tools_that_the_project_sees(mcpctl: Mcpctl) -> None:
    row = mcpctl("toolsets", "show", "--project", "team", "--json").json
    assert row["name"] == "team"
    assert [tool["status"] for tool in row["tools"]] == ["unknown", "unknown"]
    assert [tool["status"] for tool in mcpctl("toolsets", "show", "team", "--json").json["tools"]] == ["ok", "ok"]


@pytest.mark.parametrize("words", ["tools ls", "tools search note", "servers ls"])
def test_a_terminal_is_told_which_project_leaves_out_the_others(mcpctl: Mcpctl, words: str) -> None:
    said = "only the servers of project 'acme'\n"
    assert said in mcpctl(*words.split(), "--project", "acme", tty=True).err
    assert said not in mcpctl(*words.split(), "--project", "acme").err
    assert "project" not in mcpctl(*words.split(), tty=True).err
