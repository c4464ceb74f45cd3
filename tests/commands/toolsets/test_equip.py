"""`mcpctl toolsets equip`: what is in force, for every command that reads tools."""

from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from tests.configured import demo_tools, noted, overridden, toolset
from tests.conftest import Mcpctl


@pytest.fixture(autouse=True)
def data(paths: Paths) -> None:
    """Two servers, and a toolset of two of their tools."""
    demo_tools(paths)
    toolset(
        paths, "triage", "notes:delete_note", "weather:get_forecast",
        toolNotes=[noted("weather:get_forecast", units="Always in Réaumur.")],
        toolOverrides=[overridden("notes:delete_note", "Archive", destructiveHint=False)],
    )  # fmt: skip


def keys(mcpctl: Mcpctl, *words: str) -> list[str]:
    return [row["key"] for row in mcpctl(*words, "--json").json]


def test_only_its_tools_are_listed_and_found(mcpctl: Mcpctl) -> None:
    assert mcpctl("toolsets", "equip", "triage").out == "triage\n"
    assert keys(mcpctl, "tools", "ls") == ["notes:delete_note", "weather:get_forecast"]
    assert keys(mcpctl, "tools", "search", "note") == ["notes:delete_note"]


@pytest.mark.parametrize(
    ("text", "told"), [('{"name": "x1", "tool": []}', "it has no tools"), ('{"tools": "a.b"}', "tools is not an array")]
)
def test_a_file_without_tools_is_equipped_with_a_warning(mcpctl: Mcpctl, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    assert f"{told}, so that no tool can be found or called with it" in mcpctl("toolsets", "equip", str(path)).err
    (row,) = (row for row in mcpctl("toolsets", "ls", "--json").json if row["equipped"])
    assert row["problem"].startswith(told)


def test_notes_are_searchable_text(mcpctl: Mcpctl) -> None:
    assert keys(mcpctl, "tools", "search", "réaumur") == []
    assert keys(mcpctl, "tools", "search", "réaumur", "--toolset", "triage") == ["weather:get_forecast"]


def test_an_option_goes_before_the_environment_and_that_before_what_is_equipped(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = toolset(paths, "file", "notes:list_notes", path=tmp_path / "file.json")
    mcpctl("toolsets", "equip", "triage")
    monkeypatch.setenv("MCPCTL_TOOLSET", str(path))
    assert keys(mcpctl, "tools", "ls") == ["notes:list_notes"]
    assert len(keys(mcpctl, "tools", "ls", "--toolset", "triage")) == 2
    assert len(keys(mcpctl, "tools", "ls", "--toolset", "none")) == 7
    monkeypatch.setenv("MCPCTL_TOOLSET", "none")
    assert len(keys(mcpctl, "tools", "ls")) == 7
    monkeypatch.setenv("MCPCTL_TOOLSET", "")
    assert len(keys(mcpctl, "tools", "ls")) == 2


def test_an_overridden_hint_is_told_from_others_without_colour(mcpctl: Mcpctl) -> None:
    mcpctl("toolsets", "equip", "triage")
    ran = mcpctl("tools", "ls", tty=True)
    assert "notes:delete_note     no    no*    yes    no    Archive" in ran.out
    assert "only the tools of toolset 'triage'; * is its override; --toolset none shows all" in ran.err
    assert "yes* or no*" in mcpctl("tools", "ls", "--help").out
    assert mcpctl("tools", "ls").err == ""


def test_json_tells_all_that_decided(mcpctl: Mcpctl, paths: Paths) -> None:
    row = mcpctl("tools", "show", "notes:delete_note", "--toolset", "triage", "--json").json
    path = str(paths.toolsets / "triage.json")
    assert row["destructive"] == {
        "declared": True, "override": False, "effective": False, "source": "override", "file": path,
    }  # fmt: skip
    assert (row["toolset"], row["in_toolset"], row["title"]) == ("triage", True, "Archive")
    assert f"destructive: no (override in {path}): it destroys nothing" in mcpctl(
        "tools", "show", "notes:delete_note", "--toolset", "triage"
    ).out.replace("\n  ", " ")


def test_filters_and_risk_take_the_overridden_hint(mcpctl: Mcpctl) -> None:
    mcpctl("toolsets", "equip", "triage")
    assert keys(mcpctl, "tools", "ls", "--destructive") == []
    assert [row["risk"] for row in mcpctl("tools", "ls", "--json").json] == ["changing", "read-only"]


def test_a_tool_that_is_not_in_it_is_shown_as_such(mcpctl: Mcpctl) -> None:
    mcpctl("toolsets", "equip", "triage")
    assert "not in the toolset 'triage'" in mcpctl("tools", "show", "notes:add_note").out


def test_a_tool_that_is_not_in_it_is_not_called(mcpctl: Mcpctl) -> None:
    ran = mcpctl("tools", "call", "notes:list_notes", "--toolset", "triage", "--json")
    assert (ran.code, ran.error["code"]) == (6, "not_in_toolset")
    (call,) = mcpctl("calls", "ls", "--json").json
    assert (call["status"], call["toolset"]) == ("denied", "triage")


def test_a_broken_one_stops_commands_that_would_show_what_it_left_out(mcpctl: Mcpctl, paths: Paths) -> None:
    mcpctl("toolsets", "equip", "triage")
    (paths.toolsets / "triage.json").write_text("{", encoding="utf-8")
    for words in (["ls"], ["search", "x"], ["show", "notes:add_note"], ["call", "notes:add_note"]):
        assert mcpctl("tools", *words).code == 5
    assert mcpctl("tools", "ls", "--toolset", "none").code == 0


@pytest.mark.parametrize("name", ["nothing", "./nothing.json"])
def test_one_that_is_not_there_cannot_be_equipped(mcpctl: Mcpctl, name: str) -> None:
    assert mcpctl("toolsets", "equip", name).code == 3
    assert len(keys(mcpctl, "tools", "ls")) == 7
