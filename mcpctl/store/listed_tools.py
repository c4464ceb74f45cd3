"""The tools that servers last listed, for a glance: read as they lie there, nothing made, migrated or repaired."""

from contextlib import ExitStack, closing
from typing import NamedTuple, Self

from mcpctl.base.paths import Paths
from mcpctl.store import query, sqlite

_PATIENCE_S = 0.5


class Place(NamedTuple):
    server: str
    fingerprint: str
    capabilities: str
    position: int


class ListedTools:
    """Entering raises `sqlite3.Error` where there is none that can be read in time."""

    def __init__(self, paths: Paths) -> None:
        self._path = paths.state
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._db = self._stack.enter_context(closing(sqlite.connect_unchanged(self._path, _PATIENCE_S)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def names(self, server: str, fingerprint: str, prefix: str) -> list[tuple[str, Place]]:
        """The tools of a server whose name begins so, by name, for whatever clients they were listed."""
        rows = self._db.execute(
            # Of the row that has the least, SQLite takes the others too.
            "SELECT name, min(capabilities), position FROM listed WHERE server = ? AND fingerprint = ? AND name >= ?"
            " AND name < ? AND capabilities NOT LIKE '@%' GROUP BY name ORDER BY name",
            (server, fingerprint, prefix, prefix + query.LAST),
        )
        return [(name, Place(server, fingerprint, *where)) for name, *where in rows]

    def definition(self, place: Place) -> str:
        row = self._db.execute(
            "SELECT definition FROM listed WHERE server = ? AND fingerprint = ? AND capabilities = ? AND position = ?",
            place,
        )
        return str(row.fetchone()[0])
