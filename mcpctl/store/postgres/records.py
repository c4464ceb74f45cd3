"""The records of many machines, read in PostgreSQL."""

import functools
import itertools
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from mcpctl.store.postgres import connection, schema
from mcpctl.store.postgres.connection import PostgresUrl
from mcpctl.store.postgres.dialect import PostgresDialect
from mcpctl.store.postgres.events import JournalRows
from mcpctl.store.records import Records
from mcpctl.store.sqlite import Dialect

if TYPE_CHECKING:
    import psycopg

_FETCHED = 500  # rows that are fetched at once


class PostgresDatabase:
    """A connection that reads what was there at one moment; its placeholders are those of SQLite."""

    dialect: Dialect = PostgresDialect()

    def __init__(self, url: PostgresUrl) -> None:
        import psycopg

        self._numbers = itertools.count()
        self._connection = connection.connect(url)
        self._connection.adapters.register_loader("numeric", _number_loader())
        try:
            schema.check(self._connection, url)
            connection.be_here(self._connection)
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self._connection.read_only = True
            self._connection.autocommit = False
        except BaseException:
            self.close()
            raise

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> "psycopg.Cursor[Any]":
        return self._connection.execute(_numbered(sql), values)

    def stream(self, sql: str, values: Sequence[Any], /) -> Iterator[Any]:
        import psycopg

        with psycopg.RawServerCursor(self._connection, f"rows_{next(self._numbers)}") as cursor:
            cursor.itersize = _FETCHED
            yield from cursor.execute(_numbered(sql), values)

    def refresh(self) -> None:
        """Read what is there at the next question, and from then on."""
        self._connection.rollback()

    def close(self) -> None:
        self._connection.close()


@functools.lru_cache(maxsize=256)
def _numbered(sql: str) -> str:
    """The SQL with $1, $2 in place of each ?."""
    numbers = itertools.count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", sql)


@functools.cache
def _number_loader() -> Any:
    from psycopg.adapt import Loader

    class _NumberLoader(Loader):
        """Sums and percentages as the numbers of JSON."""

        def load(self, data: Any) -> int | float:
            text = bytes(data)
            return float(text) if b"." in text else int(text)

    return _NumberLoader


class PostgresRecords(Records):
    """Those of all machines that ship theirs into one database, as they are there on entering."""

    def __init__(self, url: PostgresUrl) -> None:
        self._url = url
        self.source = str(url)
        self._database: PostgresDatabase | None = None

    def another(self) -> "PostgresRecords":
        return PostgresRecords(self._url)

    def __enter__(self) -> Self:
        with connection.in_words(self._url):
            self._database = PostgresDatabase(self._url)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        database, self._database = self._database, None
        if database:
            database.close()
        if error:
            with connection.in_words(self._url):
                raise error

    @property
    def _db(self) -> PostgresDatabase:
        assert self._database, "records are read in a with block"
        return self._database

    def refreshed(self) -> bool:
        self._db.refresh()
        return True

    def version(self) -> Hashable:
        return tuple(self._db.execute("SELECT count(*), sum(position) FROM projected").fetchone() or ())

    def _journals(self) -> JournalRows:
        return JournalRows(self._db)
