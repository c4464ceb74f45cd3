"""One session from its beginning: its calls with the decisions about them, its searches and reads, in their order."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from mcpctl.base.models import Found, Row
from mcpctl.store import arguments, query
from mcpctl.store.query import COLUMNS, Conditions

_TABLES = {"call": "calls", "search": "discoveries", "read": "reads", "decision": "decisions"}
# A decision about a call or a read stands with it; the others are of attempts that became neither.
_EVENTS = " UNION ALL ".join(
    f"SELECT '{kind}', rowid, position FROM {table} WHERE session_id = :session"
    + (" AND call_id IS NULL" if kind == "decision" else "")
    for kind, table in _TABLES.items()
)


def of_session(db: sqlite3.Connection, session: str, calls: Mapping[str, str]) -> Found:
    """Rows of `{event, decisions}` and all that a search, a read or a decision has; of a call, these columns."""

    def rows(limit: int | None, offset: int) -> Iterator[Row]:
        given = {"session": session, "limit": -1 if limit is None else limit, "offset": offset}
        chosen = db.execute(f"{_EVENTS} ORDER BY 3 LIMIT :limit OFFSET :offset", given).fetchall()
        found = {
            kind: _with_numbers(db, table, calls if kind == "call" else COLUMNS[table],
                                [number for of, number, _ in chosen if of == kind])
            for kind, table in _TABLES.items()
        }  # fmt: skip
        shown = [(kind, found[kind][number]) for kind, number, _ in chosen]
        made = _decisions(db, session, [row["id"] for kind, row in shown if kind != "decision"])
        for kind, row in shown:
            yield {"event": kind, **row, "decisions": made.get(row["id"], [])}

    def count() -> int:
        return int(db.execute(f"SELECT count(*) FROM ({_EVENTS})", {"session": session}).fetchone()[0])

    return Found(count, rows)


def _with_numbers(
    db: sqlite3.Connection, table: str, columns: Mapping[str, str], numbers: Sequence[int]
) -> dict[int, Row]:
    conditions = Conditions().when("rowid IN (SELECT value FROM json_each(?))", json.dumps(numbers))
    found = query.select(db, table, {**columns, "number": "rowid"}, conditions, "position").rows(None, 0)
    return {row["number"]: _told(row) for row in found}


def _told(row: Row) -> Row:
    told = {name: value for name, value in row.items() if name != "number"}
    return told | {"arguments_line": arguments.line(row["arguments_line"])} if "arguments_line" in row else told


def _decisions(db: sqlite3.Connection, session: str, ids: Sequence[str]) -> dict[str, list[Row]]:
    conditions = Conditions().equal("+session_id", session)
    conditions.when("call_id IN (SELECT value FROM json_each(?))", json.dumps(ids))
    made: dict[str, list[Row]] = {}
    for row in query.select(db, "decisions", COLUMNS["decisions"], conditions, "position").rows(None, 0):
        made.setdefault(row["call_id"], []).append(row)
    return made
