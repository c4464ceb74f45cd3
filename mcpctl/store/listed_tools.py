"""The tools that servers last listed, for a glance: read as they lie there, nothing made, migrated or repaired."""

from contextlib import ExitStack, closing
from typing import Self

from mcpctl.paths import Paths
from mcpctl.store import query, sqlite

_PATIENCE_S = 0.5


class ListedTools:
    """The names and definitions in `state.db`, in a `with` block.

    Entering raises `sqlite3.Error` where there is none that can be read in time.
    """

    def __init__(self, paths: Paths) -> None:
        self._path = paths.state
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._db = self._stack.enter_context(closing(sqlite.connect_unchanged(self._path, _PATIENCE_S)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def names(self, server: str, fingerprint: str, prefix: str) -> list[tuple[str, int]]:
        """The tools of a server whose name begins so, by name: name and position."""
        return self._db.execute(
            "SELECT name, position FROM tools WHERE server = ? AND fingerprint = ? AND name >= ? AND name < ?"
            " ORDER BY name",
            (server, fingerprint, prefix, prefix + query.LAST),
        ).fetchall()

    def definition(self, server: str, fingerprint: str, position: int) -> str:
        """One tool's definition."""
        key = (server, fingerprint, position)
        row = self._db.execute(
            "SELECT definition FROM tools WHERE server = ? AND fingerprint = ? AND position = ?", key
        )
        return str(row.fetchone()[0])
