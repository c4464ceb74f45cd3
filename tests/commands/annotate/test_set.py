"""`mcpctl annotate set`"""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import demo_tools, toolset
from tests.conftest import Mcpctl

KEY = "notes:delete_note"


@pytest.fixture(autouse=True)
def path(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolset in force."""
    demo_tools(paths)
    monkeypatch.setenv("MCPCTL_TOOLSET", "triage")
    return toolset(paths, "triage", KEY)


def overrides(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")).get("toolOverrides")


def test_hints_and_the_title_are_overridden(mcpctl: Mcpctl, path: Path) -> None:
    ran = mcpctl("annotate", "set", KEY, "--no-destructive", "--read-only", "--title", "Look")
    assert ran.out.split() == ["readOnlyHint", "destructiveHint", "title"]
    (entry,) = overrides(path)
    assert entry["toolRef"]["namespacedName"] == "notes.delete_note"
    assert entry["annotations"] == {"readOnlyHint": True, "destructiveHint": False}
    assert entry["title"] == "Look"


def test_what_is_set_again_changes_in_its_place(mcpctl: Mcpctl, path: Path) -> None:
    mcpctl("annotate", "set", KEY, "--no-destructive", "--open-world")
    mcpctl("annotate", "set", KEY, "--destructive")
    assert [entry["annotations"] for entry in overrides(path)] == [{"destructiveHint": True, "openWorldHint": True}]
    before = path.read_bytes()
    assert mcpctl("annotate", "set", KEY, "--destructive").out == ""
    assert path.read_bytes() == before


def test_what_is_inherited_again_leaves_no_trace(mcpctl: Mcpctl, path: Path) -> None:
    mcpctl("annotate", "set", KEY, "--no-destructive", "--title", "T")
    mcpctl("annotate", "set", KEY, "--inherit", "destructive", "--inherit", "title")
    assert overrides(path) == []
    row = mcpctl("tools", "show", KEY, "--json").json
    assert row["destructive"]["source"] == "declared"


def test_a_dry_run_prints_the_diff_and_writes_nothing(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_bytes()
    out = mcpctl("annotate", "set", KEY, "--no-destructive", "--dry-run").out
    assert out.startswith(f"--- {path}\n+++ {path}\n@@ ")
    assert '+        "destructiveHint": false\n' in out
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--inherit", "bogus"],
        ["--destructive", "--inherit", "destructive"],
        ["--title", ""],
        ["--title", "x" * 201],
        ["--title", "x", "--inherit", "title"],
    ],
)
def test_what_makes_no_sense_is_refused(mcpctl: Mcpctl, path: Path, words: list[str]) -> None:
    assert mcpctl("annotate", "set", KEY, *words).code == 2
    assert overrides(path) is None


@pytest.mark.parametrize(("key", "code"), [("notes:nothing", "tool_not_found"), ("notes:add_note", "not_in_toolset")])
def test_a_tool_that_is_not_there_is_not_found(mcpctl: Mcpctl, key: str, code: str) -> None:
    ran = mcpctl("annotate", "set", key, "--read-only", "--toolset", "triage")
    assert (ran.code, code.split("_")[0] in ran.err) == (3, True)
