"""`mcpctl tools export`: what servers list, as they sent it, to be kept beside toolset files."""

import json
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.demo import notes
from tests.configured import configure, demo_tools, listed, stub, toolset
from tests.conftest import Mcpctl


def test_each_line_is_a_tool_as_its_server_sent_it(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    rows = mcpctl("tools", "export").jsonl
    assert {row["server"] for row in rows} == {"notes", "weather"}
    mine = [row["tool"] for row in rows if row["server"] == "notes"]
    assert mine == [definition for definition, _ in notes.server.tools.values()]


def test_numbers_and_unknown_members_survive_on_one_line(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"odd": stub()})
    listed(paths, "odd", [{"name": "t", "inputSchema": {"maximum": 1.0}, "x": {"é": [10**30, "\n"]}}])
    (line,) = mcpctl("tools", "export").out.splitlines()
    assert '"maximum":1.0' in line
    assert str(10**30) in line
    assert json.loads(line)["tool"]["x"]["é"][1] == "\n"


def test_it_takes_filters_and_a_toolset_only_when_named(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_tools(paths)
    toolset(paths, "triage", "notes:add_note")
    everything = mcpctl("tools", "export").out
    monkeypatch.setenv("MCPCTL_TOOLSET", "triage")
    assert mcpctl("tools", "export").out == everything
    assert [row["tool"]["name"] for row in mcpctl("tools", "export", "--toolset", "triage").jsonl] == ["add_note"]
    assert {row["server"] for row in mcpctl("tools", "export", "--server", "notes").jsonl} == {"notes"}
    assert 0 < len(mcpctl("tools", "export", "--read-only").jsonl) < len(everything.splitlines())
    assert mcpctl("tools", "export", "--server", "nobody").code == 3


def test_a_check_reads_it(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    demo_tools(paths)
    path = tmp_path / "team.json"
    assert mcpctl("toolsets", "build", str(path), "notes:add_note", "weather:get_forecast").code == 0
    snapshot = tmp_path / "catalog.jsonl"
    snapshot.write_text(mcpctl("tools", "export").out, encoding="utf-8")
    configure(paths, {})
    ran = mcpctl("annotate", "check", str(path), "--catalog", str(snapshot), "--fail-on", "warning", "--json")
    assert (ran.code, ran.json) == (0, [])
