"""`mcpctl annotate ls`"""

import pytest

from mcpctl.base.paths import Paths
from tests.configured import demo_tools, noted, overridden, toolset
from tests.conftest import Mcpctl


@pytest.fixture(autouse=True)
def data(paths: Paths) -> None:
    """Two servers, and a toolset that says something of three tools."""
    demo_tools(paths)
    toolset(
        paths, "triage", "notes:add_note", "notes:list_notes",
        toolNotes=[noted("notes:add_note", one="1"), noted("gone:tool", two="2"), noted("notes:add_note", one="no")],
        toolOverrides=[overridden("notes:add_note", "T", openWorldHint=True)],
    )  # fmt: skip


def test_notes_and_overrides_are_listed_as_they_count(mcpctl: Mcpctl, paths: Paths) -> None:
    rows = mcpctl("annotate", "ls", "--toolset", "triage", "--json").json
    assert [(row["key"], row["kind"], row["name"], row["value"]) for row in rows] == [
        ("notes:add_note", "note", "one", "1"),
        ("notes:add_note", "override", "openWorldHint", True),
        ("notes:add_note", "override", "title", "T"),
        ("gone:tool", "note", "two", "2"),
    ]
    assert {row["path"] for row in rows} == {str(paths.toolsets / "triage.json")}
    assert mcpctl("annotate", "ls", "--toolset", "triage").out.splitlines()[1] == (
        "notes:add_note\toverride\topenWorldHint\ttrue"
    )


def test_one_tool_alone_can_be_asked_for(mcpctl: Mcpctl) -> None:
    assert mcpctl("annotate", "ls", "notes:add_note", "--toolset", "triage", "--count").out == "3\n"
    ran = mcpctl("annotate", "ls", "notes:list_notes", "--toolset", "triage", "--json")
    assert (ran.out, ran.err) == ("[]\n", "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], "no_toolset"),
        (["--toolset", "nothing"], "toolset_not_found"),
        (["nothing:at_all", "--toolset", "triage"], "tool_not_found"),
        (["weather:set_alert", "--toolset", "triage"], "not_in_toolset"),
    ],
)
def test_what_is_not_there_is_said(mcpctl: Mcpctl, words: list[str], code: str) -> None:
    ran = mcpctl("annotate", "ls", *words, "--json")
    assert (ran.code, ran.error["code"]) == (3, code)
