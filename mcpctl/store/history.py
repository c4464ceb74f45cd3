"""Calls and reads on record as a policy is replayed over them: by the tool, the project and who called."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from mcpctl.base.models import HINTS
from mcpctl.store import query, statistics
from mcpctl.store.filters import CallFilter
from mcpctl.store.sqlite import SqliteDatabase

_IS_COMMAND = "via <> 'client'"
# One text for each group: to sort a million by four columns takes half as long again.
_GROUP = (
    f"length(server) || ':' || length(tool) || ':' || server || tool || ({_IS_COMMAND}) || coalesce('+' || project, '')"
)
_UNKNOWN = "status <> 'ok' AND error_code = 'unknown_tool'"


class Called(NamedTuple):
    server: str
    tool: str
    project: str | None
    is_command: bool  # a person called it at the command line
    calls: int
    sessions: int
    hints: Mapping[str, bool]  # as they were at the newest of these calls
    unknown: int = 0  # calls that were refused since its server had no such tool then


class History:
    def __init__(self, db: SqliteDatabase, criteria: CallFilter) -> None:
        self._db = db
        self._criteria = criteria

    def calls(self) -> Iterator[Called]:
        columns = f"server, tool, project, {_IS_COMMAND}"
        unknown = query.on_calls(self._criteria, self._db.dialect).when(_UNKNOWN)
        selection = f"SELECT {columns}, count(*) FROM calls{unknown.where} GROUP BY {_GROUP}"
        never = {tuple(key): count for *key, count in self._db.execute(selection, unknown.values)}
        conditions, counted = query.on_calls(self._criteria, self._db.dialect), statistics.calls(self._db.dialect)
        rows = self._db.execute(
            # SQLite takes the hints from the row that has the newest start.
            f"SELECT {columns}, {counted}, count(DISTINCT session_id), hints, max(started_at)"
            f" FROM calls{conditions.where} GROUP BY {_GROUP}",
            conditions.values,
        )
        for server, tool, project, is_command, calls, sessions, letters, _ in rows:
            declared = {
                hint: letter.isupper() for hint, letter in zip(HINTS, letters, strict=False) if letter.isalpha()
            }
            count = never.get((server, tool, project, is_command), 0)
            yield Called(server, tool, project, bool(is_command), calls, sessions, declared, count)

    def reads(self) -> Sequence[tuple[str | None, str, str, str | None, bool, int]]:
        """The server, kind, name, project, whether a person read it at the command line, and how often."""
        conditions = query.on_reads(self._criteria, self._db.dialect)
        grouped = f"SELECT server, kind, name, project, {_IS_COMMAND}, count(*) FROM reads{conditions.where}"
        return self._db.execute(f"{grouped} GROUP BY 1, 2, 3, 4, 5", conditions.values).fetchall()

    def moments(self, tools: Collection[tuple[str, str]]) -> Iterator[tuple[float, tuple[str, str, str | None, bool]]]:
        """The seconds of each call of these tools, in their order, with what `calls` has it under."""
        conditions = query.on_calls(self._criteria, self._db.dialect).when("status <> 'input_required'")
        rows = self._db.execute(
            f"SELECT started_at, server, tool, project, {_IS_COMMAND} FROM calls{conditions.where} ORDER BY started_at",
            conditions.values,
        )
        for started_at, *key in rows:
            if (key[0], key[1]) in tools:
                server, tool, project, is_command = key
                yield datetime.fromisoformat(started_at).timestamp(), (server, tool, project, bool(is_command))
