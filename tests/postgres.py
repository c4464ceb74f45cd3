"""PostgreSQL for tests: the machine's own program, on a socket in a folder of its own, as another user than root."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store.records import LocalRecords, Records

_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[-3]))
_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 40
"""


class Cluster:
    """A cluster that can be killed and started again; its databases are made by tests."""

    def __init__(self, folder: Path, programs: Path, *, is_safe: bool) -> None:
        self.folder = folder
        self._programs = programs
        self._data = folder / "data"
        self._made = 0
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(_SETTINGS.format(folder=folder) + ("" if is_safe else "fsync = off\n"))
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        as_another = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        ran = subprocess.run(
            [*as_another, str(self._programs / program), *map(str, arguments)],
            check=False, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr.decode()

    def start(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-l", self._data / "log", "-w", "start")

    def stop(self, how: str = "fast") -> None:
        """`immediate` is the end without any goodbye, after which it recovers by its log."""
        self._run("pg_ctl", "-D", self._data, "-m", how, "-w", "stop")

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def database(self, template: str = "template1") -> str:
        """The address of a new one, which is empty or as `template`."""
        self._made += 1
        self.execute(self.url(), f"CREATE DATABASE test_{self._made} TEMPLATE {template}")
        return self.url(f"test_{self._made}")

    @cached_property
    def grown(self) -> str:
        """The name of a template that has all tables."""
        from mcpctl.store.postgres import connection, schema

        url = connection.PostgresUrl(self.database())
        with connection.connect(url) as db:
            schema.grow(db, url)
        return str(url.parts["dbname"])

    @staticmethod
    def execute(url: str, statement: str, *values: object) -> list[tuple[object, ...]]:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def cluster(*, is_safe: bool = False) -> Iterator[Cluster]:
    """A cluster; a test is skipped, aloud, where the program is not installed. One that `is_safe` is slower, and keeps
    what it has said is kept."""
    if not _PROGRAMS:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(mkdtemp(prefix="mcpctl-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    made = None
    try:
        made = Cluster(folder, _PROGRAMS[-1].parent, is_safe=is_safe)
        yield made
    finally:
        if made:
            made.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def shipped(paths: Paths, url: str) -> Records:
    """The records of a data directory, once they are in this database."""
    from mcpctl.store.postgres.connection import PostgresUrl
    from mcpctl.store.postgres.records import PostgresRecords
    from mcpctl.store.postgres.shipping import Shipper

    Shipper(paths, PostgresUrl(url), "here").run(follow=False)
    return PostgresRecords(PostgresUrl(url))


Recorded = Callable[[Paths], Records]
"""The records of a data directory, wherever they are read."""


def recorded(where: str, request: pytest.FixtureRequest) -> Recorded:
    if where == "local":
        return LocalRecords
    url = request.getfixturevalue("store")
    return lambda paths: shipped(paths, url)
