"""`mcpctl annotate rm`: notes go by name, and nothing else does."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import demo_tools, noted, toolset
from tests.conftest import Mcpctl

KEY = "notes:add_note"


@pytest.fixture(autouse=True)
def path(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolset in force: a tool with notes in two entries, one that is not listed, one that is not in the list."""
    demo_tools(paths)
    monkeypatch.setenv("MCPCTL_TOOLSET", "triage")
    second = noted(KEY, tip="Never seen.") | {"mine": 1}
    return toolset(
        paths, "triage", KEY, "gone:tool",
        toolNotes=[noted(KEY, tip="First.", other="Stays.", third="3"), second, noted("gone:tool", old="Old."),
                   noted("notes:list_notes", left="Left.")],
    )  # fmt: skip


def entries(path: Path) -> list[Any]:
    found: list[Any] = json.loads(path.read_text(encoding="utf-8"))["toolNotes"]
    return found


def test_all_of_one_name_go_and_every_other_byte_stays(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_text(encoding="utf-8")
    ran = mcpctl("annotate", "rm", KEY, "tip")
    assert (ran.code, ran.out, ran.err) == (0, "tip\n", "")
    expected = json.loads(before)
    del expected["toolNotes"][0]["notes"][0]
    del expected["toolNotes"][1]["notes"][0]
    assert path.read_text(encoding="utf-8") == json.dumps(expected, indent=2)


def test_an_entry_that_says_nothing_more_goes_too(mcpctl: Mcpctl, path: Path) -> None:
    assert mcpctl("annotate", "rm", KEY, "--all").out == "tip\nother\nthird\n"
    about = noted(KEY) | {"mine": 1}
    assert entries(path) == [about, noted("gone:tool", old="Old."), noted("notes:list_notes", left="Left.")]


@pytest.mark.parametrize(("key", "name"), [("gone:tool", "old"), ("notes:list_notes", "left")])
def test_notes_of_a_tool_that_is_gone_can_be_removed(mcpctl: Mcpctl, path: Path, key: str, name: str) -> None:
    assert mcpctl("annotate", "rm", key, name).out == f"{name}\n"
    assert len(entries(path)) == 3


def test_what_a_check_finds_fault_with_can_be_removed(mcpctl: Mcpctl, paths: Paths) -> None:
    path = toolset(paths, "triage", KEY, toolNotes=[noted(KEY, **{"Bad name": "x", "tip": "y"})])
    assert mcpctl("annotate", "rm", KEY, "Bad name").out == "Bad name\n"
    assert entries(path) == [noted(KEY, tip="y")]


def test_a_name_that_is_not_there_removes_none(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_bytes()
    ran = mcpctl("annotate", "rm", KEY, "other", "tipp")
    assert (ran.code, path.read_bytes()) == (3, before)
    assert ran.err == f"mcpctl: {KEY} has no note 'tipp'\nhint: did you mean 'tip'?\n"
    assert mcpctl("annotate", "rm", "notes:delete_note", "tip").code == 3  # not in the toolset
    assert mcpctl("annotate", "rm", "nobody:tool", "tip").code == 3


def test_no_name_at_all_removes_nothing(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_bytes()
    for words in ((), ("tip", "--all")):
        ran = mcpctl("annotate", "rm", KEY, *words)
        assert (ran.code, path.read_bytes()) == (2, before)
        assert "--all alone" in ran.err


def test_a_dry_run_prints_the_diff_and_writes_nothing(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_bytes()
    out = mcpctl("annotate", "rm", KEY, "other", "--dry-run").out
    assert [line for line in out.splitlines()[2:] if line.startswith(("+", "-"))] == [
        "-        },", "-        {", '-          "name": "other",', '-          "note": "Stays."',
    ]  # fmt: skip
    assert path.read_bytes() == before
