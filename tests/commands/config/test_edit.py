"""`mcpctl config edit`: what is written in the editor counts once it is right, and loosens nothing unasked."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from mcpctl.config import config
from mcpctl.config.editing import FIRST_LINE, SCHEMA
from mcpctl.store.records import LocalRecords
from tests.conftest import MCPCTL, Mcpctl, Ran
from tests.terminal import Terminal

GOOD = '# mine\n[servers.a]\ncommand = "run"\n'
POLICY = f'{GOOD}\n[policy]\ndefault = "ask"\n'
Editing = Callable[..., Ran]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def edits(mcpctl: Mcpctl, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Editing:
    """Edit with an editor that leaves one of these texts each time it is opened, and give these answers."""
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)

    def run(*texts: str, answers: Sequence[str] = (), script: str = "") -> Ran:
        for number, text in enumerate(texts):
            (tmp_path / f"text{number}").write_text(text, encoding="utf-8")
        program = tmp_path / "editor"
        lines = [f"cd {tmp_path}", 'cp "$1" "seen$(ls seen* 2>/dev/null | wc -l)"', "n=$(ls text* | head -n 1)",
                 '[ -z "$n" ] || mv "$n" "$1"', script]  # fmt: skip
        program.write_text("#!/bin/sh\n" + "\n".join(lines), encoding="utf-8")
        program.chmod(0o700)
        monkeypatch.setenv("VISUAL", str(program))
        return mcpctl("config", "edit", stdin="".join(f"{answer}\n" for answer in answers))

    return run


def write(paths: Paths, text: str) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(text, encoding="utf-8")


def text(paths: Paths) -> str:
    return paths.config.read_text(encoding="utf-8")


def test_what_is_right_is_written_whole(edits: Editing, paths: Paths, temporary: Path) -> None:
    write(paths, GOOD)
    ran = edits(f"{GOOD}enabled = false # for now\n")
    assert (ran.code, ran.out, ran.err) == (0, "", f"written to {paths.config}\n")
    assert text(paths) == f"{GOOD}enabled = false # for now\n"
    assert list(temporary.iterdir()) == []


def test_a_new_file_begins_with_the_line_that_names_the_schema(
    edits: Editing, mcpctl: Mcpctl, paths: Paths, tmp_path: Path
) -> None:
    assert edits().err == "nothing was changed\n"
    assert not paths.config.exists()
    assert (tmp_path / "seen0").read_text(encoding="utf-8") == FIRST_LINE
    assert edits(f"{FIRST_LINE}{GOOD}").code == 0
    assert text(paths) == f"{FIRST_LINE}{GOOD}"
    paths.config.unlink()
    assert mcpctl("servers", "add", "a", "run").code == 0
    assert text(paths).startswith(FIRST_LINE)
    assert f"#:schema {SCHEMA.as_uri()}\n" == FIRST_LINE  # in which spaces are escaped


def test_a_problem_is_shown_with_its_line_and_the_text_is_edited_again(
    edits: Editing, paths: Paths, tmp_path: Path
) -> None:
    write(paths, GOOD)
    ran = edits(f"{GOOD}args = 1\nx =\n", f"{GOOD}args = 1\n", f"{GOOD}args = []\n", answers=["", "y"])
    assert ran.code == 0
    assert "line 5: Invalid value" in ran.err
    assert "line 4: servers.a.args: must be a list" in ran.err
    assert (tmp_path / "seen2").read_text(encoding="utf-8") == f"{GOOD}args = 1\n"
    assert text(paths) == f"{GOOD}args = []\n"


@pytest.mark.parametrize("bad", ["x =\n", "[serch]\n"])
def test_a_text_of_which_nothing_could_be_used_is_never_written(
    edits: Editing, paths: Paths, temporary: Path, bad: str
) -> None:
    write(paths, GOOD)
    ran = edits(f"{GOOD}{bad}", answers=["n", "y"])
    assert (ran.code, text(paths)) == (5, GOOD)
    (kept,) = temporary.glob("*/config.toml")
    said = f"nothing was written, and {paths.config} is as it was: your text cannot be used\n"
    assert said in ran.err
    assert f"edit it again with: mcpctl config edit; your text is in {kept}\n" in ran.err
    assert kept.read_text(encoding="utf-8") == f"{GOOD}{bad}"


def test_an_entry_that_cannot_be_used_is_written_if_one_says_so(edits: Editing, paths: Paths) -> None:
    write(paths, GOOD)
    assert edits(f"{GOOD}args = 1\n", answers=["n", "n"]).code == 6
    assert text(paths) == GOOD
    assert edits(f"{GOOD}args = 1\n", answers=["n", "y"]).code == 0
    assert "args = 1" in text(paths)


def test_an_empty_text_and_a_failing_editor_write_nothing(edits: Editing, paths: Paths, temporary: Path) -> None:
    write(paths, GOOD)
    assert "the text is empty" in edits(" \n").err
    assert "the editor ended with status 3" in edits(script="exit 3").err
    assert text(paths) == GOOD
    assert list(temporary.iterdir()) == []


def test_only_a_regular_file_is_read_and_a_long_one_is_kept(edits: Editing, paths: Paths, temporary: Path) -> None:
    write(paths, GOOD)
    ran = edits(script='rm "$1"; mkfifo "$1"')
    assert (ran.code, "it is a pipe, not a regular file" in ran.err) == (5, True)
    assert list(temporary.iterdir()) == []
    ran = edits(script='head -c 17000000 /dev/zero > "$1"')
    assert "it is larger than 16 MB" in ran.err
    assert "your text is in " in ran.err
    assert text(paths) == GOOD


def test_a_file_that_somebody_else_has_changed_meanwhile_stays(edits: Editing, paths: Paths, temporary: Path) -> None:
    write(paths, GOOD)
    ran = edits(f"{GOOD}# my line\n", script=f"echo '# theirs' >> {paths.config}")
    assert (ran.code, text(paths)) == (5, f"{GOOD}# theirs\n")
    assert "was changed meanwhile" in ran.err
    (kept,) = temporary.glob("*/config.toml")
    assert kept.read_text(encoding="utf-8").endswith("# my line\n")


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_person_is_told_what_a_change_loosens_and_asked(edits: Editing, paths: Paths, mark: str) -> None:
    write(paths, f"{mark}{POLICY}")
    ran = edits(f"{mark}{GOOD}", f"{mark}{GOOD}", answers=["n", "y", "n", "n"])
    assert (ran.code, text(paths)) == (6, f"{mark}{POLICY}")
    assert "these could be called without a question, or more often: a:*" in ran.err
    assert edits(f"{mark}{GOOD}", answers=["y"]).code == 0
    assert text(paths) == f"{mark}{GOOD}"
    with LocalRecords(paths) as records:
        (row,) = records.decisions().rows(None, 0)
    assert (row["decision"], row["channel"]) == ("loosened", "terminal")


def test_an_agent_cannot_loosen_and_can_tighten(
    edits: Editing, paths: Paths, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    write(paths, POLICY)
    ran = edits(GOOD, answers=["y"])
    assert (ran.code, text(paths)) == (6, POLICY)
    assert "only a person can" in ran.err
    assert edits(POLICY.replace("ask", "deny")).code == 0
    assert 'default = "deny"' in text(paths)


def test_an_agent_cannot_raise_the_limit_of_a_tool_that_is_asked_about(
    edits: Editing, paths: Paths, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = f'{POLICY}limit = {{ "a:add*" = "1/d" }}\n'
    raised = limited.replace("1/d", "9000/d")
    write(paths, limited)
    monkeypatch.setenv("CLAUDECODE", "1")
    ran = edits(raised, answers=["y"])
    assert (ran.code, text(paths)) == (6, limited)
    assert "without a question, or more often: a:add*:" in ran.err
    monkeypatch.delenv("CLAUDECODE")
    assert edits(raised, answers=["y"]).code == 0
    with LocalRecords(paths) as records:
        (row,) = records.decisions().rows(None, 0)
    assert (row["decision"], row["key"]) == ("loosened", "a:add*")


def test_a_broken_file_is_repaired_by_a_person_alone(
    edits: Editing, paths: Paths, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(paths, f"{POLICY}x =\n")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert edits(GOOD).code == 6
    monkeypatch.delenv("CLAUDECODE")
    assert edits(GOOD).code == 0
    assert text(paths) == GOOD


def test_a_broken_file_that_stays_as_it_is_is_said_to_be_broken(edits: Editing, paths: Paths) -> None:
    write(paths, f"{POLICY}x =\n")
    ran = edits()
    assert (ran.code, text(paths)) == (5, f"{POLICY}x =\n")
    assert ran.err.startswith("line 7: Invalid value")
    assert f"nothing was changed: {paths.config} still cannot be used" in ran.err


def test_without_a_terminal_nothing_is_opened(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("config", "edit")
    assert (ran.code, "mcpctl config check" in ran.err) == (2, True)
    assert not paths.config.parent.exists()


@pytest.mark.process
@pytest.mark.slow
def test_it_is_one_conversation_at_a_terminal(paths: Paths, tmp_path: Path) -> None:
    write(paths, GOOD)
    program = tmp_path / "editor"
    program.write_text('#!/bin/sh\necho "args = 1" >> "$1"\n', encoding="utf-8")
    program.chmod(0o700)
    with Terminal([*MCPCTL, "config", "edit"], {**os.environ, "EDITOR": str(program)}) as terminal:
        terminal.type("n\n")  # before the question: it is no answer
        terminal.wait_for(r"line 4: servers.a.args: must be a list")
        terminal.wait_for(r"Edit it again\? \[Y/n\]: ")
        terminal.type("\x03")
        terminal.wait_for(r"(?m)^your text is in ")  # not in the hint of an error
    assert text(paths) == GOOD
    assert not config.load(paths.config).problems
