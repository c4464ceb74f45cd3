"""`mcpctl toolsets ls`. The tests of every list are in test_lists."""

import json
import os
from pathlib import Path

from mcpctl.base.paths import Paths
from tests.configured import noted, overridden, toolset
from tests.conftest import Mcpctl


def test_every_toolset_is_a_row_with_what_is_in_it(mcpctl: Mcpctl, paths: Paths) -> None:
    path = toolset(
        paths, "triage", "a:b", "a:c", description="D", lastModified="2026-01-01T00:00:00.000Z",
        toolNotes=[noted("a:b", one="1", two="2")], toolOverrides=[overridden("a:b", "T", readOnlyHint=True)],
    )  # fmt: skip
    os.utime(path, (1_800_000_000, 1_800_000_000))
    (row,) = mcpctl("toolsets", "ls", "--json").json
    assert row == {
        "name": "triage", "equipped": False, "tools": 2, "notes": 2, "overrides": 2, "description": "D",
        "last_modified": "2027-01-15T08:00:00.000Z", "path": str(paths.toolsets / "triage.json"), "problem": None,
    }  # fmt: skip


def test_a_broken_one_is_listed_with_its_fault_beside_the_others(mcpctl: Mcpctl, paths: Paths) -> None:
    toolset(paths, "good", "a:b")
    (paths.toolsets / "bad.json").write_text("{", encoding="utf-8")
    bad, good = mcpctl("toolsets", "ls", "--json").json
    assert "line 1, column 2" in bad["problem"]
    assert (good["name"], good["problem"]) == ("good", None)


def test_the_equipped_one_is_listed_wherever_it_is(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    toolset(paths, "triage", "a:b")
    path = toolset(paths, "there", "a:b", path=tmp_path / "there.json")
    mcpctl("toolsets", "equip", str(path))
    rows = {row["name"]: row["equipped"] for row in mcpctl("toolsets", "ls", "--json").json}
    assert rows == {"triage": False, str(path): True}


def test_each_of_several_in_a_file_is_listed_by_the_name_that_chooses_it(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.toolsets.mkdir(parents=True)
    several = {"toolsets": {"one": {"name": "one", "tools": []}, "two": {"name": "two", "tools": []}}}
    (paths.toolsets / "hyper.json").write_text(json.dumps(several), encoding="utf-8")
    names = [row["name"] for row in mcpctl("toolsets", "ls", "--json").json]
    assert names == ["hyper#one", "hyper#two"]
    assert mcpctl("toolsets", "show", "hyper#two", "--json").json["name"] == "hyper#two"
    assert mcpctl("toolsets", "equip", "hyper#two").code == 0
    assert [row["equipped"] for row in mcpctl("toolsets", "ls", "--json").json] == [False, True]


def test_what_strangers_wrote_does_not_command_the_terminal(mcpctl: Mcpctl, paths: Paths) -> None:
    toolset(paths, "triage", "a:b\x1b[2J", description="\x1b[31mred\u202e")
    for tty in (True, False):
        out = mcpctl("toolsets", "ls", tty=tty).out + mcpctl("toolsets", "show", "triage", tty=tty).out
        assert not {"\x1b", "\u202e"} & set(out)
