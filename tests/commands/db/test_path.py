"""`mcpctl db path`"""

import sqlite3
from contextlib import closing
from pathlib import Path

from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.recorded import two_sessions


def test_the_path_is_of_an_index_that_is_up_to_date(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    ran = mcpctl("db", "path")
    assert ran.out == f"{paths.index}\n"
    with closing(sqlite3.connect(ran.out.strip())) as db:
        assert db.execute("SELECT count(*) FROM calls").fetchone() == (6,)
        assert db.execute("SELECT client_name, tool_call_count FROM sessions ORDER BY 1").fetchall() == [
            ("claude-code", 3),
            ("cursor", 3),
        ]


def test_the_index_and_its_folder_are_their_owners_alone(mcpctl: Mcpctl, paths: Paths, home: Path) -> None:
    mcpctl("db", "path")
    assert paths.index.stat().st_mode & 0o777 == 0o600
    for folder in (paths.data, home):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_data_dir_names_another_place(mcpctl: Mcpctl, tmp_path: Path) -> None:
    assert mcpctl("db", "path", "--data-dir", str(tmp_path / "x")).out == f"{tmp_path / 'x' / 'index-v16.db'}\n"


def test_a_data_directory_that_cannot_be_is_reported(mcpctl: Mcpctl, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = mcpctl("db", "path", "--data-dir", str(tmp_path / "file" / "data"))
    assert ran.code == 5
    assert "--data-dir" in ran.err
