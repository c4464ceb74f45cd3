"""`mcpctl annotate add`: additive, exact, and safe among many."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import demo_tools, noted, toolset
from tests.conftest import ROOT, Mcpctl

KEY = "notes:add_note"


@pytest.fixture(autouse=True)
def path(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolset in force, with what mcpctl does not know."""
    demo_tools(paths)
    monkeypatch.setenv("MCPCTL_TOOLSET", "triage")
    return toolset(
        paths, "triage", "notes:list_notes", KEY, "gone:tool",
        toolNotes=[noted("gone:tool", old="stays"), noted(KEY, tip="First.")], unknown={"é": [1, {"deep": None}]},
    )  # fmt: skip


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def notes(path: Path, number: int = 1) -> dict[str, str]:
    return {note["name"]: note["note"] for note in content(path)["toolNotes"][number]["notes"]}


def test_a_note_is_added_and_nothing_else_changes(mcpctl: Mcpctl, path: Path) -> None:
    before = content(path)
    ran = mcpctl("annotate", "add", KEY, "team-rule", "Ask first.")
    assert (ran.out, ran.err) == ("team-rule\n", "")
    assert notes(path) == {"tip": "First.", "team-rule": "Ask first."}
    after = content(path)
    after["toolNotes"][1]["notes"].pop()
    assert json.dumps(after) == json.dumps(before)


def test_several_are_added_at_once_and_one_from_stdin(mcpctl: Mcpctl, path: Path) -> None:
    words = ["--note", "one=1", "--note", "two=a=b"]
    assert mcpctl("annotate", "add", KEY, "long", "-", *words, stdin="From stdin.\n").out == "long\none\ntwo\n"
    assert notes(path) == {"tip": "First.", "long": "From stdin.", "one": "1", "two": "a=b"}


def test_a_name_that_is_there_is_skipped_with_a_warning(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_bytes()
    ran = mcpctl("annotate", "add", KEY, "tip", "Second.")
    assert (ran.code, ran.out) == (0, "")
    change_it = f"mcpctl annotate edit {KEY} tip"
    assert ran.err == f"mcpctl: {KEY} has a note 'tip' already; it stays as it is; change it with: {change_it}\n"
    assert path.read_bytes() == before
    ran = mcpctl("annotate", "add", KEY, "tip", "Second.", "--toolset", str(path))
    assert f"{change_it} --toolset {path}\n" in ran.err


def test_a_tool_without_notes_gets_an_entry_with_its_name_and_hash(mcpctl: Mcpctl, path: Path) -> None:
    mcpctl("annotate", "add", "notes.list_notes", "new", "Text.")
    entry = content(path)["toolNotes"][2]
    assert entry["notes"] == [{"name": "new", "note": "Text."}]
    assert entry["toolRef"]["namespacedName"] == "notes.list_notes"
    assert len(entry["toolRef"]["refId"]) == 64


def test_a_tool_that_is_in_the_toolset_can_be_noted_though_it_is_not_listed(mcpctl: Mcpctl, path: Path) -> None:
    mcpctl("annotate", "add", "gone:tool", "new", "Text.")
    assert notes(path, 0) == {"old": "stays", "new": "Text."}


def test_a_dry_run_prints_the_diff_and_writes_nothing(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_bytes()
    out = mcpctl("annotate", "add", KEY, "new", "Text.", "--dry-run").out
    assert out.startswith(f"--- {path}\n+++ {path}\n@@ ")
    assert '+          "note": "Text."\n' in out
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["Bad", "x"], "'Bad' cannot name a note"),
        (["a", "x"], "'a' cannot name a note"),
        (["x" * 51, "x"], "cannot name a note"),
        (["ok", ""], "note 'ok' is empty"),
        (["ok", "x" * 501], "note 'ok' is too long: 501 characters"),
        (["ok"], "a note needs a name and a text"),
        ([], "0 notes at once"),
        (["--note", "ok"], "--note needs NAME=TEXT"),
        ([word for n in range(21) for word in ("--note", f"n{n:02}=x")], "21 notes at once"),
    ],
)
def test_what_is_no_note_is_refused_and_nothing_changes(
    mcpctl: Mcpctl, path: Path, words: list[str], told: str
) -> None:
    before = path.read_bytes()
    ran = mcpctl("annotate", "add", KEY, *words)
    assert ran.code == 2
    assert told in ran.err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("key", "words", "told"),
    [
        (KEY, ["--toolset", "none"], "no toolset is equipped"),
        ("notes:ad_note", [], "did you mean 'notes:add_note'?"),
        ("weather:set_alert", [], "hint: add it with: mcpctl toolsets add triage weather:set_alert"),
    ],
)
def test_what_is_not_there_is_said(mcpctl: Mcpctl, key: str, words: list[str], told: str) -> None:
    ran = mcpctl("annotate", "add", key, "ok", "x", *words)
    assert ran.code == 3
    assert told in ran.err


def test_a_longest_note_fits(mcpctl: Mcpctl, path: Path) -> None:
    assert mcpctl("annotate", "add", KEY, "x" * 50, "é" * 500).code == 0


def test_a_file_that_cannot_be_written_is_left_as_it_is(mcpctl: Mcpctl, path: Path) -> None:
    path.write_text('{"name": "triage", "tools": [', encoding="utf-8")
    before = path.read_bytes()
    assert mcpctl("annotate", "add", KEY, "ok", "x").code == 5
    assert path.read_bytes() == before


ADD = """
import os, sys
from mcpctl.main import main
times, who, *others = map(int, sys.argv[1:])
note = ["annotate", "add", "notes:add_note"]
assert main([*note, "loads", "all that it needs, once", "--dry-run"]) == 0
children = []
for other in others:
    if child := os.fork():
        children.append(child)
    else:
        who, children = other, []
        break
for n in range(times):
    assert main([*note, f"n-{who}-{n}", "Text of some length. " * 20]) == 0
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""


def adding(times: int, *those: int) -> subprocess.Popen[bytes]:
    """A process for each of those, the first their parent, that adds so many notes one after the other."""
    argv = [sys.executable, "-c", ADD, str(times), *map(str, those)]
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ, cwd=ROOT)


@pytest.mark.slow
@pytest.mark.process
def test_two_hundred_at_once_from_twenty_processes_are_all_there_once(path: Path) -> None:
    before = content(path)
    process = adding(10, *range(20))
    looks = 0
    while process.poll() is None:
        content(path)
        looks += 1
        time.sleep(0.002)  # a look at what others do, as often as it leaves them the processor
    assert (process.wait(), process.communicate()[1]) == (0, b"")
    assert looks > 20
    after = content(path)
    names = [note["name"] for note in after["toolNotes"][1]["notes"]]
    assert sorted(names) == sorted(["tip", *(f"n-{who}-{n}" for who in range(20) for n in range(10))])
    del after["toolNotes"][1]["notes"][1:]
    assert json.dumps(after) == json.dumps(before)
    assert [file.name for file in path.parent.iterdir()] == ["triage.json"]


@pytest.mark.slow
@pytest.mark.process
def test_killing_it_in_the_middle_of_writes_never_tears_the_file(path: Path) -> None:
    before, sizes = content(path), set()
    for who in range(5):
        process = adding(10_000, who)
        start = path.stat().st_size
        while path.stat().st_size < start + 3000 * (1 + who % 3):
            assert process.poll() is None
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        after = content(path)
        sizes.add(len(after["toolNotes"][1]["notes"]))
        del after["toolNotes"][1]["notes"][1:]
        assert json.dumps(after) == json.dumps(before)
    assert len(sizes) == 5
