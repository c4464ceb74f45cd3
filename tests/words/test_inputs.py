"""Files that a table is made from: only those that are pinned, each named in NOTICE."""

import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.words import inputs
from tests.words.__main__ import main
from tests.words.inputs import Input, WrongInput, digest
from tests.words.recipe import SOURCES, TEACHER, TLDR


def pinned(path: Path, registry: inputs.Registry = "PyPI") -> Input:
    return Input(registry, "django", "5.2", path.name, digest(path))


def test_a_file_that_is_there_is_taken_if_it_is_the_one(tmp_path: Path) -> None:
    path = tmp_path / "django.whl"
    path.write_bytes(b"texts")
    assert pinned(path).fetched(tmp_path) == path
    expected = pinned(path)
    path.write_bytes(b"other texts")
    with pytest.raises(WrongInput, match=f"its SHA-256 is {digest(path)}, that of django 5.2 is {expected.sha256}"):
        expected.fetched(tmp_path)


@pytest.mark.parametrize("registry, program", [("PyPI", "pip download"), ("npm", "npm pack")])
def test_one_that_is_not_there_is_downloaded_by_its_version(
    registry: inputs.Registry, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "django.whl"
    path.write_bytes(b"texts")
    expected = pinned(path, registry)
    path.unlink()
    commands: list[str] = []

    def download(command: list[str]) -> None:
        commands.append(" ".join(command))
        path.write_bytes(b"texts")

    monkeypatch.setattr(inputs, "_run", download)
    assert expected.fetched(tmp_path) == path
    (command,) = commands
    assert program in command
    assert str(tmp_path) in command
    assert "django==5.2" in command or "django@5.2" in command


def test_one_that_no_registry_has_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(WrongInput, match=r"tldr.jsonl.gz is not in .*, and is in no registry"):
        TLDR.fetched(tmp_path)
    with pytest.raises(WrongInput, match="No such file"):
        TLDR.checked(tmp_path / "none")


def test_a_download_that_fails_says_which(tmp_path: Path) -> None:
    with pytest.raises(WrongInput, match=r"mcpctl-no-such-program x: .*No such file"):
        inputs._run(["mcpctl-no-such-program", "x"])


def test_an_input_that_is_another_ends_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / TEACHER.file).write_bytes(b"")
    assert main(["--inputs", str(tmp_path), "--sources", "tldr", "--output", str(tmp_path / "table")]) == 1
    assert f"that of {TEACHER.name} {TEACHER.version} is {TEACHER.sha256}" in capsys.readouterr().err
    assert not (tmp_path / "table").exists()


def test_notice_names_each() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    named = {each for source in SOURCES for each in source.inputs} - {TLDR}
    family = "jupyterlab-language-pack"
    wanted = {f"{each.name} {each.version}" for each in named if not each.name.startswith(family)}
    assert {name for name in wanted if name not in notice} == set()
    languages = [each.name.removeprefix(family) for each in named if each.name.startswith(family)]
    assert all(language in notice for language in languages)
    assert "the tldr-pages team and contributors" in notice
    assert "WordNet 3.1 Copyright 2011 by Princeton University" in notice
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license-files"] == ["LICENSE", "LICENSE.Apache-2.0", "NOTICE"]
