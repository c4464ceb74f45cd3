"""`mcpctl annotate edit`: one note's text, from the command line, stdin or an editor."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from tests.configured import demo_tools, noted, toolset
from tests.conftest import Mcpctl

KEY = "notes:add_note"
Editor = Callable[[str], Path]


@pytest.fixture(autouse=True)
def path(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolset in force, in which a note's name is there twice."""
    demo_tools(paths)
    monkeypatch.setenv("MCPCTL_TOOLSET", "triage")
    notes = [noted(KEY, tip="First.\u200b", other="Stays."), noted(KEY, tip="Never seen.")]
    return toolset(paths, "triage", KEY, toolNotes=notes)


@pytest.fixture
def edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """An editor that runs these lines of shell on the file "$1", and a folder for temporary files."""
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)

    def made(script: str) -> Path:
        temporary, program = tmp_path / "temporary", tmp_path / "my editor"
        temporary.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o700)
        monkeypatch.setattr("tempfile.tempdir", str(temporary))
        monkeypatch.setenv("EDITOR", "false")
        monkeypatch.setenv("VISUAL", f"'{program}' --wait --")
        return temporary

    return made


def test_the_first_note_of_the_name_gets_the_text_and_every_other_byte_stays(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_text(encoding="utf-8")
    ran = mcpctl("annotate", "edit", KEY, "tip", 'Second — "two".')
    assert (ran.code, ran.out, ran.err) == (0, "tip\n", "")
    assert path.read_text(encoding="utf-8") == before.replace('"First.\\u200b"', '"Second — \\"two\\"."')
    assert mcpctl("annotate", "edit", KEY, "other", "-", stdin="From\nstdin.\n").out == "other\n"
    assert '"From\\nstdin."' in path.read_text(encoding="utf-8")
    assert mcpctl("annotate", "edit", KEY, "other", "From\nstdin.", tty=True).err == "nothing to change\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [(("nobody", "x"), 3), (("tip", " "), 2), (("tip", "x" * 501), 2), (("tip", "a\u202eb"), 2), (("tip",), 2),
     (("../tip", "x"), 2)],
)  # fmt: skip
def test_what_cannot_be_a_note_changes_nothing(mcpctl: Mcpctl, path: Path, words: tuple[str, ...], code: int) -> None:
    before = path.read_bytes()
    assert mcpctl("annotate", "edit", KEY, *words).code == code
    assert path.read_bytes() == before


def test_a_dry_run_prints_the_diff_and_writes_nothing(mcpctl: Mcpctl, path: Path) -> None:
    before = path.read_bytes()
    assert '+          "note": "New."' in mcpctl("annotate", "edit", KEY, "tip", "New.", "--dry-run").out
    assert path.read_bytes() == before


def test_an_editor_gets_the_text_in_a_file_that_nobody_else_reads(mcpctl: Mcpctl, path: Path, edits: Editor) -> None:
    folder = edits('shift 2; stat -c %a "$1" "${1%/*}" > "$0.modes"; cat "$1" > "$0.text"; echo "Edited." > "$1"')
    assert mcpctl("annotate", "edit", KEY, "tip").out == "tip\n"
    assert json.loads(path.read_text(encoding="utf-8"))["toolNotes"][0]["notes"][0]["note"] == "Edited."
    assert (folder.parent / "my editor.text").read_text(encoding="utf-8") == "First.\n"
    assert (folder.parent / "my editor.modes").read_text(encoding="utf-8") == "600\n700\n"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [("true", 0, ""), (': > "$3"', 1, "the text is empty"), ("exit 3", 1, "the editor ended with status 3")],
)
def test_what_an_editor_leaves_as_it_is_or_empty_is_not_written(
    mcpctl: Mcpctl, path: Path, edits: Editor, script: str, code: int, told: str
) -> None:
    folder, before = edits(script), path.read_bytes()
    ran = mcpctl("annotate", "edit", KEY, "tip")
    assert (ran.code, ran.out, path.read_bytes()) == (code, "", before)
    assert told in ran.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("script", "code"), [('printf "%0600d" 1', 2), ("printf '%0600d\\377' 1 | tail -c 600", 5)])
def test_a_text_that_cannot_be_used_is_kept_where_it_was_written(
    mcpctl: Mcpctl, path: Path, edits: Editor, script: str, code: int
) -> None:
    folder, before = edits(f'{script} > "$3"'), path.read_bytes()
    ran = mcpctl("annotate", "edit", KEY, "tip")
    assert (ran.code, path.read_bytes()) == (code, before)
    (kept,) = folder.glob("*/tip.md")
    assert f"your text is in {kept}" in ran.err
    assert kept.stat().st_size == 600
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_note_that_changed_while_the_editor_was_open_is_not_overwritten(
    mcpctl: Mcpctl, path: Path, edits: Editor
) -> None:
    folder = edits(f'sed -i "s/First/Theirs/" {path}; echo Mine. > "$3"')
    ran = mcpctl("annotate", "edit", KEY, "tip")
    assert (ran.code, "was changed meanwhile" in ran.err) == (1, True)
    assert "Theirs" in path.read_text(encoding="utf-8")
    assert [file.read_text(encoding="utf-8") for file in folder.glob("*/tip.md")] == ["Mine.\n"]


@pytest.mark.parametrize("command", ["/nowhere/editor", "'unbalanced"])
def test_an_editor_that_cannot_be_started_is_named(
    mcpctl: Mcpctl, edits: Editor, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    folder = edits("true")
    monkeypatch.delenv("VISUAL")
    monkeypatch.setenv("EDITOR", command)
    ran = mcpctl("annotate", "edit", KEY, "tip")
    assert (ran.code, "cannot start the editor of EDITOR: " in ran.err) == (1, True)
    assert list(folder.iterdir()) == []
