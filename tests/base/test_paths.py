"""Where things are: option, then environment, then the user's own folders."""

from pathlib import Path

import pytest

from mcpctl.base import fields, paths
from mcpctl.base.errors import Unusable
from tests.conftest import Mcpctl

HOME = {"MCPCTL_HOME": "/h"}


def test_home_holds_everything() -> None:
    found = paths.find(env=HOME)
    assert (found.config, found.data) == (Path("/h/config.toml"), Path("/h/data"))
    assert (found.sessions, found.state) == (Path("/h/data/sessions"), Path("/h/data/state.db"))
    assert found.index.name == f"index-v{fields.INDEX_VERSION}.db"


def test_a_variable_of_its_own_goes_before_home() -> None:
    found = paths.find(env={**HOME, "MCPCTL_CONFIG": "/c.toml", "MCPCTL_DATA_DIR": "/d"})
    assert (found.config, found.data) == (Path("/c.toml"), Path("/d"))


def test_an_option_goes_before_every_variable() -> None:
    found = paths.find(Path("/o.toml"), Path("/o"), env={**HOME, "MCPCTL_CONFIG": "/c.toml", "MCPCTL_DATA_DIR": "/d"})
    assert (found.config, found.data) == (Path("/o.toml"), Path("/o"))


def test_an_empty_variable_is_none() -> None:
    assert paths.find(env={**HOME, "MCPCTL_CONFIG": ""}).config == Path("/h/config.toml")


def test_without_variables_they_are_the_users_own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    found = paths.find(env={})
    assert found.config.name == "config.toml"
    assert found.config.parent.name == found.data.name == "mcpctl"
    assert found.config.is_relative_to(tmp_path)
    assert found.data.is_relative_to(tmp_path)


def test_every_folder_that_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    made = paths.private_dir(tmp_path / "a" / "b" / "c")
    for folder in (made, made.parent, made.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_is_there_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    before = (tmp_path / "a").stat().st_mode
    paths.private_dir(tmp_path / "a" / "b")
    assert (tmp_path / "a").stat().st_mode == before


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "x"):
        with pytest.raises(Unusable, match="cannot write"):
            paths.private_dir(folder)


def test_without_a_home_it_is_said_what_to_set(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCPCTL_HOME")

    def nowhere(*_: object, **__: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr("platformdirs.user_config_path", nowhere)
    ran = mcpctl("servers", "ls", "--json")
    assert (ran.code, ran.error["code"], ran.error["hint"]) == (5, "no_home", "set HOME or MCPCTL_HOME")
